"""Cache of finished cells, for resuming an audit: read back only if nobody changed them.

Each stored cell has a keyed digest (HMAC-SHA-256) of its content, of all that determines it, and of the version of
secmix. The key is the user's own, in a file that only the user can read. Somebody who can only write to the folder can
remove a stored cell, but not forge one; somebody who can read the user's files can.
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

from secmix._base import plugins, safe_files
from secmix.auditing.report import Cell, CellResult, Finding
from secmix.auditing.setup import ReadyParts
from secmix.errors import SecmixError
from secmix.scenario import Scenario, render

_log = logging.getLogger("secmix")
_LIBRARIES = ("secmix", "numpy", "scipy", "scikit-learn", "networkx")
_MOST = 2**28  # bytes of a stored cell; real ones are much smaller
_KEY_BYTES = 32


def fingerprint(cell: Scenario, ready_parts: ReadyParts | None) -> str:
    """Hash what determines a cell's result: scenario, our code, the libraries, and the source of other parts.

    Call it after the cell's parts were built once, so that their modules are loaded.
    """
    described = [render(cell), _own_source(), *(f"{name} {version(name)}" for name in _LIBRARIES)]
    for table, spec in (("protocol", cell.protocol), ("adversary", cell.adversary)):
        part = (ready_parts or {}).get((table, spec.name))
        if part is not None:
            described += [repr(part), _source(type(part))]
    # A setting may also name a part, such as a forgery.
    for named in (cell.protocol, cell.adversary, cell.data):
        for name in _strings([named.name, named.settings]):
            if plugins.names_code(name) and (module := sys.modules.get(name.partition(":")[0])) is not None:
                described.append(_source(module))
    if isinstance(folder := cell.protocol.settings.get("project"), str):  # a Flower app has many modules
        for place in sorted([*Path(folder).rglob("*.py"), *Path(folder).glob("pyproject.toml")]):
            described.append(f"{place} {_digest_of(place)}")
    if (path := cell.data.settings.get("path")) is not None:
        described.append(_digest_of(path))
    return hashlib.sha256("\n".join(described).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _digest_of(path: Any) -> str:
    try:
        return hashlib.sha256(safe_files.read_regular(Path(path))).hexdigest()
    except (OSError, TypeError, ValueError):
        return secrets.token_hex(16)  # not comparable: never read back


def store(place: Path, result: CellResult) -> None:
    """Store a finished cell at ``place`` atomically."""
    if (key := _key()) is None:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    cell, findings = result
    content = {
        "cell": cell.model_dump(mode="json", by_alias=True),
        "findings": [f.model_dump(mode="json") for f in findings],
    }
    stored = json.dumps(content)
    try:
        safe_files.write(place, json.dumps({"digest": _digest(key, place.stem, stored), "kept": stored}).encode())
    except IsADirectoryError:
        raise SecmixError(f"'{place}' is a folder, expected the file of a finished cell; remove it") from None


def load(place: Path, command: str) -> CellResult | None:
    """Load the cell stored at ``place``; None, with a warning in the log, if it was changed."""
    try:
        text = safe_files.read_regular(place, follow=False, most=_MOST)
    except FileNotFoundError:
        return None
    except OSError:
        text = b""
    key = _key()
    try:
        content = json.loads(text)
        stored, digest = content["kept"], content["digest"]
        if key is None or not hmac.compare_digest(digest.encode(), _digest(key, place.stem, stored).encode()):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        _log.warning("a stored cell was changed, or stored by another user or version of secmix; it is computed again")
        return None
    values = json.loads(stored)
    cell = Cell.model_validate(values["cell"]).model_copy(update={"reproduce": command})
    return cell, [Finding.model_validate(f) for f in values["findings"]]


def _digest(key: bytes, stem: str, stored: str) -> str:
    return hmac.new(
        key, f"{version('secmix')}\n{stem}\n{stored}".encode("utf-8", "surrogatepass"), "sha256"
    ).hexdigest()


@functools.cache
def _key() -> bytes | None:
    """Load the user's own key, or create it; None if it cannot be stored, so that no cell can be."""
    place = _state_folder() / "secmix" / "key"
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not place.exists():
            draft = safe_files.draft(place.parent, secrets.token_bytes(_KEY_BYTES), 0o600)
            try:
                os.link(draft, place)  # not replace(): two audits that start together must get the same key
            except FileExistsError:
                pass
            except OSError:  # a file system without links
                draft.replace(place)
            draft.unlink(missing_ok=True)
        status = place.lstat()
        private = not hasattr(os, "getuid") or (
            status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077
        )
        key = safe_files.read_regular(place, follow=False, most=1024)
        if private and len(key) == _KEY_BYTES:
            return key
        fault = "others can read it; remove it"
    except OSError as error:
        fault = str(error.strerror or type(error).__name__)
    _log.warning("finished cells are not stored for resuming: the key file %s cannot be used (%s)", place, fault)
    return None


def _state_folder() -> Path:
    """Find the folder for programs' state, by the conventions of the system."""
    if state_home := os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA"):
        return Path(state_home)
    return Path(os.path.expanduser("~")) / ".local" / "state"


@functools.cache
def _own_source() -> str:
    """Hash the source of secmix itself, since in a checkout the code changes without the version."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for place in sorted(root.rglob("*.py")):
        digest.update(str(place.relative_to(root)).encode() + b"\0" + place.read_bytes())
    return digest.hexdigest()


def _source(part: Any) -> str:
    try:
        return inspect.getsource(inspect.getmodule(part) or part)
    except (OSError, TypeError):
        # Without source the cell is not comparable: never read back.
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
