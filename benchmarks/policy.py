"""How long 20 rules take over a Terraform plan of 236 KB, and over a second environment of the same process.

The rules are those that akotf ships for stage tfplan, and copies of them under other names up to 20: a copy costs what
another rule of its length does. The plan is of AWS resources in the shapes of the AWS provider 5.100.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import PROJECT, QUICKSTART, report, summary

from akotf.isolation import run_limited
from akotf.load.environment import load
from akotf.model.policy import Rule, Stage
from akotf.policy.documents import config_document, tfplan_document
from akotf.policy.engine import judge
from akotf.policy.rules import load_rules
from akotf.terraform.planfile import read_plan

ROUNDS = 20
SIZE = 236_000  # bytes of the plan's JSON
RULES = 20
TODAY = dt.date(2026, 11, 30)
FACTS = {"environment": "bench", "destroy": False, "live_runs": []}


def change(number: int) -> dict[str, Any]:
    """A created resource; instances, launch templates, groups, volumes and policies in turn."""
    tags = {"cost-center": "demo", "owner": "ml-platform", "stage": "dev", "Name": f"node-{number}"}
    kinds: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "aws_instance": (
            {
                "ami": "ami-0123456789abcdef0", "associate_public_ip_address": False, "instance_type": "p4d.24xlarge",
                "metadata_options": [{"http_endpoint": "enabled", "http_tokens": "required"}],
                "root_block_device": [{"encrypted": True, "volume_size": 500}], "ebs_block_device": [],
                "user_data": "#!/bin/sh\n" + "echo a line of the node's start script\n" * 20,
                "tags": tags, "tags_all": tags,
            },
            {"arn": True, "id": True, "private_ip": True, "root_block_device": [{"volume_id": True}]},
        ),
        "aws_launch_template": (
            {
                "image_id": "ami-0123456789abcdef0", "instance_type": "p5.48xlarge",
                "metadata_options": [{"http_tokens": "required"}],
                "block_device_mappings": [{"device_name": "/dev/sda1", "ebs": [{"encrypted": "true"}]}],
                "network_interfaces": [{"associate_public_ip_address": "false"}], "tags": None, "tags_all": tags,
            },
            {"arn": True, "id": True, "latest_version": True},
        ),
        "aws_security_group": (
            {
                "name": f"nodes-{number}", "tags": None, "tags_all": tags,
                "ingress": [
                    {"cidr_blocks": [f"10.{n}.0.0/16"], "ipv6_cidr_blocks": [], "from_port": n, "protocol": "tcp"}
                    for n in range(8)
                ],
            },
            {"arn": True, "id": True, "ingress": [{"cidr_blocks": [False]}] * 8},
        ),
        "aws_ebs_volume": ({"encrypted": True, "size": 100, "tags": None, "tags_all": tags}, {"id": True}),
        "aws_iam_policy": (
            {
                "tags": None, "tags_all": tags,
                "policy": json.dumps({"Statement": [
                    {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": f"arn:aws:s3:::data-{n}/*"}
                    for n in range(6)
                ]}),
            },
            {"arn": True, "id": True},
        ),
    }  # fmt: skip
    kind = list(kinds)[number % len(kinds)]
    after, unknown = kinds[kind]
    return {
        "address": f"module.nodes.{kind}.r{number}", "mode": "managed", "type": kind, "name": f"r{number}",
        "provider_name": "registry.terraform.io/hashicorp/aws",
        "change": {"actions": ["create"], "before": None, "after": after, "after_unknown": unknown,
                   "before_sensitive": False, "after_sensitive": {}},
    }  # fmt: skip


def plan_json() -> bytes:
    """As many resources as fill the size."""
    document: dict[str, Any] = {
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "resource_changes": [],
    }
    size, number = len(json.dumps(document)), 0
    while size < SIZE:
        row = change(number)
        document["resource_changes"].append(row)
        size, number = size + len(json.dumps(row)) + 2, number + 1
    return json.dumps(document).encode()


def twenty(rules: tuple[Rule, ...]) -> list[Rule]:
    """The shipped rules of stage tfplan, and copies up to 20."""
    shipped = [rule for rule in rules if rule.stage is Stage.TFPLAN]
    copies = [rule.model_copy(update={"id": f"{rule.id}-copy"}) for rule in shipped]
    return (shipped + copies)[:RULES]


def timed(work: Callable[[], Any], rounds: int = ROUNDS) -> list[float]:
    """Seconds of each call, after one that warms up."""
    work()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return times


def main() -> None:
    """Median of twenty each."""
    data = plan_json()
    shipped = load_rules([PROJECT / "policies"])
    rules = twenty(shipped)
    plan = read_plan(json.loads(data), root=Path(), path=Path(), destroy=False, targets=())
    document, objects = tfplan_document(plan, FACTS)
    judgement = judge(Stage.TFPLAN, document, objects, rules, today=TODAY)
    state = load(QUICKSTART, catalogues=(PROJECT / "iac",))

    def policy() -> None:
        judge(Stage.TFPLAN, *tfplan_document(plan, FACTS), rules, today=TODAY)

    def config() -> None:
        judge(Stage.CONFIG, *config_document(state), shipped, today=TODAY)

    times = {
        "policy": timed(policy),
        "of_it_document": timed(lambda: tfplan_document(plan, FACTS)),
        "of_it_empty_child": timed(lambda: run_limited(len, ((),))),
        "config_stage": timed(config),
    }
    figures = {name: summary(values) for name, values in times.items()}
    report(
        "policy",
        {
            "plan_bytes": len(data),
            "resources": len(plan.changes),
            "rules": {"shipped": sum(not r.id.endswith("-copy") for r in rules), "all": len(rules)},
            "verdicts": len(judgement.verdicts),
            "denied": len(judgement.denied),
            "seconds": figures,
        },
        {"policy": (figures["policy"]["median"], 0.1)},
    )


if __name__ == "__main__":
    main()
