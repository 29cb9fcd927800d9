"""Whatever trees are written one after the other, and whatever is edited between, nothing foreign stays or is lost."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from akotf.apply import deploy
from akotf.apply.write import ASIDE, MANIFEST, write_tree
from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.model.tree import FileTree

NAMES = st.sampled_from(
    ["main.tf", "a.tf", "modules/m/main.tf", "modules/m/x.tf", "terraform.d/p", "v.auto.tfvars.json"]
)
CONTENTS = st.sampled_from([b"", b"1", b"2"])
TREES = st.builds(FileTree, st.dictionaries(NAMES, CONTENTS), st.frozensets(NAMES))
EDITS = st.dictionaries(NAMES, st.sampled_from([b"edit one", b"edit two"]), max_size=2)


def on_disk(root: Path) -> dict[str, bytes]:
    found = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    return {n: d for n, d in found.items() if n != MANIFEST and not n.startswith(f"{ASIDE}/")}


@given(st.lists(st.tuples(TREES, EDITS), min_size=1, max_size=4))
@settings(deadline=None, max_examples=60)
def test_a_root_holds_the_last_tree_and_every_edit_is_kept_aside(
    steps: list[tuple[FileTree, dict[str, bytes]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        edits: dict[str, bytes] = {}
        for tree, following in steps:
            aside = write_tree(root, tree)
            assert on_disk(root) == dict(tree.files)
            assert set(aside) == set(edits)
            for name, data in edits.items():
                assert (root / ASIDE / name).read_bytes() == data
            for name, data in following.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(data)
            edits = following


DIGESTS = st.text("0123456789abcdef", max_size=8).map(lambda text: f"sha256:{text}")


@given(before=DIGESTS, first=DIGESTS, second=DIGESTS, selection=DIGESTS)
def test_an_approval_does_not_depend_on_approvals(
    before: str, first: str, second: str, selection: str
) -> None:
    def plan(approval: str) -> TfPlan:
        was = {"baseline": "b", "selection": "s", "approval": before}
        now = {"baseline": "b", "selection": selection, "approval": approval}
        change = ResourceChange(
            address="terraform_data.akotf", type="terraform_data", actions=("no-op",) if was == now else ("update",),
            before={"input": was, "output": was}, after={"input": now},
        )  # fmt: skip
        return TfPlan(root="/r", changes=(change,))

    # the planned `output` is known when nothing changes and unknown else: only a real change makes a difference
    made = {deploy.approval_for(plan(approval), "t", "s").changes for approval in (first, second)}
    assert len(made) == 1


@given(st.text(), st.text())
def test_an_approval_can_be_put_into_a_tree_and_taken_out(first: str, second: str) -> None:
    values = {"digests": {"approval": ""}, "labels": {"a": first}}
    plain = FileTree(
        {"akotf.auto.tfvars.json": (json.dumps(values, indent=2, sort_keys=True) + "\n").encode()}
    )
    carried = deploy.with_approval(deploy.with_approval(plain, first), second)
    assert json.loads(carried.files["akotf.auto.tfvars.json"])["digests"]["approval"] == second
    assert deploy.with_approval(carried, "").digest() == plain.digest()
