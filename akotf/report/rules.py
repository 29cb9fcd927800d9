"""Every id that a finding can have, and what it means. An id that the code uses and that does not stand here is a fault.

Ids are stable: an id never changes its meaning; one that is no longer used is not used for anything else.
`policy/RULE` is the verdict of the policy rule of that name, `error/CODE` an error of an environment by its code.
"""

from __future__ import annotations

RULES = {}


def meaning(rule: str) -> str:
    """What a rule's findings say, in one sentence."""
    if rule in RULES:
        return RULES[rule]
    family, _, name = rule.partition("/")
    if family == "policy":
        return f"The policy rule {name} does not pass."
    if family == "error":
        return f"The environment can't be read or judged: {name}."
    return rule
