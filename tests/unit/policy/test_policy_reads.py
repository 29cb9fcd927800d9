"""Paths with lists, maps and what may be missing; each on the shapes of `terraform show -json`."""

import pytest

from akotf.policy.parts import named_part
from akotf.policy.reads import read

GROUP = {
    "after": {
        "ingress": [
            {"cidr_blocks": ["10.0.0.0/8", "10.1.0.0/16"], "self": False},
            {"cidr_blocks": [], "self": True},
        ],
        "tags_all": {"owner": "ann", "stage": "dev"},
        "kms": None,
    },
    "after_unknown": {"id": True, "ingress": [{"cidr_blocks": [False, False]}, {"cidr_blocks": []}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("after.ingress[].cidr_blocks[]", {"after.ingress[0].cidr_blocks[0]": "10.0.0.0/8", "after.ingress[0].cidr_blocks[1]": "10.1.0.0/16"}),
        ("after.ingress[].self", {"after.ingress[0].self": False, "after.ingress[1].self": True}),
        ("after.ingress.1.self", {"after.ingress.1.self": True}),
        ("after.tags_all.*", {"after.tags_all.owner": "ann", "after.tags_all.stage": "dev"}),
        ("after.kms?", {}),
        ("after.nothing?[].deeper", {}),
        ("input.runs[]", {"input.runs[0]": "r1"}),
    ],
)  # fmt: skip
def test_what_a_path_finds(path, found):
    reading = read(GROUP, (path,), {"runs": ["r1"]})
    assert dict(reading.found) == found
    assert reading.gaps == []


@pytest.mark.parametrize(
    ("path", "gap"),
    [
        ("after.kms", "after.kms is null"),
        ("after.nothing[]", "after.nothing is absent"),
        ("after.tags_all[]", "after.tags_all is no list"),
        ("after.ingress[].from_port", "after.ingress[0].from_port is absent"),
        ("after.id", "after.id is known only after apply"),
        ("after.id?", "after.id is known only after apply"),  # missing is allowed, unknown never is
        ("after.ingress.*", "after.ingress is no map"),
        ("input.other", "input.other is absent"),
        ("input", "input is no path"),
        ("after..x", "after..x is no path"),
        ("", " is no path"),
    ],
)
def test_what_a_path_can_not_find(path, gap):
    assert read(GROUP, (path,), {}).gaps[0] == gap


# Terraform marks unknown values in the shape of the value, with true anywhere on the way.
@pytest.mark.parametrize(
    ("after", "marks", "gap"),
    [
        ({}, {"ingress": True}, "after.ingress is known only after apply"),
        ({"ingress": [{}]}, {"ingress": [{"cidr_blocks": True}]}, "after.ingress[0].cidr_blocks is known only after apply"),
        ({"ingress": [{"cidr_blocks": [None, "10.0.0.0/8"]}]}, {"ingress": [{"cidr_blocks": [True, False]}]}, "after.ingress[0].cidr_blocks[0] is known only after apply"),
        ({"ingress": [None]}, {"ingress": [True]}, "after.ingress[0] is known only after apply"),
    ],
)  # fmt: skip
def test_unknown_marks_on_the_way(after, marks, gap):
    assert read({"after": after, "after_unknown": marks}, ("after.ingress[].cidr_blocks[]",)).gaps == [gap]


def test_a_map_with_an_unknown_value_has_a_gap():
    reading = read({"after": {"tags": {"a": "x"}}, "after_unknown": {"tags": {"b": True}}}, ("after.tags.*",))
    assert dict(reading.found) == {"after.tags.a": "x"}
    assert reading.gaps == ["after.tags.b is known only after apply"]


WHOLE = {"kind": "resource", "type": "t", "after": {"a": 1, "b": 2}, "before": None, "changed": ["a"]}


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ('object.kind == "x"', {"kind": "resource"}),
        ("object.after != null", {"after": {}}),
        ("object.after.a == 1 && object.after != null", {"after": {"a": 1}}),
        ("has(object.after.b)", {"after": {"b": True}}),
        ("object.after.all(k, k != '')", {"after": WHOLE["after"]}),
        ("object.after['a'] == 1", {"after": WHOLE["after"]}),
        ("size(object.after) > 0 && object.after.a == 1", {"after": WHOLE["after"]}),
        ("object.before == null", {"before": None}),
        ("object['after'].a == 1", WHOLE),
        ("[object].all(o, o.after.a == 1)", WHOLE),
        ("object.changed.exists(c, c == 'a')", {"changed": ["a"]}),
    ],
)
def test_only_what_an_expression_can_see_is_handed_over(source, part):
    assert named_part((source,), "object", ("after", "before"))(WHOLE) == part


def test_what_is_only_asked_for_is_handed_over_as_being_there():
    """has() tells whether it is there, whatever it is; a value that is named elsewhere too is handed over."""
    part = named_part(
        ("has(object.after.a) && !has(object.after.c)", "has(object.after.b) && object.after.b == 2")
    )
    assert part({"after": {"a": {"long": "text"}, "b": 2}}) == {"after": {"a": True, "b": 2}}


def test_of_the_document_too_only_what_is_named():
    document = {"environment": {"owner": "ann", "labels": {}}, "runs": ["a"], "rest": 1}
    part = named_part(
        ("input.environment.owner == 'ann' && size(input.runs) == 1", "object.rest == 2"), "input"
    )
    assert part(document) == {"environment": {"owner": "ann"}, "runs": ["a"]}
