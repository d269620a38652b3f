"""Every key of a scenario, read from the models that check it and from the parts that it can name."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel

from secmix._base import plugins
from secmix.scenario import Scenario
from secmix.scenario.editor_schema import described, summary

Row = tuple[str, str, str, str]
PARTS = {"protocol": "protocols", "adversary": "adversaries", "data": "datasets"}
"""The tables that name a part, and the group of entry points it is looked up in."""


def page() -> str:
    """The page on scenarios."""
    lines = [
        "# Every key of a scenario\n",
        "A scenario is a TOML file. `secmix init` writes one to start from, `secmix validate` tells all its faults, "
        "and `secmix schema` prints a JSON schema of it for editors; each entry of the "
        "[catalogue](threat-models.md) is another. A key that is not here is an error that names the nearest right "
        "one. This page is made from the models that read the file.\n",
    ]
    for table, model in tables().items():
        heading = f"## [{table}]" if table else "## The top of the file"
        lines += [heading + "\n", summary(model) + "\n", _table(rows(model)), ""]
        if table in PARTS:
            lines += [_parts(table), ""]
    lines += [
        "## [sweep]\n",
        "Each key is a setting, such as `protocol`, `adversary`, `runs` or `model.iterations`, and its value a list. "
        "The audit is then the whole table, one cell a combination.\n",
        '```toml title="a sweep"\n[sweep]\nprotocol = [{ name = "plain" }, { name = "pdmm", sigma = 100.0 }]\n'
        '"data.rows_per_node" = [1, 20]\n```\n',
    ]
    return "\n".join(lines)


def tables() -> dict[str, type[BaseModel]]:
    """The model of each table of a scenario, by its name; that of the top has none."""
    listed: dict[str, type[BaseModel]] = {"": Scenario}
    for name, field in Scenario.model_fields.items():
        kind = field.annotation
        inner = next((a for a in getattr(kind, "__args__", ()) if _is_model(a)), kind)
        if _is_model(inner):
            listed[name] = inner
    return listed


def rows(model: type[BaseModel]) -> list[Row]:
    """Key, type, default and meaning of each key that is no table itself."""
    schema = model.model_json_schema()
    meanings = described(model, "Attributes")
    listed = []
    for key, field in model.model_fields.items():
        if key in tables_of(model) or (model is Scenario and key == "sweep"):
            continue
        prop = schema["properties"][key]
        default = "required" if field.is_required() else _value(field.get_default(call_default_factory=True))
        meaning = field.description or meanings.get(key, "")
        listed.append((key, kind_of(prop, schema.get("$defs", {})), default, meaning.replace("|", "\\|")))
    return listed


def tables_of(model: type[BaseModel]) -> set[str]:
    """Which keys of a model are tables."""
    return set(tables()) if model is Scenario else set()


def kind_of(prop: dict[str, Any], defs: dict[str, Any]) -> str:
    """A JSON schema of one value in words.

    >>> kind_of({"type": "integer", "minimum": 1}, {}), kind_of({"enum": ["a", "b"], "type": "string"}, {})
    ('integer, at least 1', '"a" or "b"')
    >>> kind_of({"type": "integer", "maximum": 1_000_000}, {})  # as TOML may have it
    'integer, at most 1_000_000'
    """
    if "$ref" in prop:
        return kind_of(defs[prop["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in prop:
        return " or ".join(kind_of(each, defs) for each in prop["anyOf"] if each.get("type") != "null")
    if "enum" in prop:
        return " or ".join(f'"{each}"' for each in prop["enum"])
    if prop.get("type") == "array":
        return f"list of {kind_of(prop.get('items', {}), defs)}"
    words = {"integer": "integer", "number": "number", "boolean": "true or false", "string": "text"}
    bounds = [
        f"{word} {prop[key]:_}"
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if key in prop
    ]
    return ", ".join([words.get(prop.get("type", ""), prop.get("format", "table")), *bounds])


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ", ".join(_value(each) for each in value) or "none"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`" if value != "" else "empty"


def _table(listed: list[Row]) -> str:
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    lines += [f"| `{key}` | {kind} | {default} | {meaning} |" for key, kind, default, meaning in listed]
    return "\n".join(lines)


def _parts(table: str) -> str:
    """The settings of every installed part of a table."""
    lines = []
    for name in plugins.available(PARTS[table]):
        part = plugins.load(PARTS[table], name)
        meanings = {key: text.replace("|", "\\|") for key, text in described(part, "Parameters").items()}
        listed = [
            f"| `{key}` | {_default(parameter)} | {meanings.get(key, '')} |"
            for key, parameter in inspect.signature(part).parameters.items()
        ]
        head = f'**`name = "{name}"`**: {summary(part)}'
        lines += [head, "", *(["| setting | default | meaning |", "|---|---|---|", *listed, ""] if listed else [""])]
    return "\n".join(lines)


def _default(parameter: inspect.Parameter) -> str:
    if str(parameter.default) == "<factory>":  # of a dataclass, made anew each time
        return "see its meaning"
    return "required" if parameter.default is parameter.empty else _value(parameter.default)
