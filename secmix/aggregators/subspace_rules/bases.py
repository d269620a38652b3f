"""Bases that come in: repaired by QR where they can be, else rejected, counted as Byzantine and reported."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from secmix._base.checks import Array, integer
from secmix.aggregators.screened_messages import RejectedMessages
from secmix.errors import DataError, SecmixError

_ORTHONORMAL = 64 * np.finfo(float).eps  # entries of UᵀU − I below this are what QR itself leaves
_STRIPS = 1.5  # products of strips are slower by about this than those of pairs, operation for operation
_CLOSE = 1e-5  # a squared distance below this share of 2r has lost five digits in the Gram matrix


class RejectedBases(RejectedMessages):
    """Some bases could not be used; they were set aside and counted as Byzantine.

    ``reasons``: why, one for each index; ``n``, ``f``: how many messages there were, and how many Byzantine ones were
    allowed for.
    """

    def __init__(self, indices: tuple[int, ...], n: int, f: int, reasons: tuple[str, ...]) -> None:
        super().__init__(indices, n, f)
        self.args = (indices, n, f, reasons)
        self.reasons = reasons

    def __str__(self) -> str:
        named = "; ".join(f"{i}: {why}" for i, why in list(zip(self.indices, self.reasons, strict=True))[:10])
        text = f"{len(self.indices)} of {self.n} messages rejected, and counted as Byzantine ({named})"
        if len(self.indices) > self.f:
            text += f"; that is more than the f = {self.f} allowed for, so no guarantee covers this input"
        return text


class Bases(NamedTuple):
    """Orthonormal bases (n, r), where each came from in the messages, and the messages rejected."""

    kept: list[Array]
    origin: tuple[int, ...]
    rejected: tuple[int, ...]
    total: int


def orthonormal(basis: ArrayLike, name: str = "basis") -> Array:
    """Orthonormalise ``basis`` (n, r) and keep its span; one that is orthonormal comes back as it is.

    Raises DataError: not an (n, r) array of finite real numbers with 1 <= r <= n and independent columns.

    >>> np.abs(orthonormal([[2.0], [0.0]])).tolist()
    [[1.0], [0.0]]
    """
    repaired = _repaired(basis, None)
    if isinstance(repaired, str):
        raise DataError(f"{name} cannot be used: {repaired}; give (n, r) finite numbers with independent columns")
    return repaired


def admitted_bases(bases: ArrayLike | Sequence[ArrayLike], f: int | None) -> Bases:
    """Screen bases: the usable ones, each orthonormal; others are set aside, with a RejectedBases warning.

    The shape is that of the majority, which colluders are not. f is (L − 1) // 2 where it is None.
    """
    messages = _listed(bases)
    total = len(messages)
    most = (total - 1) // 2
    f = most if f is None else integer(f, "f", least=0)
    if f > most:
        raise SecmixError(f"f = {f} of {total} bases may be Byzantine; with {total} f can be at most {most}")
    shape = _shape(messages)
    usable: list[Array] = []
    origin: list[int] = []
    bad: dict[int, str] = {}
    for i, message in enumerate(messages):
        repaired = _repaired(message, shape)
        if isinstance(repaired, str):
            bad[i] = repaired
        else:
            usable.append(repaired)
            origin.append(i)
    if not usable:
        raise DataError(f"none of the {total} bases can be used; the first: {bad[0]}")
    if bad:
        warnings.warn(RejectedBases(tuple(bad), total, f, tuple(bad.values())), stacklevel=3)
    return Bases(usable, tuple(origin), tuple(bad), total)


def projection_distances(bases: Sequence[Array]) -> Array:
    """Compute ‖P_i − P_j‖² (L, L) in Frobenius norm of the projections on orthonormal ``bases`` (n, r), none formed.

    ‖P_i − P_j‖² = 2 r − 2 ⟨P_i, P_j⟩; where that has lost digits, 2 ‖U_j − U_i (U_iᵀ U_j)‖², which has them.
    Bases that are equal, as those of colluders of one mind are, count once. Costs O(L² n r²), or O(L n² r + L² n²)
    where that is less, which is where L r is large beside n; and beside the bases next to no memory, or theirs again.
    """
    first_equal = _first_equals(bases)
    firsts = sorted(set(first_equal))
    distinct = [bases[i] for i in firsts]
    squared = 2 * (distinct[0].shape[1] - _overlaps(distinct))
    np.fill_diagonal(squared, 0.0)
    for i, j in np.argwhere(np.triu(squared < 2 * distinct[0].shape[1] * _CLOSE, 1)):
        left = distinct[j] - distinct[i] @ (distinct[i].T @ distinct[j])
        squared[i, j] = squared[j, i] = 2 * np.vdot(left, left)
    where = np.searchsorted(firsts, first_equal)
    return np.asarray(squared[np.ix_(where, where)])


def _first_equals(bases: Sequence[Array]) -> list[int]:
    """Find for each basis the first that is equal to it, entry by entry; the first rows mostly tell them apart."""
    by_first_row: dict[bytes, list[int]] = {}
    firsts = []
    for j, basis in enumerate(bases):
        alike = by_first_row.setdefault(basis[0].tobytes(), [])
        known = next((i for i in alike if (bases[i] == basis).all()), None)
        if known is None:
            alike.append(j)
        firsts.append(j if known is None else known)
    return firsts


def _overlaps(bases: Sequence[Array]) -> Array:
    """Compute ⟨P_i, P_j⟩ = ‖U_iᵀ U_j‖² (L, L) pair by pair or, where that is more work, r rows of all P at a time."""
    count, (n, r) = len(bases), bases[0].shape
    products = np.zeros((count, count))
    if count * r * r < _STRIPS * n * (r + count / 2):
        for i in range(count):
            for j in range(i + 1, count):
                inner = bases[i].T @ bases[j]
                products[i, j] = products[j, i] = np.vdot(inner, inner)
        return products
    room = np.empty(count * r * n)
    for top in range(0, n, r):
        end = min(top + r, n)
        # A square on the diagonal, and what lies right of it, which is below it once more.
        for start, stop, times in ((top, end, 1), (end, n, 2)):
            strip = room[: count * (end - top) * (stop - start)].reshape(count, end - top, stop - start)
            for k, basis in enumerate(bases):
                np.matmul(basis[top:end], basis[start:stop].T, out=strip[k])
            flat = strip.reshape(count, -1)
            products += times * (flat @ flat.T)
    return products


def subspace_distance(U: ArrayLike, V: ArrayLike, ord: Literal["fro", 2] = "fro") -> float:
    """Compute SD(U, V) = ‖(I − U Uᵀ) V‖, how far span V is from lying in span U.

    ``U``, ``V`` (n, r), (n, s): bases; those that are not orthonormal are orthonormalised. With r = s the distance is
    symmetric. ``ord``: "fro" sums over the principal angles, √(Σ sin²), at most √s and, for r = s, ‖P_U − P_V‖_F/√2; 2
    is the sine of the largest. Raises DataError: columns that are not independent, other numbers of rows, or values
    that are not finite. Source: Singh 2024, subspace distance.

    >>> subspace_distance([[1.0], [0.0]], [[1.0], [1.0]])
    0.7071...
    """
    if ord not in ("fro", 2):
        raise SecmixError(f"ord is 'fro' or 2; given {ord!r}")
    u, v = orthonormal(U, "U"), orthonormal(V, "V")
    if u.shape[0] != v.shape[0]:
        raise DataError(f"U lies in {u.shape[0]} dimensions, V in {v.shape[0]}; give bases of one space")
    left = v - u @ (u.T @ v)
    return math.sqrt(np.vdot(left, left)) if ord == "fro" else float(np.linalg.svd(left, compute_uv=False).max())


def _listed(bases: ArrayLike | Sequence[ArrayLike]) -> list[Any]:
    if isinstance(bases, np.ndarray) and bases.ndim != 3:
        raise DataError(f"bases must have shape (L, n, r), one (n, r) a node; given {bases.shape}")
    try:
        messages: list[Any] = list(bases)  # type: ignore[arg-type]
    except TypeError:
        raise DataError("bases must be an (L, n, r) array or a list of (n, r) arrays") from None
    if not messages:
        raise DataError("there are no bases; give at least one (n, r)")
    return messages


def _shape(messages: Sequence[Any]) -> tuple[int, ...]:
    shapes: Counter[tuple[int, ...]] = Counter()
    for message in messages:
        try:
            shapes[np.shape(message)] += 1
        except ValueError:  # rows of different lengths
            shapes[()] += 1
    shape, votes = shapes.most_common(1)[0]
    if len(shapes) > 1 and 2 * votes <= len(messages):
        given = sorted(shapes)
        raise DataError(f"the bases have shapes {given}, none of them in the majority; give bases of one shape")
    if len(shape) != 2 or not 1 <= shape[1] <= shape[0]:
        raise DataError(f"a basis has shape (n, r) with 1 <= r <= n; those given have {shape}")
    return shape


def _repaired(message: Any, shape: tuple[int, ...] | None) -> Array | str:
    """Repair a message into an orthonormal basis, or say why it cannot be one."""
    try:
        message = np.asarray(message)
    except ValueError:
        return "rows of different lengths"
    if message.dtype.kind not in "fiub":
        return f"entries of type {message.dtype}, not real numbers"
    dimensions = message.shape
    if shape is not None and dimensions != shape:
        return f"shape {dimensions} instead of {shape}"
    if len(dimensions) != 2 or not 1 <= dimensions[1] <= dimensions[0]:
        return f"shape {dimensions}"
    with np.errstate(over="ignore"):
        basis: Array = np.asarray(message, dtype=np.float64)
    # The largest entry of each column; NaN stays NaN; no copy of |basis|.
    largest = np.maximum(basis.max(axis=0), -basis.min(axis=0))
    if not np.isfinite(largest).all():
        return "NaN or infinity"
    if not largest.all():
        return "a column of zeros"
    n, r = dimensions
    if largest.max() < 2:
        off = basis.T @ basis - np.eye(r)
        if np.abs(off).max() <= _ORTHONORMAL:
            return basis
    # By powers of two each column comes to a size at which nothing over- or underflows; in two steps, as the power
    # itself may be out of range.
    power = -np.frexp(largest)[1]
    for part in (power // 2, power - power // 2):
        basis = basis * np.ldexp(1.0, part)
    basis = basis / np.linalg.norm(basis, axis=0)
    q, triangle = _factored(basis)
    sizes = np.linalg.svd(triangle, compute_uv=False)
    if sizes[-1] <= max(n, r) * np.finfo(float).eps * sizes[0]:
        rank = int((sizes > max(n, r) * np.finfo(float).eps * sizes[0]).sum())
        return f"rank {rank} instead of {r}"
    return q


def _factored(basis: Array) -> tuple[Array, Array]:
    """Factor a basis of NumPy's into Q (n, r) and R (r, r) in one copy of it: ``np.linalg.qr`` holds four."""
    r = basis.shape[1]
    room, tau, _, info = lapack.dgeqrf(np.asfortranarray(basis), overwrite_a=True)
    triangle = np.triu(room[:r])
    q, _, failed = lapack.dorgqr(room, tau, overwrite_a=True)
    assert info == failed == 0  # either fails for arguments of a wrong shape only
    return q, triangle
