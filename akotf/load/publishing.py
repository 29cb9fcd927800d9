"""Publishing a template version, once and for ever; and what is wrong in a catalogue or with a lock."""

from __future__ import annotations

import fnmatch
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from akotf.errors import ConfigError, IntegrityError
from akotf.facts.files import one_writer
from akotf.gitsource.address import is_git, parse_address
from akotf.gitsource.fetch import resolve
from akotf.load import catalogue as books
from akotf.load import remote
from akotf.load.catalogue import content_digest, file_digests, plain_files, split_reference
from akotf.load.expressions import Scalar
from akotf.load.parameters import bind_parameters
from akotf.load.rendering import render
from akotf.load.specification import RUN, TEMPLATE, Template, read_template, require_named
from akotf.load.template import check_pin, open_template, versions
from akotf.model.base import digest
from akotf.model.config import RunSpec
from akotf.model.finding import Finding, Position, Severity, has_errors
from akotf.reading import yaml
from akotf.reading.bind import bind
from akotf.reading.nodes import Mark, dotted
from akotf.reading.yaml import shown_path

_JUNK = (".terraform", ".terraform.lock.hcl", "*.tfstate", "*.tfstate.*")
_STAGED = ".publishing-"


def publish(template_folder: Path, modules_folder: Path, catalogue: Path) -> str:
    """Vendor the modules that a template version names and fix its digest in the index; returns the digest.

    `template_folder` is `CATALOGUE/NAME/VERSION`. ConfigError when the template has faults; IntegrityError when that
    version was published with other content, or a link leads out. The modules are copied beside the version and take
    their place in one step; the index is written last: publishing again mends whatever a kill has left. Of several at
    once in a catalogue, each waits for the one before.
    """
    if not (template_folder / TEMPLATE).is_file():
        raise ConfigError(f"{template_folder} holds no {TEMPLATE}", where=str(template_folder),
                          remedy="name the template's folder: akotf template publish iac/NAME/VERSION")  # fmt: skip
    with one_writer(catalogue):
        return _publish(template_folder, modules_folder, catalogue)


def _publish(template_folder: Path, modules_folder: Path, catalogue: Path) -> str:
    name, version = template_folder.parent.name, template_folder.name
    reference = f"{name}@{version}"
    split_reference(reference)
    _clear_staged(template_folder)
    template = read_template(template_folder, digest(_own_files(template_folder)))
    require_named(template, name, version)
    _refuse_faults(template)
    content = _content(template, modules_folder)
    index = books.read_index(catalogue)
    if index.get(reference, content) != content:
        raise IntegrityError(
            f"{reference} is published with {index[reference]} and would become {content}: published means immutable",
            where=str(template_folder),
            remedy="publish the change as a new version",
        )
    if content_digest(template_folder) != content:
        _vendor(template, modules_folder)
        if content_digest(template_folder) != content:
            raise IntegrityError(f"{template_folder} changed while it was published", remedy="publish again")
    books.write_index(catalogue, {**books.read_index(catalogue), reference: content})
    return content


def verify(catalogue: Path) -> list[Finding]:
    """What is wrong in a catalogue: changed or missing published versions, unreadable templates, unpublished ones."""
    findings: list[Finding] = []
    index = books.read_index(catalogue)
    found = {f"{name}@{version}": folder for name, version, folder in versions(catalogue)}
    place = Position(file=shown_path(catalogue / books.INDEX))
    for reference in sorted(index.keys() - found.keys()):
        findings.append(Finding(rule="template/missing", message=f"{reference} is published, but its folder is gone",
                                position=place, path=reference, remedy="restore it from git"))  # fmt: skip
    for reference, folder in sorted(found.items()):
        where = Position(file=shown_path(folder / TEMPLATE))
        if _staged(folder):
            findings.append(Finding(rule="template/unfinished", message=f"publishing {reference} was cut off",
                                    position=where, path=reference,
                                    remedy=f"akotf template publish {shown_path(folder)}"))  # fmt: skip
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
        findings.extend(own_faults(template))
        findings.extend(_missing_parts(template, where))
    return findings


def verify_lock(environment: Path, reference: str, catalogues: Sequence[Path], cache: Path) -> list[Finding]:
    """What is wrong with an environment's pin; for a template from git also whether its tag has moved (online)."""
    place = Position(file=shown_path(environment / books.LOCK), line=1, column=1)
    try:
        template = open_template(reference, catalogues, environment=environment, cache=cache)
        check_pin(template, environment)
        if books.read_lock(environment) is None:
            remedy = f"akotf template lock {shown_path(environment)}, and commit akotf.lock"
            return [Finding(rule="config/unpinned", message=f"{reference} is not pinned: no {books.LOCK}",
                            severity=Severity.WARNING, path="template", remedy=remedy)]  # fmt: skip
        if not is_git(reference):
            return []
        address = parse_address(reference)
        words = remote.moved(address, template.ref, resolve(address))
    except (ConfigError, IntegrityError) as error:
        rule = "template/changed" if isinstance(error, IntegrityError) else "config/template"
        own = Finding(rule=rule, message=error.message, position=place, path="template", remedy=error.remedy)
        return list(error.findings if isinstance(error, ConfigError) else ()) or [own]
    if not words:
        return []
    remedy = (
        f"ask its owner why; after a review: akotf template lock {shown_path(environment)} --accept-moved"
    )
    return [Finding(rule="template/moved", message=words, position=place, path="template", remedy=remedy)]


def own_faults(template: Template) -> list[Finding]:
    """What is wrong with a template whatever an environment gives: types, bounds, defaults, constraints, run.yaml."""
    mark = Mark(shown_path(template.folder / TEMPLATE))
    bound = bind_parameters(template.spec, template.node, None, mark, check_defaults=True)
    found = [f for f in bound.findings if f.rule != "config/missing-parameter"]
    return found or _run_faults(template.folder / RUN, bound.values)


def _run_faults(run: Path, values: Mapping[str, Scalar]) -> list[Finding]:
    """What is wrong with run.yaml by the defaults; what needs a value that only an environment gives is let be."""
    if not run.is_file():
        return []  # told as a missing part
    try:
        rendered = render(yaml.read(run), values, {}, run)
    except ConfigError as error:
        return list(error.findings)
    waiting = {
        dotted(("run", *path))
        for path, names in rendered.uses.items()
        if any(name in values and values[name] is None for name in names)
    }

    def known(finding: Finding) -> bool:
        keys = finding.rule in ("config/unknown-key", "config/missing-key")  # no value mends them
        return keys or not any(f"{path}.".startswith(f"{finding.path}.") for path in waiting)

    found = [f for f in rendered.findings if known(f)]
    return found or [f for f in bind(rendered.node, RunSpec, prefix="run").findings if known(f)]


def _refuse_faults(template: Template) -> None:
    where = Position(file=shown_path(template.folder / TEMPLATE))
    missing = [f for f in _missing_parts(template, where) if not f.path.startswith("modules/")]
    findings = [*missing, *own_faults(template)]
    if has_errors(findings):
        raise ConfigError(f"{template.reference} has faults: {findings[0].message}", findings, where=str(where.file),
                          remedy="mend the template, then publish it")  # fmt: skip


def _own_files(folder: Path) -> dict[str, str]:
    """Digests of the template's files without what is vendored."""
    return {p: d for p, d in file_digests(folder).items() if not p.startswith("modules/")}


def _content(template: Template, modules_folder: Path) -> str:
    """The digest that the version has once its modules are vendored."""
    modules = template.spec.modules
    if missing := [m for m in modules if not (modules_folder / m).is_dir()]:
        raise ConfigError(f"there is no module {', '.join(missing)} in {modules_folder}", where=str(template.folder),
                          remedy="mend `modules` in template.yaml")  # fmt: skip
    files = _own_files(template.folder)
    for module in modules:
        digests = file_digests(modules_folder / module, skip=_junk)
        files |= {f"modules/{module}/{p}": d for p, d in digests.items()}
    return digest(files)


def _vendor(template: Template, modules_folder: Path) -> None:
    """Put copies of the modules in the place of those vendored before."""
    folder = template.folder
    staged = Path(tempfile.mkdtemp(prefix=f"{_STAGED}{folder.name}-", dir=folder.parent))
    for module in template.spec.modules:
        for name, path in plain_files(modules_folder / module, skip=_junk).items():
            target = staged / "new" / module / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    if (folder / "modules").exists():
        (folder / "modules").rename(staged / "old")
    if template.spec.modules:
        (staged / "new").rename(folder / "modules")
    shutil.rmtree(staged)


def _staged(folder: Path) -> list[Path]:
    """What a publishing of this version that was cut off has left."""
    return list(folder.parent.glob(f"{_STAGED}{folder.name}-*"))


def _clear_staged(folder: Path) -> None:
    for path in _staged(folder):
        shutil.rmtree(path)


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


def _junk(name: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in _JUNK)
