"""The numbers of a payload, which are all that a line carries: each array is a message, and only its numbers arrive."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.errors import SecmixError

_DOUBLE = np.dtype(float)


def as_it_passes(rows: Array) -> Array:
    """Copy ``rows`` with their numbers only, as a line carries them.

    The copy protects the transcript from later changes of the protocol's arrays. Memory layout, metadata of the type
    and padding bytes are not part of a message, since no line carries them.

    Examples
    --------
    >>> as_it_passes(np.zeros((1, 2, 3), np.dtype(float, metadata={"of": "node 0"}), order="F")).flags.c_contiguous
    True
    """
    if rows.dtype is _DOUBLE and type(rows) is np.ndarray:  # the usual case
        return rows.copy()
    if rows.dtype.kind not in "biufc":
        return np.array(rows, order="C")
    extended = rows.dtype.char in "gG"
    out = np.empty(rows.shape, dtype=(rows.dtype.newbyteorder("=") if extended else rows.dtype).str)
    out[...] = rows
    if extended and np.finfo(out.dtype).nmant == 63:  # eighty bits, padded to sixteen or twelve bytes
        out.view(np.uint8).reshape(-1, np.dtype(np.longdouble).itemsize)[:, 10:] = 0
    return out


Write = Callable[[str, Any], Any]
"""Sends an array as a kind of message, and returns the array that arrives."""


def passed_on(payload: Any, kind: str, write: Write, messages: int, runs: int = 1) -> Any:
    """Send the arrays of ``payload`` with ``write(kind, array)``, and rebuild it from what that returns.

    A mapping or a tuple is one message an entry, with its key appended to the kind; a complex array is two. A number, a
    text or None is the same in all ``runs``. What an object has besides its fields does not arrive, since no transcript
    would record it.

    Examples
    --------
    >>> sent = {}
    >>> passed_on({"x": np.ones((1, 2)), "n": 3}, "up", lambda kind, array: sent.setdefault(kind, array), 1)
    {'x': array([[1., 1.]]), 'n': 3}
    >>> list(sent)
    ['up/x', 'up/n']
    """
    if hasattr(type(payload), "as_it_passes"):  # an array of the kernel, which traces numbers through a protocol
        return write(kind, payload)
    if isinstance(payload, np.ndarray):
        return _array_passed(payload, kind, write)
    if _of_a_library(payload):
        return write(kind, payload)
    if isinstance(payload, Mapping):
        runs = _runs_of(payload.values(), runs)
        # Keys as text: an object that is a key could carry anything.
        parts = {str(key): (key, value) for key, value in payload.items()}
        plain = {name: passed_on(value, f"{kind}/{name}", write, messages, runs) for name, (_, value) in parts.items()}
        return {key if _is_plain(key) else name: plain[name] for name, (key, _) in parts.items()}
    if isinstance(payload, list | tuple):
        array = _as_array(payload)
        if array is not None and (array.ndim == 2 or (array.ndim == 3 and len(array) == messages)):
            return _array_passed(array, kind, write)
        runs = _runs_of(payload, runs)
        parts_arrived = [
            passed_on(value, f"{kind}/{place}", write, messages, runs) for place, value in enumerate(payload)
        ]
        return parts_arrived if isinstance(payload, list) else tuple(parts_arrived)
    if hasattr(payload, "__array__") and not isinstance(payload, np.generic):
        return _array_passed(np.array(payload), kind, write)
    return _single_passed(payload, kind, write, messages, runs)


def _array_passed(payload: Any, kind: str, write: Write) -> Any:
    rows: Any = payload if type(payload) is np.ndarray else np.array(payload, subok=False)
    if rows.dtype.kind == "O" and not all(type(number) in (int, float) for number in rows.ravel().tolist()):
        raise SecmixError(
            f"a message of kind '{kind}' is an array of objects, expected numbers; send numbers, or a mapping of arrays"
        )
    if rows.dtype.names:
        arrived = np.empty(rows.shape, rows.dtype)
        for name in rows.dtype.names:
            arrived[name] = write(f"{kind}/{name}", rows[name])
        return arrived
    if rows.dtype.kind == "c":
        arrived = np.empty(rows.shape, rows.dtype)
        arrived.real = write(kind, rows.real)
        arrived.imag = write(f"{kind}, imaginary part", rows.imag)
        return arrived
    return write(kind, rows)


def _single_passed(payload: Any, kind: str, write: Write, messages: int, runs: int) -> Any:
    if isinstance(payload, np.generic):
        payload = payload.item()
    if payload is None:
        write(f"{kind}, nothing", np.zeros((runs, 1)))
        return None
    kinds: tuple[Any, ...] = (bool, int, float, str, bytes)
    for plain in kinds:
        if isinstance(payload, plain):
            value: Any = plain(payload)
            small = plain in (bool, float) or (plain is int and abs(value) < 2**53)
            text = value if plain is bytes else str(value).encode()
            letters = np.frombuffer(text or b"\0", dtype=np.uint8)
            write(kind, np.full((runs, 1), float(value)) if small else np.broadcast_to(letters, (runs, len(letters))))
            return value
    if isinstance(payload, Enum) and is_importable(type(payload)):
        return type(payload)[passed_on(payload.name, kind, write, messages, runs)]
    fields = _fields_of(payload)
    if fields and not callable(payload) and is_importable(type(payload)):  # an object is sent as its fields
        return _with_fields(type(payload), passed_on(fields, kind, write, messages, runs), kind)
    raise SecmixError(
        f"a message of kind '{kind}' is a {type(payload).__name__}; expected an array (runs, m) or (messages, runs, "
        "m), a number, text, or a mapping or tuple of these"
    )


def _of_a_library(payload: Any) -> bool:
    """Check that it is an array of a known library, and not of a class that merely claims to be one."""
    known = type(payload).__module__.split(".")[0] in _LIBRARIES
    return known and hasattr(payload, "dtype") and is_importable(type(payload))


_LIBRARIES = frozenset({"array_api_strict", "cupy", "dask", "jax", "jaxlib", "ndonnx", "sparse", "torch"})


def _is_plain(key: Any) -> bool:
    """Check that the text of a key says all about it."""
    if type(key) is tuple:
        return all(_is_plain(part) for part in key)
    return type(key) in (str, int, float, bool, bytes, type(None))


def _as_array(values: Any) -> Array | None:
    """Convert ``values`` to an array of numbers; return None if they are not numbers."""
    try:
        array = np.asarray(values)
    except ValueError:  # of unequal lengths
        return None
    return array if array.dtype.kind in "biufc" else None


def _runs_of(values: Any, otherwise: int) -> int:
    """Count the runs of the first array among ``values``."""
    arrays = (value for value in values if isinstance(value, np.ndarray) and value.ndim in (2, 3))
    first = next(arrays, None)
    return otherwise if first is None else int(first.shape[-2])


def _fields_of(payload: Any) -> dict[str, Any]:
    """Collect all fields of an object, in its ``__dict__`` or in slots."""
    slots = (slot for base in type(payload).__mro__ for slot in _slots(base) if slot not in ("__dict__", "__weakref__"))
    values = {slot: getattr(payload, slot) for slot in slots if hasattr(payload, slot)}
    return {**values, **getattr(payload, "__dict__", {})}


def _slots(base: type) -> tuple[str, ...]:
    named = base.__dict__.get("__slots__", ())
    names = (named,) if isinstance(named, str) else tuple(named)
    return tuple(
        f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in names
    )


def is_importable(kind: type) -> bool:
    """Check whether sender and receiver both know a class: its module has it under its name.

    A class that is created for a message could carry anything.

    >>> is_importable(SecmixError), is_importable(type("Made", (), {"secret": 3}))
    (True, False)
    """
    member: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        member = getattr(member, name, None)
    return member is kind


def _with_fields(kind: type, fields: Mapping[str, Any], what: str) -> Any:
    """Build an object of the class ``kind`` with ``fields`` and nothing else.

    Raises SecmixError if such an object has more than its fields, as a subclass of str or list has.
    """
    try:
        built: Any = object.__new__(kind)
        for name, value in fields.items():
            object.__setattr__(built, name, value)
    except (TypeError, AttributeError) as error:
        raise SecmixError(
            f"a message of kind '{what}' is a {kind.__name__}, which has content besides its fields; send its fields "
            "instead"
        ) from error
    return built
