"""Every id that a finding can have is listed with its meaning, and nothing else is."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import akotf
from akotf.report.rules import GROUPS, RULES, meaning

PACKAGE = Path(akotf.__file__).parent


def used_ids(package: Path) -> dict[str, str]:
    file = Path(__file__).with_name("used_ids.py")
    spec = importlib.util.spec_from_file_location("akotf_used_ids", file)
    assert spec and spec.loader
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found: dict[str, str] = module.used_ids(package)
    return found


def test_the_ids_in_use_and_the_ids_listed_are_the_same() -> None:
    used = used_ids(PACKAGE)
    assert len(used) > 100  # the search itself works
    unlisted = {
        rule: file for rule, file in used.items() if rule not in RULES and not rule.startswith("error/")
    }
    assert unlisted == {}, "say what they mean in akotf/report/rules.py"
    assert set(RULES) - set(used) == set(), "no longer used: take them out of akotf/report/rules.py"


def test_an_id_in_any_of_the_usual_spellings_is_found(tmp_path: Path) -> None:
    package = tmp_path / "akotf"
    (package / "model").mkdir(parents=True)
    (package / "model" / "finding.py").write_text("class Finding: ...\n")
    (package / "one.py").write_text(
        "from akotf.model.finding import Finding\n"
        "def fault(rule, message):\n    return Finding(rule=f'config/{rule}', message=message)\n"
        "class Notes:\n"
        "    def error(self, rule, path): self._add(path, rule)\n"
        "    def _add(self, path, rule): Finding(rule=f'config/{rule}', path=path)\n"
        "fault('first', 'm')\nFinding(rule='third/whole' if x else 'fourth/whole')\n"
        "parser.error('not a rule')\n"
    )
    (package / "two.py").write_text(
        "from akotf.one import fault\nfault(message='m', rule='second')\nnotes.error('fifth', 'p')\nother('sixth')\n"
    )
    assert set(used_ids(package)) == {
        "config/first",
        "config/second",
        "config/fifth",
        "third/whole",
        "fourth/whole",
    }


def test_every_id_stands_once_and_every_meaning_is_a_sentence() -> None:
    assert sum(len(group) for group in GROUPS.values()) == len(RULES)
    assert all(said.endswith(".") and len(said) > 15 for said in RULES.values())
    assert meaning("config/tab") == "A tab indents a line."
    assert meaning("policy/total-gpus") == "The policy rule total-gpus does not pass."
    assert "integrity" in meaning("error/integrity")
