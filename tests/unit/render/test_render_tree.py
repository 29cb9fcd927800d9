"""What stands in a rendered root, and what is refused."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from akotf.apply.approval import with_approval
from akotf.errors import ConfigError
from akotf.model.tree import FileTree

Render = Callable[..., FileTree]


def values(tree: FileTree) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tree.files["akotf.auto.tfvars.json"])
    return found


def test_baseline_values_are_json_text_with_their_types(rendered: Render) -> None:
    hyper = {"rate": 1e-3, "steps": 300, "flag": True, "word": "0.001", "big": 2**70, "small": 5e-324}
    baseline = values(rendered(run={"hyperparameters": hyper}))["baseline"]["hyperparameters"]
    assert baseline == {
        "rate": "0.001", "steps": "300", "flag": "true", "word": '"0.001"', "big": "1180591620717411303424", "small": "5e-324",
    }  # fmt: skip
    for name, text in baseline.items():
        back = json.loads(text)
        assert back == hyper[name] and type(back) is type(hyper[name])


def test_opaque_text_survives_in_ascii(rendered: Render) -> None:
    decomposed = unicodedata.normalize("NFD", "é") + "\n\t\0${x}%{y}\"'\\"
    data = rendered(run={"environment": {"GREETING": decomposed}}).files["akotf.auto.tfvars.json"]
    assert data.isascii()
    assert json.loads(json.loads(data)["baseline"]["environment"]["GREETING"]) == decomposed


def test_limits_are_those_of_a_process(rendered: Render) -> None:
    limits = values(rendered())["baseline"]["limits"]
    assert limits == {
        "cpus": "2",
        "memory": "4294967296",
        "open_files": "4096",
    }  # 4 GiB; no wall time, no GPUs


@pytest.mark.parametrize(("wanted", "offered", "leased"), [(1, 0, 0), (1, 8, 1), (4, 2, 2), (0, 8, 1)])
def test_the_pool_leases_what_was_planned(rendered: Render, wanted: int, offered: int, leased: int) -> None:
    limits = {"gpus": wanted, "gpus_optional": True, "cpus": 3, "memory": 2**32, "wall_time": 60.0}
    assert values(rendered(run={"limits": limits}, offer={"gpus": offered}))["pool"] == {
        "gpus": leased,
        "cpus": 3,
    }


def test_digests_and_approval(rendered: Render) -> None:
    plain, approved = rendered(), rendered(approval="sha256:a")
    assert values(approved)["digests"] == {
        "baseline": "sha256:b",
        "selection": "sha256:s",
        "approval": "sha256:a",
    }
    # what apply puts into a tree and what render would have written are the same bytes
    assert with_approval(plain, "sha256:a").digest() == approved.digest()
    assert with_approval(approved, "").digest() == plain.digest()


def test_labels_are_plain_values_and_nothing_else_is_generated_hcl(rendered: Render, template: Path) -> None:
    hostile = '"} resource "terraform_data" "pwn" {'
    tree = rendered(environment={"labels": {"a": hostile}})
    assert values(tree)["labels"] == {"a": hostile}
    static = {p.name: p.read_bytes() for p in (template / "terraform" / "local").iterdir()}
    generated = {
        n for n, d in tree.files.items() if n.endswith(".tf") and "/" not in n and static.get(n) != d
    }
    assert generated == {"backend.tf"}


def test_text_that_terraform_would_alter_is_refused_with_its_path(rendered: Render) -> None:
    decomposed = unicodedata.normalize("NFD", "é")
    with pytest.raises(ConfigError) as caught:
        rendered(environment={"labels": {"team": decomposed, decomposed: "x", "fine": "é"}})
    assert "labels.team" in caught.value.message and caught.value.message.count(" = ") == 2
    with pytest.raises(ConfigError, match="node_directory"):
        rendered(node_directory=Path(f"/srv/{decomposed}"))


@pytest.mark.parametrize(
    "paths", [{"node_directory": Path("node")}, {"state_path": Path("s")}, {"interpreter": "python"}, {"interpreter": "/a\nb"}]
)  # fmt: skip
def test_relative_paths_are_refused(rendered: Render, paths: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="absolute"):
        rendered(**paths)


def test_a_scope_without_a_root_names_those_that_have_one(rendered: Render) -> None:
    with pytest.raises(ConfigError) as caught:
        rendered(offer={"scope": "aws", "kind": "cloud", "backend": "aws"})
    assert "gpu-training@1.0.0 has no Terraform root for aws" in caught.value.message
    assert "--scope workstation" in caught.value.remedy


def test_a_module_that_is_not_vendored_is_told(rendered: Render, template: Path) -> None:
    (template / "modules" / "local-gpu" / "main.tf").unlink()
    with pytest.raises(ConfigError, match="local-gpu") as caught:
        rendered()
    assert "template publish" in caught.value.remedy


def test_only_what_terraform_needs_of_a_module_is_vendored(rendered: Render) -> None:
    inside = {n.removeprefix("modules/local-gpu/") for n in rendered().files if n.startswith("modules/")}
    assert inside == {"main.tf", "outputs.tf", "variables.tf", "versions.tf"}


def test_a_template_may_not_choose_the_state(rendered: Render, template: Path) -> None:
    (template / "terraform" / "local" / "backend.tf").write_text("terraform {}\n")
    with pytest.raises(ConfigError, match="state backend"):
        rendered()


@pytest.mark.parametrize("target", ["/etc", "/etc/passwd", "/nowhere"])
@pytest.mark.parametrize(
    "name", ["terraform/local/extra.tf", "modules/local-gpu/extra.tf", "modules/local-gpu/nested"]
)
def test_links_in_a_template_are_refused(rendered: Render, template: Path, name: str, target: str) -> None:
    (template / name).symlink_to(target)
    with pytest.raises(ConfigError, match="plain files"):
        rendered()


@pytest.mark.parametrize(
    "source", ["../evil", "./modules/../../evil", "/srv/evil", "git::https://host/x", "terraform-aws-modules/eks/aws", "./modules/local-gpu/", ""]
)  # fmt: skip
def test_a_root_wires_vendored_modules_only(rendered: Render, template: Path, source: str) -> None:
    (template / "terraform" / "local" / "more.tf").write_text(
        f'module "more" {{\n  source = "{source}"\n}}\n'
    )
    with pytest.raises(ConfigError, match="holds all that it uses") as caught:
        rendered()
    assert caught.value.where.endswith("more.tf")


@pytest.mark.parametrize(
    "text",
    ['module "m" { source = "../../evil" }\n', 'module "m" {\n  count = 0\n  source="./../other"\n}\n'],
)
def test_a_vendored_module_stays_in_its_folder(rendered: Render, template: Path, text: str) -> None:
    file = template / "modules" / "local-gpu" / "more.tf"
    file.write_text(text)
    with pytest.raises(ConfigError, match="holds all that it uses"):
        rendered()
    file.write_text('module "m" {\n  source = "./inner"\n}\n')
    (file.parent / "inner").mkdir()
    (file.parent / "inner" / "main.tf").write_text("# inside\n")
    assert rendered().files["modules/local-gpu/inner/main.tf"] == b"# inside\n"


@pytest.mark.parametrize("name", ["terraform", "terraform/local", "modules", "modules/local-gpu"])
def test_a_linked_folder_in_a_template_is_refused(
    rendered: Render, template: Path, name: str, tmp_path: Path
) -> None:
    (template / name).rename(tmp_path / "moved")
    (template / name).symlink_to(tmp_path / "moved")
    with pytest.raises(ConfigError, match="plain files"):
        rendered()


def test_a_source_is_found_wherever_it_stands_in_its_block(rendered: Render, template: Path) -> None:
    text = 'module "more" {\n  providers = {\n    a = a.b\n  }\n  source = "%s"\n}\n\nmodule other { source = "%s" }\n'
    file = template / "terraform" / "local" / "more.tf"
    file.write_text(text % ("./modules/local-gpu", "./modules/local-gpu"))
    assert rendered().files["more.tf"]
    for sources in (("./modules/local-gpu", "../x"), ("../x", "./modules/local-gpu")):
        file.write_text(text % sources)
        with pytest.raises(ConfigError, match=r"'\.\./x'"):
            rendered()
