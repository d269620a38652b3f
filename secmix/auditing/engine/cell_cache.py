"""Finished cells of an audit that is not: kept in a folder, and read back only if nobody changed them.

Each kept cell carries a keyed digest (HMAC-SHA-256) over its content, over all that determines it, and over the version
of secmix. The key is the user's own, in a file that nobody else reads: who can write to the folder alone can remove a
kept cell, but not forge one. Who can read the user's files can.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import inspect
import json
import logging
import os
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from secmix._base import files, plugins
from secmix.auditing.cells.steps import CellResult
from secmix.auditing.report import Cell, Finding
from secmix.auditing.setup import Given
from secmix.errors import SecmixError
from secmix.scenario import Scenario, render

_log = logging.getLogger("secmix")
_LIBRARIES = ("secmix", "numpy", "scipy", "scikit-learn", "networkx")
_MOST = 2**28  # bytes of a kept cell; none comes near
_KEY_BYTES = 32


def fingerprint(cell: Scenario, given: Given | None) -> str:
    """What determines a cell's result: its scenario, our code, the libraries, and the source of parts not ours.

    Call it when the cell's parts have been built once: a part's module is then loaded.
    """
    described = [render(cell), _own_source(), *(f"{name} {version(name)}" for name in _LIBRARIES)]
    for table, spec in (("protocol", cell.protocol), ("adversary", cell.adversary)):
        part = (given or {}).get((table, spec.name))
        if part is not None:
            described += [repr(part), _source(type(part))]
    # A setting may name a part too, such as a forgery.
    for named in (cell.protocol, cell.adversary, cell.data):
        for name in _strings([named.name, named.settings]):
            if plugins.names_code(name) and (module := sys.modules.get(name.partition(":")[0])) is not None:
                described.append(_source(module))
    if isinstance(folder := cell.protocol.settings.get("project"), str):  # of a Flower app, in many modules
        for place in sorted([*Path(folder).rglob("*.py"), *Path(folder).glob("pyproject.toml")]):
            described.append(f"{place} {_digest_of(place)}")
    if (path := cell.data.settings.get("path")) is not None:
        described.append(_digest_of(path))
    return hashlib.sha256("\n".join(described).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _digest_of(path: Any) -> str:
    try:
        return hashlib.sha256(files.read_regular(Path(path))).hexdigest()
    except (OSError, TypeError, ValueError):
        return secrets.token_hex(16)  # it cannot be compared: never read back


def keep(place: Path, result: CellResult) -> None:
    """Write a finished cell to ``place``, all of it or nothing."""
    if (key := _key()) is None:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    cell, findings = result
    content = {
        "cell": cell.model_dump(mode="json", by_alias=True),
        "findings": [f.model_dump(mode="json") for f in findings],
    }
    kept = json.dumps(content)
    try:
        files.write(place, json.dumps({"digest": _digest(key, place.stem, kept), "kept": kept}).encode())
    except IsADirectoryError:
        raise SecmixError(f"'{place}' is a folder, where a finished cell is due; remove it") from None


def read_back(place: Path, command: str) -> CellResult | None:
    """The cell kept at ``place``; None, and a warning in the log, where what is there is not what was kept."""
    try:
        text = files.read_regular(place, follow=False, most=_MOST)
    except FileNotFoundError:
        return None
    except OSError:
        text = b""
    key = _key()
    try:
        content = json.loads(text)
        kept, digest = content["kept"], content["digest"]
        if key is None or not hmac.compare_digest(digest.encode(), _digest(key, place.stem, kept).encode()):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        _log.warning("a kept cell is not as this secmix and this user kept it; it is computed again")
        return None
    values = json.loads(kept)
    cell = Cell.model_validate(values["cell"]).model_copy(update={"reproduce": command})
    return cell, [Finding.model_validate(f) for f in values["findings"]]


def _digest(key: bytes, stem: str, kept: str) -> str:
    return hmac.new(key, f"{version('secmix')}\n{stem}\n{kept}".encode("utf-8", "surrogatepass"), "sha256").hexdigest()


@functools.cache
def _key() -> bytes | None:
    """The user's own key, made when there is none; None where it cannot be kept, and so no cell can be."""
    place = _state_folder() / "secmix" / "key"
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not place.exists():
            made = files.draft(place.parent, secrets.token_bytes(_KEY_BYTES), 0o600)
            try:
                os.link(made, place)  # not replace: two audits that start at once must end with one key
            except FileExistsError:
                pass
            except OSError:  # a file system without links
                made.replace(place)
            made.unlink(missing_ok=True)
        status = place.lstat()
        mine = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077)
        key = files.read_regular(place, follow=False, most=1024)
        if mine and len(key) == _KEY_BYTES:
            return key
        fault = "it is not yours alone to read; remove it"
    except OSError as error:
        fault = str(error.strerror or type(error).__name__)
    _log.warning("no finished cells are kept for another run: the key file %s cannot be used (%s)", place, fault)
    return None


def _state_folder() -> Path:
    """Where programs keep what is theirs, by the conventions of the system."""
    if state_home := os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA"):
        return Path(state_home)
    return Path(os.path.expanduser("~")) / ".local" / "state"


@functools.cache
def _own_source() -> str:
    """A digest of secmix itself: in a checkout the version stays while the code changes."""
    here = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for place in sorted(here.rglob("*.py")):
        digest.update(str(place.relative_to(here)).encode() + b"\0" + place.read_bytes())
    return digest.hexdigest()


def _source(part: Any) -> str:
    try:
        return inspect.getsource(inspect.getmodule(part) or part)
    except (OSError, TypeError):
        # No source to compare: never read such a cell back.
        return secrets.token_hex(16)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)
