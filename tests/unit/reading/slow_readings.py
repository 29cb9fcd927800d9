"""Inputs built to be slow or large, each read in a child with limits: `python slow_readings.py` prints JSON.

One row an input: CPU seconds, peak MiB, the rule of the last fault (or "read"). `unit` is what PyYAML's own C loader
takes for 1 MB of honest YAML on this machine now.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time

import yaml as pyyaml

from akotf.errors import ConfigError
from akotf.model.config import EnvironmentSpec
from akotf.reading import yaml
from akotf.reading.bind import bind, plain

SIZE = yaml.MAX_BYTES
CPU_SECONDS, MEMORY = 60, 4 * 2**30  # of a child; what it may not reach is asserted by the test


def full(piece: str, before: str = "", after: str = "") -> bytes:
    """As many of a piece as a file may hold."""
    one = piece.encode()
    room = SIZE - len(before.encode()) - len(after.encode())
    return before.encode() + one * (room // len(one)) + after.encode()


def numbered(form: str, before: str = "") -> bytes:
    """As many lines as a file may hold, with a number in each."""
    rows, length, number = [before], len(before.encode()), 0
    while length < SIZE - 40:
        rows.append(form.format(number))
        length += len(rows[-1].encode())
        number += 1
    return "".join(rows).encode()


TAGS = "%TAG !{0}! x\n"
SLOW = {
    "directives": numbered(TAGS),
    "directives after the end": numbered(TAGS, "a: 1\n...\n"),
    "directives in the document": numbered(TAGS, "a: 1\n"),
    "empty lines": full("\n", after="a: 1"),
    "comments": full("#\n", after="a: 1"),
    "end marks": full("...\n", "a: 1\n"),
    "numbers in brackets": full("0,", "[", "0]"),
    "words in braces": numbered("k{0},", "{{"),
    "keys": numbered("k{0}: 1\n"),
    "foreign keys": numbered("\u0436{0}: 1\n"),
    "keys like known ones": numbered("labels{0}: 1\n"),
    "a key of ligatures": full("\ufdfa", after=": 1"),
    "combining marks": full("\u0301\u0316", "a", ": 1"),
    "half characters": full("\\ud83d", 'a: "', '"'),
    "an open quote": full("x\n", "a: '"),
    "open brackets": full("["),
    "dashes": full("- "),
    "questions": full("?\n"),
    "aliases of lists": full("- *a\n", "a: &a [" + "1," * 1000 + "]\nb:\n"),
    "merges of merges": full("- <<: *a\n", "a: &a {" + ",".join(f"k{i}: 1" for i in range(1000)) + "}\nb:\n"),
    "one merge of many": full("*a,", "a: &a {" + ",".join(f"k{i}: 1" for i in range(100)) + "}\nb:\n  <<: [", "]\n"),
    "tabs in values": full("- a\tb\n"),
    "tabs in comments": full("#\t\n", "a: 1\n"),
    "tabs that begin blocks": full("- |2\n  \tx\n"),
    "letters that look alike": full("\u0436\u0430", "a: x"),
    "expressions": full("- {{ x }}\n"),
    "tags": full("- !a b\n"),
    "a list of parameters": b"version: 1\nname: a\nowner: b\ntemplate: t@1.0.0\nparameters:\n  x:\n" + b"  - 1\n" * 170_000,
    "parameters": numbered("  p{0}: 1\n", "version: 1\nname: a\nowner: b\ntemplate: t@1.0.0\nparameters:\n"),
    "labels without a value": numbered("  organisation-{0}:\n", "version: 1\nname: a\nowner: b\ntemplate: t@1.0.0\nlabels:\n"),
    "deep and shallow": "".join(f"{' ' * (i % 60)}k:\n" for i in range(30_000)).encode()[:SIZE],
}  # fmt: skip
HONEST = "".join(
    f"job-{i}:\n  gpus: {i}\n  lr: 1e-4\n  name: 'run {i}'\n  on: [a, b]\n" for i in range(18_000)
).encode()


def said(data: bytes) -> str:
    """The rule of the last fault, in reading or else in binding."""
    try:
        node = yaml.parse(data, "f.yaml")
    except ConfigError as error:
        return str(error.findings[-1].rule)
    plain(node)
    findings = bind(node, EnvironmentSpec).findings
    return f"bind: {findings[-1].rule}" if findings else "read"


def limited(data: bytes) -> tuple[float, int, str]:
    """CPU seconds and peak MiB of a forked child that reads `data`, and what it said."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.write(writer, said(data).encode())
        os._exit(0)
    os.close(writer)
    _, status, usage = os.wait4(child, 0)
    word = os.read(reader, 200).decode()
    os.close(reader)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024, word or f"ended with {status}"


if __name__ == "__main__":
    begin = time.process_time()
    pyyaml.load(HONEST, Loader=pyyaml.CSafeLoader)
    unit = time.process_time() - begin
    json.dump({"unit": unit, "rows": {name: limited(data) for name, data in SLOW.items()}}, sys.stdout)
