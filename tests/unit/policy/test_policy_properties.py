"""What must hold for any data: nothing unknown is ever known, and answers travel unchanged."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from akotf.isolation import transport
from akotf.policy.reads import ABSENT, read, value_at

names = st.sampled_from(["a", "b", "c", "d"])
leaves = st.one_of(st.booleans(), st.integers(), st.text(max_size=3))
trees = st.dictionaries(
    names,
    st.recursive(leaves, lambda inner: st.dictionaries(names, inner, min_size=1, max_size=3)),
    min_size=1,
)


def paths(tree, before=()):
    """Every path of a tree, inner ones too."""
    for name, value in tree.items():
        yield (*before, name)
        if isinstance(value, dict):
            yield from paths(value, (*before, name))


def gap(item, path):
    """Why a path can't be read; "" when it can."""
    gaps = read(item, (path,)).gaps
    return gaps[0].partition(" ")[2] if gaps else ""


def marked(path):
    """Terraform's marks: true at one path."""
    marks = True
    for name in reversed(path):
        marks = {name: marks}
    return marks


@given(trees, st.data())
def test_a_mark_above_at_or_below_a_path_makes_it_unknown_and_no_other(tree, data):
    asked = data.draw(st.sampled_from(sorted(paths(tree))))
    mark = data.draw(st.sampled_from(sorted(paths(tree))))
    told = gap({"after": tree, "after_unknown": marked(mark)}, ".".join(("after", *asked)))
    shared = min(len(asked), len(mark))
    assert (told == "is known only after apply") is (asked[:shared] == mark[:shared])


@given(trees, st.data())
def test_what_is_there_is_read_and_what_is_not_is_absent(tree, data):
    path = data.draw(st.sampled_from(sorted(paths(tree))))
    assert gap(tree, ".".join(path)) == ""
    cut = copy.deepcopy(tree)
    parent = cut
    for name in path[:-1]:
        parent = parent[name]
    del parent[path[-1]]
    assert value_at(cut, ".".join(path)) is ABSENT
    assert gap(cut, ".".join(path)) == "is absent"


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
)


@given(json_values)
def test_answers_travel_unchanged(value):
    assert transport.decode(transport.encode_result(value)) == ("ok", value)
