"""References to secrets. A value never stands in a model: only where it is to be taken from, last of all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

#: scheme -> what a reference of it looks like
SCHEMES = {
    "env": "env:NAME",
    "file": "file:PATH",
    "aws-sm": "aws-sm:NAME-OR-ARN[#KEY]",
    "gcp-sm": "gcp-sm:projects/PROJECT/secrets/NAME[/versions/VERSION][#KEY]",
    "azure-kv": "azure-kv:VAULT/NAME[/VERSION][#KEY]",
    "vault": "vault:MOUNT/PATH#KEY",
}
_KEY = r"(?:#(?P<key>[^#\s\x00-\x1f\x7f]+))"
#: scheme -> what may stand after `scheme:`. The sources are the services' own naming rules.
_FORMS = {
    # POSIX.1-2017, 8.1: names of environment variables
    "env": r"(?P<location>[A-Za-z_][A-Za-z0-9_]*)",
    # Linux: a path holds no NUL, and one with a control character is a mistake
    "file": r"(?P<location>[^\x00-\x1f\x7f]+)",
    # AWS Secrets Manager, CreateSecret: "ASCII letters, numbers, and /_+=.@-", 1 to 512 characters; GetSecretValue takes
    # the ARN `arn:PARTITION:secretsmanager:REGION:ACCOUNT:secret:NAME-6CHARACTERS` as well
    "aws-sm": r"(?P<location>(?:arn:aws[a-z0-9-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:)?[A-Za-z0-9/_+=.@-]{1,519})"
    + _KEY
    + "?",
    # Google Secret Manager, AccessSecretVersion: `projects/*/secrets/*/versions/*`, regional with `locations/*`; a secret
    # id has up to 255 letters, digits, '-' and '_', a version is a number, `latest` or an alias of at most 63 characters
    # that begins with a letter. Project: an id (also `domain.com:id`) or a number
    "gcp-sm": r"(?P<location>projects/(?:[0-9]+|(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9])"
    r"(?:/locations/[a-z0-9-]+)?/secrets/[A-Za-z0-9_-]{1,255}"
    r"(?:/versions/(?:[0-9]+|[A-Za-z][A-Za-z0-9_-]{0,62}))?)" + _KEY + "?",
    # Azure Key Vault, "Object identifiers": a vault name has 3 to 24 letters, digits and single '-', begins with a letter
    # and ends with a letter or digit; a secret's name has 1 to 127 letters, digits and '-'; a version has 32 characters.
    # A vault of a national cloud is written with its DNS suffix
    "azure-kv": r"(?P<location>(?=[^/.]{3,24}[/.])[A-Za-z](?:-?[A-Za-z0-9])+"
    r"(?:\.vault\.(?:azure\.net|azure\.cn|usgovcloudapi\.net))?/[A-Za-z0-9-]{1,127}(?:/[A-Za-z0-9]{32})?)"
    + _KEY
    + "?",
    # Vault's KV engines: mount and path are path segments, and a secret is always a map, so a key has to be named
    "vault": r"(?P<location>[A-Za-z0-9_.+@=-]+(?:/[A-Za-z0-9_.+@=-]+)+)" + _KEY,
}
_PATTERNS = {scheme: re.compile(form) for scheme, form in _FORMS.items()}
_DOTS = {".", ".."}


@dataclass(frozen=True)
class Reference:
    """A reference in its parts; `key` is the key of a secret that is a JSON object (or of a Vault secret)."""

    text: str
    scheme: str
    location: str
    key: str = ""


def parse_reference(text: str) -> Reference | None:
    """The parts of a well-formed reference of a known scheme, else None."""
    scheme, _, rest = text.partition(":")
    pattern = _PATTERNS.get(scheme)
    match = pattern.fullmatch(rest) if pattern else None
    if match is None:
        return None
    location = match["location"]
    if scheme == "vault" and _DOTS & set(location.split("/")):
        return None  # an HTTP client would resolve them to another secret
    return Reference(text, scheme, location, match.groupdict().get("key") or "")


def is_reference(text: str) -> bool:
    """True when the text is a well-formed reference of a known scheme."""
    return parse_reference(text) is not None


def wanted_form(text: str) -> str:
    """What to write instead of a text that is no reference; never shows the text, which may be a secret itself."""
    form = SCHEMES.get(text.partition(":")[0])
    return f"write {form}" if form else f"write one of {', '.join(SCHEMES.values())}"


class NotAReference(ValueError):
    """A text where a reference has to stand. It may be the secret itself: who tells of it must not show it."""


def _checked(text: str) -> str:
    if not is_reference(text):
        raise NotAReference(f"is not a secret reference; {wanted_form(text)}")
    return text


#: The same forms for JSON Schema, whose regular expressions have no named groups.
PATTERN = (
    "^(" + "|".join(re.sub(r"\(\?P<\w+>", "(", f"{scheme}:{form}") for scheme, form in _FORMS.items()) + ")$"
)

SecretReference = Annotated[
    str,
    AfterValidator(_checked),
    WithJsonSchema({"type": "string", "title": "Secret reference", "pattern": PATTERN, "examples": ["env:NAME", "file:PATH"],
                    "patternErrorMessage": "Write a reference to the secret: " + ", ".join(SCHEMES.values())}),
]  # fmt: skip
