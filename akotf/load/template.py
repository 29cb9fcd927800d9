"""Templates: found in catalogues, checked against their digests, published, pinned, listed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from akotf.errors import ConfigError, IntegrityError
from akotf.load import catalogue as books
from akotf.load.catalogue import LOCK, REFERENCE, content_digest, file_digests, split_reference
from akotf.load.parameters import bind_parameters
from akotf.model.base import digest
from akotf.model.config import TemplateRef, TemplateSpec
from akotf.model.finding import Finding, Position, Severity
from akotf.reading import yaml
from akotf.reading.bind import bind
from akotf.reading.nodes import MapNode, Mark
from akotf.reading.yaml import shown_path

TEMPLATE, RUN = "template.yaml", "run.yaml"
_JUNK = shutil.ignore_patterns(".terraform", ".terraform.lock.hcl", "*.tfstate", "*.tfstate.*")


@dataclass(frozen=True)
class Template:
    """A template as found: where it lies, what it says, and its digest."""

    ref: TemplateRef
    folder: Path
    spec: TemplateSpec
    node: MapNode  # template.yaml as written: parameters are read by their type from it


@dataclass(frozen=True)
class TemplateListing:
    """A row of `akotf template list`; published: the index holds this content."""

    reference: str
    description: str
    folder: Path
    content: str
    published: bool


def locate(reference: str, catalogues: Sequence[Path]) -> Path:
    """The folder of `NAME@VERSION` in the first catalogue that has it. ConfigError names what there is instead."""
    name, version = split_reference(reference)
    for catalogue in catalogues:
        if (catalogue / name / version / TEMPLATE).is_file():
            return catalogue / name / version
    known = sorted({f"{n}@{v}" for c in catalogues for n, v, _ in _versions(c)})
    remedy = (
        f"known are {', '.join(known)}"
        if known
        else f"put it into {' or '.join(map(str, catalogues)) or 'iac/'}"
    )
    raise ConfigError(f"there is no template {reference}", remedy=remedy)


def open_template(reference: str, catalogues: Sequence[Path]) -> Template:
    """Find a template, check it against the catalogue's index and read its template.yaml.

    IntegrityError when a published version is not what was published; ConfigError with all faults of template.yaml.
    """
    folder = locate(reference, catalogues)
    name, version = split_reference(reference)
    content = content_digest(folder)
    published = books.read_index(folder.parent.parent).get(reference)
    if published is not None and published != content:
        raise IntegrityError(
            f"template {reference} is not what was published: its files have {content}, index.lock says {published}",
            where=str(folder),
            remedy=f"restore the files of {reference} from git, or publish the change as a new version",
        )
    node, spec = _read_spec(folder, name, version)
    return Template(TemplateRef(name=name, version=version, content=content), folder, spec, node)


def check_pin(template: Template, environment: Path) -> None:
    """Hold a template against the environment's akotf.lock, when there is one. ConfigError names both digests."""
    pin = books.read_lock(environment)
    if pin is None or pin == template.ref:
        return
    asked, pinned = (f"{r.name}@{r.version}" for r in (template.ref, pin))
    remedy = f"review the difference, then pin it: akotf template lock {environment}"
    if asked != pinned:
        message = f"{LOCK} pins {pinned}, but akotf.yaml asks for {asked}"
    else:
        message = f"{LOCK} pins {asked} with {pin.content}, but the template found has {template.ref.content}"
    position = Position(file=shown_path(environment / LOCK), line=1, column=1)
    finding = Finding(rule="config/pin", message=message, position=position, path="template", remedy=remedy)
    raise ConfigError(message, [finding], where=str(position), remedy=remedy)


def lock(folder: Path, reference: str, catalogues: Sequence[Path]) -> TemplateRef:
    """Pin `reference`, as it is now, for the environment in `folder`: writes akotf.lock."""
    template = open_template(reference, catalogues)
    books.write_lock(folder, template.ref)
    return template.ref


def publish(template_folder: Path, modules_folder: Path, catalogue: Path) -> str:
    """Vendor the modules that a template version names and fix its digest in the index; returns the digest.

    `template_folder` is `CATALOGUE/NAME/VERSION`. IntegrityError when that version was published with other content.
    """
    name, version = template_folder.parent.name, template_folder.name
    reference = f"{name}@{version}"
    split_reference(reference)
    _, spec = _read_spec(template_folder, name, version)
    if missing := [m for m in spec.modules if not (modules_folder / m).is_dir()]:
        raise ConfigError(f"there is no module {', '.join(missing)} in {modules_folder}", where=str(template_folder),
                          remedy="mend `modules` in template.yaml")  # fmt: skip
    files = {p: d for p, d in file_digests(template_folder).items() if not p.startswith("modules/")}
    for module in spec.modules:
        files |= {
            f"modules/{module}/{p}": d
            for p, d in file_digests(modules_folder / module).items()
            if not _junk(p)
        }
    content = digest(files)
    index = books.read_index(catalogue)
    if index.get(reference, content) != content:
        raise IntegrityError(
            f"{reference} is published with {index[reference]} and would become {content}: published means immutable",
            where=str(template_folder),
            remedy="publish the change as a new version",
        )
    vendored = template_folder / "modules"
    if vendored.exists():
        shutil.rmtree(vendored)
    for module in spec.modules:
        shutil.copytree(modules_folder / module, vendored / module, ignore=_JUNK)
    if (written := content_digest(template_folder)) != content:
        raise IntegrityError(f"{template_folder} changed while it was published", remedy="publish again")
    books.write_index(catalogue, {**index, reference: written})
    return written


def verify(catalogue: Path) -> list[Finding]:
    """What is wrong in a catalogue: changed or missing published versions, unreadable templates, unpublished ones."""
    findings: list[Finding] = []
    index = books.read_index(catalogue)
    found = {f"{name}@{version}": folder for name, version, folder in _versions(catalogue)}
    place = Position(file=shown_path(catalogue / books.INDEX))
    for reference in sorted(index.keys() - found.keys()):
        findings.append(Finding(rule="template/missing", message=f"{reference} is published, but its folder is gone",
                                position=place, path=reference, remedy="restore it from git"))  # fmt: skip
    for reference, folder in sorted(found.items()):
        where = Position(file=shown_path(folder / TEMPLATE))
        try:
            template = open_template(reference, [catalogue])
        except IntegrityError as error:
            findings.append(Finding(rule="template/changed", message=error.message, position=where, path=reference,
                                    remedy=error.remedy))  # fmt: skip
            continue
        except ConfigError as error:
            findings.extend(error.findings)
            continue
        if reference not in index:
            findings.append(Finding(rule="template/unpublished", message=f"{reference} is not published",
                                    severity=Severity.WARNING, position=where, path=reference,
                                    remedy=f"akotf template publish {shown_path(folder)}"))  # fmt: skip
        mark = Mark(where.file)
        own = bind_parameters(template.spec, template.node, None, mark, check_defaults=True).findings
        findings.extend(f for f in own if f.rule != "config/missing-parameter")
        findings.extend(_missing_parts(template, where))
    return findings


def list_templates(catalogues: Sequence[Path]) -> list[TemplateListing]:
    """All templates; of a version in several catalogues the one that counts (the first)."""
    rows: dict[str, TemplateListing] = {}
    for catalogue in catalogues:
        index = books.read_index(catalogue)
        for name, version, folder in _versions(catalogue):
            reference = f"{name}@{version}"
            if reference not in rows:
                content = content_digest(folder)
                _, spec = _read_spec(folder, name, version)
                published = index.get(reference) == content
                rows[reference] = TemplateListing(reference, spec.description, folder, content, published)
    return [rows[reference] for reference in sorted(rows)]


def _versions(catalogue: Path) -> Iterator[tuple[str, str, Path]]:
    for path in sorted(catalogue.glob(f"*/*/{TEMPLATE}")):
        if match := REFERENCE.fullmatch(f"{path.parent.parent.name}@{path.parent.name}"):
            yield match[1], match[2], path.parent


def _read_spec(folder: Path, name: str, version: str) -> tuple[MapNode, TemplateSpec]:
    path = folder / TEMPLATE
    node = yaml.read(path)
    bound = bind(node, TemplateSpec)
    findings = list(bound.findings)
    if bound.value is not None and (bound.value.name, bound.value.release) != (name, version):
        findings.append(Finding(
            rule="config/template-name", position=bound.positions["name"], path="name",
            message=f"template.yaml says {bound.value.name}@{bound.value.release}, its folder {name}@{version}",
            remedy="make them agree",
        ))  # fmt: skip
    if findings or bound.value is None or not isinstance(node, MapNode):
        raise ConfigError(f"{path} has faults", findings, where=str(path))
    return node, bound.value


def _missing_parts(template: Template, where: Position) -> Iterator[Finding]:
    parts = [RUN, *template.spec.roots.values(), *(f"modules/{m}" for m in template.spec.modules)]
    for part in parts:
        if not (template.folder / part).exists():
            remedy = (
                f"akotf template publish {shown_path(template.folder)}"
                if part.startswith("modules/")
                else f"add {part}"
            )
            yield Finding(rule="template/incomplete", message=f"{shown_path(template.folder / part)} is missing", position=where,
                          path=part, remedy=remedy)  # fmt: skip


def _junk(path: str) -> bool:
    parts = path.split("/")
    return any(_JUNK("", [part]) for part in parts)
