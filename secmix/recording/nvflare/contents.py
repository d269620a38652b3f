"""Contents of a message of NVFlare as named vectors: those of a Shareable and of the DXO in it.

Numbers are taken as they are. Bytes that NVFlare itself can unpack (statistics are sent so) are unpacked. Other bytes,
such as ciphertexts, are *opaque*: they are recorded as bytes and not read. Texts are named and not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix.recording.nvflare.names import used

_NUMBERS = "fiub"
_DEEPEST = 12


@dataclass(frozen=True)
class Part:
    """One array of a message, flat, with the shape it had; ``opaque`` if it is bytes that nobody here can read."""

    path: str
    numbers: NDArray[Any]
    shape: tuple[int, ...]
    opaque: bool = False


@dataclass
class Contents:
    """All of a message."""

    # arrays and opaque bytes, in the order of the message; paths begin with the kind of the DXO, "weights/coef"
    arrays: list[Part] = field(default_factory=list)
    singles: dict[str, float] = field(default_factory=dict)  # single numbers by path
    texts: list[str] = field(default_factory=list)  # paths of what is neither: texts, and objects of unknown types
    history: list[str] = field(default_factory=list)  # filters that the message says were applied


def contents(shareable: Mapping[str, Any]) -> Contents:
    """Read a Shareable: the DXO in it, and all else but headers."""
    read = Contents()
    header = used("nvflare.apis.shareable", "ReservedHeaderKey.HEADERS")
    dxo = _dxo(shareable)
    if dxo is not None:
        _read_dxo(dxo, "", read)
    for key, value in shareable.items():
        if key != header and not (dxo is not None and key == "DXO"):
            _read(value, str(key), read, 0)
    return read


def _dxo(shareable: Mapping[str, Any]) -> Any:
    try:
        return used("nvflare.apis.dxo", "from_shareable")(shareable)
    except (ValueError, AttributeError):  # not a DXO, or not a Shareable
        return None


def _read_dxo(dxo: Any, above: str, read: Contents) -> None:
    kind = str(getattr(dxo.data_kind, "value", dxo.data_kind)).lower()
    if kind == "collection":
        for name, part in _items(dxo.data):
            if hasattr(part, "data_kind"):
                _read_dxo(part, f"{above}{name}/", read)
            else:
                _read(part, f"{above}{name}", read, 0)
    else:
        _read(dxo.data, f"{above}{kind}", read, 0)
    history = used("nvflare.apis.dxo", "MetaKey.FILTER_HISTORY")
    for key, value in (dxo.meta or {}).items():
        if key == history:
            read.history += [str(name) for name in value]
        else:
            _read(value, f"{above}meta/{key}", read, 0)


def _read(value: Any, path: str, read: Contents, depth: int) -> None:
    single = _single(value)
    if value is None:
        return
    if single is not None:
        read.singles[path] = single
    elif (array := _array(value)) is not None and array.ndim == 0:
        read.singles[path] = float(array)
    elif array is not None:
        read.arrays.append(Part(path, np.ascontiguousarray(array).reshape(-1), array.shape))
    elif isinstance(value, bytes | bytearray | memoryview):
        _read_bytes(bytes(value), path, read, depth)
    elif (sealed := _ciphertext(value)) is not None:
        read.arrays.append(Part(path, np.frombuffer(sealed, dtype=np.uint8), (len(sealed),), opaque=True))
    elif depth < _DEEPEST and (items := list(_items(value))):
        for name, each in items:
            _read(each, f"{path}/{name}", read, depth + 1)
    elif not isinstance(value, Mapping | list | tuple | set):
        read.texts.append(path)


def _read_bytes(value: bytes, path: str, read: Contents, depth: int) -> None:
    """Unpack what NVFlare packed by its own serialiser, which hides nothing; other bytes are opaque."""
    try:
        unpacked = used("nvflare.fuel.utils.fobs", "loads")(value)
    except Exception:  # bytes of any other form fail in any way
        unpacked = None
    if unpacked is None or depth >= _DEEPEST:
        read.arrays.append(Part(path, np.frombuffer(value, dtype=np.uint8), (len(value),), opaque=True))
    else:
        _read(unpacked, path, read, depth + 1)


def _ciphertext(value: Any) -> bytes | None:
    """Return a ciphertext of TenSEAL as NVFlare sends it."""
    if type(value).__module__.partition(".")[0] == "tenseal" and hasattr(value, "serialize"):
        return bytes(value.serialize())
    return None


def _single(value: Any) -> float | None:
    if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        try:
            return float(value)
        except OverflowError:  # an integer beyond any float
            return None
    return None


def _array(value: Any) -> NDArray[Any] | None:
    """Return an array of real numbers: of NumPy, of a tensor with ``detach``, or of a list of numbers."""
    if hasattr(value, "detach"):  # a PyTorch tensor; NumPy has no bfloat16
        value = value.detach().cpu()
        try:
            value = value.numpy()
        except TypeError:
            value = value.float().numpy()
    if isinstance(value, list | tuple) and value and not hasattr(value, "_fields"):
        try:
            value = np.asarray(value)
        except (ValueError, TypeError):
            return None
    if not isinstance(value, np.ndarray):
        return None
    if value.dtype.kind == "c":
        value = np.stack([value.real, value.imag], axis=-1)
    return value if value.dtype.kind in _NUMBERS else None


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members of a collection, or the fields of an object of NVFlare's, with their names."""
    if isinstance(value, Mapping):
        yield from ((str(key), each) for key, each in value.items())
    elif hasattr(value, "_asdict"):
        yield from value._asdict().items()
    elif isinstance(value, list | tuple):
        yield from ((str(k), each) for k, each in enumerate(value))
    elif type(value).__module__.startswith("nvflare.") and hasattr(value, "__dict__") and not hasattr(value, "value"):
        yield from vars(value).items()
