"""Texts that look like secrets, by the forms that the services themselves give them. Pure.

Known forms and names only, no measure of randomness over every text: digests, commits and base64 ids are as random as
keys, and a check that cries at each of them is switched off. Sources: the services' documentation of their token
formats, as of 2026; where a form is not published, the prefix and length of tokens in their examples.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_WORD = r"[A-Za-z0-9_-]"
#: what it is, a literal that each has (a quick look tells most texts apart), the form
_KNOWN: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("an AWS access key id", ("AKIA", "ASIA"), r"(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    ("a GitHub token", ("gh",), r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("a GitHub token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{36,}"),
    ("a GitLab token", ("gl",), rf"gl(?:pat|dt|rt|ptt|cbt|soat|ft|imt|agent)-{_WORD}{{20,}}"),
    ("a Hugging Face token", ("hf_",), r"hf_[A-Za-z0-9]{30,}"),
    ("a Hugging Face token", ("api_org_",), r"api_org_[A-Za-z0-9]{30,}"),
    ("an OpenAI key", ("T3BlbkFJ",), rf"sk-{_WORD}*T3BlbkFJ{_WORD}{{10,}}"),
    ("an OpenAI key", ("sk-",), rf"sk-(?:proj|svcacct|admin)-{_WORD}{{40,}}"),
    ("an Anthropic key", ("sk-ant-",), rf"sk-ant-(?:api|admin)[0-9]{{2}}-{_WORD}{{40,}}"),
    ("an OpenRouter key", ("sk-or-",), r"sk-or-v1-[0-9a-f]{64}"),
    ("a Replicate token", ("r8_",), r"r8_[A-Za-z0-9]{37}"),
    ("a Groq key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    ("an NVIDIA NGC key", ("nvapi-",), rf"nvapi-{_WORD}{{60,}}"),
    ("a Weights & Biases key", ("wandb_v1_",), rf"wandb_v1_{_WORD}{{40,}}"),
    ("a Databricks token", ("dapi",), r"dapi[0-9a-f]{32}(?:-[0-9]+)?(?![0-9a-f])"),
    ("a Google API key", ("AIza",), rf"AIza{_WORD}{{35}}(?!{_WORD})"),
    ("a Google OAuth secret", ("GOCSPX-",), rf"GOCSPX-{_WORD}{{28}}"),
    ("a Google OAuth token", ("ya29.",), rf"ya29\.{_WORD}{{40,}}"),
    ("an Azure storage key", ("AccountKey=",), r"AccountKey=[A-Za-z0-9+/]{86}=="),
    ("an Azure service bus key", ("SharedAccessKey=",), r"SharedAccessKey=[A-Za-z0-9+/]{40,}=*"),
    ("an Azure signature (SAS)", ("sig=",), r"(?<=[?&])sig=[A-Za-z0-9%+/]{40,}"),
    ("an Azure client secret", ("Q~",), r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])"),
    ("a Vault token", ("hv",), rf"hv[sbr]\.{_WORD}{{24,}}"),
    ("a Terraform Cloud token", (".atlasv1.",), rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_WORD}{{60,}}"),
    ("a Slack token", ("xox", "xapp-"), r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{20,}"),
    ("a Slack webhook", ("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{30,}"),
    ("a Stripe key", ("k_live_", "k_test_"), r"[rs]k_(?:live|test)_[A-Za-z0-9]{20,}"),
    ("a SendGrid key", ("SG.",), rf"SG\.{_WORD}{{20,24}}\.{_WORD}{{39,50}}"),
    ("an npm token", ("npm_",), r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    ("a PyPI token", ("pypi-AgE",), rf"pypi-AgE{_WORD}{{50,}}"),
    ("a Docker Hub token", ("dckr_",), rf"dckr_(?:pat|oat)_{_WORD}{{24,}}"),
    ("a DigitalOcean token", ("_v1_",), r"do[opr]_v1_[0-9a-f]{64}"),
    ("a Pulumi token", ("pul-",), r"pul-[0-9a-f]{40}(?![0-9a-f])"),
    ("an age key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    ("a private key", ("PRIVATE KEY",), r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[^-]*-----END[^-]*-----)?"),
    ("a JSON web token", ("eyJ",), rf"eyJ{_WORD}{{10,}}\.eyJ{_WORD}{{10,}}\.{_WORD}{{16,}}"),
)  # fmt: skip
_START = r"(?<![A-Za-z0-9])"
#: A quick look that tells most texts apart
_ANY_HINT = re.compile("|".join(re.escape(hint) for _, hints, _ in _KNOWN for hint in hints))
#: Words that names of secrets have
_NAMES = re.compile(r"(?i)token|secret|passw|pwd|key|credential|uthorization|://")

#: scheme://user:password@host
_URL = re.compile(
    r"[a-z][a-z0-9+.-]{1,20}://[^\s/?#:@'\"]{0,128}:(?P<value>[^\s/?#@'\"]{1,512})@(?=[A-Za-z0-9\[])"
)
#: `Authorization: Bearer VALUE`
_HEADER = re.compile(
    r"(?i)authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+(?P<value>[A-Za-z0-9_.~+/=-]{12,})"
)
#: NAME=VALUE, name: VALUE, --name VALUE in a command or script
_NAMED = r"(?P<name>[A-Za-z0-9_.-]{0,60}?(?i:token|secret|passw(?:or)?d|pwd|key|credentials?))"
_VALUE = r"[\"']?(?P<value>[^\s\"'`;&|<>(){}$,]{6,512})"
_ASSIGNED = (
    re.compile(_NAMED + r"[\"']?[ \t]*[=:][ \t]*" + _VALUE),
    re.compile(r"(?<!\S)--" + _NAMED + r"[ \t]+" + _VALUE),
)
_SPLIT = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_PASSWORDS = frozenset({"password", "passwd", "passphrase", "pwd"})
_SECRETS = frozenset({"token", "secret", "apikey", "credential", "credentials", *_PASSWORDS})
_KEYS = frozenset(
    {"api", "access", "secret", "private", "auth", "account", "signing", "encryption", "service"}
)
_OPAQUE = re.compile(r"[A-Za-z0-9_.+/=~-]{16,}")
_NOT_ONE = re.compile(
    r"[/~.]|[A-Za-z]:\\|[a-z][a-z0-9+.-]*:|.*\.(?:json|ya?ml|pem|key|txt|toml|crt|cfg|ini|py|sh|safetensors|pt)$"
)
_PLACEHOLDER = re.compile(
    r"(?i)your|example|placeholder|change[-_ ]?me|replace|dummy|redacted|insert|todo|fake|sample|x{4,}|\*{3}|\.{3}"
)
_WORDS = frozenset({"password", "passwd", "pass", "secret", "token", "none", "null", "false", "true", "user"})


@dataclass(frozen=True)
class Literal:
    """A part of a text that looks like a secret: what it is (`a GitHub token`) and where it stands."""

    kind: str
    start: int
    end: int


def known(text: str) -> Iterator[Literal]:
    """Tokens and keys by their own form. Examples and placeholders are left out."""
    if _ANY_HINT.search(text) is None:
        return
    for kind, hints, form in _KNOWN:
        if any(hint in text for hint in hints):
            for match in re.finditer(_START + form, text):  # compiled when it is first needed
                if not is_placeholder(match[0]):
                    yield Literal(kind, match.start(), match.end())


def literals(text: str) -> tuple[Literal, ...]:
    """Everything in a text that looks like a secret: by its form, as a URL's password, in a header, as NAME=VALUE."""
    return _short(text) if len(text) <= 256 else _literals(text)


def _literals(text: str) -> tuple[Literal, ...]:
    found = [*known(text), *_in_urls(text)]
    if _NAMES.search(text) is None:
        return tuple(found)
    for match in _HEADER.finditer(text) if "uthorization" in text else ():
        if not is_placeholder(match["value"]):
            found.append(Literal("a credential in a header", match.start("value"), match.end("value")))
    for match in (match for pattern in _ASSIGNED for match in pattern.finditer(text)):
        name = match["name"].lstrip("-")
        if is_secret_of(name, match["value"]):
            found.append(Literal(f"a value for {name}", match.start("value"), match.end("value")))
    return tuple(found)


#: Names of keys and small values are the same in hundreds of environments.
_short = functools.lru_cache(maxsize=8192)(_literals)


def masked(text: str) -> str:
    """The text with MARKER in place of each secret of a known form; for messages and excerpts, which people share."""
    for literal in sorted((*known(text), *_in_urls(text)), key=lambda literal: -literal.start):
        text = f"{text[: literal.start]}[secret]{text[literal.end :]}"
    return text


def _in_urls(text: str) -> Iterator[Literal]:
    for match in _URL.finditer(text) if "://" in text else ():
        if not is_placeholder(match["value"]):
            yield Literal("a password in a URL", match.start("value"), match.end("value"))


def names_secret(name: str) -> bool:
    """Whether a name says that its value is secret: HF_TOKEN, db-password, apiKey; not EOS_TOKEN_ID or TOKENIZERS."""
    words = [word.lower() for word in _SPLIT.split(name) if word]
    if not words:
        return False
    return words[-1] in _SECRETS or (words[-1] == "key" and len(words) > 1 and words[-2] in _KEYS)


def is_secret_of(name: str, value: str) -> bool:
    """Whether `value` looks like the secret that `name` says it is; a path, a reference or a word is none."""
    if not names_secret(name) or is_placeholder(value) or _NOT_ONE.match(value):
        return False
    if _SPLIT.split(name)[-1].lower() in _PASSWORDS:
        return len(value) >= 6 and not any(character.isspace() for character in value)
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return _OPAQUE.fullmatch(value) is not None and mixed and _entropy(value) >= 3.0


def is_placeholder(value: str) -> bool:
    """Whether somebody is to put a value here, or a program will: `<token>`, `your-key`, `$TOKEN`, `{{ token }}`."""
    if value.lower() in _WORDS or len(set(value)) <= 3 or value.startswith(("$", "%", "@")):
        return True
    return any(sign in value for sign in ("<", "${", "{{", "$(")) or _PLACEHOLDER.search(value) is not None


def _entropy(value: str) -> float:
    """Bits a character (Shannon); words have 2 to 3, random hexadecimal of this length 3.5, base64 4 and more."""
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
