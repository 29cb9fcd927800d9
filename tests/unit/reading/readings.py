"""Inputs with what each must give, and a program that reads them all: `python readings.py CSafeLoader` prints JSON.

The inputs follow what job files and threads of public projects hold (hyperparameters of LlamaFactory and axolotl,
SkyPilot and dstack jobs, Helm charts, the issues named at the kinds below); they are written anew here.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from akotf.errors import ConfigError
from akotf.reading import composer, yaml
from akotf.reading.bind import plain


@dataclass(frozen=True)
class Faults:
    """What must be told: rule, line and column of each fault."""

    found: tuple[tuple[str, int, int], ...]


def fault(rule: str, line: int, column: int) -> Faults:
    """One fault."""
    return Faults(((rule, line, column),))


def text(written: str) -> bytes:
    """UTF-8."""
    return written.encode()


def outcome(data: bytes) -> dict[str, Any]:
    """`value`, or `faults` with rule, line, column, message and remedy, or `number` (a number that can't be held)."""
    try:
        return {"value": plain(yaml.parse(data, "f.yaml"))}
    except ConfigError as error:
        rows = [
            (f.rule.removeprefix("config/"), f.position.line, f.position.column, f.message, f.remedy)
            for f in error.findings
        ]
        return {"faults": [list(row) for row in rows]}
    except ValueError as error:
        return {"number": str(error)}


# From AWS deployment framework's 020222070707 (octal), setup-python's 3.10, Kubernetes's and Ansible's `no`.
VALUES: dict[str, tuple[bytes, Any]] = {
    "words that YAML 1.1 takes for booleans": (
        text("region: no\nenv:\n  MODE: off\n  AMP: yes\n  Y: y\n  T: True\n  F: FALSE\non: push\n"),
        {"region": "no", "env": {"MODE": "off", "AMP": "yes", "Y": "y", "T": "True", "F": "FALSE"}, "on": "push"},
    ),
    "digits that YAML 1.1 takes for octal": (
        text("account: 020222070707\nmode: 0755\njob: 0o17\nnode: 08\nzip: 00123\nflag: 0b11\nhex: 0x10\n"),
        {"account": "020222070707", "mode": "0755", "job": "0o17", "node": "08", "zip": "00123", "flag": "0b11", "hex": "0x10"},
    ),
    "times that YAML 1.1 takes for base 60, and dates": (
        text("time: 1:30:00\nslurm: 05:23:30:00\nports: 22:22\nzero: 0:10:00\nday: 2026-10-01\nat: 2026-10-01 12:00\n"
             "zone: 2026-10-01T12:00:00+02:00\niso: PT90M\nshort: 90m\ndays: 6-00:00:00\n"),
        {"time": "1:30:00", "slurm": "05:23:30:00", "ports": "22:22", "zero": "0:10:00", "day": "2026-10-01",
         "at": "2026-10-01 12:00", "zone": "2026-10-01T12:00:00+02:00", "iso": "PT90M", "short": "90m", "days": "6-00:00:00"},
    ),
    "numbers": (
        text("[1e-4, 3.e-4, .5, 5., +1, -0, -2, 1.0e+3, 1E5, 0, 0.0, -.5, 1e308, 5e-324, 9223372036854775807, 123456789012345678]"),
        [1e-4, 3e-4, 0.5, 5.0, 1, 0, -2, 1000.0, 1e5, 0, 0.0, -0.5, 1e308, 5e-324, 9223372036854775807, 123456789012345678],
    ),
    "digits that are no number here": (
        text("a: 1_000\nb: 25_000_000_000\nc: 1,000\nd: $1,000\ne: 1.2.3\nf: 1e\ng: --1\nh: 017\ni: 1 000\nj: ١٢\nk: 0x\n"),
        {"a": "1_000", "b": "25_000_000_000", "c": "1,000", "d": "$1,000", "e": "1.2.3", "f": "1e", "g": "--1",
         "h": "017", "i": "1 000", "j": "١٢", "k": "0x"},
    ),
    "what is not finite": (
        text("a: .inf\nb: .nan\nc: nan\nd: -.inf\ne: inf\nf: +.INF\ng: Infinity\n"),
        {"a": ".inf", "b": ".nan", "c": "nan", "d": "-.inf", "e": "inf", "f": "+.INF", "g": "Infinity"},
    ),
    "nulls": (
        text("name:\nregion: ~\nenv:\n  TOKEN:\n  A: null\n  B: ''\n  C: NULL\n  D: None\n  E: Null\n  F: nil\nlist:\n  -\n  - a\n"),
        {"name": None, "region": None, "env": {"TOKEN": None, "A": None, "B": "", "C": None, "D": "None", "E": None, "F": "nil"},
         "list": [None, "a"]},
    ),
    "quotes and the text tag": (
        text("a: '1'\nb: \"true\"\nc: !!str 5\nd: ! 6\ne: '~'\nf: |-\n  7\ng: 'it''s'\nh: \"\\x41\\u00e9\\U0001F600\\n\"\n"),
        {"a": "1", "b": "true", "c": "5", "d": "6", "e": "~", "f": "7", "g": "it's", "h": "Aé😀\n"},
    ),
    "amounts stay text": (
        text("a: 80G\nb: 80Gi\nc: 80 GB\nd: 500m\ne: 4+\nf: H100:8\ng: 1..8\nh: 1k\ni: 25 USD\n"),
        {"a": "80G", "b": "80Gi", "c": "80 GB", "d": "500m", "e": "4+", "f": "H100:8", "g": "1..8", "h": "1k", "i": "25 USD"},
    ),
    "merges: own keys win, the earlier of a list wins, in any order": (
        text("base: &b {gpus: 8, lr: 0.1}\nrun:\n  <<: *b\n  gpus: 16\ntwo:\n  <<: [*b, {gpus: 4, extra: 1}]\nthree:\n  gpus: 16\n  <<: *b\n"
             "four: {<<: {gpus: 1}, '<<': text}\n"),
        {"base": {"gpus": 8, "lr": 0.1}, "run": {"gpus": 16, "lr": 0.1}, "two": {"gpus": 8, "lr": 0.1, "extra": 1},
         "three": {"gpus": 16, "lr": 0.1}, "four": {"gpus": 1, "<<": "text"}},
    ),
    "nested merges": (
        text("a: &a {x: 1}\nb: &b\n  <<: *a\n  y: 2\nc:\n  <<: [*b, *a]\n  in: {<<: *b, x: 3}\n"),
        {"a": {"x": 1}, "b": {"y": 2, "x": 1}, "c": {"in": {"x": 3, "y": 2}, "y": 2, "x": 1}},
    ),
    "a hundred merges in a row do not nest": (
        b"a0: &a0 {k: 1}\n" + b"".join(b"a%d: &a%d {<<: *a%d}\n" % (i, i, i - 1) for i in range(1, 100)),
        {f"a{i}": {"k": 1} for i in range(100)},
    ),
    "anchors": (
        text("a: &x [1, &y two]\nb: *x\nc: {*y : *y}\n&z key: 3\n"),
        {"a": [1, "two"], "b": [1, "two"], "c": {"two": "two"}, "key": 3},
    ),
    "byte order mark and CRLF": (
        b"\xef\xbb\xbfname: job\r\nrun: |\r\n  echo a\r\n  torchrun \\\r\n    train.py\r\n",
        {"name": "job", "run": "echo a\ntorchrun \\\n  train.py\n"},
    ),
    "carriage returns alone": (b"a: 1\rb: |\r  x\r  y\r", {"a": 1, "b": "x\ny\n"}),
    "tabs in quotes, block text and comments": (
        b"a: 'x\ty'\nb: \"\tz\"\nc: |\n  make:\n  \techo\n#\tnote\nd: 1 #\tnote\ne: |2\n  \tx\n",
        {"a": "x\ty", "b": "\tz", "c": "make:\n\techo\n", "d": 1, "e": "\tx\n"},
    ),
    "what cannot be seen, in quotes": (
        text("a: 'x\u00a0y'\nb: \"\u200b\"\nc: |\n  \u00ad\nd: '\u0441ore'\n"),
        {"a": "x\u00a0y", "b": "\u200b", "c": "\u00ad\n", "d": "\u0441ore"},
    ),
    "other scripts": (
        text("owner: Андрей\ncity: раса\nteam: 機械学習\nµm: 5\nΩ: kΩ\nemoji: ❤️ 👍🏽\ncafé: 1\n"),
        {"owner": "Андрей", "city": "раса", "team": "機械学習", "µm": 5, "Ω": "kΩ", "emoji": "❤️ 👍🏽", "café": 1},
    ),
    "dialects of dollars and braces": (
        text("a: ${VAR}\nb: $A-2\nc: ${{ run.args }}\nd: '{{ x }}'\ne: \"{{ '{{' }} .Values.x }}\"\n${KEY}: 1\nf: x%{if}\n"),
        {"a": "${VAR}", "b": "$A-2", "c": "${{ run.args }}", "d": "{{ x }}", "e": "{{ '{{' }} .Values.x }}", "${KEY}": 1}
        | {"f": "x%{if}"},
    ),
    "JSON with comments and commas at the end": (
        text('{\n  # a comment\n  "pipe": 1,\n  "fp16": {"on": true, "scale": 1e-4,},\n  "list": [1, 2,],\n}\n'),
        {"pipe": 1, "fp16": {"on": True, "scale": 1e-4}, "list": [1, 2]},
    ),
    "sets and colons without a space": (
        text("a: {x, y}\nb: {H100:8, H200:8}\nc: [a:b, http://x/y]\n"),
        {"a": {"x": None, "y": None}, "b": {"H100:8": None, "H200:8": None}, "c": ["a:b", "http://x/y"]},
    ),
    "the YAML directive and the end of a document": (b"%YAML 1.2\n---\na: 1\n...\n# end\n", {"a": 1}),
    "a list at the top": (b"- name: a\n- name: b\n", [{"name": "a"}, {"name": "b"}]),
    "a scalar at the top": (b"just text\n", "just text"),
    "no newline at the end": (b"a: |\n  x", {"a": "x"}),
    "keys that are no words": (b"1: a\ntrue: b\n~: c\n1.5: d\n=: e\n", {"1": "a", "true": "b", "~": "c", "1.5": "d", "=": "e"}),
    "escapes of what must not stand as it is": (
        b'a: "\\0\\e\\u2028\\uFEFF\\u202E\\x85"\n', {"a": "\0\x1b\u2028\ufeff\u202e\x85"},
    ),
    "keys that differ by case": (b"Resources: 1\nresources: 2\n", {"Resources": 1, "resources": 2}),
}  # fmt: skip

FAULTS: dict[str, tuple[bytes, Faults]] = {
    "a key twice": (b"a: 1\nb: 2\na: 3\n", fault("duplicate-key", 3, 1)),
    "a key twice, quoted": (b"a: 1\n'a': 3\n", fault("duplicate-key", 2, 1)),
    "a key twice, escaped": (b'a: 1\n"\\x61": 3\n', fault("duplicate-key", 2, 1)),
    "a key twice, in braces": (b"x: {a: 1, b: 2, a: 3}\n", fault("duplicate-key", 1, 17)),
    "a key twice, by an alias": (b"x: &k a\na: 1\n*k : 2\n", fault("duplicate-key", 3, 1)),
    "a key twice, full width": (text("gpus: 8\n\uff47pus: 64\n"), fault("duplicate-key", 2, 1)),
    "a key twice, composed and decomposed": (text("caf\u00e9: 1\ncafe\u0301: 2\n"), fault("duplicate-key", 2, 1)),
    "two merges": (b"a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", fault("duplicate-key", 4, 3)),
    "a tab indents": (b"resources:\n\tgpus: 8\n", fault("tab", 2, 1)),
    "a tab after spaces": (b"a:\n  b: 1\n  \tc: 2\n", fault("tab", 3, 3)),
    "a tab before a value": (b"a:\tb\n", fault("tab", 1, 3)),
    "a tab in a plain value": (b"a: x\ty\n", fault("tab", 1, 5)),
    "a tab at the end": (b"a: x\t\nb: 1\n", fault("tab", 1, 5)),
    "a tab before a comment": (b"a: x\t# note\n", fault("tab", 1, 5)),
    "a tab that begins a block": (b"a: |\n \tx\n", fault("tab", 2, 2)),
    "a tag of Python": (b"name: !!python/object/apply:os.system ['x']\n", fault("tag", 1, 7)),
    "other tags": (
        b"token: !ENV ${T}\nx: !!binary aGk=\ns: !!set {a, b}\nn: !!int '5'\nf: !!float 1\no: !!omap []\nt: !<tag:x,2026:y> z\n",
        Faults(tuple(("tag", line, column) for line, column in
                     ((1, 8), (2, 4), (3, 4), (4, 4), (5, 4), (6, 4), (7, 4)))),
    ),
    "a value that starts with an exclamation mark": (b"a: !, b\n", fault("tag", 1, 4)),
    "two documents": (b"name: a\n---\nname: b\n---\n# end\n", fault("several-documents", 2, 1)),
    "a document of comments after the first": (b"a: 1\n---\n# only a comment\n", fault("several-documents", 2, 1)),
    "a document after the end mark": (b"a: 1\n...\nb: 2\n", fault("several-documents", 3, 1)),
    "a directive after the end mark": (b"a: 1\n...\n%YAML 1.1\n---\nb: 2\n", fault("several-documents", 3, 1)),
    "a TAG directive": (b"%TAG ! x\n---\na: 1\n", fault("directive", 1, 1)),
    "another version": (b"# c\n%YAML 9.0\n---\na: 1\n", fault("directive", 2, 1)),
    "empty": (b"", fault("empty", 1, 1)),
    "only spaces": (b" \n\n  \n", fault("empty", 1, 1)),
    "only a comment": (b"# nothing\n", fault("empty", 1, 1)),
    "only a byte order mark": (b"\xef\xbb\xbf", fault("empty", 1, 1)),
    "only a document mark": (b"---\n", fault("empty", 1, 1)),
    "Latin-1": (b"a: 1\nowner: Andr\xe9\n", fault("encoding", 2, 12)),
    "a surrogate in UTF-8": (b"a: \xed\xa0\x80\n", fault("encoding", 1, 4)),
    "UTF-16 with a mark": ("\ufeffname: job\n".encode("utf-16-le"), fault("encoding", 1, 1)),
    "UTF-16BE with a mark": ("\ufeffname: job\n".encode("utf-16-be"), fault("encoding", 1, 1)),
    "UTF-16 without a mark": ("name: job\n".encode("utf-16-le"), fault("encoding", 1, 1)),
    "UTF-16BE without a mark": ("name: job\n".encode("utf-16-be"), fault("encoding", 1, 1)),
    "UTF-32 with a mark": ("\ufeffname: job\n".encode("utf-32-le"), fault("encoding", 1, 1)),
    "UTF-32 without a mark": ("name: job\n".encode("utf-32-be"), fault("encoding", 1, 1)),
    "NUL": (b"a: x\x00y\n", fault("control-character", 1, 5)),
    "an escape sequence": (b"a: 1\r\nb: \x1b[2J\n", fault("control-character", 2, 4)),
    "a next-line character": (text("a: x\u0085y\n"), fault("control-character", 1, 5)),
    "a line separator": (text("a: 1\nb: x\u2028y\n"), fault("control-character", 2, 5)),
    "a paragraph separator": (text("# x\u2029y\na: 1\n"), fault("control-character", 1, 4)),
    "a byte order mark in the middle": (text("a: 1\n\ufeffb: 2\n"), fault("control-character", 2, 1)),
    "text that runs backwards, in a comment": (text("a: 1 # \u202e2\n"), fault("control-character", 1, 8)),
    "text that runs backwards, in quotes": (text("a: '\u2066x'\n"), fault("control-character", 1, 5)),
    "a no-break space before a value": (text("name: job\ngpus:\u00a0 8\nregion: x\n"), fault("invisible-character", 2, 6)),
    "a no-break space in a value": (text("gpus: \u00a08\n"), fault("invisible-character", 1, 7)),
    "a space of no width in a key": (text("re\u200bgion: x\n"), fault("invisible-character", 1, 1)),
    "a space of no width in a quoted key": (text("'re\u200bgion': x\n"), fault("invisible-character", 1, 1)),
    "a soft hyphen": (text("a: gpu\u00ad-small\n"), fault("invisible-character", 1, 4)),
    "an ideographic space": (text("a: x\u3000y\n"), fault("invisible-character", 1, 4)),
    "a Hangul filler": (text("a: x\u3164y\n"), fault("invisible-character", 1, 4)),
    "a variant of a letter": (text("a: gpu\ufe00s\n"), fault("invisible-character", 1, 4)),
    "a Cyrillic letter in a Latin word": (text("team: \u0441ore\n"), fault("lookalike-character", 1, 7)),
    "a Greek letter in a Latin word": (text("\u039fwner: x\n"), fault("lookalike-character", 1, 1)),
    "half a character": (b'a: "\\ud83d"\n', fault("escape", 1, 4)),
    "a pair of halves, as JSON writes it": (b'a: "\\ud83d\\ude00"\n', fault("escape", 1, 4)),
    "an unknown escape": (b'path: "C:\\data"\n', fault("escape", 1, 7)),
    "a quote that is never closed": (b"a: 1\nb: 'x\nc: 2\n", fault("syntax", 2, 4)),
    "a bracket that is never closed": (b"a: 1\nb: [x, y\n", fault("syntax", 2, 4)),
    "a brace that is never closed": (b"a: {x: 1\n", fault("syntax", 1, 4)),
    "a colon in a value": (b"a: b: c\n", fault("syntax", 1, 5)),
    "no colon": (b"a: 1\nb\nc: 2\n", fault("syntax", 2, 1)),
    "wrong indentation": (b"a:\n    b: 1\n  c: 2\n", fault("syntax", 3, 3)),
    "a value that starts with @": (b"a: @x\n", fault("syntax", 1, 4)),
    "a backtick": (b"a: `x`\n", fault("syntax", 1, 4)),
    "a percent sign": (b"a: %{if}\n", fault("syntax", 1, 4)),
    "a percent sign in brackets": (b"a: [%x]\n", fault("syntax", 1, 5)),
    "a star without a name": (b"files: *.txt\n", fault("syntax", 1, 8)),
    "a comment right behind a bar": (b"a: |#x\n  b\n", fault("syntax", 1, 5)),
    "text behind a bar": (b"a: | x\n  b\n", fault("syntax", 1, 6)),
    "an alias without an anchor": (b"a: *b\n", fault("alias", 1, 4)),
    "an alias in its own anchor": (b"a: &a [*a]\n", fault("alias", 1, 8)),
    "a mapping that merges itself": (b"a: &a\n  <<: *a\n", fault("alias", 2, 7)),
    "an anchor twice": (b"a: &a 1\nb: &a 2\n", fault("anchor", 2, 4)),
    "a merge of a number": (b"<<: 3\n", fault("merge", 1, 1)),
    "a merge of numbers": (b"<<: [{a: 1}, 3]\n", fault("merge", 1, 1)),
    "an anchor within its own": (b"a: &a [&a 1]\n", fault("anchor", 1, 8)),
    "a merge that is no mapping, before a key twice": (
        b"<<: 3\na: 1\na: 2\n",
        Faults((("merge", 1, 1), ("duplicate-key", 3, 1))),
    ),
    "a merge of nothing": (b"a: 1\n<<:\n", fault("merge", 2, 1)),
    "a list as key": (b"[a]: 1\n", fault("key", 1, 1)),
    "an empty key": (b"'': 1\n", fault("key", 1, 1)),
    "expressions outside quotes": (
        b"name: {{ name }}\ngpus: {{ gpus }}\nenv:\n  MSG: {{ msg }}\n  KEEP: ${{ run.args }}\n",
        Faults((("not-yaml", 1, 7), ("not-yaml", 2, 7), ("not-yaml", 4, 8))),
    ),
    "an expression within text": (b"a: {{ x }}-y\n", fault("not-yaml", 1, 4)),
    "a Helm template": (b"{{- if .Values.x }}\na: 1\n{{- end }}\n", fault("not-yaml", 1, 1)),
    "a Helm value": (b"a: 1\nname: {{ .Values.name }}\n", fault("not-yaml", 2, 7)),
    "a Helm value in a key": (b"a: 1\n{{ .Values.name }}: 2\n", fault("not-yaml", 2, 1)),
    "a statement of Jinja": (b"{% for x in y %}\na: 1\n{% endfor %}\n", fault("not-yaml", 1, 1)),
    "several faults, in the order of the file": (
        text("a: 1\na: 2\nb: !x 1\nc: \u00ad1\nd:\t1\n"),
        Faults((("duplicate-key", 2, 1), ("tag", 3, 4), ("invisible-character", 4, 4), ("tab", 5, 3))),
    ),
}  # fmt: skip

DEEP = {
    "deep brackets": (b"[" * 100_000, "too-deep"),
    "deep braces": (b"{a: " * 100_000, "too-deep"),
    "deep dashes": (b"- " * 5_000, "too-deep"),
    "deep question marks": (b"? " * 5_000, "too-deep"),
    "deep indentation": (b"".join(b"%sk:\n" % (b" " * i) for i in range(200)), "too-deep"),
    "deep by aliases": (
        b"a0: &a0 [1]\n" + b"".join(b"a%d: &a%d [*a%d]\n" % (i, i, i - 1) for i in range(1, 100)), "too-deep"
    ),
    "alias bomb": (
        b"a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + b"".join(b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 10)) for i in range(9)),
        "too-many-values",
    ),
    "merge bomb": (
        b"a0: &a0 {k0: 1}\n"
        + b"".join(b"a%d: &a%d {<<: *a%d, k%d: 1}\n" % (i, i, i - 1, i) for i in range(1, 400)),
        "too-many-values",
    ),
    "many faults": (b"a: 1\n" * 100, "too-many-faults"),
}  # fmt: skip


def inputs() -> dict[str, bytes]:
    """All of them by name."""
    return {name: case[0] for cases in (VALUES, FAULTS, DEEP) for name, case in cases.items()}


if __name__ == "__main__":
    composer.LOADER = getattr(composer.pyyaml, sys.argv[1])
    found = {name: outcome(data) for name, data in inputs().items()}
    json.dump({"pyyaml": composer.pyyaml.__version__, "outcomes": found}, sys.stdout)
