"""A report's files: each format, its renderer, and how they are written and read back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from secmix.auditing.evidence.interface import kinds
from secmix.auditing.report import SCHEMA_VERSION, Report
from secmix.errors import SecmixError, nearest


# matplotlib and jinja2 are imported only when a page is rendered, or by load().
def _html(report: Report) -> str:
    from secmix.reporting.formats.html import render

    return render(report)


def _markdown(report: Report) -> str:
    from secmix.reporting.formats.markdown import render

    return render(report)


def _junit(report: Report) -> str:
    from secmix.reporting.formats.junit import render

    return render(report)


def _sarif(report: Report) -> str:
    from secmix.reporting.formats.sarif import render

    return render(report)


def _release(report: Report) -> str:
    from secmix.reporting.formats.release_html import render
    from secmix.reporting.release.of_report import release_page

    return render(release_page(report))


def _release_json(report: Report) -> str:
    from secmix.reporting.release.of_report import release_page

    return release_page(report).to_json()


def _json(report: Report) -> str:
    try:
        return json.dumps(report.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise SecmixError(
            "the report has a number that is not finite, expected finite numbers or null, as in JSON"
        ) from error


FORMATS: dict[str, tuple[str, Callable[[Report], str]]] = {
    "html": ("report.html", _html),
    "json": ("report.json", _json),
    "md": ("report.md", _markdown),
    "junit": ("report.junit.xml", _junit),
    "sarif": ("report.sarif", _sarif),
    "release": ("release.html", _release),
    "release-json": ("release.json", _release_json),
}
"""Name of each format, its file, and its renderer."""

_TOGETHER = {"release": ("release", "release-json")}
"""Formats that are written together: a page, and the same for programs."""


def files_of(formats: Sequence[str]) -> list[str]:
    """Return the names of the files that ``write`` makes of these formats, in order.

    >>> files_of(["md", "release", "md"])
    ['report.md', 'release.html', 'release.json']
    """
    return [FORMATS[name][0] for name in _expanded(formats)]


def _expanded(formats: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(each for name in formats for each in _TOGETHER.get(name, (name,))))


def load(formats: Sequence[str]) -> None:
    """Import what these formats need, so that writing them later does not wait for it."""
    if "release" in formats:
        import_module("secmix.reporting.formats.release_html")
        import_module("jinja2")
    if "html" in formats:
        import_module("secmix.reporting.formats.html")
        import_module("matplotlib.backends.backend_svg")
        import_module("matplotlib.figure")
        import_module("jinja2")


def write(
    report: Report, folder: str | os.PathLike[str], formats: Sequence[str] = ("html", "json", "md")
) -> list[Path]:
    """Write the report into ``folder``, one file a format; "release" makes two, a page and its JSON.

    Files of other formats that an earlier report left in the folder are written anew, so that none of them speaks of
    another audit. Everything is rendered before anything is written, and each file takes its name only when it is
    complete, so that an interrupted or failed call never leaves half a report.

    Parameters
    ----------
    report : Report
    folder : path
        Created if it does not exist.
    formats : sequence of {"html", "json", "md", "junit", "sarif", "release", "release-json"}

    Returns
    -------
    list of Path
        The files, in the order of ``formats``; then those that were written anew.

    Raises
    ------
    SecmixError
        On an unknown format, or a folder that cannot be written to.
    """
    if isinstance(formats, str):
        raise SecmixError(f"formats: got the string {formats!r}, expected a list of names such as [{formats!r}]")
    for name in formats:
        if name not in FORMATS:
            raise SecmixError(f"unknown report format {name!r}; {nearest(name, FORMATS)}")
    folder = Path(folder)
    earlier = [name for name, (file, _) in FORMATS.items() if os.path.exists(folder / file)]
    wanted = [FORMATS[name] for name in _expanded([*formats, *earlier])]
    contents = [(file, make(report).encode("utf-8", "replace")) for file, make in wanted]
    waiting: list[tuple[Path, Path]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in contents:
            temporary = folder / f".{file}.{os.getpid()}.tmp"
            waiting.append((temporary, folder / file))
            temporary.write_bytes(content)
        for temporary, final in waiting:
            os.replace(temporary, final)
    except OSError as error:
        raise SecmixError(
            f"cannot write the report into '{folder}': {error.strerror or error}; choose another folder with --out"
        ) from error
    finally:
        for temporary, _ in waiting:
            _discard(temporary)
    return [final for _, final in waiting]


def _discard(temporary: Path) -> None:
    try:
        temporary.unlink(missing_ok=True)
    except OSError:  # the folder itself is out of reach; the first error has been reported already
        return


def read_json(path: str | os.PathLike[str]) -> Report:
    """Read the report from a report.json, or from that in a folder of a report.

    Raises
    ------
    SecmixError
        If the file cannot be read, is no report, or was written by a version with another schema.
    """
    path = Path(path) / "report.json" if Path(path).is_dir() else path
    try:
        text = Path(path).read_bytes().decode("utf-8")
        values = json.loads(text, parse_constant=_refuse)
    except OSError as error:
        raise SecmixError(f"cannot read the report '{path}': {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise SecmixError(f"'{path}' is not a report.json: {error}") from error
    version = values.get("schema_version") if isinstance(values, dict) else None
    if version is None:
        raise SecmixError(
            f"'{path}' is not a report.json: it has no schema_version; give a JSON file that secmix wrote"
        )
    if version != SCHEMA_VERSION:
        raise SecmixError(f"'{path}' has schema version {version!r}, expected {SCHEMA_VERSION!r}; run the audit again")
    try:
        return Report.model_validate(values)
    except ValidationError as error:
        problems = error.errors()
        first = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'report'}: {e['msg']}" for e in problems[:3])
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        raise SecmixError(f"'{path}' is not a report.json: {first}{more}") from error


def json_schema() -> dict[str, Any]:
    """Build the JSON Schema (draft 2020-12) of the report.json that ``write`` makes."""
    schema = Report.model_json_schema(mode="serialization")
    schema["properties"]["schema_version"]["const"] = SCHEMA_VERSION
    schema["$defs"]["Finding"]["properties"]["evidence"]["enum"] = [kind.name for kind in kinds()]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _refuse(word: str) -> float:
    raise ValueError(f"it contains {word}, which JSON does not allow")
