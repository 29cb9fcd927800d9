"""Roots and runners for the adapter's tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from akotf.terraform.runner import TerraformRunner, find_binary


@pytest.fixture(scope="session")
def binary() -> Path:
    return find_binary()


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """The environment a test gives to Terraform: nothing of the tester's own."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}


@pytest.fixture
def runner(binary: Path, surroundings: dict[str, str]) -> TerraformRunner:
    return TerraformRunner(binary, environment=surroundings)


@pytest.fixture
def root_of(tmp_path: Path) -> Callable[..., Path]:
    """Writes a root whose state lies beside it."""

    def write(hcl: str, name: str = "root") -> Path:
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        (root / "main.tf").write_text(hcl)
        state = tmp_path / f"{name}.tfstate"
        (root / "backend.tf").write_text(
            f'terraform {{\n  backend "local" {{\n    path = "{state}"\n  }}\n}}\n'
        )
        return root

    return write
