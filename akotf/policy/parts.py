"""The part of a value that expressions name: handing data to the CEL library costs far more than evaluating on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

_NULL = re.compile(r"\s*[!=]=\s*null\b")
_CALL = re.compile(r"\s*\(")
_HAS = re.compile(r"\bhas\(\s*$")
_END = re.compile(r"\s*\)")

Part = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def named_part(
    sources: Iterable[str], variable: str = "object", large: Collection[str] | None = None
) -> Part:
    """A function from a variable's value to the part of it that these CEL expressions can see.

    Of the fields in `large` (None: of every field) only the attributes that are named are handed over, and of what is
    only asked for with has() no more than that it is there. A name that is not followed by a name (an index, a macro, a
    function's argument) keeps all that is there: an expression gives the same on the part as on the whole.
    """
    whole: set[str] = set()
    inner: dict[str, dict[str, bool]] = {}  # field -> attribute -> whether its value is needed
    for source in sources:
        for match in re.finditer(rf"\b{variable}\b(?:\.(\w+)(?:\.(\w+))?)?", source):
            field, attribute = match[1], match[2]
            if field is None:
                return lambda value: value
            if large is not None and field not in large:
                whole.add(field)
            elif attribute is None:
                if _NULL.match(source, match.end()):
                    inner.setdefault(field, {})
                else:
                    whole.add(field)
            elif _CALL.match(source, match.end()):
                whole.add(field)
            else:
                asked = bool(_HAS.search(source[: match.start()]) and _END.match(source, match.end()))
                seen = inner.setdefault(field, {})
                seen[attribute] = seen.get(attribute, False) or not asked
    named = {field: attributes for field, attributes in inner.items() if field not in whole}

    def part(value: Mapping[str, Any]) -> Mapping[str, Any]:
        found = {field: value[field] for field in whole if field in value}
        for field, attributes in named.items():
            if field in value:
                found[field] = _attributes(value[field], attributes)
        return found

    return part


def _attributes(value: Any, attributes: Mapping[str, bool]) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: value[name] if needed else True for name, needed in attributes.items() if name in value}
