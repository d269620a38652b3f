"""Arrays of any library that keeps to the Array API standard: NumPy by default, PyTorch, CuPy and others when given.

What is written for one is written for all: a kernel asks :func:`namespace` for the functions of the arrays it was
given, and uses those of the standard (https://data-apis.org/array-api). The few that the standard lacks are here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat.numpy as standard
import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints
from secmix.errors import DataError


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


def least_assignment(cost: Array, tie: float) -> Ints:
    """Return the column of each row (K,) at the least total of ``cost`` (K, L), K <= L.

    Totals that differ by less than about ``tie`` count as equal, and the one that keeps the order of places is taken. A
    bonus of at most ``tie`` for pairs of late places does so: by the rearrangement inequality it is largest in total
    where the columns of tied rows ascend. Costs rounded to a grid would differ again at its borders.

    Examples
    --------
    >>> least_assignment(np.array([[1.0 + 1e-15, 3.0], [1.0, 3.0]]), tie=1e-9)
    array([0, 1])
    """
    from scipy.optimize import linear_sum_assignment  # takes a moment to import

    rows, columns = (np.sqrt(np.arange(size) + 1.0) for size in cost.shape)
    bonus = tie * np.outer(rows, columns) / (rows[-1] * columns[-1])
    return np.asarray(linear_sum_assignment(cost - bonus)[1], dtype=np.intp)
