"""Backends by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from akotf.backends import registry
from akotf.errors import MissingDependency, UsageError


def point(name: str, value: str) -> dict[str, EntryPoint]:
    return {name: EntryPoint(name=name, value=value, group=registry.GROUP)}


def test_a_backend_is_made_by_its_entry_point() -> None:
    points = point("local", "akotf.backends.local:LocalBackend")
    assert registry.load("local", points).name == "local"


def test_unknown_name_lists_what_is_there() -> None:
    with pytest.raises(UsageError, match="no backend 'slrum'; installed are: local"):
        registry.load("slrum", point("local", "akotf.backends.local:LocalBackend"))


def test_one_that_does_not_import_is_named_with_what_to_install() -> None:
    points = point("far", "akotf_no_such_plugin.far:Backend [cloud]")
    with pytest.raises(MissingDependency, match=r"far.*akotf_no_such_plugin") as caught:
        registry.load("far", points)
    assert caught.value.remedy == "pip install 'akotf_no_such_plugin[cloud]'"


def test_missing_attribute_is_told_too() -> None:
    with pytest.raises(MissingDependency, match="NoSuchClass"):
        registry.load("local", point("local", "akotf.backends.local:NoSuchClass"))
