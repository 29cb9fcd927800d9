"""Templates: found in catalogues or git, checked against their digests, pinned, listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from akotf.errors import ConfigError, IntegrityError
from akotf.gitsource.address import is_git, parse_address
from akotf.load import catalogue as books
from akotf.load import remote
from akotf.load.catalogue import LOCK, REFERENCE, content_digest, split_reference
from akotf.load.specification import TEMPLATE, Template, read_template, require_named
from akotf.model.config import TemplateRef
from akotf.reading.yaml import shown_path


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
    known = sorted({f"{n}@{v}" for c in catalogues for n, v, _ in versions(c)})
    remedy = (
        f"known are {', '.join(known)}"
        if known
        else f"put it into {' or '.join(map(str, catalogues)) or 'iac/'}"
    )
    raise ConfigError(f"there is no template {reference}", remedy=remedy)


def open_template(
    reference: str,
    catalogues: Sequence[Path],
    *,
    environment: Path | None = None,
    cache: Path | None = None,
) -> Template:
    """Find a template, check it and read its template.yaml.

    `NAME@VERSION` is checked against its catalogue's index; a template from git is taken as the lock in `environment`
    pins it, from `cache` or by that commit. IntegrityError when it is not what was published or locked; ConfigError
    with all faults of template.yaml.
    """
    if is_git(reference):
        return remote.open_locked(reference, catalogues, environment, cache)
    folder = locate(reference, catalogues)
    content = content_digest(folder)
    published = books.read_index(folder.parent.parent).get(reference)
    if published is not None and published != content:
        raise IntegrityError(
            f"template {reference} is not what was published: its files have {content}, index.lock says {published}",
            where=str(folder),
            remedy=f"restore the files of {reference} from git, or publish the change as a new version",
        )
    template = read_template(folder, content)
    require_named(template, *split_reference(reference))
    return template


def find_template(reference: str, catalogues: Sequence[Path], cache: Path) -> Template:
    """A template that no lock pins yet: `NAME@VERSION`, or what a tag in git names now (online)."""
    if is_git(reference):
        return remote.fetch_latest(reference, catalogues, cache)
    return open_template(reference, catalogues)


def read_folder(folder: Path) -> Template:
    """The template in a folder, as it is: a draft that nobody has to have published."""
    return read_template(folder, content_digest(folder))


def check_pin(template: Template, environment: Path) -> None:
    """Hold a template against the environment's akotf.lock, when there is one. ConfigError names both digests."""
    pin = books.read_lock(environment)
    if pin is None or pin == template.ref:
        return
    asked, pinned = (r.source or f"{r.name}@{r.version}" for r in (template.ref, pin))
    if asked != pinned:
        message = f"{LOCK} pins {pinned}, but akotf.yaml asks for {asked}"
    else:
        message = f"{LOCK} pins {asked} with {pin.content}, but the template found has {template.ref.content}"
    remedy = f"review the difference, then pin it: akotf template lock {shown_path(environment)}"
    raise remote.pin_error(environment, message, remedy)


def lock(
    folder: Path,
    reference: str,
    catalogues: Sequence[Path],
    cache: Path | None = None,
    *,
    accept_moved: bool = False,
) -> TemplateRef:
    """Pin `reference`, as it is now, for the environment in `folder`: writes akotf.lock.

    A template from git is fetched (online). ConfigError when its tag names another commit than the one locked,
    unless `accept_moved`.
    """
    template = find_template(reference, catalogues, cache) if cache else open_template(reference, catalogues)
    refuse_moved(template, folder, accept_moved=accept_moved)
    books.write_lock(folder, template.ref)
    return template.ref


def refuse_moved(template: Template, environment: Path, *, accept_moved: bool) -> None:
    """ConfigError when a tag that the environment locked names another commit now."""
    if not template.ref.source or accept_moved:
        return
    address = parse_address(template.ref.source)
    if words := remote.moved(address, books.read_lock(environment), template.ref.commit):
        shown = shown_path(environment)
        remedy = f"ask its owner why; after a review: akotf template lock {shown} --accept-moved"
        raise remote.pin_error(environment, words, remedy)


def list_templates(catalogues: Sequence[Path]) -> list[TemplateListing]:
    """All templates; of a version in several catalogues the one that counts (the first)."""
    rows: dict[str, TemplateListing] = {}
    for catalogue in catalogues:
        index = books.read_index(catalogue)
        for name, version, folder in versions(catalogue):
            reference = f"{name}@{version}"
            if reference not in rows:
                content = content_digest(folder)
                found = read_template(folder, content)
                require_named(found, name, version)
                published = index.get(reference) == content
                rows[reference] = TemplateListing(
                    reference, found.spec.description, folder, content, published
                )
    return [rows[reference] for reference in sorted(rows)]


def versions(catalogue: Path) -> Iterator[tuple[str, str, Path]]:
    """Name, version and folder of every template in a catalogue."""
    for path in sorted(catalogue.glob(f"*/*/{TEMPLATE}")):
        if match := REFERENCE.fullmatch(f"{path.parent.parent.name}@{path.parent.name}"):
            yield match[1], match[2], path.parent
