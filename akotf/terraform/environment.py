"""What a Terraform process may see of the caller: nothing that changes what Terraform does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

#: Source addresses of akotf's own provider; its launcher lies in the root, never in a registry.
LOCAL_PROVIDERS = "terraform.local/*/*"


def scrubbed(environment: Mapping[str, str], *, config: Path, cache: Path | None) -> dict[str, str]:
    """The caller's environment without Terraform's own variables, and with ours.

    An inherited `TF_CLI_ARGS_plan=-destroy` would plan destroys, `TF_VAR_x` would fill variables that nobody approved,
    `TF_DATA_DIR` and `TF_WORKSPACE` would look at another state, `TF_REATTACH_PROVIDERS` would load another provider.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if not name.startswith("TF_") and name != "TERRAFORM_CONFIG"
    }
    kept |= {
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "TF_WORKSPACE": "default",
        "CHECKPOINT_DISABLE": "1",
        "TF_CLI_CONFIG_FILE": str(config),
    }
    if cache is not None:
        kept["TF_PLUGIN_CACHE_DIR"] = str(cache)
    return kept


def cli_configuration(root: Path) -> str:
    """Terraform's CLI configuration for one root: akotf's provider from the root, every other from its registry.

    A user's own CLI configuration with a `provider_installation` block would hide the root's `terraform.d/plugins`.
    """
    plugins = str(root / "terraform.d" / "plugins")
    # As JSON: the words of this file are of the first HCL, which knows no way to write `${` but as it is, and whose
    # quoted strings refuse the surrogate pairs of JSON's ASCII.
    content = {
        "disable_checkpoint": True,
        "provider_installation": [
            {
                "filesystem_mirror": [{"path": plugins, "include": [LOCAL_PROVIDERS]}],
                "direct": [{"exclude": [LOCAL_PROVIDERS]}],
            }
        ],
    }
    return json.dumps(content, ensure_ascii=False, indent=1)
