"""JSON Schemas of the files that people write, for editors, and of what akotf prints, for programs.

A schema of a file takes what the reader takes, as far as a schema can say: text fields take any scalar, since they keep
what was written; null is no value; and what stands in `run.yaml` outside opaque text may be an expression. Every
property says what the reference says of it.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from akotf.model.config import NAME, OPAQUE, EnvironmentSpec, ParameterSpec, RunSpec, TemplateSpec
from akotf.model.meanings import meaning_of, prose, sentence
from akotf.model.policy import Rule
from akotf.model.secret import SecretReference
from akotf.model.units import ByteCount, Seconds, format_bytes, format_duration, format_percent

DIALECT = "http://json-schema.org/draft-07/schema#"  # what the editors' YAML servers implement whole
#: file -> its model
FILES: dict[str, type[BaseModel]] = {
    "akotf.yaml": EnvironmentSpec, "template.yaml": TemplateSpec, "run.yaml": RunSpec, "rule.yaml": Rule,
}  # fmt: skip
_EXPRESSION = {"type": "string", "pattern": r"\{\{(.|\n)*\}\}", "title": "Expression over the parameters"}
_SCALAR = ["string", "number", "boolean"]
_PYTHON_ONLY = re.compile(r"\(\?P|\(\?[aiLmsux-]|\(\?#|\\[AZ]|[*+?}]\+")  # what ECMAScript's expressions lack
_NESTED = ("items", "additionalProperties", "patternProperties", "anyOf", "allOf")


def file_schema(file: str) -> dict[str, Any]:
    """The schema of a file that people write; KeyError for another name."""
    schema = model_schema(FILES[file], file, mode="validation")
    for definition in (schema, *schema["definitions"].values()):
        for name, field in definition.get("properties", {}).items():
            made = _as_read(field)
            rendered = file == "run.yaml" and not (definition is schema and name in OPAQUE)
            definition["properties"][name] = _or_expression(made) if rendered else made
    return schema


def model_schema(
    model: type[BaseModel], name: str, *, mode: JsonSchemaMode = "serialization"
) -> dict[str, Any]:
    """The schema of a model with the meaning of each field; `name` becomes its id. `serialization`: what akotf prints."""
    schema = model.model_json_schema(
        mode=mode, by_alias=True, ref_template="#/definitions/{model}",
        schema_generator=_ForFiles if mode == "validation" else _ForOutput,
    )  # fmt: skip
    definitions = schema.pop("$defs", {})
    words = {
        f"#/definitions/{key}": definitions.pop(key)
        for key in list(definitions)
        if "enum" in definitions[key]
    }
    for word in words.values():
        del word["title"]
    schema, definitions = _inlined(schema, words), _inlined(definitions, words)
    head = {"$schema": DIALECT, "$id": f"urn:akotf:schema:{name}", "title": name}
    return {**head, **schema, "title": name, "definitions": definitions}


def _inlined(data: Any, words: dict[str, Any]) -> Any:
    """Enumerations in place of references to them: a hover then tells the field's meaning, not the type's."""
    if isinstance(data, list):
        return [_inlined(item, words) for item in data]
    if not isinstance(data, dict):
        return data
    made = {key: _inlined(value, words) for key, value in data.items()}
    return {**words[made.pop("$ref")], **made} if made.get("$ref") in words else made


class _Documented(GenerateJsonSchema):
    """No titles made of field names; every field has its meaning."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never: a title that repeats the key says nothing."""
        del schema
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """A model with its docstring and the meaning of its fields."""
        model = schema["cls"]
        made = super().model_schema(schema)
        made.pop("title", None)
        if "description" in made:
            made["description"] = prose(made["description"])
        for name, info in model.model_fields.items():
            key = info.serialization_alias or info.alias or name
            field = made.get("properties", {}).get(key)
            if field is None:
                continue
            said = meaning_of(model, name)
            made["properties"][key] = {"description": said, **field} if said else field
        return made


class _ForOutput(_Documented):
    """What akotf prints."""


class _ForFiles(_Documented):
    """What people write."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """A key without a value is left out, never null."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """A default as people would write it; none where it says nothing."""
        made = super().default_schema(schema)
        default = made.get("default")
        if default in (None, "", [], {}) or isinstance(default, dict):
            made.pop("default", None)
        elif made.get("title") == "Duration" and isinstance(default, (int, float)):
            made["default"] = format_duration(float(default))
        elif made.get("title") == "Percentage" and isinstance(default, (int, float)):
            made["default"] = format_percent(float(default))
        elif made.get("title") == "Size" and isinstance(default, int):
            made["default"] = format_bytes(default)
        return made


def parameters_schema(template: TemplateSpec) -> dict[str, Any]:
    """The schema of `parameters` for one template: each with its type, bounds, choices, default and help."""
    parameters = {name: _parameter(spec) for name, spec in template.parameters.items()}
    required = [name for name, spec in template.parameters.items() if spec.required]
    return {"type": "object", "properties": parameters, "additionalProperties": False, "required": required}


def _parameter(spec: ParameterSpec) -> dict[str, Any]:
    kinds: dict[str, Any] = {
        "integer": {"type": "integer"}, "number": {"type": "number"}, "boolean": {"type": "boolean"},
        "string": {"type": _SCALAR}, "duration": _UNITS["Seconds"], "bytes": _UNITS["ByteCount"],
    }  # fmt: skip
    made = dict(kinds[spec.type])
    if spec.secret:
        made = dict(_UNITS["SecretReference"])
    elif spec.pattern and not _PYTHON_ONLY.search(spec.pattern):
        made |= {"type": "string", "pattern": f"^(?:{spec.pattern})$"}
    if spec.type in ("integer", "number"):
        made |= {
            key: bound for key, bound in (("minimum", spec.min), ("maximum", spec.max)) if bound is not None
        }
    if spec.choices:
        made["enum"] = list(spec.choices)
    if spec.default is not None:
        made["default"] = spec.default
    made["description"] = sentence(spec.help + (f" ({spec.unit})" if spec.unit else ""))
    return made


def _as_read(field: Any) -> Any:
    """A property as the strict reader takes it."""
    if isinstance(field, list):
        return [_as_read(item) for item in field]
    if not isinstance(field, dict):
        return field
    made = {key: _as_read(value) if key in _NESTED else value for key, value in field.items()}
    if made.get("pattern") == NAME:
        made["patternErrorMessage"] = (
            "Lower-case letters, digits and '-', a letter first, at most 63 characters"
        )
    if made.get("format") == "date":
        made["pattern"] = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
    elif made.get("type") == "string" and not {"pattern", "enum", "const", "anyOf"} & made.keys():
        made["type"] = _SCALAR  # `OMP_NUM_THREADS: 2` is the text "2"
    elif made.get("type") == "integer" and "const" not in made:
        made = {"minimum": -(2**63), "maximum": 2**63 - 1, **made}
    if "patternProperties" in made:
        made["additionalProperties"] = False
    if {"type": _SCALAR} in made.get("anyOf", ()):
        made["type"] = _SCALAR  # a union with text takes any scalar
        del made["anyOf"]
    return made


def _or_expression(field: Any) -> Any:
    """A property that takes an expression in place of a value, where it is not text, which takes it anyway."""
    if isinstance(field, list):
        return [_or_expression(item) for item in field]
    if not isinstance(field, dict):
        return field
    made = {
        key: _or_expression(value) if key in ("items", "additionalProperties") else value
        for key, value in field.items()
    }
    if made.get("type") in ("array", "object", _SCALAR) or not ({"type", "enum", "anyOf"} & made.keys()):
        return made
    outer = {key: made.pop(key) for key in ("description", "default", "title") if key in made}
    return {**outer, "anyOf": [made, _EXPRESSION]}


#: The schema of each unit by the name of its annotation.
_UNITS: dict[str, dict[str, Any]] = {
    name: TypeAdapter(annotation).json_schema(schema_generator=_ForFiles)
    for name, annotation in (
        ("Seconds", Seconds),
        ("ByteCount", ByteCount),
        ("SecretReference", SecretReference),
    )
}
