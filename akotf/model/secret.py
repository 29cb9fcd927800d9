"""References to secrets. A value never stands in a model: only where it is to be taken from, last of all."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

#: scheme -> what a reference of it looks like
SCHEMES = {
    "env": "env:NAME",
    "file": "file:PATH",
    "aws-sm": "aws-sm:NAME-OR-ARN[#KEY]",
    "gcp-sm": "gcp-sm:projects/PROJECT/secrets/NAME[/versions/VERSION][#KEY]",
    "azure-kv": "azure-kv:VAULT/NAME[/VERSION][#KEY]",
    "vault": "vault:MOUNT/PATH#KEY",
}
_FORMS = {
    "env": r"[A-Za-z_][A-Za-z0-9_]*",
    "file": r"[^\x00\n]+",
    "aws-sm": r"[A-Za-z0-9/_+=.@:-]+(#[^#\s]+)?",
    "gcp-sm": r"projects/[a-z0-9:.-]+/secrets/[A-Za-z0-9_-]+(/versions/([0-9]+|latest))?(#[^#\s]+)?",
    "azure-kv": r"[A-Za-z0-9-]+/[A-Za-z0-9-]+(/[A-Za-z0-9]+)?(#[^#\s]+)?",
    "vault": r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+#[^#\s]+",
}
_PATTERN = re.compile("|".join(f"{scheme}:{form}" for scheme, form in _FORMS.items()))


def is_reference(text: str) -> bool:
    """True when the text is a well-formed reference of a known scheme."""
    return _PATTERN.fullmatch(text) is not None


def _checked(text: str) -> str:
    if not is_reference(text):
        # The text may be a secret that somebody wrote out: it is never shown.
        raise ValueError(f"is not a secret reference; write one of {', '.join(SCHEMES.values())}")
    return text


SecretReference = Annotated[str, AfterValidator(_checked)]
