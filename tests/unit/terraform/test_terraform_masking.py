"""The plan's JSON as it may be passed on: real plans, searched for the values that must not be there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from akotf.terraform.masking import MASK, masked
from akotf.terraform.runner import TerraformRunner

CANARY = "canary-5f1d"
ROOT = """
variable "token" {
  type      = string
  sensitive = true
}
variable "size" {
  default = 3
}
module "inner" {
  source = "./inner"
  token  = var.token
}
resource "terraform_data" "open" {
  input = { size = var.size, words = ["a", var.token], nested = { token = var.token, plain = "seen" } }
}
output "token" {
  value     = "${var.token}-output"
  sensitive = true
}
output "size" {
  value = var.size
}
"""
INNER = """
variable "token" {}
resource "terraform_data" "inner" {
  input = { token = var.token }
}
"""


@pytest.mark.terraform
def test_no_sensitive_value_is_left_in_a_real_plan(
    runner: TerraformRunner, root_of: Callable[..., Path]
) -> None:
    folder = root_of(ROOT)
    (folder / "inner").mkdir()
    (folder / "inner" / "main.tf").write_text(INNER)
    values = folder / "token.auto.tfvars.json"
    values.write_text(json.dumps({"token": f"{CANARY}-one"}))
    runner.init(folder)
    first = runner.plan(folder)
    assert CANARY not in json.dumps(first.document)
    changed = {row["address"]: row["change"] for row in first.document["resource_changes"]}
    after = changed["terraform_data.open"]["after"]["input"]
    assert after == {"size": 3, "words": ["a", MASK], "nested": {"token": MASK, "plain": "seen"}}
    assert first.document["planned_values"]["outputs"]["size"]["value"] == 3
    assert first.document["variables"] == {"token": {"value": MASK}, "size": {"value": 3}}
    assert "document" not in first.to_json()
    runner.apply(first)
    runner.discard(first)

    values.write_text(json.dumps({"token": f"{CANARY}-two"}))
    second = runner.plan(folder)
    runner.discard(second)
    assert f"{CANARY}-two" not in json.dumps(second.document)
    changed = {row["address"]: row["change"] for row in second.document["resource_changes"]}
    # Terraform itself does not mark what a provider computes of a sensitive value (`output`): only inputs are hidden.
    assert changed["module.inner.terraform_data.inner"]["before"]["input"] == {"token": MASK}


def test_marks_of_every_shape() -> None:
    """Marks have the shape of the value, or are true for all of it (Terraform's JSON output format)."""
    change = {
        "before": None, "before_sensitive": True,
        "after": {"a": {"b": [1, 2]}, "c": [{"d": 3}], "e": "f"},
        "after_sensitive": {"a": {"b": [False, True]}, "c": True, "z": True},
    }  # fmt: skip
    found = masked({"resource_changes": [{"address": "x.y", "change": change}]})["resource_changes"][0][
        "change"
    ]
    assert found["before"] is None
    assert found["after"] == {"a": {"b": [1, MASK]}, "c": MASK, "e": "f"}
