"""What the provider offers: its own (empty) configuration and the two resources."""

from __future__ import annotations

from typing import Any

from tf.schema import Schema

from akotf.tfprovider.baseline import BaselineResource
from akotf.tfprovider.local_pool import LocalPoolResource

ADDRESS = "terraform.local/akotf/akotf"


class AkotfProvider:
    """Entry point of the library: names, schemas and constructors."""

    def get_model_prefix(self) -> str:
        """What every resource's type name starts with."""
        return "akotf_"

    def full_name(self) -> str:
        """The source address in `required_providers`."""
        return ADDRESS

    def get_provider_schema(self, _diags: Any) -> Schema:
        """No configuration: each resource names its own folders."""
        return Schema(version=0, attributes=[])

    def validate_config(self, diags: Any, config: dict[str, Any]) -> None:
        """Nothing to check."""

    def configure_provider(self, diags: Any, config: dict[str, Any]) -> None:
        """Nothing to set up."""

    def get_resources(self) -> list[type]:
        """`akotf_baseline` and `akotf_local_pool`."""
        return [BaselineResource, LocalPoolResource]

    def get_data_sources(self) -> list[type]:
        """None."""
        return []

    def get_functions(self) -> list[type]:
        """None."""
        return []

    def new_resource(self, kind: Any) -> Any:
        """A resource's handler."""
        return kind(self)
