"""`akotf validate` of many environments: one call, one report in every format, no environment hides another."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest


@pytest.fixture(scope="module")
def project(new_project: Any) -> Any:
    """A git repository with ten environments: `broken` is no YAML, `denied` has no budget, `warned` no lock."""
    project = new_project()
    names = ("broken", "denied", "warned", *(f"good-{n}" for n in range(6)))
    for name in names:
        folder = project.environment.parent / name
        shutil.copytree(project.environment, folder)
        file = folder / "akotf.yaml"
        file.write_text(file.read_text().replace("name: trial", f"name: {name}"))
    edit(project, "broken", "owner: my-team", 'owner: "my-team')
    edit(project, "denied", "budget: 10 USD", "budget: 0.00 USD")
    (project.environment.parent / "warned" / "akotf.lock").unlink()
    (project.folder / ".git").mkdir()
    return project


def edit(project: Any, name: str, old: str, new: str) -> None:
    file = project.environment.parent / name / "akotf.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


@pytest.fixture(scope="module")
def report(project: Any) -> Any:
    """What one call says of all of them."""
    return project.json("validate", "environments", code=1)


def by_name(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["environment"]: one for one in report["environments"]}


def test_a_folder_of_environments_is_all_of_them_and_one_fault_stops_none(report: Any) -> None:
    found = by_name(report)
    assert list(found) == ["broken", "denied", *(f"good-{n}" for n in range(6)), "trial", "warned"]
    assert {name for name, one in found.items() if not one["valid"]} == {"broken", "denied"}
    assert (report["valid"], report["exit_code"]) == (False, 1)
    assert {name: one["exit_code"] for name, one in found.items() if one["exit_code"]} == {
        "broken": 1,
        "denied": 3,
    }
    assert found["broken"]["revision"] is None
    (fault,) = found["broken"]["findings"]
    assert (fault["severity"], fault["position"]["file"]) == ("error", "environments/broken/akotf.yaml")
    assert [f["rule"] for f in found["denied"]["findings"]] == ["policy/budget-present"]
    assert len({one["revision"] for one in found.values()}) == 10  # nine names, and none of the broken one
    assert report["counts"] == {"error": 2, "warning": 1, "note": 0}


def test_one_environment_alone_says_the_same(project: Any, report: Any) -> None:
    many = by_name(report)
    for name, code in (("denied", 3), ("good-3", 0), ("broken", 1)):
        (alone,) = project.json("validate", f"environments/{name}", code=code)["environments"]
        assert alone == many[name]


def test_several_folders_are_taken_in_their_order_and_each_once(project: Any) -> None:
    report = project.json(
        "validate", "environments/warned", "environments/good-1", "environments/../environments/good-1"
    )
    assert [one["folder"] for one in report["environments"]] == ["environments/warned", "environments/good-1"]


def test_people_see_the_faults_and_how_many_are_valid(project: Any) -> None:
    said = project.akotf("validate", "environments", code=1).stderr.splitlines()
    assert said[-1] == "8 of 10 environments are valid"
    assert "denied is denied by policy; 1 error" in "\n".join(said)
    assert not [line for line in said if line.startswith("good-")]
    assert any(line.endswith("[policy/budget-present, hard-mandatory: denied]") for line in said)


@pytest.mark.parametrize(("flag", "name", "code"), [
    ("error", "warned", 0), ("warning", "warned", 1), ("warning", "good-1", 0), ("warning", "denied", 3),
])  # fmt: skip
def test_warnings_fail_when_asked_to(project: Any, flag: str, name: str, code: int) -> None:
    assert project.json("validate", f"environments/{name}", "--fail-on", flag, code=code)["exit_code"] == code


def test_all_reports_at_once_each_whole(project: Any, report: Any) -> None:
    out = project.folder / "reports"
    out.mkdir()
    files = {name: out / f"it.{name}" for name in ("sarif", "junit", "markdown", "text", "json")}
    wanted = [word for name, file in files.items() for word in ("--report", f"{name}={file}")]
    done = project.akotf("validate", "environments", *wanted, "--report", "github", code=1)
    assert all(line.startswith("::") for line in done.stdout.splitlines())
    assert "file=environments/broken/akotf.yaml,line=" in done.stdout
    assert json.loads(files["json"].read_bytes()) == report
    (run,) = json.loads(files["sarif"].read_bytes())["runs"]
    assert {r["ruleId"] for r in run["results"]} >= {"policy/budget-present", "config/unpinned"}
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]
    assert len(ElementTree.parse(files["junit"]).getroot()) == 10
    assert files["markdown"].read_text().startswith("<!-- akotf validate -->\n### akotf validate: 8 of 10")
    assert files["text"].read_text().splitlines()[-1] == "8 of 10 environments are valid"
    assert sorted(p.name for p in out.iterdir()) == sorted(
        f.name for f in files.values()
    )  # nothing half written


def test_a_report_is_written_from_any_folder_with_paths_from_the_root(project: Any) -> None:
    done = project.akotf("validate", "--report", "github", cwd=project.environment.parent / "broken", code=1)
    assert done.stdout.startswith("::error file=environments/broken/akotf.yaml,line=")


def test_a_report_that_can_not_be_written_is_an_error_and_the_others_are(
    project: Any, tmp_path: Path
) -> None:
    good = tmp_path / "it.xml"
    asked = ("--report", f"sarif={tmp_path}/none/it.sarif", "--report", f"junit={good}")
    done = project.akotf("validate", "environments/denied", *asked, code=1)
    assert "akotf: " in done.stderr
    assert (
        f"{tmp_path}/none/it.sarif: the sarif report can't be written: No such file or directory"
        in done.stderr
    )
    assert ElementTree.parse(good).getroot().get("failures") == "1"


def test_the_old_report_stays_until_the_new_one_is_whole(project: Any, tmp_path: Path) -> None:
    report, other = tmp_path / "it.json", tmp_path / "other.json"
    report.write_text("old")
    os.link(report, other)
    project.akotf("validate", "environments/good-1", "--report", f"json={report}")
    assert json.loads(report.read_bytes())["valid"] is True
    assert other.read_text() == "old"  # replaced, not written over


@pytest.mark.parametrize(("words", "says"), [
    (("--report", "xml=a"), "no report format 'xml'"),
    (("--report", "github", "--report", "markdown=-"), "two reports would go to stdout"),
    (("--report", "github", "--json"), "two reports would go to stdout"),
    (("--report", "json=a", "--report", "sarif=a"), "two reports would go to a"),
])  # fmt: skip
def test_what_can_not_be_asked_for_is_said_before_anything_is_written(
    project: Any, words: tuple[str, ...], says: str
) -> None:
    done = project.akotf("validate", "environments/good-1", *words, code=1)
    assert says in done.stdout + done.stderr
    assert not (project.folder / "a").exists()


def test_a_folder_that_is_not_there_is_a_finding_of_its_own(project: Any) -> None:
    report = project.json("validate", "environments/good-1", "environments/nowhere", code=1)
    good, nowhere = report["environments"]
    assert good["valid"]
    assert "akotf init environments/nowhere" in nowhere["findings"][0]["remedy"]


def test_a_rule_with_a_fault_is_told_in_every_environment_that_it_judges(new_project: Any) -> None:
    project = new_project()
    (project.folder / "policies" / "broken").mkdir()
    (project.folder / "policies" / "broken" / "rule.yaml").write_text("version: 1\n")
    (one,) = project.json("validate", "environments", code=1)["environments"]
    assert one["policy"] is None
    assert one["baseline"].startswith("sha256:")
    places = {
        f["position"]["file"].split("policies/")[1] for f in one["findings"] if f["severity"] == "error"
    }
    assert places == {"broken/rule.yaml"}


def test_two_spellings_of_one_file_are_one_file(project: Any, tmp_path: Path) -> None:
    file, link = tmp_path / "a.json", tmp_path / "link"
    link.symlink_to(file)
    for other in (f"{tmp_path}/./a.json", f"{tmp_path}/x/../a.json", str(link)):
        done = project.akotf(
            "validate", "environments/trial", "--report", f"json={file}", "--report", f"sarif={other}", code=1
        )
        assert "two reports would go to" in done.stderr
    done = project.akotf("validate", "environments/trial", "--json", "--report", "sarif=/dev/stdout", code=1)
    assert json.loads(done.stdout)["error"]["message"] == "two reports would go to stdout"


@pytest.mark.skipif(os.getuid() == 0 and shutil.which("setpriv") is None, reason="root may look anywhere")
def test_an_environment_that_may_not_be_looked_into_hides_no_other(project: Any, tmp_path: Path) -> None:
    closed = project.environment.parent / "good-0"
    command = [sys.executable, "-m", "akotf", "validate", "environments", "--json"]
    if os.getuid() == 0:
        rights = "--bounding-set=-all", "--inh-caps=-all"
        command = ["setpriv", "--securebits=+noroot", *rights, *command]
    closed.chmod(0)
    try:
        done = subprocess.run(
            command, cwd=project.folder, env=project.variables, capture_output=True, text=True
        )
    finally:
        closed.chmod(0o755)
    found = by_name(json.loads(done.stdout))
    assert found["good-1"]["valid"]
    (fault,) = found["good-0"]["findings"]
    assert (fault["rule"], found["good-0"]["exit_code"]) == ("error/machine", 1)
    assert "Permission denied" in fault["message"]


def test_a_reader_that_went_away_loses_no_file(project: Any, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "akotf", "validate", "environments/trial", "--report", "json"]
    file = tmp_path / "a.sarif"
    done = subprocess.run([*command, "--report", f"sarif={file}"], cwd=project.folder, env=project.variables,
                          stdout=writer, stderr=subprocess.PIPE, text=True)  # fmt: skip
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert json.loads(file.read_bytes())["version"] == "2.1.0"
