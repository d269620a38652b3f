"""Check what the exact evidence presumes: a complete transcript, and masks drawn as declared.

A transcript is complete where a node sends, and ends with, only what follows from what it holds. A protocol that keeps
quiet of what a node holds (its input, a mask), or hands data on without the channel, hides from the audit what a
corrupt node knows. Each message of a linear protocol is a combination of inputs and masks; it must lie in the span of
what its sender held and received before.

The leaked subspace and the Gaussian information follow from how masks enter the messages; they hold for masks that are
independent of each other, Gaussian (or uniform modulo), of one size, spread without gaps, and new each time. A protocol
that draws them otherwise hides less than they say, so each departure found here is an unmet premise, and keeps a node
from being cleared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from secmix._base.checks import Array, Ints
from secmix.estimators.exact.linear import residue
from secmix.transcript import SERVER, Block

_TOL = 1e-6  # of a combination's size
_OUTSIDE = 1e-2 * _TOL  # of a message's size: what is farther outside widens what is known
_WAITING = 64  # groups of rows that are taken in together
_ROUNDING = 1e-14  # of the largest before: no message, but what rounding left


def unexplained(blocks: Sequence[Block], averages: Array, runs: int, units: int, modulus: float | None) -> str:
    """Find the first message of an averaging that does not follow from what its sender held; empty if there is none.

    ``blocks``: with the probes, the ``units`` unit inputs and masks, after ``runs`` real runs; ``averages`` (extra, n,
    m): what each node ended with in the probes.
    """
    known: dict[int, _Span] = {}
    sorted_by: dict[tuple[bytes, bytes], list[tuple[int, Ints]]] = {}  # rounds repeat who sends what to whom

    def by_node(nodes: Ints, contents: Ints) -> list[tuple[int, Ints]]:
        key = nodes.tobytes(), contents.tobytes()
        if key not in sorted_by:
            sorted_by[key] = _by_node(nodes, contents)
        return sorted_by[key]

    def span(node: int) -> _Span:
        return known.setdefault(node, _Span(units))

    for block in blocks:
        if block.payload.shape[2] != averages.shape[2]:  # of another length: no vector of what is summed
            continue
        table = block.payload[:, runs:].reshape(len(block.payload), -1)[:, : units + 1]
        table = table.astype(float) if table.dtype.kind in "biu" else table  # what they differ by may be below zero
        with np.errstate(invalid="ignore"):  # infinities less infinities: they follow from nothing
            rows = residue(table[:, :units] - table[:, units:], modulus)
        if block.line != "held":
            for sender, contents in by_node(block.sender, block.content):
                if not span(sender).holds(rows[contents]):
                    who = "the server" if sender == SERVER else f"node {sender}"
                    return (
                        f"'{block.kind}' from {who} does not follow from what the transcript says it holds: "
                        "note inputs and masks with channel.hold, and send everything through the channel"
                    )
        for receiver, contents in by_node(block.receiver, block.content):
            span(receiver).add(rows[contents])
    results = averages.transpose(1, 0, 2).reshape(averages.shape[1], -1)
    for node, row in enumerate(results[:, :units] - results[:, units : units + 1]):
        if np.isfinite(row).all() and not span(node).holds(row[None]):
            return f"the average of node {node} does not follow from what the transcript says it holds"
    return ""


def same_probes(blocks: Sequence[Block], others: Sequence[Block], runs: int) -> bool:
    """Check whether the probes, after ``runs`` real runs, sent the same numbers in two averagings, to the last bit."""
    if [each.frame[1:] for each in blocks] != [each.frame[1:] for each in others]:
        return False
    return all(np.array_equal(a.payload[:, runs:], b.payload[:, runs:]) for a, b in zip(blocks, others, strict=True))


def _by_node(nodes: Ints, contents: Ints) -> list[tuple[int, Ints]]:
    """Group the contents by node, each once."""
    order = np.argsort(nodes, kind="stable")
    distinct, starts = np.unique(nodes[order], return_index=True)
    groups = np.split(contents[order], starts[1:])
    return [(int(node), np.unique(some)) for node, some in zip(distinct, groups, strict=True)]


class _Span:
    """A growing subspace, as an orthonormal basis."""

    def __init__(self, dimension: int) -> None:
        self._room = np.empty((4, dimension))
        self._waiting: list[Array] = []  # rows that are not taken in yet: of many at once it takes less time
        self._rank = 0
        self._top = 0.0  # of what was taken in: what is smaller by so much is rounding

    @property
    def rank(self) -> int:
        """Its dimension."""
        return len(self.basis)

    @property
    def basis(self) -> Array:
        """The basis (rank, dimension)."""
        self._take_in()
        return self._room[: self._rank]

    def add(self, rows: Array) -> None:
        """Grow by ``rows``, as far as they are outside; what is rounding beside the largest is none."""
        self._waiting.append(rows)
        if len(self._waiting) >= _WAITING:
            self._take_in()

    def _off(self, rows: Array) -> Array:
        """Subtract from ``rows`` (r, dimension) what is inside, but for rounding: a second time takes that off too."""
        basis = self._room[: self._rank]
        return rows - (rows @ basis.T) @ basis

    def holds(self, rows: Array) -> bool:
        """Check that all ``rows`` lie inside, to 1e-6 of their size; one that is no number does not."""
        self._take_in()
        with np.errstate(invalid="ignore"):
            sizes, outside = _sizes(rows), self._off(rows)
            small = sizes <= _ROUNDING * self._top
            if (small | (_sizes(outside) <= _TOL * sizes)).all():
                return True
            return bool((small | (_sizes(self._off(outside)) <= _TOL * sizes)).all())

    def _take_in(self) -> None:
        if not self._waiting:
            return
        rows = np.concatenate(self._waiting)
        self._waiting.clear()
        sizes = _sizes(rows)
        fine = np.isfinite(sizes)
        self._top = max([self._top, *sizes[fine].tolist()])
        fine &= sizes > _ROUNDING * self._top
        left = self._off(rows[fine] / sizes[fine, None])
        left = left[_sizes(left) > _OUTSIDE]
        if not len(left):  # as nearly always: most rounds repeat what is known
            return
        left = self._off(left)
        left = left[_sizes(left) > _OUTSIDE]
        if len(left) > 1:  # of each other: those first that are farthest outside
            directions, lengths, _ = qr(left.T, mode="economic", pivoting=True, check_finite=False)
            left = directions.T[: int((np.abs(np.diagonal(lengths)) > _OUTSIDE).sum())]
        left = self._off(left)  # as rounding, which was small beside the rows, is not beside what is left of them
        sizes = _sizes(left)
        left = left[sizes > _OUTSIDE] / sizes[sizes > _OUTSIDE, None]
        while self._rank + len(left) > len(self._room):
            self._room = np.concatenate([self._room, np.empty_like(self._room)])
        self._room[self._rank : self._rank + len(left)] = left
        self._rank += len(left)


def _sizes(rows: Array) -> Array:
    """Compute the lengths (r,) of ``rows`` (r, dimension)."""
    return np.asarray(np.sqrt(np.einsum("rd,rd->r", rows, rows)))


_SAMPLE = 4000
# Products that comparing all entries of a vector may take, and the runs that are compared in any case.
_WORK, _FEWEST = 10**10, 100
# Entries of a vector whose pairs are compared, and of a longer one those that stand side by side.
_ENTRIES, _STRETCH = 2**14, 64
_TOGETHER = 256  # columns, or masks with all their entries, whose correlations are in memory at a time
# Chances of a false alarm: of all pairs of masks together, as of all their sizes; of one of thousands of distributions.
_FALSE_ALARM = 1e-8
_LEAST_P = 1e-12
# Steps between masks below this share of the largest are those of float64, and hide all there is to hide.
_STEP = 1e-12
# A fourth moment that a normal, Laplace or logistic mask does not have: two such columns are correlated by chance.
_TAILS = 15.0


def unmet_mask_premises(drawn: Sequence[Array], modulus: float | None, grid: float = 0.0) -> list[str]:
    """List what is wrong with the masks of several averagings, each (runs, k, m); empty if nothing was found.

    Masks that serve from some averaging to the last are no fault here: those are read jointly. ``drawn``, sequence of
    (runs, k, m); ``modulus``: of the messages, where they are residues; ``grid``: step of fixed-point numbers; 0 for
    real ones.

    >>> rng = np.random.default_rng(0)
    >>> unmet_mask_premises([rng.normal(size=(500, 3, 2))], None)
    []
    >>> unmet_mask_premises([np.repeat(rng.normal(size=(500, 1, 2)), 3, axis=1)], None)
    ['masks of one averaging are correlated (up to 1.00), so they may cancel']
    """
    return [*unmet_independence(drawn), *unmet_shape(drawn, modulus, grid)]


def unmet_independence(drawn: Sequence[Array]) -> list[str]:
    """List what is wrong with masks of any distribution: that they are constant, or correlated."""
    masks = _drawn(drawn)
    if _constant(masks):
        return ["a mask is the same in all runs: who knows the code knows it"]
    faults = (_within(masks), _entries(masks), _across(masks)) if masks else ()
    return [fault for fault in faults if fault]


def unmet_shape(
    drawn: Sequence[Array], modulus: float | None, grid: float = 0.0, *, passed_masks: Sequence[Array] | None = None
) -> list[str]:
    """Test whether masks have steps, and are normal and of one size or uniform over the modulus; list what is wrong.

    Where every mask was traced to a draw of its own, the trace decides instead. Where the masks ``drawn`` are known to
    be mixed, steps are searched for in the masks ``passed_masks``.
    """
    masks = _drawn(drawn)
    if not masks or _constant(masks):
        return []
    used = masks if passed_masks is None else _drawn(passed_masks)
    return [fault for fault in (_gaps(used, grid), _unequal_sizes(masks), _shape(masks, modulus)) if fault]


def _drawn(drawn: Sequence[Array]) -> list[Array]:
    return [m for m in drawn if m.size and len(m) > 1]


def _constant(masks: Sequence[Array]) -> bool:
    return any((np.ptp(m, axis=0) == 0).any() for m in masks)


def _within(masks: Sequence[Array]) -> str:
    top = max(_correlation(z, z) for z in (_standardised(m[:, :, 0]) for m in masks))
    return f"masks of one averaging are correlated (up to {top:.2f}), so they may cancel" if top else ""


def _entries(masks: Sequence[Array]) -> str:
    some = map(_spread_over, masks)
    starts = ((m, range(0, m.shape[1], _TOGETHER)) for m in some)
    parts = (m[: _affordable(m), begin : begin + _TOGETHER] for m, begins in starts for begin in begins)
    top = max(_correlation(z, z) for z in (_standardised(part).transpose(1, 0, 2) for part in parts))
    return f"the entries of a vector share masks (correlation up to {top:.2f})" if top else ""


def _spread_over(masks: Array) -> Array:
    """Select all entries (runs, k, m), or of a long vector stretches that lie evenly over it, the ends among them."""
    m = masks.shape[2]
    if m <= _ENTRIES:
        return masks
    begins = np.linspace(0, m - _STRETCH, _ENTRIES // _STRETCH).astype(int)
    return np.asarray(masks[:, :, (begins[:, None] + np.arange(_STRETCH)).ravel()])


def _affordable(masks: Array) -> int:
    """Return of how many runs the pairs of entries are compared: of all, but where a vector is long of the first."""
    k, m = masks.shape[1:]
    return int(max(_WORK // max(k * m**2, 1), _FEWEST))


def _across(masks: Sequence[Array]) -> str:
    # The same masks from some averaging to the last are read jointly, and count as one; any other reuse is not.
    distinct = [
        m for m, *later in (masks[i:] for i in range(len(masks))) if not all(np.array_equal(m, x) for x in later)
    ]
    for first, second in combinations([_standardised(m[:, :, 0]) for m in (*distinct, masks[-1])], 2):
        top = _correlation(first, second, all_pairs=True)
        if top:
            return f"masks of two iterations are correlated (up to {top:.2f})"
    return ""


def _unequal_sizes(masks: Sequence[Array]) -> str:
    from scipy.stats import chi2

    spread = np.concatenate([m.std(axis=0).ravel() for m in masks])
    freedom = min(len(m) for m in masks) - 1
    level = _FALSE_ALARM / (2 * spread.size)
    if spread.max() ** 2 * chi2.ppf(level, freedom) <= spread.min() ** 2 * chi2.isf(level, freedom):
        return ""
    return f"masks differ in size, from {spread.min():.3g} to {spread.max():.3g}: the smallest hide less than is said"


def _shape(masks: Sequence[Array], modulus: float | None) -> str:
    if all(_as_assumed(m, modulus) for m in masks):
        return ""
    what = "the masks are not Gaussian" if modulus is None else "the masks are not uniform over the modulus"
    return f"{what}, as the exact evidence takes them to be"


def _gaps(masks: Sequence[Array], grid: float) -> str:
    # Of a few numbers Euclid's algorithm finds a step by chance.
    step = max((_step(np.abs(m[:_SAMPLE, i, 0])) for m in masks if len(m) >= 8 for i in range(m.shape[1])), default=0.0)
    if step <= 1.001 * grid:
        return ""
    return f"the masks come in steps of {step:.3g}: what stands between the steps is not hidden"


def _step(values: Array) -> float:
    """Find the step that all ``values`` are multiples of, by Euclid's algorithm; 0 if it is that of rounding."""
    least = _STEP * float(values.max())
    step = 0.0
    for value in values[:30].tolist():
        while value > least:
            step, value = value, step % value
        if step < 100 * least:
            return 0.0
    return step


def _correlation(a: Array, b: Array, *, all_pairs: bool = False) -> float:
    """Find the largest significant correlation between standardised columns (..., runs, k) and (..., runs, l), or 0.

    Significance is judged for the pairs of one table (k, l). Numbers of half the length say first whether any may be
    significant: they are off by less than one rounding a run.
    """
    n, k = a.shape[-2:]
    if n < 3:  # two runs always lie on a line
        return 0.0
    chance = _by_chance(k * b.shape[-1], n)
    off = n * float(np.finfo(np.float32).eps)
    if off < chance / 10:
        short = a.astype(np.float32)
        others = short if b is a else b.astype(np.float32)
        if _largest_correlation(short, others, all_pairs=all_pairs) < chance - off:
            return 0.0
    top = _largest_correlation(a, b, all_pairs=all_pairs)
    return top if top > chance else 0.0


def _largest_correlation(a: NDArray[Any], b: NDArray[Any], *, all_pairs: bool) -> float:
    """Find the largest correlation, of whatever significance; of columns with themselves each pair counts once."""
    n, k = a.shape[-2:]
    top = 0.0
    for begin in range(0, k, _TOGETHER):
        end = begin + _TOGETHER
        first = begin if b is a else 0
        table = np.abs(a[..., begin:end].swapaxes(-1, -2) @ b[..., first:])
        if not all_pairs:
            same = np.arange(min(table.shape[-2], b.shape[-1] - begin))
            table[..., same, begin - first + same] = 0.0
        top = max(top, float(np.fmax.reduce(table, axis=None, initial=0.0)) / n)  # what is no number hides no other
    return top


@cache
def _by_chance(pairs: int, n: int) -> float:
    """Bound the largest of so many correlations of ``n`` runs that chance makes; of a few runs, any may come up."""
    from scipy.stats import beta

    return math.sqrt(beta.isf(_FALSE_ALARM / max(pairs, 1), 0.5, n / 2 - 1))  # r² is Beta(1/2, n/2 − 1)


def _standardised(values: Array) -> Array:
    """Standardise columns to mean 0 and spread 1; where a few values are most of the spread, their ranks."""
    centred = values - values.mean(axis=0)
    spread = values.std(axis=0)
    standard = np.asarray(centred / np.where(spread > 0, spread, 1.0))
    square = standard * standard  # as a fourth power it takes far longer
    if float((square * square).mean(axis=0).max(initial=0.0)) > _TAILS:
        return _standardised(np.argsort(np.argsort(values, axis=0), axis=0).astype(float))
    return standard


def _as_assumed(masks: Array, modulus: float | None) -> bool:
    """Test each mask and entry by itself, as Kolmogorov does (copies would count twice)."""
    from scipy.special import ndtr

    values = masks[:_SAMPLE].reshape(min(len(masks), _SAMPLE), -1)
    n = len(values)
    # The spread is estimated from the same values; that makes the test more lenient, not less.
    levels = np.sort(ndtr(_standardised(values)) if modulus is None else values / modulus, axis=0)
    steps = np.arange(n + 1)[:, None] / n
    off = float(max((steps[1:] - levels).max(), (levels - steps[:-1]).max()))
    return bool(off < np.sqrt(np.log(2 / _LEAST_P) / (2 * n)))
