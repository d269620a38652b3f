"""Arrays of any library that keeps to the Array API standard: NumPy by default, PyTorch, CuPy and others when given.

What is written for one is written for all: a kernel asks :func:`namespace` for the functions of the arrays it was
given, and uses those of the standard (https://data-apis.org/array-api). The few that the standard lacks are here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import array_api_compat.numpy as standard
import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.errors import DataError, SecmixError


def namespace(*arrays: Any) -> Any:
    """The functions of the Array API standard for the library of ``arrays``; NumPy's where there are only lists.

    Raises
    ------
    DataError
        Arrays of several libraries.

    Examples
    --------
    >>> namespace(np.ones(2)).concat([np.ones(1), np.zeros(1)]).tolist()
    [1.0, 0.0]
    """
    if all(type(array) is np.ndarray for array in arrays):  # the usual case, asked for every few rows
        return standard
    foreign = [array for array in arrays if not isinstance(array, (np.ndarray, np.generic)) and is_array(array)]
    if not foreign:
        return standard
    from array_api_compat import array_namespace

    try:
        # A NumPy array beside them is told apart from a list, which may become an array of any library.
        return array_namespace(*foreign, *(array for array in arrays if isinstance(array, np.ndarray)))
    except TypeError:
        kinds = sorted({f"{type(array).__module__}.{type(array).__name__}" for array in arrays})
        raise DataError(f"the arrays are of several libraries: {', '.join(kinds)}; give all of one") from None


def is_array(value: Any) -> bool:
    """Whether ``value`` is an array of a library that keeps to the standard."""
    if isinstance(value, np.ndarray):
        return True
    if isinstance(value, (list, tuple, int, float, np.generic)):
        return False
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(value))


def is_numpy(xp: Any) -> bool:
    """Whether ``xp`` is NumPy's namespace."""
    return xp is standard


def floats(xp: Any, values: Any, like: Any = None) -> Any:
    """``values`` as float64 of the library ``xp``, where ``like`` is kept if it is given."""
    if xp is standard:
        return np.asarray(values, dtype=np.float64)
    if like is None and is_array(values) and not isinstance(values, np.ndarray):
        return values if values.dtype == xp.float64 else xp.astype(values, xp.float64)
    return xp.asarray(values, dtype=xp.float64, device=place(like))


def place(like: Any) -> Any:
    """The device of ``like``; None where it has none to speak of."""
    if like is None or isinstance(like, np.ndarray):
        return None
    from array_api_compat import device

    return device(like)


def accelerated(*arrays: Any) -> Any:
    """The first of the arrays that lies on another device than the processor; None if there is none."""
    foreign = (array for array in arrays if is_array(array) and not isinstance(array, np.ndarray))
    return next((array for array in foreign if "cpu" not in str(place(array)).lower()), None)


def numpy_of(array: Any) -> Array:
    """``array`` of any library as NumPy's float64, from another device if it must."""
    if isinstance(array, np.ndarray):
        return array
    from array_api_compat import is_cupy_array, is_torch_array

    if is_torch_array(array):
        array = array.detach().cpu()
    elif is_cupy_array(array):
        array = array.get()
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, RuntimeError):  # a library that converts only when asked to, by the protocol of the standard
        return np.asarray(np.from_dlpack(array), dtype=np.float64)


def checked(values: ArrayLike, check: Callable[[Any], Array]) -> tuple[Any, Any]:
    """The namespace of ``values`` and its float64 array, after ``check``, which knows NumPy's arrays only.

    Examples
    --------
    >>> xp, array = checked([1, 2], np.asarray)
    >>> array
    array([1, 2])
    """
    xp = namespace(values)
    if is_numpy(xp):
        return xp, check(values)
    check(numpy_of(values))
    return xp, floats(xp, values)


def carried(xp: Any, payload: Any, send: Callable[[Array], Array]) -> Any:
    """What ``send`` returns for ``payload``, in the library of the payload: messages are NumPy's arrays."""
    return send(payload) if is_numpy(xp) else floats(xp, send(numpy_of(payload)), payload)


def contiguous(xp: Any, array: Any) -> Any:
    """``array`` laid out in memory in the order of its axes, where the library is NumPy."""
    return np.ascontiguousarray(array) if xp is standard else array


def exponential(xp: Any, array: Any) -> Any:
    """e to the ``array``, which may be overwritten."""
    return np.exp(array, out=array) if xp is standard else xp.exp(array)


def put_column_squares(xp: Any, columns: Any, out: Any, j: int) -> None:
    """Σ_d a_dn² of columns (..., d, N) into ``out[..., j, :]``; NumPy's einsum does it without an array of squares."""
    if xp is standard:
        np.einsum("...dn,...dn->...n", columns, columns, out=out[..., j, :])
    else:
        out[..., j, :] = xp.sum(columns * columns, axis=-2)


def square(xp: Any, matrix: Any) -> float:
    """Σ a² over all entries; for NumPy by the inner product, which is quicker and keeps what was measured with it."""
    return float(np.vdot(matrix, matrix)) if xp is standard else float(xp.sum(matrix * matrix))


def cholesky(xp: Any, matrices: Any) -> Any:
    """L with L Lᵀ = Σ for matrices (..., d, d), or None where one is not positive definite."""
    try:
        lower = xp.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return None
    except RuntimeError as error:  # PyTorch's LinAlgError is one
        if "LinAlgError" not in type(error).__name__:
            raise
        return None
    # Others return NaN instead of an error.
    return lower if is_numpy(xp) or bool(xp.all(xp.isfinite(lower))) else None


def oriented(directions: Array) -> Array:
    """Directions (..., d) of NumPy's that are known up to their sign, as eigenvectors are, in the one of two signs.

    The entry of largest size is positive; of some that agree to six digits, the first. LAPACK leaves the sign open, and
    it differs between processors: what is drawn along such directions would differ with it.

    Examples
    --------
    >>> oriented(np.array([[0.6, -0.8], [-0.5, 0.5]])).tolist()
    [[-0.6, 0.8], [0.5, -0.5]]
    """
    sizes = np.abs(directions)
    first = np.argmax(sizes >= (1 - 1e-6) * sizes.max(axis=-1, keepdims=True), axis=-1)[..., None]
    return np.asarray(np.where(np.take_along_axis(directions, first, axis=-1) < 0, -directions, directions))


def as_it_passes(rows: Array) -> Array:
    """A copy of ``rows`` that holds their numbers and nothing else, as a line carries them.

    The protocol may go on to change its arrays: the past must not change with them. How they lie in memory, what else
    their type carries (metadata) and the bytes that fill up a number are no message; a transcript that kept them would
    show what no line carries.

    Examples
    --------
    >>> as_it_passes(np.zeros((1, 2, 3), np.dtype(float, metadata={"of": "node 0"}), order="F")).flags.c_contiguous
    True
    """
    if rows.dtype.kind not in "biufc":
        return np.array(rows, order="C")
    extended = rows.dtype.char in "gG"
    out = np.empty(rows.shape, dtype=(rows.dtype.newbyteorder("=") if extended else rows.dtype).str)
    out[...] = rows
    if extended and np.finfo(out.dtype).nmant == 63:  # eighty bits in places of sixteen bytes, or twelve
        out.view(np.uint8).reshape(-1, np.dtype(np.longdouble).itemsize)[:, 10:] = 0
    return out


def passed_on(payload: Any, kind: str, write: Callable[[str, Any], None], messages: int, runs: int = 1) -> Any:
    """What arrives of ``payload`` once ``write(kind, array)`` has noted each of its arrays; the same numbers, bare.

    A mapping or a tuple is as many messages, each with its key behind the kind; a complex number is two; a number, a
    text or nothing is the same in all ``runs``. What an object carries beside its numbers does not arrive: it would be
    no part of any record.

    Examples
    --------
    >>> noted = []
    >>> passed_on({"x": np.ones((1, 2)), "n": 3}, "up", lambda kind, _: noted.append(kind), 1)
    {'x': array([[1., 1.]]), 'n': 3}
    >>> noted
    ['up/x', 'up/n']
    """
    if isinstance(payload, np.ndarray):
        return _array_passed(payload, kind, write)
    if is_array(payload):  # of another library
        write(kind, payload)
        return payload
    if isinstance(payload, Mapping):
        runs = _runs_of(payload.values(), runs)
        # The keys as text: an object may be a key, and carry anything.
        parts = {str(key): (key, value) for key, value in payload.items()}
        plain = {name: passed_on(value, f"{kind}/{name}", write, messages, runs) for name, (_, value) in parts.items()}
        return {key if type(key) in (str, int, tuple) else name: plain[name] for name, (key, _) in parts.items()}
    if isinstance(payload, list | tuple):
        array = _as_array(payload)
        if array is not None and (array.ndim == 2 or (array.ndim == 3 and len(array) == messages)):
            return _array_passed(array, kind, write)
        runs = _runs_of(payload, runs)
        several = [passed_on(value, f"{kind}/{place}", write, messages, runs) for place, value in enumerate(payload)]
        return several if isinstance(payload, list) else tuple(several)
    if hasattr(payload, "__array__") and not isinstance(payload, np.generic):
        return _array_passed(np.array(payload), kind, write)
    return _single_passed(payload, kind, write, messages, runs)


def _array_passed(payload: Any, kind: str, write: Callable[[str, Any], None]) -> Any:
    rows: Any = payload if type(payload) is np.ndarray else np.array(payload, subok=False)
    if rows.dtype.names:
        for name in rows.dtype.names:
            write(f"{kind}/{name}", rows[name])
    elif rows.dtype.kind == "c":
        write(kind, rows.real)
        write(f"{kind}, imaginary part", rows.imag)
    else:
        write(kind, rows)
    return rows


def _single_passed(payload: Any, kind: str, write: Callable[[str, Any], None], messages: int, runs: int) -> Any:
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
    fields = getattr(payload, "__dict__", None)
    if fields and not callable(payload):  # an object is what it consists of
        arrived = copy.copy(payload)
        arrived.__dict__.update(passed_on(dict(fields), kind, write, messages, runs))
        return arrived
    raise SecmixError(
        f"a message of kind '{kind}' is a {type(payload).__name__}; a channel carries arrays (runs, m) or (messages, "
        "runs, m), numbers, text, and mappings or tuples of these"
    )


def _as_array(values: Any) -> Array | None:
    """``values`` as an array of numbers; None where they are no such."""
    try:
        array = np.asarray(values)
    except ValueError:  # of unequal lengths
        return None
    return array if array.dtype.kind in "biufc" else None


def _runs_of(values: Any, otherwise: int) -> int:
    """The runs of the first array among ``values``."""
    arrays = (value for value in values if isinstance(value, np.ndarray) and value.ndim in (2, 3))
    first = next(arrays, None)
    return otherwise if first is None else int(first.shape[-2])
