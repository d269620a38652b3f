"""Outlets: where code writes what no channel carries, and an outsider may read it: output, logs, files, sockets."""

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
"""Told what is done with what (printed, logged, ...), and whether it really leaves; returns what is to be written."""

_WRITERS: list[tuple[Writer, int]] = []  # with the thread that listens
_INSTALLED = ExitStack()
_LOCK = threading.RLock()
_LOGGED = ("debug", "info", "warning", "error", "critical", "exception", "log")
_FILES = {"gzip": "GzipFile", "bz2": "BZ2File", "lzma": "LZMAFile", "ssl": "SSLSocket"}
"""Classes that read memory before it reaches a file or socket; looked for where somebody has imported them."""


@contextmanager
def watched(writer: Writer) -> Iterator[None]:
    """Tell ``writer`` of all that is printed, logged, written to files or sent by sockets meanwhile.

    What a logger drops, as below its level, is told of too, as what does not leave. A file that was open before is
    not watched. Of threads, it hears its own and those that no other writer listens in.

    Examples
    --------
    >>> def note(where, what, leaves):
    ...     heard.append((where, what, leaves))
    ...     return what
    >>> heard = []
    >>> with watched(note):
    ...     logging.getLogger("a silent one").debug("x is %s", 3)
    >>> heard
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


def _told(where: str, what: list[Any], leaves: bool) -> list[Any]:
    here, listened = threading.get_ident(), {thread for _, thread in _WRITERS}
    for writer, thread in _WRITERS:
        if thread == here or here not in listened:
            what = writer(where, what, leaves)
    return what


class _File:
    """A file, or a stream of output, that tells what is written to it."""

    def __init__(self, file: Any, where: str) -> None:
        self._file, self._where = file, where

    def write(self, data: Any) -> Any:
        return self._file.write(*_told(self._where, [data], True))

    def writelines(self, lines: Any) -> None:
        for each in lines:
            self.write(each)

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


def _telling(original: Any, where: str, leaves: bool, skipped: int = 0) -> Any:
    """Return a function that tells of its arguments, but for the first ones; what is made of those is written."""

    def go(*args: Any, **kw: Any) -> Any:
        written = _told(where, [*args[skipped:], *kw.values()], leaves)
        count = len(args) - skipped
        return original(*args[:skipped], *written[:count], **dict(zip(kw, written[count:], strict=True)))

    return go


def _handling(original: Any) -> Any:
    def callHandlers(self: Any, record: logging.LogRecord) -> None:
        _told("logged", [record.getMessage()], True)
        original(self, record)

    return callHandlers


def _outlets() -> Iterator[tuple[Any, str, Any]]:
    """Yield what is replaced: in what, its name, and what stands for it."""
    yield builtins, "print", _telling(print, "printed", False)
    yield builtins, "open", _opening(open)
    yield io, "open", _opening(io.open)
    for name in ("stdout", "stderr"):
        yield sys, name, _File(getattr(sys, name), "printed")
    for name in ("write", "writev", "pwrite"):
        if hasattr(os, name):
            yield os, name, _telling(getattr(os, name), "written to a file", True, 1)
    for name in ("write_bytes", "write_text"):
        yield pathlib.Path, name, _telling(getattr(pathlib.Path, name), "written to a file", False, 1)
    for name in ("send", "sendall", "sendto", "sendmsg"):
        yield socket.socket, name, _telling(getattr(socket.socket, name), "sent by a socket", True, 1)
    for name in ("encode", "iterencode"):
        yield json.JSONEncoder, name, _telling(getattr(json.JSONEncoder, name), "turned into JSON", False, 1)
    for name in _LOGGED:
        yield logging.Logger, name, _telling(getattr(logging.Logger, name), "logged", False, 1)
    yield logging.LoggerAdapter, "log", _telling(logging.LoggerAdapter.log, "logged", False, 1)
    yield logging.Logger, "callHandlers", _handling(logging.Logger.callHandlers)
    for module, kind in _FILES.items():
        if module in sys.modules:
            found = getattr(sys.modules[module], kind)
            yield found, "write", _telling(found.write, "written to a file", True, 1)


def _install() -> None:
    for holder, name, instead in list(_outlets()):
        _INSTALLED.callback(_put_back, holder, name, instead, vars(holder).get(name))
        setattr(holder, name, instead)


def _put_back(holder: Any, name: str, instead: Any, own: Any) -> None:
    """Undo a replacement, unless somebody has replaced it since; what was inherited is inherited again."""
    if vars(holder).get(name) is instead:
        setattr(holder, name, own) if own is not None else delattr(holder, name)
