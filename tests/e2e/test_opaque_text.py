"""2,000 hostile texts through the whole path: YAML, tfvars, Terraform, provider, backend, process, agent. All come out
equal, nothing of them runs, and a plain `terraform plan` shows no drift.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from akotf.telemetry.agent_client import AgentSource
from akotf.terraform.runner import find_binary

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

COUNT = 2_000
CANARY = "@CANARY@"  # stands for the path of a file that must never come to be

# Real dialects: what job files of public repositories hold (SkyPilot, dstack, AzureML, GitHub, OmegaConf, NeMo,
# Slurm scripts, kubernetes), and what would run if any step gave the text to a shell, to Jinja or to Terraform.
CORE = [
    "", " ", "  leading", "trailing  ", "\t", "\n", "\r", "\r\n", "a\r\nb\r\n", "a\n\n\nb\n", "line \\\n  goes on", "x\\", "\\\\", "\\n",
    "'", '"', "''", '""', "it's", "\"'\"", "'\"'\"'", "$'User: {}\\n'", "`", "``", f"`touch {CANARY}`", f"$(touch {CANARY})",
    f"; touch {CANARY}", f"&& touch {CANARY} &&", f"| tee {CANARY}", f"\ntouch {CANARY}\n", f"> {CANARY}", f"x\" ; touch {CANARY} ; \"", f"'; touch {CANARY}; '",
    f"{{{{ ''.__class__.__mro__[1].__subclasses__() }}}}{{{{ open('{CANARY}', 'w') }}}}", "{{ steps }}", "{{steps}}", "{{ 7 * 7 }}", "{% if 1 %}x{% endif %}",
    "{# comment #}", "{{", "}}", "{%", "%}", "{{ undefined_name }}", "{{ '{{' }}", "{{- x -}}", "{% raw %}{{ x }}{% endraw %}",
    "$HOME", "${HOME}", "$PATH", "${PATH:-x}", "$(HOME)", "%HOME%", "$AKOTF_RUN_ID", "$(AKOTF_RUN_ID)", "~root", "$0 $1 $@", "$SKYPILOT_NODE_RANK", "${SKYPILOT_NUM_GPUS_PER_NODE}", "$A-2", "${nodes::-1}", "\\$SLURM_PROCID", ": ${VAR:=x}", '"${X:=d}"', "$((1 + 1))", "$$", "$",
    "${{ run.args }}", "${{inputs.learning_rate}}", "${{ github.event.issue.title }}", "${multiply:4, ${.hidden_size}}", "${NUM_INSTANCES}", "???",
    "${var.name}", "$${escaped}", "%{ if true }x%{ endif }", "%%{escaped}", "${file(\"/etc/hostname\")}", f"${{file(\"{CANARY}\")}}", "%{ for k in [1] }x%{ endfor }",
    "%s %d %n %(x)s {} {0} {0.__class__}", "%", "100%", "%PATH%", "<<EOT\nx\nEOT\n", "~ ~- ~/x", "!!python/object/apply:os.system ['true']", "!Ref x",
    "&anchor", "*anchor", "<<: *x", "- item", "key: value", "key:", ": x", "? complex", "| block", "> folded", "# comment", "x # comment", "a: b: c", "[1, 2", "{a: 1",
    "@at", "`tick", "%TAG", "---", "...", "--- a\n...\n", "null", "Null", "~", "true", "True", "yes", "no", "off", "on", "NO", "y", "1e-4", "1_000", "0o17", "017",
    "0x1F", "1:30:00", "3.10", "12e03", ".inf", ".nan", "-.inf", "2026-10-01", "L4:2", "H100:8", "4+", "8..", "6-00:00:00", "{00000000..00099999}", "--time=1:00",
    "--", "-", "-c", "--n", "-x=1", "--nodes 16", "#SBATCH --nodes=2  # trailing", "#!/bin/sh", "a=b=c", "=", "=x", "a\tb\tc", "\x01\x02\x1b[31mred\x1b[0m\x7f", "\x0b\x0c",
    "\u00e9", "e\u0301", "\u212b", "\u00c5", "A\u030a", "\ufb01", "\u1e9b\u0323", "\uac00", "\u1100\u1161", "\u0344", "\u2126", "\U0001d400", "\u0958",
    "\u202eright to left\u202c", "\u05e9\u05dc\u05d5\u05dd", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\u200b", "\u200d", "\ufeff", "a\u00a0b", "\u2028\u2029\u0085", "\u00ad",
    "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "e" + "\u0301" * 50, "\u0000".replace("\0", "\u2400"), "\ufffd", "\uffff", "\U0010ffff",
    "../../etc/passwd", "/etc/passwd", "C:\\temp\\new", "file:///etc/passwd", "s3://bucket/key?x=1&y=2#z", "http://a:b@c/?q=%20",
    '{"json": [1, "two", null], "nested": "${x}"}', "<xml attr='x'>&amp;</xml>", "import os; os.system('true')", "__import__('os')", "Robert'); DROP TABLE runs;--",
]  # fmt: skip
PIECES = [
    "$", "%", "{", "}", "{{", "}}", "{%", "%}", "${", "%{", "$(", ")", "`", "'", '"', "\\", "\n", "\r", "\r\n", "\t", " ", "  ", ";", "&", "|", "<", ">", "#", "!", "*", "?", "~",
    "[", "]", ":", ": ", "- ", "=", ",", "a", "B", "0", "1e-4", "true", "null", "é", "e\u0301", "ß", "\u0301", "\u202e", "\u200b", "\ufeff", "\u00a0", "中", "\U0001f600",
    "\x01", "\x1b", "\x7f", "\u0085", "\u2028", "{{ steps }}", "${{ x }}", f"$(touch {CANARY})", f"`touch {CANARY}`", f"; touch {CANARY};",
]  # fmt: skip
LONG = 100_000


def hostile(canary: Path) -> list[str]:
    """The core, then texts drawn from a fixed seed, then two of 100 kB; all different."""
    draw = random.Random(20_261)
    texts = dict.fromkeys(CORE)
    while len(texts) < COUNT - 2:
        texts["".join(draw.choice(PIECES) for _ in range(draw.randrange(1, 14)))] = None
    long = "".join(draw.choice(PIECES) for _ in range(LONG))
    texts |= dict.fromkeys([long[: LONG // 3] + "end", ("${x} 'é\n" * LONG)[:LONG]])
    assert len(texts) == COUNT
    return [text.replace(CANARY, str(canary)) for text in texts]


def spelt(text: str, draw: random.Random) -> str:
    """The text in YAML, in one of the styles that can hold it."""
    ways = [_double_quoted(text)]
    # Outside double quotes YAML has no escapes: a text with what can't be seen has no other way
    if not re.search(
        r"[^\t\n -~\u00a1-\u1fff\u3000-\ud7ff\U00010000-\U0010fffd]|[\u00ad\u0600-\u0605\u061c]", text
    ):
        if "\n" not in text:
            ways.append("'" + text.replace("'", "''") + "'")
        if re.match(r"[^ \n\t]", text):
            ended = text.endswith("\n")  # the line's end that follows the scalar is its last one
            lines = text.removesuffix("\n").split("\n")
            ways.append(f"|2{'+' if ended else '-'}\n" + "\n".join(f"    {line}" for line in lines))
    return draw.choice(ways)


def _double_quoted(text: str) -> str:
    """Every character that YAML would not keep as written is an escape."""
    named = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(named.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in text) + '"'


WITNESS = """\
import json, os, sys, time
from pathlib import Path

words = Path("/proc/self/cmdline").read_bytes().split(b"\\0")[:-1]
variables = Path("/proc/self/environ").read_bytes().split(b"\\0")[:-1]
used = json.loads(Path(os.environ["AKOTF_HYPERPARAMETERS"]).read_bytes())
seen = {"words": [w.hex() for w in words], "variables": [v.hex() for v in variables], "used": used}
beat = {"schema": 1, "step": 1, "total_steps": 1, "time": time.time(), "pid": os.getpid(), "hyperparameters": used}
for path, data in ((os.environ["AKOTF_OUTPUTS"] + "/seen.json", seen), (os.environ["AKOTF_HEARTBEAT"], beat)):
    Path(path + ".new").write_text(json.dumps(data))
    os.replace(path + ".new", path)
end = time.monotonic() + 120
while not Path("go").exists() and time.monotonic() < end:
    time.sleep(0.05)
"""
TEMPLATE = """\
version: 1
name: opaque
release: 1.0.0
parameters:
  steps: {type: integer, default: 1}
%s
roots: {local: terraform/local}
modules: [local-gpu]
"""
RUN = """\
image: {reference: "none@sha256:%s", process: true}
limits: {cpus: 1, memory: 2 GiB, wall_time: 10m}
checkpoint: {interval_steps: 1}
workload:
  model: {layers: 1, hidden: 8, heads: 2, vocabulary: 9, sequence: 4}
  global_batch: 1
  steps: "{{ steps }}"
outputs: [seen.json]
hyperparameters:
%s
environment:
%s
command:
  - python
  - -I
  - witness.py
%s
"""
ENVIRONMENT = """\
version: 1
name: trial
owner: "{{ nobody renders this }}"
labels: {cost-center: none, stage: test}
objective: {budget: 1 USD}
template: opaque@1.0.0
scopes: {workstation: {kind: local}}
monitor: {telemetry: 1s, heal: alert}
parameters:
%s
"""


class Sent:
    """The texts, by the way that each goes: words of the command, variables, values of parameters."""

    def __init__(self, texts: list[str]) -> None:
        core, drawn = texts[: len(CORE)], texts[len(CORE) :]
        self.words, rest = [*core, *drawn[::2]], [*core, *drawn[1::2]]
        self.variables = {f"H{number:04}": text for number, text in enumerate(rest)}
        self.parameters = {f"p{number}": text for number, text in enumerate(core)}

    def write(self, project: Any) -> None:
        """The environment and its template, in YAML."""
        draw = random.Random(3)
        template = project.folder / "iac" / "opaque" / "1.0.0"
        shutil.copytree(
            project.folder / "iac" / "gpu-training" / "1.0.0" / "terraform", template / "terraform"
        )
        shutil.copytree(project.folder / "modules" / "local-gpu", template / "modules" / "local-gpu")
        types = "\n".join(f"  {name}: {{type: string, default: ''}}" for name in self.parameters)
        (template / "template.yaml").write_text(TEMPLATE % types)
        used = "\n".join(f'  {name}: "{{{{ {name} }}}}"' for name in self.parameters)
        variables = "\n".join(f"  {name}: {spelt(text, draw)}" for name, text in self.variables.items())
        words = "\n".join(f"  - {spelt(text, draw)}" for text in self.words)
        (template / "run.yaml").write_bytes((RUN % ("0" * 64, used, variables, words)).encode())
        given = "\n".join(f"  {name}: {spelt(text, draw)}" for name, text in self.parameters.items())
        (project.environment / "akotf.lock").unlink(missing_ok=True)
        (project.environment / "akotf.yaml").write_bytes((ENVIRONMENT % given).encode())
        (project.environment / "witness.py").write_text(WITNESS)


class Witnessed:
    """A live run of the witness, and what it saw."""

    def __init__(self, project: Any, canary: Path) -> None:
        self.project = project
        self.canary = canary
        self.sent = Sent(hostile(canary))
        self.sent.write(project)
        self.apply = project.start("apply", str(project.environment), "-y")
        project.until(
            "the witness's word", lambda: list(self.base.glob("runs/*/outputs/seen.json")), self.apply
        )
        (seen,) = self.base.glob("runs/*/outputs/seen.json")
        self.seen: dict[str, Any] = json.loads(seen.read_bytes())
        (self.node,) = self.base.glob("state/*/*/node")

    @property
    def base(self) -> Path:
        """`.akotf`."""
        folder: Path = self.project.environment / ".akotf"
        return folder


@pytest.fixture(scope="module")
def run(new_project: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Witnessed]:
    yield Witnessed(new_project(), tmp_path_factory.mktemp("canary") / "canary")


def test_every_word_of_the_command_reaches_the_process(run: Witnessed) -> None:
    words = [bytes.fromhex(word).decode() for word in run.seen["words"]]
    assert words[1:3] == ["-I", "witness.py"]
    assert words[3:] == run.sent.words


def test_every_variable_reaches_the_process_and_none_of_ours_does(run: Witnessed) -> None:
    pairs = [bytes.fromhex(pair).decode().partition("=") for pair in run.seen["variables"]]
    found = {name: value for name, _, value in pairs}
    assert len(found) == len(pairs)
    assert {name: found[name] for name in run.sent.variables} == run.sent.variables
    others = {name for name in found.keys() - run.sent.variables.keys() if not name.startswith("AKOTF_")}
    assert others == {"PATH", "HOME", "LANG", "CUDA_VISIBLE_DEVICES"}


def test_values_of_parameters_are_rendered_once(run: Witnessed) -> None:
    assert run.seen["used"] == run.sent.parameters


def test_the_node_and_its_agent_tell_the_same_texts(run: Witnessed) -> None:
    baseline = json.loads((run.node / "baseline.json").read_bytes())
    assert baseline["environment"] == run.sent.variables
    assert baseline["hyperparameters"] == run.sent.parameters
    source = AgentSource()
    source.start_agent(run.node)
    facts = source.read(run.node).facts
    assert {name: facts[f"environment.{name}"] for name in run.sent.variables} == run.sent.variables
    for group in ("file", "in_use"):
        assert {n: facts[f"hyperparameters.{group}.{n}"] for n in run.sent.parameters} == run.sent.parameters


def test_composed_and_decomposed_texts_were_sent_and_stay_apart(run: Witnessed) -> None:
    texts = [*run.sent.words, *run.sent.variables.values()]
    assert {"\u00e9", "e\u0301", "\u212b", "\u00c5"} <= set(texts)
    assert sum(not unicodedata.is_normalized("NFC", text) for text in texts) > 100


def test_terraform_sees_no_drift_and_nothing_ran(run: Witnessed) -> None:
    (root,) = (path.parent for path in run.base.glob("*/*/main.tf"))
    variables = {name: run.project.variables[name] for name in ("PATH", "HOME", "XDG_STATE_HOME")}
    planned = subprocess.run(
        [str(find_binary()), "plan", "-detailed-exitcode", "-no-color", "-input=false"], cwd=root, env=variables,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert "No changes" in planned.stdout
    run.project.akotf("drift", str(run.project.environment), "--detailed-exitcode", code=0)
    (run.project.environment / "go").touch()
    assert run.project.wait(run.apply) == 0, run.project.said(run.apply)
    assert not run.canary.exists()
    assert not list(run.canary.parent.iterdir())
    strays = {p.name for p in run.project.environment.iterdir()} - {
        ".akotf",
        "akotf.yaml",
        "akotf.lock",
        "witness.py",
        "go",
    }
    assert strays <= {"train.py", "data", "README.md", ".gitignore"}
