"""The published schema of report.json."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from secmix.auditing.evidence.interface import kinds
from secmix.auditing.report import SCHEMA_VERSION, Report

FILE = "report.schema.json"


def json_schema() -> dict[str, Any]:
    """Build the JSON Schema (draft 2020-12) of the report.json that ``write`` makes."""
    schema = Report.model_json_schema(mode="serialization")
    schema["properties"]["schema_version"]["const"] = SCHEMA_VERSION
    schema["$defs"]["Finding"]["properties"]["evidence"]["enum"] = [kind.name for kind in kinds()]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def published() -> str:
    """Read the schema that ships with this version, ``report.schema.json``."""
    return files("secmix.reporting").joinpath(FILE).read_text("utf-8")


def as_text() -> str:
    """Render the text that ``report.schema.json`` must have."""
    import json

    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
