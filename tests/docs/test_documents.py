"""Documents say what is so: commands, verbs, codes, links and the generated pages are held against the real thing."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from akotf import errors
from akotf.backends.registry import GROUP
from akotf.cli import COMMANDS
from akotf.cli.dispatch import module_of, parser_of
from akotf.model.config import RESERVED_SCOPE_NAMES

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "policies/*.md",
        "benchmarks/*.md",
        "modules/*/*.md",
        "environments/*/*.md",
    )
    for path in REPOSITORY.glob(pattern)
)
GENERATOR = REPOSITORY / "docs" / "generate_reference.py"

on_every_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(REPOSITORY).as_posix())


def blocks(page: Path, *languages: str) -> Iterator[str]:
    """Fenced blocks of these languages."""
    for language, body in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
        if language in languages:
            yield body


def commands(page: Path) -> Iterator[list[str]]:
    """The words of each command line in a page's shell blocks and inline code; comments and redirections are gone."""
    lines = [line for body in blocks(page, "sh") for line in body.replace("\\\n", " ").splitlines()]
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    lines += [
        c
        for c in re.findall(r"`((?:akotf|\./dev) [^`\n]+)`", text)
        if not re.search(r"[A-Z]{3,}|\.\.\.|[|<]", c)
    ]
    for line in lines:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";<>|&()")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set(";<>|&()"):
                yield words
                words = []
            elif not (words == [] and (re.match(r"[A-Z_]+=", word) or word in {"do", "then"})):
                words.append(word)


@on_every_page
def test_every_command_is_one(page: Path) -> None:
    for words in commands(page):
        if words[:1] == ["akotf"] and len(words) > 1 and not words[1].startswith("-"):
            assert words[1] in COMMANDS, words
            if len(words) > 2 and "--help" not in words:  # a bare name in running text speaks of the command
                parser_of(words[1]).parse_args(words[2:])
        if words[:1] == ["./dev"] and len(words) > 1:
            verbs = re.findall(r"^ {4}([a-z]+)[ )|]", (REPOSITORY / "dev").read_text(), re.M)
            assert words[1] in verbs, words


def test_the_commands_of_a_block_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        'Say `akotf plan words`, or `akotf verify FOLDER`.\n```sh\nfor f in *; do akotf verify "$f"; done\n'
        "A=b akotf run . -y  # go\nakotf nonsense > x\n```\n"
    )
    found = [words for words in commands(page) if words[:1] == ["akotf"]]
    assert found == [
        ["akotf", "verify", "$f"],
        ["akotf", "run", ".", "-y"],
        ["akotf", "nonsense"],
        ["akotf", "plan", "words"],
    ]
    with pytest.raises(AssertionError):
        test_every_command_is_one(page)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_a_command_parse(name: str) -> None:
    for line in module_of(name).EXAMPLES:
        words = shlex.split(line.split(" > ")[0])
        assert words[:2] == ["akotf", name]
        parser_of(name).parse_args(words[2:])


@on_every_page
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert target.is_relative_to(REPOSITORY), link
        if anchor:
            assert anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """The anchors that headings get on the web."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@on_every_page
def test_files_of_the_project_that_are_named_exist(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    text = re.sub(r"^`[^`]+`:$", "", text, flags=re.M)  # the file that the block below makes
    for name in re.findall(
        r"`((?:akotf|docs|tests|iac|modules|policies|benchmarks|environments)/[\w./-]+)`", text
    ):
        if not re.search(r"[A-Z]{3,}", name):
            assert (REPOSITORY / name).exists(), name


def test_stages_of_the_architecture_name_real_files() -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z]+/[a-z_]+\.py)`", text)
    assert len(named) > 10
    for name in named:
        assert (REPOSITORY / "akotf" / name).exists() or (REPOSITORY / name).exists(), name


@on_every_page
def test_no_page_knows_a_machine(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"(?<![\w.~$}])/(?:root|home|work|tmp|Users|opt|mnt)/\S*", text)
    assert not found


def test_every_code_is_documented() -> None:
    page = (REPOSITORY / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.AkotfError)]
    assert len(classes) > 15
    for each in classes:
        assert f"| `{each.code}` | {each.exit_code} |" in page
        assert f"| {each.exit_code} |" in readme
    for code in (0, 2):
        assert f"| {code} |" in page and f"| {code} |" in readme


def test_no_two_errors_share_a_code() -> None:
    codes = [
        c.code for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.AkotfError)
    ]
    assert len(set(codes)) == len(codes)


def test_every_command_is_documented() -> None:
    page = (REPOSITORY / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"^## akotf (.+)$", page, re.M) == list(COMMANDS)


def test_every_variable_is_documented() -> None:
    page = (REPOSITORY / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    package = Path(errors.__file__).parent
    readers = ("wiring/surroundings.py", "wiring/binding.py", "tfprovider/registry.py")
    source = "".join((package / name).read_text() for name in readers)
    read = set(re.findall(r'(?:environ|variables)(?:\.get\(|\[)"([A-Z_]+)"', source)) - {"HOME"}
    assert {"AKOTF_SIGNING_KEY", "NO_COLOR", "XDG_STATE_HOME"} <= read
    assert read == set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.M))


def test_the_reference_is_what_the_code_says() -> None:
    asked = [sys.executable, str(GENERATOR), "--check"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_names_what_the_documents_name() -> None:
    text = (REPOSITORY / "docs" / "how-to" / "add-a-backend.md").read_text(encoding="utf-8")
    assert GROUP in text
    layout = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name in ("objects", "runs", "evidence", "state", "locks"):
        assert name in RESERVED_SCOPE_NAMES
        assert f"── {name}/" in layout


def test_decisions_are_listed() -> None:
    folder = REPOSITORY / "docs" / "adr"
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert listed == sorted(path.name for path in folder.glob("0*.md"))
