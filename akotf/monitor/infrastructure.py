"""Infrastructure drift: what `terraform plan` would change, judged from the plan JSON and never from an exit code.

No drift: reads, no-ops, another order of a list, what providers and clusters write by themselves (`aws:*` tags, labels of
Kubernetes, `tags_all` that only repeats `tags`), and counts that an autoscaler moves between its own bounds. Always drift:
whatever else differs, so bounds, images, user data, rules of a security group, reservations, public addresses, encryption,
required tags, and things that are gone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from akotf.model.drift import Drift, DriftClass
from akotf.model.tfplan import ResourceChange, TfPlan

#: Counts that an autoscaler owns, and the bounds between which they may move.
AUTOSCALED = frozenset({
    "desired_size", "desired_capacity", "desired_count", "target_size", "node_count", "current_size", "size",
})  # fmt: skip
BOUNDS = (
    ("min_size", "max_size"), ("min_node_count", "max_node_count"), ("min_count", "max_count"),
    ("min_capacity", "max_capacity"), ("minimum", "maximum"), ("min", "max"),
)  # fmt: skip

#: Attributes that somebody else writes for good.
FOREIGN = frozenset({
    "initial_node_count", "ephemeral_storage_local_ssd_config", "local_nvme_ssd_block_config", "terraform_labels",
    "effective_labels", "effective_annotations",
})  # fmt: skip

#: Versions that a release channel moves.
CHANNELLED = frozenset({"min_master_version", "node_version", "version", "kubernetes_version"})

#: Maps of tags and labels, and the prefixes of the keys in them that providers and clusters write.
TAGS = frozenset({"tags", "tags_all", "labels", "node_labels", "resource_labels", "annotations"})
PROVIDERS = (
    "aws:", "kubernetes.io/", "k8s.io/", "node.kubernetes.io/", "topology.kubernetes.io/", "beta.kubernetes.io/",
    "eks.amazonaws.com/", "cloud.google.com/", "goog-", "kubernetes.azure.com/", "hidden-", "nebius.com/", "Patch Group",
    "PatchGroup",
)  # fmt: skip

_ABSENT = object()
_MASKED = "(sensitive)"


def infrastructure(plan: TfPlan, *, node: str, baseline_address: str) -> list[Drift]:
    """Drift of each resource whose approved and present values differ, with the attributes that do.

    The baseline resource is compared field by field through the agent; here it counts only when it is gone.
    """
    drifts = []
    for change in plan.changes:
        if not change.is_change or change.type == "terraform_data":
            continue
        gone = change.before is None
        if change.address == baseline_address and not gone:
            continue
        names = () if gone or change.after is None else differing(change)
        if not gone and change.after is not None and not names and not change.destroys:
            continue
        drifts.append(
            Drift(
                kind=DriftClass.INFRASTRUCTURE, node=node, field=change.address,
                approved="present" if gone else _values(change, change.after, names),
                observed=None if gone else _values(change, change.before, names) or "present",
                source="terraform", address=change.address, disruptive=change.destroys,
            )
        )  # fmt: skip
    return drifts


def differing(change: ResourceChange) -> tuple[str, ...]:
    """Attributes that really differ between what is there (`before`) and what was approved (`after`)."""
    before, after = change.before or {}, change.after or {}
    names = []
    for name in change.changed_attributes():
        unknown = bool(change.after_unknown.get(name))
        if name in FOREIGN or _moved_by_channel(name, after):
            continue
        if name == "tags_all" and (unknown or _repeats(before, after)):
            continue
        if unknown or not _same(name, before.get(name, _ABSENT), after.get(name, _ABSENT), after):
            names.append(name)
    return tuple(names)


def _repeats(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether `tags_all` differs by nothing that `tags` does not say already."""
    mine = _tag_changes(before.get("tags"), after.get("tags"))
    return _tag_changes(before.get("tags_all"), after.get("tags_all")).items() <= mine.items()


def _tag_changes(before: Any, after: Any) -> dict[str, tuple[Any, Any]]:
    old, new = _own_tags(before), _own_tags(after)
    return {
        key: (old.get(key), new.get(key)) for key in old.keys() | new.keys() if old.get(key) != new.get(key)
    }


def _own_tags(tags: Any) -> dict[str, Any]:
    return {k: v for k, v in (tags or {}).items() if not str(k).startswith(PROVIDERS)}


def _moved_by_channel(name: str, after: Mapping[str, Any]) -> bool:
    """Whether a release channel owns the version: the approved side names one."""
    if name not in CHANNELLED:
        return False
    channel = after.get("release_channel")
    entries = channel if isinstance(channel, list) else [channel]
    names = [e.get("channel") if isinstance(e, dict) else e for e in entries]
    return any(n not in (None, "", "UNSPECIFIED") for n in names)


def _same(name: str, before: Any, after: Any, holder: Mapping[str, Any]) -> bool:
    """Equal but for what is nobody's change; `holder` is the approved object that has the attribute."""
    if before == after:
        return True
    if name in AUTOSCALED:
        return _inside(before, holder)
    if name in TAGS and _is_map(before) and _is_map(after):
        return not _tag_changes(_map(before), _map(after))
    if name == "metadata" and isinstance(before, dict) and isinstance(after, dict):
        before, after = ({k: v for k, v in side.items() if k != "ssh-keys"} for side in (before, after))
    if isinstance(before, dict) and isinstance(after, dict):
        keys = (before.keys() | after.keys()) - FOREIGN
        return all(_same(key, before.get(key, _ABSENT), after.get(key, _ABSENT), after) for key in keys)
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        if len(before) == 1:  # a block
            return _same(name, before[0], after[0], holder)
        return sorted(map(_canonical, before)) == sorted(map(_canonical, after))
    return False


def _inside(count: Any, holder: Mapping[str, Any]) -> bool:
    """Whether the count that is there lies in the approved bounds: beside it, or in a block beside it."""
    blocks = [v[0] for v in holder.values() if isinstance(v, list) and len(v) == 1 and isinstance(v[0], dict)]
    for place in (holder, *blocks):
        for low, high in BOUNDS:
            if all(map(_number, (count, place.get(low), place.get(high)))):
                return bool(place[low] <= count <= place[high])
    return False


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_map(value: Any) -> bool:
    return value is _ABSENT or value is None or isinstance(value, dict)


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _canonical(value: Any) -> str:
    """A text that is equal for values equal but for the order of their lists."""
    if isinstance(value, list):
        return "[" + ",".join(sorted(map(_canonical, value))) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{_canonical(v)}" for k, v in sorted(value.items())) + "}"
    return json.dumps(value, sort_keys=True)


def _values(change: ResourceChange, side: Mapping[str, Any] | None, names: tuple[str, ...]) -> Any:
    if side is None:
        return None
    return {name: _MASKED if name in change.sensitive else side.get(name) for name in names}
