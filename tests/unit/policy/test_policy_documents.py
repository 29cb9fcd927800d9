"""What rules see of the desired state, the selection and Terraform's plan; the shipped rules on them."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from akotf.model.config import DesiredState, EnvironmentSpec, RunSpec, ScopeKind, TemplateRef
from akotf.model.finding import Position
from akotf.model.plan import Candidate, Chosen, Offer, PlanResult, Selection
from akotf.model.policy import Stage
from akotf.model.profile import DeviceProfile
from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.model.units import Estimate
from akotf.policy.documents import config_document, selection_document, tfplan_document
from akotf.policy.engine import judge
from akotf.policy.rules import load_rules

SHIPPED = Path(__file__).parents[3] / "policies"
TFPLAN = {"environment": "demo", "destroy": False, "live_runs": []}
DIGEST = "docker.io/pytorch/pytorch@sha256:" + "0f" * 32


def state(image=DIGEST, budget="25 USD", labels=None, wall_time="1h"):
    environment = EnvironmentSpec.model_validate(
        {
            "version": 1, "name": "demo", "owner": "ann", "template": "gpu-training@1.0.0",
            "labels": {"cost-center": "x", "stage": "dev"} if labels is None else labels,
            "objective": {"budget": budget},
            "scopes": {
                "campus": {"kind": "hpc", "price": "0.60 USD/gpu/h"},
                "aws": {"kind": "cloud", "provider": "aws", "regions": ["us-east-1"]},
            },
        }
    )  # fmt: skip
    run = RunSpec.model_validate(
        {
            "image": {"reference": image}, "command": ["python", "train.py"],
            "limits": {"nodes": 2, "gpus": 4, "memory": "1 GiB", "wall_time": wall_time},
            "checkpoint": {"interval_steps": 10},
            "workload": {
                "model": {"layers": 1, "hidden": 8, "heads": 1, "vocabulary": 9, "sequence": 8},
                "global_batch": 1, "steps": 1,
            },
        }
    )  # fmt: skip
    return DesiredState(
        environment=environment, template=TemplateRef(name="gpu-training", version="1.0.0", content="sha256:0"),
        parameters={}, run=run, folder=Path("/e"), template_folder=Path("/t"),
        positions={"objective": Position(file="akotf.yaml", line=5, column=1)},
    )  # fmt: skip


def estimate(value, unit):
    return Estimate(value=value, low=value / 2, high=value * 2, unit=unit, source="test")


def chosen(nodes=9, gpus=8, region="us-east-1"):
    device = DeviceProfile(name="H100-80GB", flops={}, bandwidth=estimate(1.0, "bytes/s"), memory=80 * 2**30)
    offer = Offer(
        id=f"aws/{region}/p5/spot", scope="aws", kind=ScopeKind.CLOUD, backend="cloud", placement=region,
        machine="p5.48xlarge", device=device, gpus=gpus, cpus=192, memory=2**41, max_nodes=64,
        price=Decimal("55.04"), price_source="book", queue_wait=estimate(0.0, "s"),
        provisioning=estimate(0.0, "s"), source="test",
    )  # fmt: skip
    candidate = Candidate(
        id="winner", scope="aws", offer=offer, nodes=nodes, processes=gpus, feasible=True,
        time=estimate(100.0, "s"), cost=estimate(20.0, "USD"),
    )  # fmt: skip
    plan = PlanResult(planner="1", inputs="sha256:0", candidates=(candidate,))
    return Chosen(
        plan=plan, selection=Selection(inputs="sha256:0", order=("winner",), winner="winner", losers=())
    )


def change(address, *actions):
    return ResourceChange(address=address, type="t", actions=actions, after_unknown={"id": True})


def denied(stage, document, objects, **options):
    judged = judge(stage, document, objects, load_rules([SHIPPED]), today=dt.date(2027, 1, 1), **options)
    return [(v.rule, v.object) for v in judged.denied]


def test_the_config_stage_sees_environment_scopes_and_run():
    document, objects = config_document(state())
    assert [(name, o["kind"], o["path"]) for name, o in objects] == [
        ("demo", "environment", ""),
        ("scope campus", "scope", "scopes.campus"),
        ("scope aws", "scope", "scopes.aws"),
        ("run", "run", "run"),
    ]
    environment, campus, aws, run = (o for _, o in objects)
    assert environment["objective"]["budget"] == {"amount": 25.0, "currency": "USD"}
    assert (campus["scope_kind"], campus["price"]["amount"]) == ("hpc", 0.6)
    assert (aws["regions"], aws["price"]) == (["us-east-1"], None)
    assert (run["gpus"], run["limits"]["wall_time"], run["limits"]["memory"]) == (
        8,
        3600.0,
        2**30,
    )  # 2 nodes x 4
    assert document["run"]["image"]["reference"] == DIGEST


@pytest.mark.parametrize(
    ("changes", "denies"),
    [
        ({}, []),
        ({"image": "pytorch:2.9"}, [("image-by-digest", "run")]),
        ({"budget": None}, [("budget-present", "demo")]),
        ({"labels": {"stage": "dev"}}, [("required-labels", "demo")]),
        ({"wall_time": 0}, [("wall-time-present", "run")]),
    ],
)
def test_the_shipped_config_rules_on_a_real_state(changes, denies):
    assert denied(Stage.CONFIG, *config_document(state(**changes))) == denies


def test_a_denial_says_where_it_was_written():
    wanted = state(budget=None)
    judged = judge(
        Stage.CONFIG, *config_document(wanted), load_rules([SHIPPED]), today=dt.date(2027, 1, 1),
        positions=wanted.positions | {"": Position(file="akotf.yaml", line=1, column=1)},
    )  # fmt: skip
    (verdict,) = judged.denied
    assert str(verdict.position) == "akotf.yaml:5:1"


def test_the_selection_counts_gpus_times_nodes():
    document, ((name, item),) = selection_document(state(), chosen(nodes=9, gpus=8))
    assert name == "winner"
    assert (item["gpus"], item["nodes"], item["gpus_per_node"]) == (72, 9, 8)
    assert (item["scope_kind"], item["provider"], item["region"], item["gpu"]) == (
        "cloud", "aws", "us-east-1", "H100-80GB",
    )  # fmt: skip
    assert (item["time"], item["cost"], item["price"]) == (
        {"value": 100.0, "low": 50.0, "high": 200.0},
        {"value": 20.0, "low": 10.0, "high": 40.0},
        55.04,
    )
    assert document["objective"]["budget"]["amount"] == 25.0


@pytest.mark.parametrize(
    ("choice", "denies"),
    [
        ({"nodes": 8}, []),
        ({"nodes": 9}, [("total-gpus", "winner")]),
        ({"nodes": 1, "region": "me-south-1"}, [("allowed-regions", "winner")]),
    ],
)
def test_the_shipped_selection_rules(choice, denies):
    assert denied(Stage.SELECTION, *selection_document(state(), chosen(**choice), others=0)) == denies


def test_the_tfplan_stage_sees_changes_and_totals():
    plan = TfPlan(
        root="/r",
        changes=(
            change("a", "create"), change("b", "update"), change("c", "delete", "create"), change("d", "delete"),
            change("e", "no-op"), change("f", "read"),
        ),
    )  # fmt: skip
    document, objects = tfplan_document(plan, {"environment": "demo"})
    assert [name for name, _ in objects] == ["a", "b", "c", "d", "plan"]
    # as Terraform counts it: a replacement is one to add and one to destroy
    assert objects[-1][1] == {"kind": "plan", "destroy": False, "creates": 2, "updates": 1, "destroys": 2}
    assert (document["environment"], document["destroy"], document["destroys"]) == ("demo", False, 2)
    assert objects[0][1]["after_unknown"] == {"id": True}


@pytest.mark.parametrize(
    ("count", "asked_for", "denies"), [(3, False, []), (4, False, [("max-destroys", "plan")]), (4, True, [])]
)
def test_many_destroys_are_denied_unless_asked_for(count, asked_for, denies):
    plan = TfPlan(root="/r", changes=tuple(change(f"r{n}", "delete") for n in range(count)))
    assert denied(Stage.TFPLAN, *tfplan_document(plan, {"destroy": asked_for, "live_runs": []})) == denies


def test_a_heal_that_replaces_is_denied():
    plan = TfPlan(root="/r", changes=(change("pool", "delete", "create"), change("baseline", "update")))
    assert denied(Stage.DRIFT, *tfplan_document(plan, {"destroy": False})) == [("heal-scope", "pool")]


def test_a_run_counts_the_gpus_it_takes_and_a_cloud_the_machines_it_gives():
    """4 GPUs a node of machines with 8: 2 nodes hold 8 of a cluster's GPUs, and all 16 of the cloud's machines."""
    cloud = chosen(nodes=2, gpus=8)
    offer = cloud.plan.candidates[0].offer.model_copy(update={"kind": ScopeKind.HPC, "scope": "campus"})
    candidate = cloud.plan.candidates[0].model_copy(update={"offer": offer, "scope": "campus"})
    cluster = cloud.model_copy(update={"plan": cloud.plan.model_copy(update={"candidates": (candidate,)})})
    counts = [selection_document(state(), found)[1][0][1]["gpus"] for found in (cloud, cluster)]
    assert counts == [16, 8]
