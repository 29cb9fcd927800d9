"""The part of an object that expressions name: handing data to the CEL library costs far more than evaluating on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_NAMED = re.compile(r"\bobject\b(?:\.(\w+)(?:\.(\w+))?)?")
_NULL = re.compile(r"\s*[!=]=\s*null\b")
_CALL = re.compile(r"\s*\(")
#: What is large: of these only the attributes that are named are handed over.
_LARGE = ("before", "after", "after_unknown")


def named_part(sources: Iterable[str]) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """A function from an object to the part of it that these CEL expressions can see.

    A name that is not followed by a name (an index, a macro, a function's argument) keeps all that is there, so an
    expression gives the same on the part as on the whole.
    """
    fields: set[str] = set()
    inner: dict[str, set[str]] = {}
    for source in sources:
        for match in _NAMED.finditer(source):
            field, attribute = match[1], match[2]
            if field is None:
                return lambda item: item
            called = _CALL.match(source, match.end())
            if field not in _LARGE or (attribute is None and not _NULL.match(source, match.end())):
                fields.add(field)
            elif attribute is None:
                inner.setdefault(field, set())
            elif called:
                fields.add(field)
            else:
                inner.setdefault(field, set()).add(attribute)
    names = {field: attributes for field, attributes in inner.items() if field not in fields}

    def part(item: Mapping[str, Any]) -> Mapping[str, Any]:
        found = {field: item[field] for field in fields if field in item}
        for field, attributes in names.items():
            if field in item:
                value = item[field]
                found[field] = (
                    {name: value[name] for name in attributes if name in value}
                    if isinstance(value, Mapping)
                    else value
                )
        return found

    return part
