"""Policy in the pass: on record, rechecked on what was made, soft rules accepted by a named person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from akotf.errors import PolicyDenied
from akotf.pipeline.provisioning import up

POOL = "module.local_gpu.akotf_local_pool.this"
RULE = {
    "version": 1,
    "id": "no-cpu-zero",
    "title": "CPU 0 is the system's",
    "level": "hard-mandatory",
    "stage": "tfplan",
    "match": "object.kind == 'resource' && object.type == 'akotf_local_pool'",
    "reads": ["after.cpu_slots"],
    "expr": "!(0 in object.after.cpu_slots)",
    "message": "{address} takes CPU 0",
    "why": "interrupts are served there",
    "remedy": "ask for fewer CPUs",
    "unknown": "recheck",
}


def write_rule(world: Any, **changes: Any) -> None:
    folder = world.folder / "policies" / "no-cpu-zero"
    folder.mkdir(parents=True)
    (folder / "rule.yaml").write_text(yaml.safe_dump({**RULE, **changes}))


def plan_with_unknown_slots(world: Any, make_change: Any) -> None:
    pool = make_change(POOL, "create", after={"cpus": 2})
    world.terraform.planned[str(world.root)] = (
        pool.model_copy(update={"after_unknown": {"cpu_slots": True}}),
    )


def leased(world: Any, slots: list[int]) -> None:
    resource = {"address": POOL, "values": {"cpus": 2, "cpu_slots": slots}}
    module = {"child_modules": [{"resources": [resource]}]}
    world.terraform.state = lambda root: {"values": {"root_module": module}}


def test_what_the_plan_did_not_know_is_judged_before_a_run_is_submitted(world: Any, make_change: Any) -> None:
    write_rule(world)
    plan_with_unknown_slots(world, make_change)
    leased(world, [0, 1])
    with pytest.raises(PolicyDenied, match="no-cpu-zero"):
        world.up()
    assert len(world.terraform.applied) == 1  # it could be known only then
    assert world.backend.started == {}


def test_what_is_right_when_it_is_known_runs(world: Any, make_change: Any) -> None:
    write_rule(world)
    plan_with_unknown_slots(world, make_change)
    leased(world, [1, 2])
    assert world.up() is not None


def test_what_is_not_known_even_then_runs_nothing(world: Any, make_change: Any) -> None:
    write_rule(world)
    plan_with_unknown_slots(world, make_change)
    world.terraform.state = lambda root: {
        "values": {"root_module": {"resources": [{"address": POOL, "values": {"cpus": 2}}]}}
    }
    with pytest.raises(PolicyDenied, match="no-cpu-zero"):
        world.up()
    assert world.backend.started == {}


def test_what_turns_out_to_be_sensitive_is_in_no_message(world: Any, make_change: Any) -> None:
    write_rule(world, message="{address} takes {after.cpu_slots}")
    plan_with_unknown_slots(world, make_change)
    values = {"cpus": 2, "cpu_slots": [0, 4711]}
    resource = {"address": POOL, "values": values, "sensitive_values": {"cpu_slots": [True, True]}}
    world.terraform.state = lambda root: {"values": {"root_module": {"resources": [resource]}}}
    with pytest.raises(PolicyDenied) as caught:
        world.up()
    (verdict,) = caught.value.findings
    assert verdict.message == f"{POOL} takes (sensitive)"


def test_every_judgement_is_on_record_with_what_did_not_pass(world: Any) -> None:
    world.edit("budget: 10 USD", "budget: 0 USD")
    with pytest.raises(PolicyDenied):
        world.up()
    (entry,) = world.journal.entries(kind="policy.judged")
    assert entry.body["stage"] == "config"
    assert entry.body["denied"] is True
    assert [(v["rule"], v["outcome"]) for v in entry.body["others"]] == [("budget-present", "fail")]


def test_a_soft_rule_denies_until_somebody_accepts_it_by_name(world: Any) -> None:
    world.edit("  cost-center: my-team\n", "")
    with pytest.raises(PolicyDenied, match="required-labels"):
        world.up()
    accepted = replace(world.session, policy_approver="grace")
    assert up(accepted, approve=world.approve, planner=world.plan) is not None
    judged = [e.body for e in world.journal.entries(kind="policy.judged") if e.body["stage"] == "config"]
    assert [body["denied"] for body in judged] == [True, False]
    assert "grace" in judged[1]["others"][0]["waiver"]


def test_a_hard_rule_is_accepted_by_nobody(world: Any) -> None:
    world.edit("budget: 10 USD", "budget: 0 USD")
    with pytest.raises(PolicyDenied, match="budget-present"):
        up(replace(world.session, policy_approver="grace"), approve=world.approve, planner=world.plan)
