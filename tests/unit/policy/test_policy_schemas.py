"""The published schemas describe what rules really see."""

import json
from pathlib import Path

import jsonschema
import pytest

from akotf.load.environment import load
from akotf.model.base import Frozen
from akotf.model.policy import Stage
from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.policy import views
from akotf.policy.documents import config_document, tfplan_document
from akotf.policy.schemas import policy_input_schemas

PROJECT = Path(__file__).parents[3]
SCHEMAS = policy_input_schemas()


def check(stage, document, objects):
    """The data against the schema, as any other program would read both."""
    whole = json.loads(json.dumps({"document": document, "objects": [item for _, item in objects]}))
    validator = jsonschema.Draft202012Validator(SCHEMAS[f"policy-{stage}"])
    return sorted(f"{error.json_path}: {error.message}" for error in validator.iter_errors(whole))


def quickstart():
    return load(PROJECT / "environments" / "quickstart", catalogues=(PROJECT / "iac",))


def plan():
    change = ResourceChange(
        address="aws_instance.a", type="aws_instance", actions=("create",), after={"ami": "ami-1"},
        after_unknown={"id": True},
    )  # fmt: skip
    return TfPlan(root="/r", changes=(change,))


@pytest.mark.parametrize("stage", list(Stage))
def test_each_stage_has_a_schema_of_2020_12(stage):
    schema = SCHEMAS[f"policy-{stage}"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_quickstarts_config_document_is_as_published():
    assert check("config", *config_document(quickstart())) == []


def test_the_tfplan_and_drift_documents_are_as_published():
    for stage in (Stage.TFPLAN, Stage.DRIFT):
        assert check(stage, *tfplan_document(plan(), {"environment": "e", "live_runs": ["r"]}, stage)) == []


def test_a_schema_refuses_what_rules_never_see():
    document, objects = config_document(quickstart())
    (name, run) = objects[-1]
    assert check("config", document, [(name, {**run, "gpus": "eight"})]) != []
    assert check("config", document, [(name, {**run, "surprise": 1})]) != []


def test_every_kind_is_published():
    """What `match` may name, from the models: nothing is judged that has no schema."""
    for stage, kinds in views.KINDS.items():
        text = json.dumps(SCHEMAS[f"policy-{stage}"])
        for kind, model in kinds.items():
            assert issubclass(model, Frozen)
            assert f'"{kind}"' in text
