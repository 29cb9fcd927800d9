"""Each module says in its README and metadata what its HCL says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from akotf.render.provider import VERSION

REPOSITORY = Path(__file__).parents[3]
MODULES = sorted(p for p in (REPOSITORY / "modules").iterdir() if p.is_dir())


def blocks(path: Path, kind: str) -> dict[str, str]:
    """Name and description of the top-level blocks of a kind."""
    found = {}
    for match in re.finditer(rf'^{kind} "(\w+)" \{{\n(.*?)^\}}', path.read_text(), re.MULTILINE | re.DOTALL):
        description = re.search(r'^  description = "(.*)"$', match[2], re.MULTILINE)
        assert description, f"{kind} {match[1]} of {path} has no description"
        found[match[1]] = description[1].replace('\\"', '"')
    return found


def rows(readme: str, heading: str) -> dict[str, str]:
    section = readme.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return {cells[1].strip(" `"): cells[-2].strip() for cells in (line.split("|") for line in lines)}


@pytest.mark.parametrize("module", MODULES, ids=lambda p: p.name)
def test_readme_lists_inputs_and_outputs(module: Path) -> None:
    readme = (module / "README.md").read_text()
    assert rows(readme, "Inputs") == blocks(module / "variables.tf", "variable")
    assert rows(readme, "Outputs") == blocks(module / "outputs.tf", "output")


@pytest.mark.parametrize("module", MODULES, ids=lambda p: p.name)
def test_metadata_names_the_modules_resources(module: Path) -> None:
    metadata = yaml.safe_load((module / "metadata.yaml").read_text())
    assert metadata["schema"] == 1 and metadata["name"] == module.name and metadata["summary"]
    resources = re.findall(r'^resource "(\w+)" "(\w+)"', (module / "main.tf").read_text(), re.MULTILINE)
    assert sorted(r["address"] for r in metadata["resources"]) == sorted(".".join(r) for r in resources)


def test_module_and_root_pin_the_provider_that_is_rendered() -> None:
    for path in [
        *REPOSITORY.glob("modules/*/versions.tf"),
        *REPOSITORY.glob("iac/*/*/terraform/local/versions.tf"),
    ]:
        text = path.read_text()
        assert 'source  = "terraform.local/akotf/akotf"' in text
        assert f'version = "{VERSION}"' in text
