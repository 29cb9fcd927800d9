"""Publish a verified run: outputs/manifest.json with its artifacts, and screenshots/ of workflow, execution, outputs.

Called by `run.sh --capture` with the transcript of that very run. SVG by rich, PNG from it by resvg (AkôFlow's
validator wants PNG); both come with `pip install 'akotf[capture]'`. Nothing is shown that the run did not print;
only folders of this machine are shortened.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
WIDTH = 120
#: screenshot -> (title, sections of run.sh by their numbers)
PICTURES = {
    "workflow": ("akotf plan environments/quickstart", "12"),
    "execution": ("akotf apply environments/quickstart", "34"),
    "outputs": ("akotf verify: records, evidence and contract", "56"),
}
STYLES = (
    (r"^====", "bold magenta"), (r"^── ", "bold cyan"), (r"^---- \([abc]\)", "bold yellow"), (r"^----", "cyan"),
    (r"^drift ", "yellow"), (r"^(healed|clear) ", "green"), (r"^heal ", "bold"), (r"^passed ", "green"),
    (r"^(FAILED|error)", "bold red"), (r"^note ", "dim"), (r"^(validation contract: passed|evidence is)", "bold green"),
)  # fmt: skip
FONTS = ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")


def publish(outputs: Path, evidence: Path) -> None:
    """outputs/: the artifacts and AkôFlow's manifest. The digest is AkôFlow's: of the input with sorted keys."""
    given = json.loads((HERE / "data" / "input.json").read_text(encoding="utf-8"))
    expected = json.loads((HERE / "expected" / "manifest.json").read_text(encoding="utf-8"))
    state = json.loads((evidence / "run.json").read_text(encoding="utf-8"))["state"]
    target = HERE / "outputs"
    target.mkdir(exist_ok=True)
    for name in expected["artifacts"]:
        shutil.copyfile(outputs / name, target / name)
    manifest = {
        "showcase": given["slug"],
        "digest": hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest(),
        "stages": given["stages"],
        "status": "success" if state == "succeeded" else state,
        "artifacts": given["artifacts"],
        "files": json.loads((evidence / "outputs.json").read_text(encoding="utf-8"))["files"],
    }
    (target / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def sections(transcript: str) -> dict[str, list[str]]:
    """The transcript's lines by the number of their heading, without colours and without what a line overwrote."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", transcript)
    plain = plain.replace(str(HERE), "environments/quickstart")
    parts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (row.rsplit("\r", 1)[-1].rstrip() for row in plain.splitlines()):
        found = re.match(r"==== (\d)\.", line)
        if found:
            lines = parts.setdefault(found[1], [])
        elif line.startswith("==== "):
            lines = []
        lines.append(line)
    return parts


def shortened(number: str, lines: list[str]) -> list[str]:
    """`apply` prints validation and plan again, which another picture has: its part begins where Terraform applies."""
    begin = next((i for i, line in enumerate(lines) if line.startswith("terraform: ")), 0)
    return (
        [lines[0], f"... {begin - 1} lines: see workflow", *lines[begin:]]
        if number == "3" and begin
        else lines
    )


def draw(name: str, title: str, lines: list[str], fonts: list[Path]) -> None:
    """screenshots/NAME.svg and NAME.png."""
    from resvg_py import svg_to_bytes

    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    for line in lines:
        style = next((style for pattern, style in STYLES if re.match(pattern, line)), "")
        console.print(Text(line, style=style), soft_wrap=False)
    svg = console.export_svg(title=title, unique_id=f"akotf-{name}")
    svg = re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)  # rich would fetch fonts from the web
    folder = HERE / "screenshots"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.svg").write_text(svg + "\n", encoding="utf-8")
    picture = svg_to_bytes(
        svg_string=re.sub("Fira Code|arial", "DejaVu Sans Mono", svg), font_files=[str(font) for font in fonts],
        monospace_family="DejaVu Sans Mono", skip_system_fonts=True, zoom=1,
    )  # fmt: skip
    (folder / f"{name}.png").write_bytes(bytes(picture))


def find_fonts() -> list[Path]:
    """The font that the PNG is drawn with; a picture without one would be empty."""
    found = [path for name in FONTS for path in Path("/usr/share/fonts").rglob(name)]
    if len(found) < len(FONTS):
        raise SystemExit("capture.py: DejaVu Sans Mono is missing: apt-get install fonts-dejavu-core")
    return found


def main() -> None:
    """capture.py OUTPUTS EVIDENCE TRANSCRIPT."""
    outputs, evidence, transcript = map(Path, sys.argv[1:])
    fonts = find_fonts()
    parts = sections(transcript.read_text(encoding="utf-8", errors="replace"))
    publish(outputs, evidence)
    for name, (title, numbers) in PICTURES.items():
        draw(name, title, [line for number in numbers for line in shortened(number, parts[number])], fonts)
    print(f"captured: {HERE / 'outputs'}, {HERE / 'screenshots'}")


if __name__ == "__main__":
    main()
