"""The end of a deployment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from akotf.apply import deploy
from akotf.apply.destroy import destroy
from akotf.errors import PolicyDenied
from akotf.model.tfplan import TfPlan


def deployed(terraform: Any, root: Path, tree: Any) -> None:
    plan = deploy.prepare(terraform, root, tree)
    terraform.apply(plan)
    terraform.discard(plan)


def allow(plan: TfPlan) -> None:
    assert plan.destroy


def test_everything_goes_and_a_second_call_is_done(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    deployed(terraform, tmp_path / "root", tree_of())
    result = destroy(terraform, tmp_path / "root", judge=allow, journal=journal, **where)
    assert len(result.addresses) == 3 and terraform.world == {}
    assert journal.kinds() == ["destroy.intent", "destroy.done"]
    assert destroy(terraform, tmp_path / "root", judge=allow, journal=journal, **where).addresses == ()
    assert len(journal.rows) == 2


def test_a_root_that_never_was_is_done(terraform: Any, journal: Any, where: Any, tmp_path: Path) -> None:
    assert destroy(terraform, tmp_path / "root", judge=allow, journal=journal, **where).addresses == ()
    assert terraform.planned_in == []


def test_a_lost_root_is_written_from_the_approved_tree(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    deployed(terraform, tmp_path / "root", tree_of())
    destroy(terraform, tmp_path / "other", judge=allow, journal=journal, tree=tree_of(), **where)
    assert terraform.world == {}


def test_policy_stops_it(terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path) -> None:
    deployed(terraform, tmp_path / "root", tree_of())

    def deny(plan: TfPlan) -> None:
        raise PolicyDenied("a run lives there")

    with pytest.raises(PolicyDenied):
        destroy(terraform, tmp_path / "root", judge=deny, journal=journal, **where)
    assert len(terraform.world) == 3 and journal.rows == []
