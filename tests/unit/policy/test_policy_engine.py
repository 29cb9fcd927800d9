"""Levels, UNKNOWN, waivers and deaths: what each leads to."""

import datetime as dt
import os
import sys
import threading

import pytest

from akotf.errors import ConfigError
from akotf.model.config import Waiver
from akotf.model.finding import Position
from akotf.model.policy import Level, Outcome, Rule, Stage
from akotf.policy import engine
from akotf.policy.engine import judge

TODAY = dt.date(2027, 3, 1)


def rule(**changes):
    """At most eight GPUs, hard-mandatory."""
    values = {
        "version": 1, "id": "few-gpus", "title": "Few GPUs", "level": "hard-mandatory", "stage": "selection",
        "reads": ["gpus"], "expr": "object.gpus <= params.max", "params": {"max": 8},
        "message": "{gpus} is more than {params.max}", "why": "money", "remedy": "ask for fewer",
    }  # fmt: skip
    return Rule.model_validate(values | changes)


def verdicts(objects, *rules, stage=Stage.SELECTION, document=None, **options):
    named = [(str(n), o) for n, o in enumerate(objects)]
    return judge(stage, document or {}, named, rules or [rule()], today=TODAY, **options).verdicts


def one(objects, *rules, **options):
    (verdict,) = verdicts(objects, *rules, **options)
    return verdict


def waiver(until, **changes):
    values = {"rule": "few-gpus", "owner": "ann", "reason": "launch", "ticket": "T-7", "expires": until}
    return Waiver.model_validate(values | changes)


def test_a_rule_passes_and_fails_by_its_expression():
    passed, failed = verdicts([{"gpus": 8}, {"gpus": 9}])
    assert (passed.outcome, passed.denies) == (Outcome.PASS, False)
    assert (failed.outcome, failed.denies) == (Outcome.FAIL, True)
    assert failed.message == "9 is more than 8"
    assert (failed.object, failed.why, failed.remedy) == ("1", "money", "ask for fewer")


# What DESIGN's levels lead to when a rule fails: (level, approver) -> denies
@pytest.mark.parametrize(
    ("level", "approver", "denies"),
    [
        (Level.ADVISORY, "", False),
        (Level.SOFT, "", True),
        (Level.SOFT, "ann", False),
        (Level.HARD, "", True),
        (Level.HARD, "ann", True),
    ],
)
@pytest.mark.parametrize("item", [{"gpus": 9}, {}])
def test_levels(level, approver, denies, item):
    verdict = one([item], rule(level=level), approver=approver)
    assert verdict.outcome is (Outcome.FAIL if item else Outcome.UNKNOWN)
    assert verdict.denies is denies
    assert ("overridden by ann" in verdict.waiver) is (level is Level.SOFT and bool(approver))


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ({}, "gpus is absent"),
        ({"gpus": None}, "gpus is null"),
    ],
)
@pytest.mark.parametrize(("unknown", "denies"), [("deny", True), ("recheck", False)])
def test_what_is_not_known_never_passes(item, why, unknown, denies):
    verdict = one([item], rule(unknown=unknown, expr="true"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.denies is denies
    assert why in verdict.message


# `after_unknown` as Terraform writes it: true where a value (or a whole tree) is known only after apply.
@pytest.mark.parametrize(
    ("marks", "known"),
    [
        ({}, True),
        ({"node": False}, True),
        ({"other": True}, True),
        ({"node": True}, False),
        ({"node": {"gpus": True}}, False),
        ({"node": {"gpus": {"count": True}}}, False),
        ({"node": {"cpus": True}}, True),
        (True, False),
    ],
)
def test_known_after_apply_is_unknown(marks, known):
    item = {"after": {"node": {"gpus": {"count": 1}}}, "after_unknown": marks}
    tested = rule(stage="tfplan", reads=["after.node.gpus"], expr="object.after.node.gpus.count == 1")
    verdict = one([item], tested, stage=Stage.TFPLAN)
    assert verdict.outcome is (Outcome.PASS if known else Outcome.UNKNOWN)
    assert ("known only after apply" in verdict.message) is not known


def test_unknown_marks_in_lists():
    item = {"after": {"ips": ["", "10.0.0.1"]}, "after_unknown": {"ips": [True, False]}}
    first, second, all_of_it = (
        rule(id=name, stage="tfplan", reads=[path], expr="true")
        for name, path in [("a", "after.ips.0"), ("b", "after.ips.1"), ("c", "after.ips")]
    )
    outcomes = [v.outcome for v in verdicts([item], first, second, all_of_it, stage=Stage.TFPLAN)]
    assert outcomes == [Outcome.UNKNOWN, Outcome.PASS, Outcome.UNKNOWN]


def test_what_is_still_not_known_at_the_last_look_denies():
    tested = rule(unknown="recheck")
    assert [one([{}], tested, again=again).denies for again in (True, False)] == [False, True]
    assert "checked again" not in one([{}], tested, again=False).message


def test_match_selects_objects():
    verdict = one([{"kind": "a", "gpus": 1}, {"kind": "b", "gpus": 99}], rule(match='object.kind == "b"'))
    assert (verdict.object, verdict.outcome) == ("1", Outcome.FAIL)


def test_a_match_that_cannot_be_worked_out_denies():
    verdict = one([{"gpus": 1}], rule(match="object.kind == 'a'", unknown="recheck"))
    assert (verdict.outcome, verdict.denies) == (Outcome.UNKNOWN, True)
    assert "match: kind is absent" in verdict.message


@pytest.mark.parametrize(
    "expr", ["object.memory > 1", "object.gpus > 'x'", "1 / 0 == 1", "bytes_of('x') > 1"]
)
def test_an_expression_that_breaks_on_the_data_denies_even_when_rechecked(expr):
    verdict = one([{"gpus": 1}], rule(expr=expr, unknown="recheck"))
    assert (verdict.outcome, verdict.denies) == (Outcome.UNKNOWN, True)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"expr": "object.gpus <="}, "expr does not compile"),
        ({"match": "("}, "match does not compile"),
        ({"expr": "object.gpus"}, "must be true or false, it gave int"),
        ({"expr": "nonsense(object.gpus)"}, "nonsense"),
        ({"expr": "true || nonsense(1)"}, "nonsense"),
        ({"expr": "objekt.gpus < 3"}, "objekt"),
    ],
)
def test_a_wrong_rule_is_an_error_that_names_its_file(changes, says):
    with pytest.raises(ConfigError, match=says) as caught:
        verdicts([{"gpus": 1}], rule(**changes), rule(id="other", expr="1"))
    assert [f.position.file for f in caught.value.findings] == [
        "policies/few-gpus/rule.yaml",
        "policies/other/rule.yaml",
    ]


@pytest.mark.parametrize("rules", [[], [rule(stage="config")]])
def test_no_rule_for_the_stage_is_an_error(rules):
    with pytest.raises(ConfigError, match="no policy rule for stage selection"):
        judge(Stage.SELECTION, {}, [("a", {"gpus": 1})], rules, today=TODAY)


def test_only_rules_of_the_stage_are_counted():
    judged = judge(
        Stage.SELECTION, {}, [("a", {"gpus": 1})], [rule(), rule(id="b", stage="config")], today=TODAY
    )
    assert (judged.rules, [v.rule for v in judged.verdicts]) == (1, ["few-gpus"])


def test_expressions_see_the_document():
    assert (
        one([{"gpus": 9}], rule(expr="object.gpus <= input.max"), document={"max": 10}).outcome
        is Outcome.PASS
    )


@pytest.mark.parametrize(
    ("until", "outcome", "denies", "says"),
    [
        (TODAY + dt.timedelta(days=90), Outcome.WAIVED, False, "9 is more than 8"),
        (TODAY + dt.timedelta(days=15), Outcome.WAIVED, False, "9 is more than 8"),
        (TODAY + dt.timedelta(days=14), Outcome.WAIVED, False, "expires soon, in 14 d"),
        (TODAY, Outcome.WAIVED, False, "expires soon, in 0 d"),
        (TODAY - dt.timedelta(days=1), Outcome.FAIL, True, "expired on 2027-02-28"),
    ],
)
def test_waivers(until, outcome, denies, says):
    verdict = one([{"gpus": 9}], waivers=[waiver(until)])
    assert (verdict.outcome, verdict.denies) == (outcome, denies)
    assert says in verdict.message
    assert ("soon" in verdict.message) is ("soon" in says)
    if outcome is Outcome.WAIVED:
        assert verdict.waiver == f"ann, T-7, until {until}: launch"


def test_a_waiver_is_not_used_where_the_rule_passes():
    assert one([{"gpus": 1}], waivers=[waiver(TODAY)]).outcome is Outcome.PASS


def unused(objects, *waivers):
    return judge(
        Stage.SELECTION, {}, [("a", o) for o in objects], [rule()], today=TODAY, waivers=waivers
    ).waivers


def test_every_waiver_is_told_used_or_not():
    late = waiver(TODAY + dt.timedelta(days=90))
    assert unused([{"gpus": 9}], late) == ()  # the verdict names it
    assert unused([{"gpus": 1}], late) == (
        "the waiver of few-gpus is not needed now: ann, T-7, until 2027-05-30: launch",
    )
    (expired,) = unused([{"gpus": 1}], waiver(TODAY - dt.timedelta(days=1)))
    assert "expired on 2027-02-28" in expired


@pytest.mark.parametrize(("days", "says"), [(366, ""), (367, "runs for more than a year, until 2028-03-02")])
def test_a_waiver_that_runs_very_long_says_so(days, says):
    verdict = one([{"gpus": 9}], waivers=[waiver(TODAY + dt.timedelta(days=days))])
    assert verdict.outcome is Outcome.WAIVED
    assert ("more than a year" in verdict.message) is bool(says)
    assert says in verdict.message


@pytest.mark.parametrize("field", ["owner", "reason", "ticket"])
def test_a_waiver_that_names_nobody_or_nothing_is_an_error_with_its_place(field):
    places = {f"waivers.0.{field}": Position(file="akotf.yaml", line=9, column=3)}
    with pytest.raises(ConfigError, match=f"has no {field}") as caught:
        verdicts([{"gpus": 1}], waivers=[waiver(TODAY, **{field: " "})], positions=places)
    (finding,) = caught.value.findings
    assert str(finding.position) == "akotf.yaml:9:3"


def test_a_failing_rule_names_the_culprits_but_never_of_an_object_with_secrets():
    tested = rule(expr="false", culprits="object.names", message="refused: {culprits}")
    item = {"gpus": 1, "names": ["a", "b"]}
    assert one([item], tested).message == "refused: a, b"
    assert one([{**item, "sensitive": ["token"]}], tested).message == "refused: (sensitive)"


def test_types_choose_resources_and_what_is_read_of_each():
    tested = rule(
        stage="tfplan", reads=[], types={"disk": ["after.size"], "machine": ["after.disks[].size"]},
        expr="values.all(v, v <= params.max)", message="{values}",
    )  # fmt: skip
    items = [
        {"type": "disk", "after": {"size": 9}},
        {"type": "machine", "after": {"disks": [{"size": 1}, {"size": 8}]}},
        {"type": "network", "after": {}},
    ]
    found = verdicts(items, tested, stage=Stage.TFPLAN)
    assert [(v.object, v.outcome, v.message) for v in found] == [
        ("0", Outcome.FAIL, "9"), ("1", Outcome.PASS, "Few GPUs"),
    ]  # fmt: skip


def test_rules_that_share_a_match_ask_for_it_alone():
    """An error in a shared match is each rule's own error, not a match for the next one."""
    broken = "object.kind == 'a'"
    items = [{"gpus": 1}, {"gpus": 1, "kind": "a"}, {"gpus": 1, "kind": "b"}]
    found = verdicts(items, rule(id="one", match=broken), rule(id="two", match=broken))
    assert [(v.rule, v.object, v.outcome) for v in found] == [
        (name, *rest) for name in ("one", "two") for rest in (("0", Outcome.UNKNOWN), ("1", Outcome.PASS))
    ]


def test_a_path_under_input_is_read_in_the_document():
    tested = rule(reads=["input.live"], expr="size(input.live) == 0")
    outcomes = [
        one([{"gpus": 1}], tested, document=d).outcome
        for d in ({"live": []}, {"live": ["r"]}, {"live": None}, {})
    ]
    assert outcomes == [Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN, Outcome.UNKNOWN]


def test_a_waiver_lets_only_its_own_rule_pass():
    found = verdicts([{"gpus": 9}], rule(), rule(id="other"), waivers=[waiver(TODAY, rule="other")])
    assert {v.rule: v.outcome for v in found} == {"few-gpus": Outcome.FAIL, "other": Outcome.WAIVED}


def test_the_longest_waiver_counts():
    late, early = waiver(dt.date(2028, 1, 1)), waiver(dt.date(2027, 1, 1), owner="bob")
    assert one([{"gpus": 9}], waivers=[late, early]).waiver.startswith("ann")


def test_a_waiver_of_a_rule_that_is_not_there_is_an_error():
    with pytest.raises(ConfigError, match="few-gpu'"):
        verdicts([{"gpus": 1}], waivers=[waiver(TODAY, rule="few-gpu")])


def test_verdicts_say_where_it_was_written():
    positions = {
        "": Position(file="akotf.yaml", line=1, column=1),
        "run.limits": Position(file="run.yaml", line=7, column=3),
        "run.limits.gpus": Position(file="run.yaml", line=9, column=11),
    }
    item = {"path": "run", "limits": {"gpus": 9, "cpus": 3}}

    def place(item, path):
        tested = rule(reads=[path], expr="false", message="m")
        return str(one([item], tested, positions=positions).position)

    assert place(item, "limits.gpus") == "run.yaml:9:11"
    assert place(item, "limits.cpus") == "run.yaml:7:3"  # the nearest thing around it
    assert place({"path": "", "owner": "x"}, "owner") == "akotf.yaml:1:1"
    assert place({"owner": "x"}, "owner") == "None"


def test_messages_never_show_sensitive_values():
    item = {"gpus": 9, "after": {"token": "s3cret", "size": 2.5}, "sensitive": ["token"]}
    tested = rule(message="{after.token} {after.size} {nothing.here}")
    assert one([item], tested).message == "(sensitive) 2.5 nothing"


def test_errors_never_show_sensitive_values():
    item = {"gpus": 9, "after": {"token": "s3cret"}, "sensitive": ["token"]}
    verdict = one([item], rule(expr="bytes_of(object.after.token) > 1"))
    assert verdict.denies
    assert "s3cret" not in verdict.message


# 20 000 terms crash the library's recursive parser (SIGSEGV, measured with 0.10.0).
HUGE = "+".join(["1"] * 20_000) + " > 0"


def test_a_rule_that_kills_its_child_denies_and_the_others_still_answer():
    killer = rule(id="killer", level="advisory", expr=HUGE)
    found = {v.rule: v for v in verdicts([{"gpus": 9}], killer, rule())}
    assert (found["killer"].outcome, found["killer"].denies) == (Outcome.UNKNOWN, True)
    assert "SIGSEGV" in found["killer"].message
    assert found["few-gpus"].message == "9 is more than 8"


def test_a_rule_that_takes_too_long_denies(monkeypatch):
    monkeypatch.setattr(engine, "SECONDS", 0.5)
    slow = rule(expr="input.n.all(a, input.n.all(b, input.n.all(c, a + b + c >= 0)))")
    verdict = one([{"gpus": 1}], slow, document={"n": list(range(2000))})
    assert verdict.denies
    assert "time limit" in verdict.message


def test_beside_threads_the_answers_are_the_same():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert [v.outcome for v in verdicts([{"gpus": 8}, {"gpus": 9}])] == [Outcome.PASS, Outcome.FAIL]
    finally:
        stop.set()
        thread.join()


def test_expressions_are_evaluated_in_a_child_only():
    """The library is loaded here, for the children to have it; nothing of a rule is compiled or run here."""
    before = os.getpid()
    verdicts([{"gpus": 8}])
    assert "cel.cel" in sys.modules
    library = sys.modules["cel.cel"]
    kept = library.compile
    try:
        library.compile = lambda source: (
            (os.getpid() == before and pytest.fail("compiled here")) or kept(source)
        )
        assert one([{"gpus": 9}]).outcome is Outcome.FAIL
    finally:
        library.compile = kept


@pytest.mark.parametrize(
    ("expr", "true"),
    [
        ("sum([1, 2, 3]) == 6", True),
        ("sum([]) == 0", True),
        ("sum(input.nodes.map(n, n.gpus * n.count)) == 72", True),
        ("sum([0.5, 0.25]) == 0.75", True),
        ("bytes_of('16 GiB') == 17179869184", True),  # 16 x 2^30
        ("bytes_of('16 GB') == 16000000000", True),
        ("seconds_of('2h') == 7200.0", True),
        ("seconds_of('6-00:00:00') == 518400.0", True),
        ("cidr_contains('10.0.0.0/8', '10.1.2.3')", True),
        ("cidr_contains('10.0.0.0/8', '10.64.0.0/10')", True),
        ("cidr_contains('10.64.0.0/10', '10.0.0.0/8')", False),  # only part of it
        ("cidr_contains('10.0.0.0/8', '11.0.0.1')", False),
        ("cidr_contains('fd00::/8', 'fd12::1')", True),
        ("cidr_contains('0.0.0.0/0', 'fd12::1')", False),
        ("cidr_overlaps('0.0.0.0/1', '10.0.0.0/8')", True),
        ("cidr_overlaps('128.0.0.0/1', '10.0.0.0/8')", False),
        ("cidr_overlaps('::/0', '10.0.0.0/8')", False),
        ("cidr_prefix('0.0.0.0/1') == 1 && cidr_prefix('10.1.2.3') == 32", True),
        ("cidr_wide(['0.0.0.0/0', '0.0.0.0/1', '::/1'], 16, 32) == ['0.0.0.0/0', '0.0.0.0/1', '::/1']", True),
        (
            "size(cidr_wide(['10.0.0.0/8', '203.0.113.0/24', '8.8.0.0/16', 'fd00::/8', '2001:db8::/32'], 16, 32)) == 0",
            True,
        ),
        (
            "cidr_wide(['8.8.0.0/15', '10.0.0.0/7'], 16, 32) == ['8.8.0.0/15', '10.0.0.0/7']",
            True,
        ),  # /7 leaves 10/8
        ("cidr_wide(['*', 'Internet', 'VirtualNetwork', 'web-1'], 16, 32) == ['*', 'Internet']", True),
        ('parse_json(\'{"a": [1, {"b": null}]}\').a[1].b == null', True),
        ("missing(['a', 'b', 'c', 'd'], [{'a': 'x', 'b': ''}, ['d'], {'c': 'y'}]) == ['b', 'd']", True),
        (
            'iam_allows(\'{"Statement": {"Effect": "Allow", "Action": "s3:Get*", "Resource": "r"}}\') == [{\'actions\': [\'s3:Get*\'], \'resources\': [\'r\']}]',
            True,
        ),
        ('iam_allows(\'{"Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]}\') == []', True),
        (
            'iam_allows(\'{"Statement": [{"Effect": "Allow", "NotAction": "iam:*", "NotResource": "r"}]}\') == [{\'actions\': [\'*\'], \'resources\': [\'*\']}]',
            True,
        ),
    ],
)
def test_added_functions(expr, true):
    document = {"nodes": [{"gpus": 8, "count": 8}, {"gpus": 4, "count": 2}]}
    verdict = one([{"gpus": 1}], rule(expr=expr), document=document)
    assert verdict.outcome is (Outcome.PASS if true else Outcome.FAIL), verdict.message


def test_sum_refuses_what_is_not_a_number():
    verdict = one([{"gpus": 1}], rule(expr="sum([true, 1]) > 0"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert "sum() takes numbers, not True" in verdict.message
