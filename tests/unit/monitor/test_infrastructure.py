"""Terraform's plan JSON: what is nobody's change, and what always is drift (both lists from real configurations)."""

from __future__ import annotations

from typing import Any

import pytest

from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.monitor import detect


def found(there: Any, approved: Any, *, actions: tuple[str, ...] = ("update",), **more: Any) -> list[Any]:
    change = ResourceChange(
        address="aws_x.y", type="aws_x", actions=actions, before=there, after=approved, **more
    )
    return detect.infrastructure(TfPlan(root="/r", changes=(change,)), node="r", baseline_address="b.b")


ASG = {"min_size": 1, "max_size": 8}
QUIET: dict[str, tuple[Any, Any]] = {
    "list order": ({"subnets": ["b", "a"]}, {"subnets": ["a", "b"]}),
    "list order inside": (
        {"policy": [{"actions": ["x", "y"]}, {"actions": ["z"]}]}, {"policy": [{"actions": ["z"]}, {"actions": ["y", "x"]}]},
    ),
    "aws tags": ({"tags": {"owner": "ml", "aws:autoscaling:groupName": "g"}}, {"tags": {"owner": "ml"}}),
    "patch manager": ({"tags": {"Patch Group": "a"}}, {"tags": None}),
    "tags_all by the provider": ({"tags_all": {"aws:x": "1", "a": "1"}}, {"tags_all": {"a": "1"}}),
    "desired capacity": ({**ASG, "desired_capacity": 6}, {**ASG, "desired_capacity": 3}),
    "desired size in a block": (
        {"scaling_config": [{**ASG, "desired_size": 6}]}, {"scaling_config": [{**ASG, "desired_size": 3}]},
    ),
    "node count beside its bounds": (
        {"node_count": 5, "autoscaling": [{"min_node_count": 0, "max_node_count": 9}]},
        {"node_count": 1, "autoscaling": [{"min_node_count": 0, "max_node_count": 9}]},
    ),
    "initial node count": ({"initial_node_count": 3}, {"initial_node_count": 1}),
    "labels of the cluster": ({"labels": {"team": "ml", "goog-gke-node": ""}}, {"labels": {"team": "ml"}}),
    "release channel": (
        {"min_master_version": "1.31", "release_channel": [{"channel": "REGULAR"}]},
        {"min_master_version": "1.30", "release_channel": [{"channel": "REGULAR"}]},
    ),
    "ssh keys": ({"metadata": {"a": "1", "ssh-keys": "k"}}, {"metadata": {"a": "1"}}),
    "local ssd": ({"ephemeral_storage_local_ssd_config": [{"count": 2}]}, {"ephemeral_storage_local_ssd_config": []}),
}  # fmt: skip


@pytest.mark.parametrize("name", QUIET)
def test_what_somebody_else_writes_is_no_drift(name: str) -> None:
    assert found(*QUIET[name]) == []


LOUD: dict[str, tuple[Any, Any, list[str]]] = {
    "bounds": ({**ASG, "desired_size": 3}, {"min_size": 1, "max_size": 4, "desired_size": 3}, ["max_size"]),
    "desired beyond its bounds": ({**ASG, "desired_size": 12}, {**ASG, "desired_size": 3}, ["desired_size"]),
    "desired without bounds": ({"target_size": 6}, {"target_size": 3}, ["target_size"]),
    "a rule added": (
        {"ingress": [{"port": 443, "cidr": ["10.0.0.0/8"]}, {"port": 22, "cidr": ["0.0.0.0/0"]}]},
        {"ingress": [{"port": 443, "cidr": ["10.0.0.0/8"]}]}, ["ingress"],
    ),
    "a rule opened": (
        {"ingress": [{"port": 22, "cidr": ["0.0.0.0/0"]}]}, {"ingress": [{"port": 22, "cidr": ["10.0.0.0/8"]}]}, ["ingress"],
    ),
    "one of two equal entries": ({"ips": ["a", "b", "b"]}, {"ips": ["a", "a", "b"]}, ["ips"]),
    "image": ({"ami": "ami-2"}, {"ami": "ami-1"}, ["ami"]),
    "user data": ({"user_data": "b3"}, {"user_data": "a1"}, ["user_data"]),
    "reservation": ({"capacity_reservation_id": None}, {"capacity_reservation_id": "cr-1"}, ["capacity_reservation_id"]),
    "public address": ({"associate_public_ip_address": True}, {"associate_public_ip_address": False}, ["associate_public_ip_address"]),
    "encryption off": ({"ebs": [{"encrypted": False}]}, {"ebs": [{"encrypted": True}]}, ["ebs"]),
    "required tag removed": (
        {"tags": {"aws:x": "1"}, "tags_all": {"aws:x": "1"}},
        {"tags": {"cost-center": "ml"}, "tags_all": {"cost-center": "ml"}}, ["tags"],
    ),
    "default tag removed": ({"tags": {}, "tags_all": {}}, {"tags": {}, "tags_all": {"env": "prod"}}, ["tags_all"]),
    "a team's label": ({"labels": {"team": "other"}}, {"labels": {"team": "ml"}}, ["labels"]),
    "version without a channel": ({"version": "1.31"}, {"version": "1.30"}, ["version"]),
    "metadata": ({"metadata": {"startup": "x", "ssh-keys": "k"}}, {"metadata": {"startup": "y"}}, ["metadata"]),
}  # fmt: skip


@pytest.mark.parametrize("name", LOUD)
def test_what_always_is_drift_is_told_by_its_attributes(name: str) -> None:
    there, approved, names = LOUD[name]
    (drift,) = found(there, approved)
    assert (list(drift.approved), list(drift.observed)) == (names, names)
    assert drift.approved == {n: approved.get(n) for n in names}
    assert not drift.disruptive


def test_noise_beside_drift_is_left_out_of_the_evidence() -> None:
    (drift,) = found({**ASG, "desired_size": 6, "ami": "b"}, {**ASG, "desired_size": 3, "ami": "a"})
    assert (drift.approved, drift.observed) == ({"ami": "a"}, {"ami": "b"})


def test_reads_are_no_drift_and_what_is_gone_is() -> None:
    assert found(None, {"a": 1}, actions=("read",)) == []
    assert found({"a": 1}, {"a": 1}, actions=("no-op",)) == []
    (gone,) = found(None, {"a": 1}, actions=("create",))
    assert (gone.approved, gone.observed) == ("present", None)


def test_what_only_a_replacement_mends_is_disruptive() -> None:
    (drift,) = found({"ami": "b"}, {"ami": "a"}, actions=("delete", "create"))
    assert (drift.disruptive, drift.observed) == (True, {"ami": "b"})
    # even when nothing that differs is told: a replacement is never quiet
    (bare,) = found({"desired_size": 2, **ASG}, {"desired_size": 3, **ASG}, actions=("delete", "create"))
    assert bare.disruptive
    (extra,) = found({"ami": "b"}, None, actions=("delete",))
    assert (extra.disruptive, extra.approved, extra.observed) == (True, None, "present")


def test_values_that_are_not_known_yet_are_drift_and_sensitive_ones_are_not_told() -> None:
    (unknown,) = found({"ip": "1"}, {}, after_unknown={"ip": True})
    assert unknown.observed == {"ip": "1"}
    (secret,) = found({"token": "tiger"}, {"token": "lion"}, sensitive=("token",))
    assert (secret.approved, secret.observed) == ({"token": "(sensitive)"},) * 2
    # tags_all that Terraform will compute again says nothing of its own
    assert found({"tags_all": {"a": "1"}}, {}, after_unknown={"tags_all": True}) == []
