"""The schemas that editors read: they take what the strict reader takes, and say what the reference says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from akotf.model.config import ParameterSpec, TemplateSpec
from akotf.model.report import ValidationReport
from akotf.model.schemas import FILES, file_schema, model_schema, parameters_schema
from akotf.reading import yaml
from akotf.reading.bind import bind, plain

REPOSITORY = Path(__file__).parents[3]

ENVIRONMENT = """\
version: 1
name: quick
owner: ml
template: gpu-training@1.0.0
"""
RUN = """\
image: {{reference: "registry/a@sha256:00"}}
command: [python, train.py]
limits: {{memory: 4 GiB, wall_time: 1h{limits}}}
checkpoint: {{interval_steps: 5}}
workload: {{model: {{layers: 1, hidden: 8, heads: 1, vocabulary: 9, sequence: 4}}, global_batch: 2, steps: 10}}
{more}
"""
RULE = "version: 1\nid: a-rule\ntitle: t\nlevel: advisory\nstage: config\nexpr: 'true'\nmessage: m\nwhy: w\nremedy: r\n"


def validator(file: str) -> jsonschema.Draft7Validator:
    schema = file_schema(file)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def verdicts(file: str, text: str, folder: Path) -> tuple[list[str], list[str]]:
    """What the reader says of a document, and what the schema says of the data that an editor makes of it."""
    path = folder / file
    path.write_text(text, encoding="utf-8")
    node = yaml.read(path)
    read = [f"{f.path}: {f.message}" for f in bind(node, FILES[file]).findings]
    return read, [f"{list(e.absolute_path)}: {e.message}" for e in validator(file).iter_errors(plain(node))]


GOOD = [
    *(("akotf.yaml", ENVIRONMENT + more) for more in (
        "", "labels: {cost-center: 42, on: true, pi: 3.14}\n", "objective: {budget: 25 USD, deadline: 6-00:00:00, prefer: time}\n", "objective: {deadline: PT1H}\n",
        "scopes: {a: {kind: local}, b-2: {kind: hpc, partition: 7, nodes: {count: 2, gpu: nvidia-tesla-t4, gpus: 1, cpus: 4, memory: 80Gi, bandwidth: 100 Gbit/s}, price: 12 USD/node/h}}\n",
        "scopes: {c: {kind: cloud, provider: aws, regions: [us-east-1], market: [spot, on-demand]}}\n", "parameters: {a: null, b: [1, {c: d}], e: 1e-3}\n",
        "secrets: {TOKEN: 'env:HF', KEY: 'vault:kv/team#key', P: 'file:a b', A: 'aws-sm:prod/x#k'}\n", "waivers: [{rule: r, owner: o, reason: why, ticket: T-1, expires: 2027-03-01}]\n",
        "lifecycle: {teardown: never, ttl: 1.5h}\nmonitor: {telemetry: 500 ms, refresh: 5 min, heal: alert}\n", "scopes: {}\n", "labels: {a: ''}\n",
    )),
    *(("run.yaml", RUN.format(limits=limits, more=more)) for limits, more in (
        ("", ""), (", nodes: 2, gpu: A100-80GB, gpus: 8, shared_memory: 16 GB, open_files: 64", "environment: {OMP_NUM_THREADS: 2, A: '{{ no }}', B: true}"),
        (', nodes: "{{ n }}", gpus_optional: "{{ b }}"', 'hyperparameters: {lr: 1e-4, name: adam, nesterov: true, x: "{{ y }}"}\nprocesses: "{{ p | int }}"'),
        ("", "libraries: {torch: 2.11}\nstorage: [{source: data, target: /data}]\nsecrets: {T: env:T}\noutputs: [model.pt]"),
    )),
    ("rule.yaml", RULE), ("rule.yaml", RULE + "params: {max: 3, list: [a]}\nreads: [a.b]\nunknown: recheck\n"),
    ("template.yaml", "version: 1\nname: t\nrelease: 1.0.0\nroots: {local: terraform/local}\nparameters: {a: {type: integer, default: 3, min: 1, choices: [1, 3]}}\n"),
]  # fmt: skip
BAD = [
    *(("akotf.yaml", ENVIRONMENT + more, where) for more, where in (
        ("budget: 3\n", "budget"), ("objective: {budget: 25}\n", "budget"), ("objective: {budget: $25}\n", "budget"), ("objective: {deadline: 90}\n", "deadline"),
        ("objective: {deadline: 05:23:30:00}\n", "deadline"), ("objective: {prefer: fast}\n", "prefer"), ("objective: {deadline: null}\n", "deadline"), ("objective:\n", "objective"),
        ("scopes: {a: {kind: grid}}\n", "kind"), ("scopes: {A_B: {kind: local}}\n", "scopes"), ("scopes: {a: {}}\n", "scopes"), ("scopes: [a]\n", "scopes"),
        ("scopes: {a: {kind: hpc, nodes: {count: 0, cpus: 1, memory: 1 GB}}}\n", "count"), ("scopes: {a: {kind: hpc, nodes: {count: 1, cpus: 1, memory: 80G}}}\n", "memory"),
        ("scopes: {a: {kind: hpc, nodes: {count: 1, cpus: 1, memory: 512}}}\n", "memory"), ("scopes: {a: {kind: hpc, nodes: {count: 1, cpus: '1', memory: 1 GB}}}\n", "cpus"),
        ("scopes: {a: {kind: hpc, nodes: {count: 1, cpus: 1, gpu: A100, memory: 1 GB}}}\n", "gpu"), ("scopes: {a: {kind: hpc, nodes: {count: 1, cpus: 1, gpu: H100:8, memory: 1 GB}}}\n", "gpu"),
        ("scopes: {a: {kind: local, price: 0.6 USD}}\n", "price"),
        ("scopes: {a: {kind: hpc, nodes: {count: 1, cpus: 1, memory: 1 GB, bandwidth: 12 GB/s}}}\n", "bandwidth"), ("scopes: {a: {kind: cloud, market: spot}}\n", "market"),
        ("secrets: {T: hunter2}\n", "T"), ("secrets: {T: 'vault:kv'}\n", "T"), ("waivers: [{rule: r, owner: o, reason: w, ticket: t, expires: soon}]\n", "expires"),
        ("waivers: [{rule: r}]\n", "waivers"), ("labels: [a]\n", "labels"), ("labels: {a: null}\n", "a"), ("labels: {a: {b: c}}\n", "a"), ("monitor: {heal: yes}\n", "heal"),
    )),
    ("akotf.yaml", ENVIRONMENT.replace("version: 1", "version: 2"), "version"), ("akotf.yaml", ENVIRONMENT.replace("version: 1", "version: '1'"), "version"),
    ("akotf.yaml", ENVIRONMENT.replace("name: quick", "name: Quick_Start"), "name"), ("akotf.yaml", "version: 1\nname: a\nowner: b\n", "template"),
    *(("run.yaml", RUN.format(limits=limits, more=more), where) for limits, more, where in (
        (", nodes: two", "", "nodes"), (", open_files: 10", "", "open_files"), (", gpus: 1.5", "", "gpus"), (", gpu: V100", "", "gpu"), (", walltime: 1h", "", "walltime"),
        ("", "environment: {A: null}", "A"), ("", "processes: 0", "processes"), ("", "storage: [{source: a}]", "storage"), ("", "hyperparameters: {a: [1]}", "a"),
    )),
    ("run.yaml", RUN.format(limits="", more="").replace("command: [python, train.py]", "command: []"), "command"),
    ("run.yaml", RUN.format(limits="", more="").replace("command: [python, train.py]", "command: python train.py"), "command"),
    ("rule.yaml", RULE.replace("advisory", "hard"), "level"), ("rule.yaml", RULE.replace("a-rule", "A rule"), "id"), ("rule.yaml", RULE.replace("why: w\n", ""), "why"),
    ("template.yaml", "version: 1\nname: t\nrelease: 1.0.0\nroots: {local: a}\nparameters: {a: {type: int}}\n", "type"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "text"), GOOD)
def test_what_the_reader_takes_the_schema_takes(file: str, text: str, tmp_path: Path) -> None:
    read, said = verdicts(file, text, tmp_path)
    if "{{" in text and file == "run.yaml":
        read = []  # the reader sees what the expressions become
    assert (read, said) == ([], [])


@pytest.mark.parametrize(("file", "text", "where"), BAD)
def test_what_the_reader_refuses_the_schema_refuses(file: str, text: str, where: str, tmp_path: Path) -> None:
    read, said = verdicts(file, text, tmp_path)
    assert any(where in line for line in read), read
    assert any(where in line for line in said), said


@pytest.mark.parametrize("path", [
    *sorted(REPOSITORY.glob("environments/*/akotf.yaml")), *sorted(REPOSITORY.glob("iac/*/*/template.yaml")),
    *sorted(REPOSITORY.glob("iac/*/*/run.yaml")), *sorted(REPOSITORY.glob("policies/*/rule.yaml")),
], ids=lambda path: path.relative_to(REPOSITORY).as_posix())  # fmt: skip
def test_our_own_files_hold(path: Path) -> None:
    assert [e.message for e in validator(path.name).iter_errors(plain(yaml.read(path)))] == []


def walk(data: Any, path: str = "") -> Any:
    yield path, data
    if isinstance(data, dict):
        for key, value in data.items():
            yield from walk(value, f"{path}/{key}")
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from walk(value, f"{path}/{index}")


@pytest.mark.parametrize("file", FILES)
def test_an_editor_finds_a_meaning_at_every_key_and_no_trace_of_the_library(file: str) -> None:
    schema = file_schema(file)
    assert schema["$id"] == f"urn:akotf:schema:{file}"
    models = [schema, *schema["definitions"].values()]
    for model in models:
        assert model["additionalProperties"] is False
        assert model["description"]
        for name, field in model["properties"].items():
            assert field.get("description"), name
            assert field.get("default", 0) is not None
    text = json.dumps(schema)
    assert not re.search(r"pydantic|\$defs|SearchPattern|allOf|Enum\b|\"null\"", text)
    titles = {value for path, value in walk(schema) if path.endswith("/title") and isinstance(value, str)}
    assert titles <= {file, "Size", "Duration", "Percentage", "Bit rate", "Amount of money", "Price per hour", "GPU name", "Secret reference",
                      "Expression over the parameters"}  # fmt: skip
    for path, value in walk(schema):
        if path.endswith("/pattern") and isinstance(value, str):
            assert "?P<" not in value and "\\Z" not in value  # ECMAScript's expressions know neither


def test_defaults_are_written_as_people_write_them() -> None:
    monitor = file_schema("akotf.yaml")["definitions"]["MonitorSpec"]["properties"]
    assert (monitor["telemetry"]["default"], monitor["refresh"]["default"], monitor["heal"]["default"]) == (
        "5s",
        "5m",
        "auto",
    )
    assert file_schema("akotf.yaml")["definitions"]["ScopeSpec"]["properties"]["kind"]["enum"] == [
        "local",
        "hpc",
        "cloud",
    ]


TEMPLATE = TemplateSpec(
    version=1, name="t", release="1.0.0", roots={"local": "x"},
    parameters={
        "steps": ParameterSpec(type="integer", default=300, min=1, max=1000, help="Steps of the run"),
        "batch": ParameterSpec(type="integer", required=True, unit="sequences", help="Sequences a step"),
        "rate": ParameterSpec(type="number", default=0.001, min=0, max=1), "precision": ParameterSpec(type="string", default="fp32", choices=("fp32", "bf16")),
        "wall": ParameterSpec(type="duration", default="1h"), "memory": ParameterSpec(type="bytes", default="4 GiB", min=2**28),
        "name": ParameterSpec(type="string", pattern="[a-z]+"), "odd": ParameterSpec(type="string", pattern="(?P<a>x)"), "fast": ParameterSpec(type="boolean"),
        "token": ParameterSpec(type="string", secret=True),
    },
)  # fmt: skip


@pytest.mark.parametrize(("values", "wrong"), [
    ({"batch": 1}, []), ({"batch": 1, "steps": 3, "rate": 0.5, "precision": "bf16", "wall": "90m", "memory": "1 GB", "name": "ab", "fast": False, "token": "env:A", "odd": "y"}, []),
    ({}, ["batch"]), ({"batch": 1, "stepz": 1}, ["stepz"]), ({"batch": 1, "steps": 0}, ["steps"]), ({"batch": 1, "rate": 2}, ["rate"]),
    ({"batch": 1, "precision": "fp4"}, ["precision"]), ({"batch": 1, "wall": 90}, ["wall"]), ({"batch": 1, "memory": "4G"}, ["memory"]),
    ({"batch": 1, "name": "A"}, ["name"]), ({"batch": 1, "fast": "yes"}, ["fast"]), ({"batch": 1, "token": "hunter2"}, ["token"]),
])  # fmt: skip
def test_the_parameters_of_a_template(values: dict[str, Any], wrong: list[str]) -> None:
    schema = parameters_schema(TEMPLATE)
    jsonschema.Draft7Validator.check_schema(schema)
    errors = list(jsonschema.Draft7Validator(schema).iter_errors(values))
    assert len(errors) == len(wrong)
    assert all(
        name in f"{list(error.absolute_path)} {error.message}"
        for name, error in zip(wrong, errors, strict=True)
    )
    assert schema["properties"]["batch"]["description"] == "Sequences a step (sequences)."
    assert schema["properties"]["memory"]["default"] == "4 GiB"


def test_the_report_has_a_schema_with_meanings() -> None:
    schema = model_schema(ValidationReport, "report")
    jsonschema.Draft7Validator.check_schema(schema)
    assert "schema" in schema["properties"]
    finding = schema["definitions"]["ReportedFinding"]["properties"]
    assert finding["fingerprint"]["description"]
    assert finding["severity"]["enum"] == ["error", "warning", "note"]
