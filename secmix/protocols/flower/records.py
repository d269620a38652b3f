"""Flower's records as vectors of numbers, and back."""

from __future__ import annotations

import copy
import functools
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.protocols.collaboration import BYTES
from secmix.protocols.flower.names import flower

SECAGG = "secaggplus_configs"
"""The record in which SecAgg+ sends keys, shares and masked models."""
_COUNTS = ("num-examples", "num_examples")
_PLAIN = (int, float, str, bytes)
_VERSION_1 = b"\x93NUMPY\x01\x00"


@dataclass(frozen=True)
class RecordSection:
    """The numbers of one record, or of one array of it."""

    name: str  # which record, and of arrays which one in it
    # (p,): float32 where an array is; float64 for all others. Bytes count as numbers from 0 to 255, a text as its
    # bytes, and an array that NumPy saved to bytes, as masked models of SecAgg+ are, as the numbers in it
    numbers: Any


def copied(content: Any) -> Any:
    """Copy a RecordDict, since clients may change what they get; bytes are shared."""
    clone = content.copy()
    for name, record in content.items():
        record_copy = clone[name] = record.copy()
        for key, value in record.items():
            if not isinstance(value, _PLAIN):
                record_copy[key] = copy.copy(value)  # a list of numbers, or an array in bytes
    return clone


def sections(content: Any) -> list[RecordSection]:
    """Split a message into its records that hold anything: numbers first, arrays next, bytes and texts last."""
    arrays, plain = _sorted(content)
    parts = [(name, _numbers(v for v in record.values() if not _is_text(v))) for name, record in plain.items()]
    for name, record in arrays.items():
        parts += [(f"{name}/{key}", _flat(_array(value))) for key, value in record.items()]
    for name, record in plain.items():
        parts += [(f"{name}/{key}", _flat(array)) for key, (_, _, array) in _saved(record).items()]
    texts = [
        (f"{name}{BYTES}", _numbers(each for _, _, each in _texts(record) if not _is_saved(each)))
        for name, record in plain.items()
    ]
    return [RecordSection(name, numbers) for name, numbers in [*parts, *texts] if len(numbers)]


def single_names(content: Any) -> dict[str, tuple[str, ...]]:
    """Name the numbers of each record after its metrics; those of a list get an index each."""
    names = {}
    for name, record in {**content.metric_records, **content.config_records}.items():
        keys: list[str] = []
        for key, value in record.items():
            if not _is_text(value):
                keys += [f"{key}[{k}]" for k in range(len(value))] if isinstance(value, list) else [key]
        names[name] = tuple(keys)
    return names


def roles(content: Any) -> dict[str, str]:
    """Declare what the sections of a message and their single numbers are, as a recording does."""
    arrays, plain = _sorted(content)
    declared = {f"{name}/{key}": "model" for name, record in arrays.items() for key in record}
    for name, record in plain.items():
        if name == SECAGG:
            declared |= {f"{name}/{key}": "opaque" for key in _saved(record)} | {f"{name}{BYTES}": "opaque"}
    for name, keys in single_names(content).items():
        declared |= {key: "count" if key in _COUNTS else "statistic" for key in keys if name in content.metric_records}
    return declared


def with_numbers(content: Any, section: RecordSection, numbers: Array) -> None:
    """Put other numbers into the record of ``section``, in place."""
    named, plain = _sorted(content)
    for name, arrays in named.items():
        for key, value in arrays.items():
            if section.name == f"{name}/{key}":
                arrays[key] = flower("Array")(_in_place_of(value.numpy(), numbers))
                return
    for name, record in plain.items():
        if section.name == name:
            _with_single_numbers(record, numbers)
        elif section.name == f"{name}{BYTES}":
            _with_texts(record, numbers)
        for key, (place, k, array) in _saved(record).items():
            if section.name == f"{name}/{key}":
                written = io.BytesIO()
                np.save(written, _in_place_of(array, numbers), allow_pickle=False)
                _put(record, place, k, written.getvalue())


def _with_single_numbers(record: Any, numbers: Array) -> None:
    at = 0
    for key, value in list(record.items()):
        if _is_text(value):
            continue
        before = value if isinstance(value, list) else [value]
        after = [_like(old, new) for old, new in zip(before, numbers[at : at + len(before)], strict=True)]
        record[key] = after if isinstance(value, list) else after[0]
        at += len(before)


def _with_texts(record: Any, numbers: Array) -> None:
    """Replace the bytes and texts, each by one of the same length."""
    letters = np.clip(np.nan_to_num(np.round(numbers)), 0, 255).astype(np.uint8).tobytes()
    at = 0
    for place, k, text in list(_texts(record)):
        if _is_saved(text):
            continue
        length = len(_bytes(text))
        new = letters[at : at + length]
        _put(record, place, k, new.decode("utf-8", "replace") if isinstance(text, str) else new)
        at += length


def _put(record: Any, key: str, k: int | None, value: bytes | str) -> None:
    record[key] = value if k is None else [value if j == k else old for j, old in enumerate(record[key])]


def _in_place_of(array: Any, numbers: Array) -> Any:
    """Put ``numbers`` into the shape and type of ``array``; integers are rounded and clipped to the type."""
    new = np.asarray(numbers).reshape(array.shape)
    if array.dtype.kind in "iu":
        most = np.iinfo(array.dtype)
        inside = np.clip(np.nan_to_num(np.round(new)), most.min, float(most.max) * (1 - 2**-52))
        return inside.astype(array.dtype)
    return new.astype(array.dtype)


def _like(old: Any, new: Any) -> Any:
    """Convert ``new`` to the type of number that ``old`` is."""
    return type(old)(round(float(new)) if isinstance(old, int) else float(new))


def model_of(content: Any) -> Array:
    """Join all arrays of a message into one vector."""
    arrays = [np.ravel(_array(value)) for record in _sorted(content)[0].values() for value in record.values()]
    return np.concatenate([array.astype(np.float64) for array in arrays]) if arrays else np.empty(0)


def _sorted(content: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate the records of arrays from all others: those of metrics before those of configurations.

    Flower's own views of them are dictionaries that are filled anew at each access.
    """
    arrays = {name: record for name, record in content.items() if isinstance(record, flower("ArrayRecord"))}
    others = {name: record for name, record in content.items() if name not in arrays}
    metrics = {name: record for name, record in others.items() if isinstance(record, flower("MetricRecord"))}
    return arrays, metrics | others


def _array(value: Any) -> Any:
    """Read the numbers in Flower's Array, as its own ``numpy()`` does, which parses the same header anew each time."""
    data = value.data
    if value.stype != "numpy.ndarray" or data[:8] != _VERSION_1:
        return value.numpy()
    start = 10 + int.from_bytes(data[8:10], "little")
    shape, fortran, dtype = _header(data[8:start])
    if dtype.hasobject:
        return value.numpy()  # which refuses it
    return np.frombuffer(data, dtype, offset=start).reshape(shape, order="F" if fortran else "C")


@functools.lru_cache(maxsize=1024)
def _header(text: bytes) -> tuple[tuple[int, ...], bool, Any]:
    """Read shape, order and type of an array from its header in NumPy's format."""
    return np.lib.format.read_array_header_1_0(io.BytesIO(text))


def _texts(record: Any) -> Iterator[tuple[str, int | None, Any]]:
    """Yield the bytes and texts of a record: (key, place in the list or None, text)."""
    for key, value in record.items():
        if not _is_text(value):
            continue
        if isinstance(value, list):
            yield from ((key, k, each) for k, each in enumerate(value))
        else:
            yield key, None, value


def _saved(record: Any) -> dict[str, tuple[str, int | None, Any]]:
    """Load the arrays that NumPy saved to bytes: by name, (key, place in the list or None, array)."""
    arrays = {}
    for key, k, text in _texts(record):
        if _is_saved(text):
            array = np.load(io.BytesIO(text), allow_pickle=False)
            arrays[key if k is None else f"{key}[{k}]"] = (key, k, array)
    return arrays


def _is_saved(text: Any) -> bool:
    """Check for an array of real numbers in NumPy's format; anything else that begins so stays bytes."""
    if not isinstance(text, bytes) or text[:8] != _VERSION_1:
        return False
    try:
        return bool(np.load(io.BytesIO(text), allow_pickle=False).dtype.kind in "iufb")
    except (ValueError, OSError, EOFError):
        return False


def _bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


def _is_text(value: Any) -> bool:
    """Check for bytes or text, or a list of such."""
    return isinstance(value[0] if isinstance(value, list) and value else value, bytes | str)


def _numbers(values: Iterable[Any]) -> Any:
    flat: list[float] = []
    for value in values:
        for item in value if isinstance(value, list) else [value]:
            item = item.encode() if isinstance(item, str) else item
            flat += map(float, item) if isinstance(item, bytes) else [float(item)]
    return np.array(flat, dtype=np.float64)


def _flat(array: Any) -> Any:
    return np.ravel(array).astype(np.float32 if array.dtype == np.float32 else np.float64)
