"""The published JSON schemas of what rules see."""

from __future__ import annotations

from typing import Any

from akotf.policy.views import INPUTS


def policy_input_schemas() -> dict[str, dict[str, Any]]:
    """`policy-STAGE` -> JSON Schema 2020-12 of `{document, objects}` of that stage."""
    return {
        f"policy-{stage}": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **model.model_json_schema(mode="serialization", by_alias=True),
        }
        for stage, model in INPUTS.items()
    }
