"""Outlets: where code writes without a channel, and an outsider may read it: output, logs, files, sockets."""

from __future__ import annotations

import builtins
import io
import json
import logging
import os
import pathlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

Writer = Callable[[str, list[Any], bool], list[Any]]
"""Called with the action (printed, ...), its arguments, and whether they really leave; returns the arguments."""

_WRITERS: list[tuple[Writer, int]] = []  # with the thread of each
_INSTALLED = ExitStack()
_LOCK = threading.RLock()
_LOGGED = ("debug", "info", "warning", "error", "critical", "exception", "log")
_FILES = {"gzip": "GzipFile", "bz2": "BZ2File", "lzma": "LZMAFile", "ssl": "SSLSocket"}
"""Classes that read memory before it reaches a file or socket; wrapped if their module is imported."""


@contextmanager
def watched(writer: Writer) -> Iterator[None]:
    """Call ``writer`` for all that is printed, logged, written to files or sent by sockets meanwhile.

    What a logger drops, as below its level, is reported too, as what does not leave. A file that was open before is
    not watched. The writer is called for its own thread, and for threads without a writer of their own.

    Examples
    --------
    >>> def note(where, what, leaves):
    ...     calls.append((where, what, leaves))
    ...     return what
    >>> calls = []
    >>> with watched(note):
    ...     logging.getLogger("a silent one").debug("x is %s", 3)
    >>> calls
    [('logged', ['x is %s', 3], False)]
    """
    entry = (writer, threading.get_ident())
    with _LOCK:
        if not _WRITERS:
            _install()
        _WRITERS.append(entry)
    try:
        yield
    finally:
        with _LOCK:
            _WRITERS.remove(entry)
            if not _WRITERS:
                _INSTALLED.close()


def _notify_writers(where: str, what: list[Any], leaves: bool) -> list[Any]:
    current, watched_threads = threading.get_ident(), {thread for _, thread in _WRITERS}
    for writer, thread in _WRITERS:
        if thread == current or current not in watched_threads:
            what = writer(where, what, leaves)
    return what


class _File:
    """A file, or an output stream, that calls the writers for what is written to it."""

    __slots__ = ("_file", "_where")

    def __init__(self, file: Any, where: str) -> None:
        object.__setattr__(self, "_file", file)
        object.__setattr__(self, "_where", where)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._file, name, value)

    def write(self, data: Any) -> Any:
        return self._file.write(*_notify_writers(self._where, [data], True))

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        return _File(self._file.buffer, self._where)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Any:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._file.__exit__(*error)

    def __iter__(self) -> Any:
        return iter(self._file)


def _opening(original: Any) -> Any:
    def open(file: Any, mode: str = "r", *args: Any, **kw: Any) -> Any:
        opened = original(file, mode, *args, **kw)
        return _File(opened, "written to a file") if set(mode) & set("wax+") else opened

    return open


def _wrapped(original: Any, where: str, leaves: bool, skipped: int = 0) -> Any:
    """Wrap a function so that writers see its arguments after the first ``skipped``, and may replace them."""

    def wrapper(*args: Any, **kw: Any) -> Any:
        written = _notify_writers(where, [*args[skipped:], *kw.values()], leaves)
        count = len(args) - skipped
        return original(*args[:skipped], *written[:count], **dict(zip(kw, written[count:], strict=True)))

    return wrapper


def _handling(original: Any) -> Any:
    def callHandlers(self: Any, record: logging.LogRecord) -> None:
        _notify_writers("logged", [record.getMessage()], True)
        original(self, record)

    return callHandlers


def _outlets() -> Iterator[tuple[Any, str, Any]]:
    """Yield the replacements: owner, name, and new member."""
    yield builtins, "print", _wrapped(print, "printed", False)
    yield builtins, "open", _opening(open)
    yield io, "open", _opening(io.open)
    for name in ("stdout", "stderr"):
        yield sys, name, _File(getattr(sys, name), "printed")
    for name in ("write", "writev", "pwrite"):
        if hasattr(os, name):
            yield os, name, _wrapped(getattr(os, name), "written to a file", True, 1)
    for name in ("write_bytes", "write_text"):
        yield pathlib.Path, name, _wrapped(getattr(pathlib.Path, name), "written to a file", False, 1)
    for name in ("send", "sendall", "sendto", "sendmsg"):
        yield socket.socket, name, _wrapped(getattr(socket.socket, name), "sent by a socket", True, 1)
    for name in ("encode", "iterencode"):
        yield json.JSONEncoder, name, _wrapped(getattr(json.JSONEncoder, name), "turned into JSON", False, 1)
    for name in _LOGGED:
        yield logging.Logger, name, _wrapped(getattr(logging.Logger, name), "logged", False, 1)
    yield logging.LoggerAdapter, "log", _wrapped(logging.LoggerAdapter.log, "logged", False, 1)
    yield logging.Logger, "callHandlers", _handling(logging.Logger.callHandlers)
    for module, kind in _FILES.items():
        if module in sys.modules:
            owner = getattr(sys.modules[module], kind)
            yield owner, "write", _wrapped(owner.write, "written to a file", True, 1)


def _install() -> None:
    for owner, name, new in list(_outlets()):
        _INSTALLED.callback(_put_back, owner, name, new, vars(owner).get(name))
        setattr(owner, name, new)


def _put_back(owner: Any, name: str, new: Any, old: Any) -> None:
    """Undo a replacement, unless it was replaced again since; inherited members are inherited again."""
    if vars(owner).get(name) is new:
        setattr(owner, name, old) if old is not None else delattr(owner, name)
