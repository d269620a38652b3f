"""Format of a recording's header and of the lines of its index: a list of checks, and the JSON schema that says it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from secmix.errors import shown

FORMAT = "secmix recording"
VERSION = 1
"""Version of the format; recordings of other versions are refused."""
ROLES: Mapping[str, str] = MappingProxyType(
    {
        "model": "weights of a model; several parts are its arrays, in the order of its layers",
        "update": "the change of a model, or a gradient, up to a factor; parts as of a model",
        "count": "the number of rows that the sender has",
        "statistic": "anything else that was computed from rows, such as a loss, a mean or a sum",
        "opaque": "masked or encrypted numbers, keys and shares",
        "error": "the answer of a node that failed, such as a code",
    }
)
"""Roles that a part or a single number may have. Without a role it is listed, and nothing is computed from it."""
BY = ("server", "node")
NAME = re.compile(r"\d{6,9}\.npz")
SCHEMA = "recording.schema.json"
_MOST_PARTS, _LONGEST, _MOST_NAMES = 10_000, 200, 10_000
_ENDS = {
    "iteration": "counted from 0",
    "round": "within the iteration: 0 for what is asked, 1 for the answer",
    "sender": "-1 is the server, nodes are counted from 0",
    "receiver": "-1 is the server, nodes are counted from 0",
}


def faults_of_line(line: Any) -> Iterator[str]:
    """Yield what is wrong with a line of the index, each with the key, what was given and what is expected."""
    if not isinstance(line, dict):
        yield f"{shown(line)}; expected an object"
        return
    for key in ("file", *_ENDS, "encrypted", "parts"):
        if key not in line:
            yield f"there is no {key!r}"
    if "file" in line and not (isinstance(line["file"], str) and NAME.fullmatch(line["file"])):
        yield f"file: {shown(line['file'])}; expected six to nine digits and .npz"
    for key in _ENDS:
        if key in line and (type(line[key]) is not int or not -1 <= line[key] < 2**31):
            yield f"{key}: {shown(line[key])}; expected an integer from -1 to 2147483647"
    if "encrypted" in line and not isinstance(line["encrypted"], bool):
        yield f"encrypted: {shown(line['encrypted'])}; expected true or false"
    if "parts" in line:
        yield from _faults_of_parts(line["parts"])
    yield from _faults_of_roles(line.get("roles", {}), line.get("parts"))


def _faults_of_parts(parts: Any) -> Iterator[str]:
    if not isinstance(parts, list) or len(parts) > _MOST_PARTS:
        yield f"parts: {shown(parts)}; expected a list of at most {_MOST_PARTS}"
        return
    for k, part in enumerate(parts):
        if not isinstance(part, dict) or not _is_name(part.get("kind")):
            yield f"parts[{k}]: {shown(part)}; expected an object with a 'kind' of at most {_LONGEST} characters"
        elif not isinstance(names := part.get("names"), list) or not all(map(_is_name, names[: _MOST_NAMES + 1])):
            yield f"parts[{k}].names: {shown(names)}; expected a list of texts of at most {_LONGEST} characters"
        elif len(names) > _MOST_NAMES:
            yield f"parts[{k}].names: {len(names)} of them; expected at most {_MOST_NAMES}"


def _faults_of_roles(roles: Any, parts: Any) -> Iterator[str]:
    if not isinstance(roles, dict):
        yield f"roles: {shown(roles)}; expected an object of kinds and names"
        return
    known = set()
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict):
            names = part.get("names")
            known |= {
                each for each in (part.get("kind"), *(names if isinstance(names, list) else ())) if _is_name(each)
            }
    for what, role in roles.items():
        if not isinstance(role, str) or role not in ROLES:
            yield f"roles[{shown(what)}]: {shown(role)}; expected one of {', '.join(ROLES)}"
        elif what not in known:
            yield f"roles: {shown(what)} is neither the kind of a part of this message nor the name of a number in it"


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and len(text) <= _LONGEST


def json_schema() -> dict[str, Any]:
    """Build the JSON Schema (draft 2020-12) of ``recording.json`` and of each line of ``index.jsonl``.

    >>> sorted(json_schema()["$defs"])
    ['header', 'message', 'part']
    """
    text = {"type": "string", "maxLength": _LONGEST}
    integer = {"type": "integer", "minimum": -1, "maximum": 2**31 - 1}
    roles = {
        "type": "object",
        "additionalProperties": {"enum": list(ROLES)},
        "description": "; ".join(f"{role}: {meaning}" for role, meaning in ROLES.items()),
    }
    header = {"format": {"const": FORMAT}, "version": {"const": VERSION}, "by": {"enum": list(BY)}}
    part = {"kind": text, "names": {"type": "array", "items": text, "maxItems": _MOST_NAMES}}
    message = {
        "file": {"type": "string", "pattern": f"^{NAME.pattern}$"},
        **{key: {**integer, "description": meaning} for key, meaning in _ENDS.items()},
        "encrypted": {"type": "boolean"},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}, "maxItems": _MOST_PARTS},
        "roles": roles,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "recording.json, and each line of index.jsonl, of a recording of secmix",
        "anyOf": [{"$ref": "#/$defs/header"}, {"$ref": "#/$defs/message"}],
        "$defs": {
            "header": _object(header, list(header)),
            "message": _object(message, [key for key in message if key != "roles"]),
            "part": _object(part, list(part)),
        },
    }


def published() -> str:
    """Read the schema that ships with this version, ``recording.schema.json``."""
    return files("secmix.recording").joinpath(SCHEMA).read_text("utf-8")


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}
