"""How a rendered root finds akotf's own Terraform provider."""

from __future__ import annotations

VERSION = "0.1.0"
INTERPRETER_FILE = ".akotf-python"
_PLATFORMS = ("linux_amd64", "linux_arm64")

# Byte-identical everywhere, so that the hash in the lock file holds on every machine: what differs is the interpreter,
# and that stands in a file of the root. Terraform shows a provider's first line of standard output when it is not a
# handshake, and hides its standard error: a fault is told on both.
LAUNCHER = b"""#!/bin/sh
# Starts akotf's Terraform provider with the Python interpreter that this Terraform root names.
fail() {
    message="akotf's Terraform provider can't start: $1"
    printf '%s\\n' "$message" >&2
    printf '%s\\n' "$message"
    sleep 1 # a program that has ended may not be listened to
    exit 1
}
[ -r .akotf-python ] || fail "$PWD/.akotf-python is missing. Render the root again: akotf plan."
IFS= read -r python <.akotf-python
[ -x "$python" ] || fail "$PWD/.akotf-python names $python, which is no program here. Render the root again: akotf plan."
exec "$python" -E -P -m akotf.tfprovider
"""


def launcher_paths() -> tuple[str, ...]:
    """Where Terraform looks for the provider under the root, for every platform akotf runs on."""
    folder = f"terraform.d/plugins/terraform.local/akotf/akotf/{VERSION}"
    return tuple(f"{folder}/{platform}/terraform-provider-akotf_v{VERSION}" for platform in _PLATFORMS)
