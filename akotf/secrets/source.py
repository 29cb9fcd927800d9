"""The secrets of a run, resolved together: every fault at once, and no value in any of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from akotf.errors import MissingDependency, SecretError, SecretUnavailable
from akotf.model.finding import Finding
from akotf.model.secret import Reference, parse_reference, wanted_form
from akotf.secrets.aws import AwsReader
from akotf.secrets.azure import AzureReader
from akotf.secrets.gcp import GcpReader
from akotf.secrets.local import LARGEST, EnvReader, FileReader
from akotf.secrets.reading import Reader, Surroundings, Unresolved
from akotf.secrets.vault import VaultReader

#: scheme -> its reader; a reader loads its SDK when it is made
READERS: Mapping[str, Callable[[Surroundings], Reader]] = {
    "env": EnvReader,
    "file": FileReader,
    "aws-sm": AwsReader,
    "gcp-sm": lambda _: GcpReader(),
    "azure-kv": lambda _: AzureReader(),
    "vault": VaultReader,
}


class Secrets:
    """SecretSource of one environment folder. `variables` is akotf's own environment."""

    def __init__(
        self, folder: Path, variables: Mapping[str, str],
        readers: Mapping[str, Callable[[Surroundings], Reader]] = READERS,
    ) -> None:  # fmt: skip
        self._around = Surroundings(folder, variables)
        self._readers = readers
        self._known: dict[bytes, None] = {}  # in the order they were learnt

    def resolve(self, references: Mapping[str, str]) -> dict[str, bytes]:
        """Values by name, each secret asked for once.

        SecretError with a finding for each name that has none; SecretUnavailable when all that fails may be there
        later; MissingDependency when all that fails is an SDK that is not installed.
        """
        asked: dict[tuple[str, str], bytes | Unresolved | MissingDependency] = {}
        values: dict[str, bytes] = {}
        faults: dict[str, Unresolved | MissingDependency] = {}
        for name, text in references.items():
            try:
                values[name] = self._one(text, asked)
            except (Unresolved, MissingDependency) as error:
                faults[name] = error
        self._known.update(dict.fromkeys(values.values()))
        if faults:
            raise _error(references, faults)
        return values

    def known(self) -> tuple[bytes, ...]:
        """The values that this source has given out."""
        return tuple(self._known)

    def _one(self, text: str, asked: dict[tuple[str, str], bytes | Unresolved | MissingDependency]) -> bytes:
        reference = parse_reference(text)
        if reference is None:
            raise Unresolved("it is not a reference", wanted_form(text))
        place = (reference.scheme, reference.location)
        if place not in asked:
            try:
                asked[place] = self._readers[reference.scheme](self._around).read(reference)
            except (Unresolved, MissingDependency) as error:
                asked[place] = error
        found = asked[place]
        if not isinstance(found, bytes):
            raise found
        return _fit(_picked(reference, found))


def _picked(reference: Reference, whole: bytes) -> bytes:
    """The value of `#KEY`: a text, or a number as it is written (a managed database's secret has its port so)."""
    if not reference.key:
        return whole
    try:
        data = json.loads(whole, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        raise Unresolved("the secret is no JSON object, so it has no keys", "leave #KEY away") from None
    if not isinstance(data, dict) or reference.key not in data:
        raise Unresolved(f"the secret has no key {reference.key!r}", "mend the key after #")
    value = data[reference.key]
    if not isinstance(value, str):
        raise Unresolved(f"the value of key {reference.key!r} is no text", "store it as a text")
    return value.encode("utf-8", "surrogateescape")


def _fit(value: bytes) -> bytes:
    """What an environment variable can hold."""
    if not value:
        raise Unresolved(
            "it is empty", "store a value (a CI system gives an empty one where it withholds a secret)"
        )
    if b"\0" in value:
        raise Unresolved(
            "it holds a NUL byte, which no environment variable can", "store it as text, e.g. base64"
        )
    if len(value) > LARGEST:
        raise Unresolved(f"it is larger than {LARGEST // 1024} KiB", "store a smaller one")
    return value


def _error(
    references: Mapping[str, str], faults: Mapping[str, Unresolved | MissingDependency]
) -> SecretError | MissingDependency:
    findings = []
    for name, fault in faults.items():
        # What is no reference may be a secret that was written out: it is not repeated.
        what = f"{name} ({references[name]})" if parse_reference(references[name]) else name
        why = fault.why if isinstance(fault, Unresolved) else fault.message
        findings.append(Finding(rule="secret/unresolved", message=f"{what}: {why}", path=f"secrets.{name}", remedy=fault.remedy))  # fmt: skip
    count = "a secret" if len(findings) == 1 else f"{len(findings)} secrets"
    message = f"{count} can't be had: " + "; ".join(finding.message for finding in findings)
    remedy = "; ".join(dict.fromkeys(finding.remedy for finding in findings))
    if all(isinstance(fault, MissingDependency) for fault in faults.values()):
        return MissingDependency(message, remedy=remedy)
    later = all(isinstance(fault, Unresolved) and fault.retryable for fault in faults.values())
    return (SecretUnavailable if later else SecretError)(message, findings, remedy=remedy)
