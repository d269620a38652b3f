"""Arrays of any library that follows the Array API standard: NumPy by default, PyTorch, CuPy and others when given.

Code for one library works for all: it asks :func:`namespace` for the functions of its arrays, and uses those of the
standard (https://data-apis.org/array-api). The few functions that the standard lacks are here.
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
    """Return the Array API functions of the library of ``arrays``; NumPy's if there are only lists.

    Raises
    ------
    DataError
        If the arrays are of several libraries.

    Examples
    --------
    >>> namespace(np.ones(2)).concat([np.ones(1), np.zeros(1)]).tolist()
    [1.0, 0.0]
    """
    if all(type(array) is np.ndarray for array in arrays):  # the usual case, kept fast since it is checked often
        return standard
    foreign = [array for array in arrays if not isinstance(array, (np.ndarray, np.generic)) and is_array(array)]
    if not foreign:
        return standard
    from array_api_compat import array_namespace

    try:
        # Unlike a list, a NumPy array cannot become an array of another library.
        return array_namespace(*foreign, *(array for array in arrays if isinstance(array, np.ndarray)))
    except TypeError:
        kinds = sorted({f"{type(array).__module__}.{type(array).__name__}" for array in arrays})
        raise DataError(
            f"the arrays are of several libraries, {', '.join(kinds)}; expected arrays of one library"
        ) from None


def is_array(value: Any) -> bool:
    """Check whether ``value`` is an array of a library that follows the standard."""
    if isinstance(value, np.ndarray):
        return True
    if isinstance(value, (list, tuple, int, float, np.generic)):
        return False
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(value))


def is_numpy(xp: Any) -> bool:
    """Check whether ``xp`` is NumPy's namespace."""
    return xp is standard


def floats(xp: Any, values: Any, like: Any = None) -> Any:
    """Convert ``values`` to float64 of the library ``xp``, on the device of ``like`` if it is given."""
    if xp is standard:
        return np.asarray(values, dtype=np.float64)
    if like is None and is_array(values) and not isinstance(values, np.ndarray):
        return values if values.dtype == xp.float64 else xp.astype(values, xp.float64)
    return xp.asarray(values, dtype=xp.float64, device=device_of(like))


def device_of(like: Any) -> Any:
    """Return the device of ``like``; None for NumPy."""
    if like is None or isinstance(like, np.ndarray):
        return None
    from array_api_compat import device

    return device(like)


def accelerated(*arrays: Any) -> Any:
    """Return the first of the arrays that is on another device than the processor, or None."""
    foreign = (array for array in arrays if is_array(array) and not isinstance(array, np.ndarray))
    return next((array for array in foreign if "cpu" not in str(device_of(array)).lower()), None)


def numpy_of(array: Any) -> Array:
    """Convert ``array`` of any library to NumPy's float64, from another device if necessary."""
    if isinstance(array, np.ndarray):
        return array
    from array_api_compat import is_cupy_array, is_torch_array

    if is_torch_array(array):
        array = array.detach().cpu()
    elif is_cupy_array(array):
        array = array.get()
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, RuntimeError):  # a library that converts only by the protocol of the standard
        return np.asarray(np.from_dlpack(array), dtype=np.float64)


def checked(values: ArrayLike, check: Callable[[Any], Array]) -> tuple[Any, Any]:
    """Return the namespace of ``values`` and its float64 array, after ``check``, which takes NumPy arrays only.

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


def send_as_numpy(xp: Any, payload: Any, send: Callable[[Array], Array]) -> Any:
    """Call ``send`` with ``payload`` as a NumPy array, and return its result in the payload's library."""
    return send(payload) if is_numpy(xp) else floats(xp, send(numpy_of(payload)), payload)


def contiguous(xp: Any, array: Any) -> Any:
    """Lay ``array`` out in memory in the order of its axes, if the library is NumPy."""
    return np.ascontiguousarray(array) if xp is standard else array


def exponential(xp: Any, array: Any) -> Any:
    """Compute e to the ``array``, which may be overwritten."""
    return np.exp(array, out=array) if xp is standard else xp.exp(array)


def put_column_squares(xp: Any, columns: Any, out: Any, j: int) -> None:
    """Write Σ_d a_dn² of columns (..., d, N) to ``out[..., j, :]``; NumPy's einsum needs no array of squares."""
    if xp is standard:
        np.einsum("...dn,...dn->...n", columns, columns, out=out[..., j, :])
    else:
        out[..., j, :] = xp.sum(columns * columns, axis=-2)


def square(xp: Any, matrix: Any) -> float:
    """Sum a² over all entries; for NumPy by the inner product, which is quicker and keeps measured results."""
    return float(np.vdot(matrix, matrix)) if xp is standard else float(xp.sum(matrix * matrix))


def cholesky(xp: Any, matrices: Any) -> Any:
    """Factor matrices (..., d, d) as Σ = L Lᵀ; return None if one is not positive definite."""
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
    """Choose one of the two signs of NumPy directions (..., d) whose sign is arbitrary, as of eigenvectors.

    The entry of largest size becomes positive; of several that agree to six digits, the first. LAPACK does not fix the
    sign, and it differs between processors, as would random draws along such directions.

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

    Of totals that differ by less than about ``tie``, the assignment in ascending order is taken, by a bonus of at most
    ``tie`` for pairs of large indices: by the rearrangement inequality its total is largest if the columns of tied rows
    ascend. Rounding costs to a grid would only move the ties to the borders of the grid.

    Examples
    --------
    >>> least_assignment(np.array([[1.0 + 1e-15, 3.0], [1.0, 3.0]]), tie=1e-9)
    array([0, 1])
    """
    from scipy.optimize import linear_sum_assignment  # takes a moment to import

    rows, columns = (np.sqrt(np.arange(size) + 1.0) for size in cost.shape)
    bonus = tie * np.outer(rows, columns) / (rows[-1] * columns[-1])
    return np.asarray(linear_sum_assignment(cost - bonus)[1], dtype=np.intp)
