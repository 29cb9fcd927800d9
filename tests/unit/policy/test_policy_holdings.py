"""Over several environments: what an owner holds elsewhere; a rule explained on an environment's own documents."""

from dataclasses import replace
from decimal import Decimal

import pytest

from akotf.errors import PolicyDenied, UsageError
from akotf.model.config import Limits, ScopeKind
from akotf.model.layout import Layout
from akotf.model.plan import Offer
from akotf.model.profile import DeviceProfile
from akotf.model.run import Run, RunState
from akotf.model.units import Estimate
from akotf.pipeline.explaining import explain_on
from akotf.pipeline.holdings import gpus_elsewhere
from akotf.pipeline.planning import load
from akotf.run.registry import save_run
from akotf.store.objects import FolderObjects

ZERO = Estimate.exact(0.0, "s", "test")


def offer(kind, gpus):
    """A machine with eight GPUs, or so."""
    device = DeviceProfile(name="H100-80GB", flops={}, bandwidth=ZERO, memory=80 * 2**30)
    return Offer(
        id="o", scope="s", kind=kind, backend="b", placement="p", machine="m", device=device, gpus=gpus, cpus=8,
        memory=2**40, max_nodes=8, price=Decimal(1), price_source="t", queue_wait=ZERO, provisioning=ZERO, source="t",
    )  # fmt: skip


def runs(
    environment, owner, state=RunState.RUNNING, *, kind=ScopeKind.HPC, nodes=2, asks=4, has=8, name="r1"
):
    """A run on record, with the revision and the choice that were approved for it."""
    layout = Layout(environment)
    objects = FolderObjects(layout.objects)
    limits = Limits(nodes=nodes, gpus=asks, memory=2**30, wall_time=60.0).to_json()
    revision = objects.put({"environment": {"owner": owner}, "run": {"limits": limits}})
    candidate = {"id": "c", "nodes": nodes, "offer": offer(kind, has).to_json()}
    chosen = objects.put({"plan": {"candidates": [{"id": "other"}, candidate]}})
    run = Run(
        id=name, environment=environment.name, deployment="e/s/p", scope="s", backend="b", revision=revision,
        baseline="", candidate="c", inputs="", chosen=chosen, state=state, created_at="2026-11-30T00:00:00Z",
        directory=str(layout.run(name)),
    )  # fmt: skip
    return save_run(layout, run)


@pytest.fixture
def project(tmp_path):
    """Three environments beside each other."""
    for name in ("mine", "other", "third"):
        (tmp_path / name).mkdir()
    (tmp_path / "README.md").write_text("no environment")
    return tmp_path


def test_nothing_runs(project):
    assert gpus_elsewhere(project / "mine", "ann") == 0


def test_live_runs_of_the_owner_elsewhere_are_counted(project):
    runs(project / "mine", "ann")  # this environment's own is not elsewhere
    runs(project / "other", "ann")  # a cluster gives the 4 GPUs that each of the 2 nodes asks for
    runs(project / "other", "ann", RunState.SUCCEEDED, name="r0")
    runs(project / "third", "ann", kind=ScopeKind.CLOUD, name="r2")  # a cloud gives 2 whole machines of 8
    runs(project / "third", "bob", name="r3")
    assert gpus_elsewhere(project / "mine", "ann") == 2 * 4 + 2 * 8
    assert gpus_elsewhere(project / "mine", "bob") == 2 * 4
    assert gpus_elsewhere(project / "third", "ann") == 2 * 4 + 2 * 4


@pytest.mark.parametrize("state", [s for s in RunState if not s.final])
def test_a_run_that_waits_holds_what_it_will_take(project, state):
    runs(project / "other", "ann", state)
    assert gpus_elsewhere(project / "mine", "ann") == 8


def test_a_run_that_can_not_be_read_may_be_anybodys(project):
    run = runs(project / "other", "bob")
    layout = Layout(project / "other")
    (layout.run(run.id) / "run.json").write_text("{")
    assert gpus_elsewhere(project / "mine", "ann") is None


def test_a_run_whose_approval_is_gone_may_be_anybodys(project):
    run = runs(project / "other", "bob")
    save_run(Layout(project / "other"), run.model_copy(update={"chosen": "sha256:" + "0" * 64}))
    assert gpus_elsewhere(project / "mine", "ann") is None


def put_limit(world, most):
    """The shipped rule with another limit, as the project's own."""
    home = world.folder / "policies" / "owner-gpus"
    home.mkdir(parents=True)
    text = (
        "version: 1\nid: owner-gpus\ntitle: Few\nlevel: hard-mandatory\nstage: selection\nreads: [owner_gpus]\n"
        f"expr: object.owner_gpus <= {most}\nmessage: '{{owner_gpus}} GPUs'\nwhy: w\nremedy: r\n"
    )
    (home / "rule.yaml").write_text(text)


@pytest.mark.parametrize(("most", "denied"), [(8, False), (7, True)])
def test_the_pass_counts_the_owners_other_runs(world, most, denied):
    owner = load(world.session).environment.owner
    other = world.folder.parent / "another-environment"
    other.mkdir()
    runs(other, owner)
    put_limit(world, most)
    if denied:
        with pytest.raises(PolicyDenied, match="owner-gpus"):
            world.up()
    else:
        assert world.up() is not None


def rule(world, name):
    (found,) = [r for r in world.session.rules() if r.id == name]
    return found


def test_a_config_rule_is_explained_with_what_it_read_and_where(world):
    (row,) = explain_on(world.session, rule(world, "budget-present"))
    assert row.verdict.object == "trial"
    (read,) = row.reads
    assert read.path == "objective"
    assert read.position is not None
    assert read.position.file.endswith("akotf.yaml")


def test_a_selection_rule_is_explained_on_the_last_plan(world):
    with pytest.raises(UsageError, match="no plan has made one"):
        explain_on(world.session, rule(world, "total-gpus"))
    world.up()
    (row,) = explain_on(world.session, rule(world, "total-gpus"))
    assert [(r.path, r.value) for r in row.reads] == [("nodes", "1"), ("gpus_per_node", "0"), ("gpus", "0")]


def test_a_tfplan_rule_is_explained_on_the_plan_that_is_given(world):
    wanted = rule(world, "encryption-at-rest")
    with pytest.raises(UsageError, match="judges Terraform's plan"):
        explain_on(world.session, wanted)
    plan = {
        "format_version": "1.2", "terraform_version": "1.11.4",
        "resource_changes": [
            {
                "address": f"aws_ebs_volume.{name}", "type": "aws_ebs_volume",
                "change": {"actions": ["create"], "before": None, "after": after, "after_unknown": unknown},
            }
            for name, after, unknown in (
                ("clear", {"encrypted": False}, {}), ("closed", {"encrypted": True}, {}), ("unsaid", {}, {"encrypted": True}),
            )
        ],
    }  # fmt: skip
    rows = {row.verdict.object: row for row in explain_on(world.session, wanted, plan)}
    assert {name: row.verdict.outcome.value for name, row in rows.items()} == {
        "aws_ebs_volume.clear": "fail", "aws_ebs_volume.closed": "pass", "aws_ebs_volume.unsaid": "unknown",
    }  # fmt: skip
    assert rows["aws_ebs_volume.unsaid"].gaps == ("after.encrypted is known only after apply",)


def test_explaining_is_not_put_on_record(world):
    explain_on(replace(world.session), rule(world, "budget-present"))
    assert list(world.journal.entries()) == []
