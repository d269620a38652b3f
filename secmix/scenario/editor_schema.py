"""A JSON schema of scenarios, for editors: made from the models that read them and from the installed parts.

It is looser than the audit, never stricter: what it refuses, the audit refuses too.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from secmix._base import plugins
from secmix._base.plugins import hints_of, parameters_of
from secmix.errors import SecmixError
from secmix.scenario import accepted, claim_spec, settings
from secmix.scenario.scenario import Scenario

_PARTS = {"protocol": "protocols", "adversary": "adversaries", "data": "datasets"}
_MODELS: dict[str, type[BaseModel]] = {
    "protocol": settings.PartSpec,
    "adversary": settings.PartSpec,
    "data": settings.DataSpec,
}
Schema = dict[str, Any]
_SECTION = re.compile(r"^(\w[\w ]*)\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", flags=re.M | re.S)


def json_schema() -> Schema:
    """Build the JSON Schema (draft 7, which editors of TOML understand) of a scenario's file.

    >>> schema = json_schema()
    >>> schema["properties"]["runs"]["minimum"], sorted(schema["required"])
    (100, ['network'])
    """
    schema = Scenario.model_json_schema(ref_template="#/definitions/{model}")
    definitions: dict[str, Schema] = schema.pop("$defs")
    _describe(schema, Scenario)
    for model in _models():
        if model.__name__ in definitions:
            _describe(definitions[model.__name__], model)
    for table, group in _PARTS.items():
        definitions[table] = _table(group, definitions[_MODELS[table].__name__], _MODELS[table])
        schema["properties"][table] = {"$ref": f"#/definitions/{table}", "description": summary(_MODELS[table])}
    for model in set(_MODELS.values()):
        del definitions[model.__name__]
    lists = {key: {"type": "array", "minItems": 1, "items": value} for key, value in schema["properties"].items()}
    schema["properties"]["sweep"] = {
        "type": "object",
        "description": "Settings that take several values, each with its list: one cell a combination",
        "properties": {key: value for key, value in lists.items() if key not in ("sweep", "accepted")},
        "additionalProperties": {"type": "array", "minItems": 1},
    }
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "A scenario of secmix"}
    return {**schema, **head, "definitions": definitions}


def as_text() -> str:
    """Write the schema as an editor reads it."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def _models() -> list[type[BaseModel]]:
    modules = (settings, accepted, claim_spec)
    models = {name: getattr(module, name) for module in modules for name in dir(module) if name.endswith("Spec")}
    return [each for each in models.values() if isinstance(each, type) and issubclass(each, BaseModel)]


def _describe(schema: Schema, model: type[BaseModel]) -> None:
    """Describe each key, and the table by its first paragraph."""
    meanings = described(model, "Attributes")
    schema["description"] = summary(model)
    for key, value in schema["properties"].items():
        value.pop("title", None)
        if key in meanings and "description" not in value:
            value["description"] = meanings[key]


def _table(group: str, common: Schema, model: type[BaseModel]) -> Schema:
    """Build the schema of a table that names a part: its own keys, and those of the part."""
    known = plugins.available(group)
    own = {key: value for key, value in common["properties"].items() if key != "name"}
    default = model.model_fields["name"].get_default() if not model.model_fields["name"].is_required() else None
    names: Schema = {
        "description": "An installed part, or package.module:name",
        "anyOf": [{"enum": list(known)}, {"type": "string", "pattern": ":"}],
    }
    branches = []
    for name in known:
        try:
            part = plugins.load(group, name)
        except SecmixError:  # one package that is broken hides no other
            continue
        then = _settings(part, {"name": names, **own})
        branches.append({"if": {"properties": {"name": {"const": name}}, "required": ["name"]}, "then": then})
        if name == default:
            branches.append({"if": {"not": {"required": ["name"]}}, "then": then})
    table: Schema = {"type": "object", "description": summary(model), "properties": {"name": names, **own}}
    if default is None:
        table["required"] = ["name"]
    return {**table, "allOf": branches}


def _settings(part: Any, own: Mapping[str, Schema]) -> Schema:
    """Build the schema of the keys that one part takes beside those of every part."""
    parameters, hints, meanings = parameters_of(part), hints_of(part), described(part, "Parameters")
    schema: Schema = {"description": summary(part)}
    if parameters is None:
        return schema
    meant = {key: {"description": text} for key, text in meanings.items() if text}
    settings = {key: {**_kind(hints.get(key)), **meant.get(key, {})} for key in parameters}
    shared = {key: value for key, value in own.items() if key != "features" or key not in settings}
    schema["properties"] = {**settings, **shared}
    schema["additionalProperties"] = False
    needed = [key for key, parameter in parameters.items() if parameter.default is parameter.empty]
    return {**schema, "required": needed} if needed else schema


def _kind(hint: Any) -> Schema:
    """Describe what a setting may be; anything, where no schema can say it."""
    if hint is None:
        return {}
    try:
        schema = TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True)).json_schema()
    except Exception:  # a kind that TOML has no word for, such as a function
        return {}
    return {} if "$defs" in json.dumps(schema) else _loosened(schema)


def _loosened(schema: Any) -> Any:
    """Drop what TOML cannot express: its lists stand for sets and pairs too."""
    if isinstance(schema, Mapping):
        return {
            k: _loosened(v) for k, v in schema.items() if k not in ("uniqueItems", "title", "default", "prefixItems")
        }
    return [_loosened(each) for each in schema] if isinstance(schema, list) else schema


def sections(doc: str) -> dict[str, dict[str, str]]:
    """Parse the parameters or attributes of a NumPy docstring: section, name, text.

    >>> sections("One.\\n\\nParameters\\n----------\\na, b : int\\n    Two\\n    lines.\\n")
    {'Parameters': {'a': 'Two lines.', 'b': 'Two lines.'}}
    """
    by_title: dict[str, dict[str, str]] = {}
    for title, body in _SECTION.findall(doc + "\n"):
        entries: dict[str, str] = {}
        for names, text in re.findall(
            r"^(\w[\w, ]*)(?: :[^\n]*)?\n((?:[ \t]+[^\n]*\n|\n(?=[ \t]))*)", body, flags=re.M
        ):
            entries |= {name.strip(): " ".join(text.split()) for name in names.split(",")}
        by_title[title] = entries
    return by_title


def summary(part: Any) -> str:
    """Return the first paragraph of a docstring.

    >>> summary(summary)
    'Return the first paragraph of a docstring.'
    """
    return " ".join((inspect.getdoc(part) or "").split("\n\n")[0].split())


def described(part: Any, section: str) -> dict[str, str]:
    """Collect the entries of a section of a class's docstring, and of those it inherits from."""
    entries: dict[str, str] = {}
    for base in reversed(getattr(part, "__mro__", (part,))):
        own = base.__dict__.get("__doc__") if isinstance(base, type) else base.__doc__
        entries |= sections(inspect.cleandoc(own or "")).get(section, {})
    return entries
