"""A linear protocol read off its own messages: view = A s + M r.

Unit inputs and unit masks go through the protocol's own code as extra Monte Carlo runs; what the adversary then holds
is, column by column, the matrices A and M. Because the extra runs travel with the real ones, in the same call and on
the same schedule, A and M describe the very messages that the real data travelled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import Array
from secmix.adversaries import Adversary
from secmix.errors import SecmixError
from secmix.estimators.exact.integers import Combination, combined_residues, integer_null_space, nearest
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import ProtocolWrapper, SumTraits, averaged, check_ends
from secmix.transcript import Channel, Transcript, View

_CHUNK = 256  # messages compared at once

_LEAST_UNITS = 64.0  # PDMM is at most 5 off, whatever the network


@dataclass(frozen=True)
class LinearView:
    """The view of an adversary as a function of inputs s and masks r: c + A s + M r, entry by entry."""

    A: Array  # (F, n·T): coefficients of the inputs; T iterations stand side by side, iteration by iteration
    M: Array  # (F, k): coefficients of the masks
    n: int  # number of nodes
    modulus: float | None = None  # modulus of the messages, where they are residues
    c: Array | None = None  # (F,) or None: what is sent for inputs and masks of zero; None for nothing. It is public
    # (F,) or None: what rows of A and M were multiplied by (``equilibrated``, ``whole``); None for ones
    scale: Array | None = None
    # (k, k) or None: what independent masks of one size are multiplied by to get the masks r; None where r are such
    factor: Array | None = None

    @property
    def spread(self) -> Array:
        """Coefficients (F, k) of independent masks of one size."""
        return self.M if self.factor is None else self.M @ self.factor

    def equilibrated(self) -> LinearView:
        """Divide rows far from one by their power-of-two size: the units of a message do not matter.

        Rows of sizes between 2^-8 and 2^8 stay as they are: rounding is alike in all of them, and weighs alike.

        >>> view = LinearView(np.array([[2.0**-30, 0.0]]), np.array([[2.0**-31]]), n=2).equilibrated()
        >>> view.A.tolist(), view.M.tolist()
        ([[1.0, 0.0]], [[0.5]])
        """
        if self.modulus is not None or not len(self.A):
            return self
        sizes = np.abs(np.concatenate([self.A, self.M], axis=1)).max(axis=1, initial=0.0)
        far = (sizes > 0) & ((sizes < 2.0**-8) | (sizes > 2.0**8))
        scale = np.where(far, np.exp2(np.minimum(-np.frexp(sizes)[1] + 1.0, 1000.0)), 1.0)
        before = 1.0 if self.scale is None else self.scale
        return replace(self, A=scale[:, None] * self.A, M=scale[:, None] * self.M, scale=before * scale)

    def normalised(self, values: Array) -> Array:
        """Take what is public off values (F, runs, m), in place, and put them into the units of A and M."""
        if self.c is not None and self.c.any():
            values -= self.c[:, None, None]
        if self.scale is not None and (self.scale != 1).any():
            values *= self.scale[:, None, None]
        return values

    def of_sums(self) -> LinearView:
        """Convert residues that are sent as a mean, their n-th part, to the sum that follows from it.

        >>> view = LinearView(np.array([[0.5, 0.5]]), np.zeros((1, 0)), n=2, modulus=8.0).of_sums()
        >>> view.A.tolist(), view.scale.tolist()
        ([[1.0, 1.0]], [2.0])
        """
        if self.modulus is None:
            return self
        table = np.concatenate([self.A, self.M], axis=1)
        parts = (np.abs(table - np.round(table)) > 1e-9).any(axis=1)
        if not parts.any():
            return self
        parts &= (np.abs(self.n * table - np.round(self.n * table)) <= 1e-9).all(axis=1)
        scale = np.where(parts, float(self.n), 1.0)
        A, M = (np.where(parts[:, None], np.round(self.n * part), part) for part in (self.A, self.M))
        return replace(self, A=A, M=M, scale=scale if self.scale is None else self.scale * scale)

    def first(self, count: int) -> LinearView:
        """Select the first ``count`` rows."""
        return self.rows(slice(count))

    def rows(self, which: slice | NDArray[Any]) -> LinearView:
        """Select some rows."""
        c, scale = (None if part is None else part[which] for part in (self.c, self.scale))
        return replace(self, A=self.A[which], M=self.M[which], c=c, scale=scale)


@dataclass(frozen=True)
class Probed(ProtocolWrapper):
    """A sum protocol that carries unit inputs and unit masks beside the real runs.

    The averages returned are those of the real runs; the transcript has a few more runs at the end, whose entries are
    the n + k units, k being the number of masks. A protocol that does not treat all entries alike is no linear one in
    our sense; the audit finds that out by its check on the real data. ``recorded`` has the real inputs and masks of
    each averaging, against which the audit checks what it reads. Without ``probing`` the real runs go alone.
    """

    probing: bool = True
    recorded: list[tuple[Array, Array]] = field(default_factory=list)
    averages: list[Array] = field(default_factory=list)  # what the nodes ended with in the real runs
    ended: list[Array] = field(default_factory=list)  # and in the probes

    @property
    def shares_masks(self) -> bool:
        """True where two averagings so far used the same masks, declared or not."""
        drawn = [masks[..., 0] for _, masks in self.recorded if masks.size]
        return any(np.array_equal(a, b) for a, b in pairwise(drawn))

    @property
    def draws_seeds(self) -> bool:
        """True where it draws seeds (runs, k, w), not one mask of each kind for every entry: no linear map."""
        return any(are_seeds(masks, inputs.shape[2]) for inputs, masks in self.recorded)

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Average the real runs; the probes travel in the same messages."""
        real = np.asarray(inputs, dtype=np.float64)
        runs, n, m = real.shape
        if masks is None:
            masks = self.inner.draw_masks(runs, m, network, rng.spawn(1)[0])
        if np.ndim(masks) < 2 or len(masks) != runs:
            raise SecmixError(
                f"draw_masks() returned shape {np.shape(masks)}; return (runs, masks, entries), here "
                f"({runs}, ..., {m}), or seeds (runs, ...)"
            )
        self.recorded.append((real, masks))
        if not self.probing or self.draws_seeds:
            ended, transcript = averaged(self.inner, real, network, rng, masks=masks, channel=channel)
            self._check_ends(transcript, network)
            self.averages.append(ended)
            return ended, transcript
        inputs_of_units, masks_of_units = units(n, masks.shape[1], m)
        averages, transcript = averaged(
            self.inner,
            np.concatenate([real, inputs_of_units]),
            network,
            rng,
            masks=np.concatenate([masks, masks_of_units.astype(masks.dtype)]),
            channel=channel,
        )
        self._check_ends(transcript, network)
        self.averages.append(averages[:runs])
        self.ended.append(averages[runs:])
        return averages[:runs], transcript

    def _check_ends(self, transcript: Transcript, network: Network) -> None:
        if len(self.recorded) == 1:  # once is enough, as the messages of later averagings go the same ways
            check_ends(transcript, network)


def are_seeds(masks: Array, m: int) -> bool:
    """Check whether ``draw_masks`` drew seeds (runs, k, w) for vectors of m entries, and not masks (runs, k, m)."""
    return masks.ndim != 3 or masks.shape[2] != m


def units(n: int, k: int, m: int) -> tuple[Array, Array]:
    """Make unit inputs (extra, n, m) and unit masks (extra, k, m), m units to a run: n inputs, k masks, and a zero."""
    count = n + k + 1
    which = np.arange(count)
    every = np.zeros((-(-count // m), count, m))
    every[which // m, which, which % m] = 1.0
    return every[:, :n], every[:, n : n + k]


def rounding_units(n: int) -> float:
    """Return how many units of rounding e_f the messages of a linear protocol of ``n`` nodes may be off.

    A sum of n terms, one after the other, is off by up to n − 1 units of the largest sum on the way (Higham 2002,
    Accuracy and stability of numerical algorithms, section 4.2).

    >>> rounding_units(10), rounding_units(2000)
    (64.0, 2000.0)
    """
    return max(_LEAST_UNITS, float(n))


def without_rounding(linear: LinearView, values: Array, inputs: Array, masks: Array, *, unit: float) -> LinearView:
    """Set to zero the rows that are rounding errors of larger messages, such as the last steps of an iteration.

    A row so small beside what the probes sent before may be a message in small units. It is, if it fits the real runs
    at its own scale; a rounding error does not. ``values`` (F, runs, m): normalised; ``inputs``, ``masks`` (runs, n,
    m), (runs, k, m); ``unit``: unit roundoff.
    """
    if linear.scale is None or not len(values):
        return linear
    sent = np.ones(len(linear.A)) if linear.c is None else np.maximum(np.abs(linear.c), 1.0)
    unit = unit * rounding_units(linear.n)
    small = np.flatnonzero(1.0 / linear.scale < unit * np.maximum.accumulate(sent))
    if not len(small):
        return linear
    part = linear.rows(small)
    s, r = inputs.transpose(1, 0, 2), masks.transpose(1, 0, 2)
    off = np.abs(values[small] - np.tensordot(part.A, s, axes=1) - np.tensordot(part.M, r, axes=1))
    terms = np.tensordot(np.abs(part.A), np.abs(s), axes=1) + np.tensordot(np.abs(part.M), np.abs(r), axes=1)
    noise = small[~(off <= unit * terms).all(axis=(1, 2))]
    A, M = linear.A.copy(), linear.M.copy()
    A[noise], M[noise] = 0.0, 0.0
    return replace(linear, A=A, M=M)


def probe(
    protocol: SumProtocol, network: Network, adversary: Adversary, rng: np.random.Generator, *, rounds: int = 1
) -> LinearView:
    """Read off A and M of ``rounds`` averagings of ``protocol`` before ``adversary``, from a run on units alone.

    Raises SecmixError where messages are no linear functions of masks: of seeds, or of words without a ``modulus``.
    """
    channel = Channel()
    probed = Probed(protocol)
    reused = protocol.draw_masks(1, 1, network, rng) if probed.reuses_masks else None
    for t in range(rounds):
        channel.iteration = t
        probed.average(np.zeros((1, network.n, 1)), network, rng.spawn(1)[0], masks=reused, channel=channel)
    if probed.draws_seeds:
        raise SecmixError(
            "the protocol draws seeds, of which messages are no linear functions; secmix.audit proves such protocols"
        )
    if probed.modulus is None and any(block.payload.dtype.kind == "u" for block in channel.transcript):
        raise SecmixError(
            "messages are unsigned words, which wrap around, and the protocol has no modulus: set modulus = 2**64, or "
            "what their bits are"
        )
    view = adversary.observe(channel.transcript, network)
    masks = probed.recorded[0][1].shape[1]
    return read_off(
        view, range(rounds), runs=1, masks=masks, network=network, protocol=protocol, shared=probed.shares_masks
    )


def read_off(
    view: View,
    iterations: Sequence[int],
    *,
    runs: int,
    masks: int,
    network: Network,
    protocol: SumProtocol,
    shared: bool = False,
    factor: Array | None = None,
) -> LinearView:
    """Read off c, A and M from the probes that follow ``runs`` real runs in ``view``, over ``iterations`` jointly.

    ``masks`` is the number of masks of one averaging, ``shared`` whether all averagings use the same ones;
    ``factor`` is that of the masks of one averaging.

    Fresh masks are unknowns of their own in each iteration; reused ones are shared by all.
    """
    modulus = SumTraits.of(protocol).modulus
    n, parts, constants = network.n, [], []
    for t in iterations:
        rows = [row[runs:].ravel()[: n + masks + 1] for row in view.at(t).rows]
        table = _numbers(rows, modulus) if rows else np.empty((0, n + masks + 1))
        constants.append(table[:, -1])
        with np.errstate(invalid="ignore"):  # of infinite numbers nothing is read off
            parts.append(residue(table[:, :-1] - table[:, -1:], modulus))
    c = np.concatenate(constants)
    if shared:
        all_masks = np.concatenate([part[:, n:] for part in parts])
    else:
        all_masks = _block_diagonal([part[:, n:] for part in parts])
    factors = factor if factor is None or shared else _block_diagonal([factor for _ in parts])
    A = _block_diagonal([part[:, :n] for part in parts])
    return LinearView(A, all_masks, n, modulus, c, factor=factors).of_sums()


def _numbers(rows: Sequence[NDArray[Any]], modulus: float | None) -> Array:
    """Stack rows as floats; of words that wrap around -1 is the largest, which as a float would be their modulus."""
    is_word = [row.dtype.kind == "u" and modulus == 2.0 ** (8 * row.dtype.itemsize) for row in rows]
    signed = [row.view(f"i{row.dtype.itemsize}") if word else row for row, word in zip(rows, is_word, strict=True)]
    return np.stack([row.astype(float, copy=False) for row in signed])


def misfit(A: Array, M: Array, values: Array, real: tuple[Array, Array], modulus: float | None, grid: float) -> Array:
    """Compute the largest |V − A s − M r| of each message (F,) over real runs, in units of what rounding allows.

    Parameters
    ----------
    A, M : (F, n), (F, k)
        As read off from the probes.
    values : (F, runs, m)
    real : inputs (runs, n, m) and masks (runs, k, m)
    grid : float
        Step of fixed-point numbers; each input is off by up to half of it.
    """
    inputs, masks = (part.transpose(1, 0, 2) for part in real)
    if not len(values):
        return np.empty(0)
    allowed = 1e-9 * np.abs(inputs).max() + 1e4 * np.finfo(float).eps * float(np.abs(values).max())
    errors = []
    for begin in range(0, len(values), _CHUNK):  # a view may take as much memory as there is, and this as much again
        chunk = slice(begin, begin + _CHUNK)
        off = values[chunk] - np.tensordot(A[chunk], inputs, axes=1)
        off -= np.tensordot(M[chunk], masks, axes=1)
        if modulus is not None:
            off -= modulus * np.round(off / modulus)
        steps = 0.5 * grid * np.abs(A[chunk]).sum(axis=1)
        errors.append(np.abs(off).max(axis=2).max(axis=1) / (allowed + 1.001 * steps))
    error = np.concatenate(errors)
    return np.where(np.isfinite(error), error, np.inf)  # NaN compares as small


def unmodular(view: LinearView, values: Array) -> tuple[LinearView, Array]:
    """Reduce a modular view to the combinations that no mask reaches, as plain numbers; leave others as they are.

    A uniform mask modulo the modulus hides perfectly, so nothing else in the view says anything. The combinations have
    integer coefficients, the only ones that make sense of residues; values (F, runs, m) are combined likewise.
    """
    if view.modulus is None:
        return view, values
    if view.M.shape[1] == 0 or not len(view.A):
        return LinearView(view.A, view.M, view.n), residue(values, view.modulus)
    A, M = np.round(view.A), np.round(view.M)
    if not (np.allclose(M, view.M, atol=1e-9) and np.allclose(A, view.A, atol=1e-9)):
        raise SecmixError("a protocol with a modulus must combine inputs and masks with integer coefficients")
    # Combinations in which nothing is left, neither mask nor input, say nothing.
    known = [(each, row) for each in integer_null_space(M) if any(row := _integer_sum(each, A))]
    # A sum that is known some times over is known: rows of one size, whatever integers cancelled the masks.
    times = np.array([gcd(*row) for _, row in known], dtype=float)
    table = np.array([row for _, row in known], dtype=float).reshape(-1, A.shape[1]) / times[:, None]
    reduced = LinearView(table, np.empty((len(known), 0)), view.n).equilibrated()
    combined = [combined_residues(each, values, view.modulus) for each, _ in known]
    return reduced, reduced.normalised(np.array(combined).reshape(len(known), *values.shape[1:]) / times[:, None, None])


def _integer_sum(combination: Combination, matrix: Array) -> list[int]:
    """Combine some rows of an integer matrix, exactly."""
    terms = [[factor * int(value) for value in matrix[row]] for row, factor in combination.items()]
    return [sum(column) for column in zip(*terms, strict=True)]


def residue(values: Array, modulus: float | None) -> Array:
    """Choose the representative nearest to zero, where there is a modulus."""
    return values if modulus is None else nearest(values, modulus)


def _block_diagonal(blocks: Sequence[Array]) -> Array:
    if len(blocks) == 1:
        return blocks[0]
    out = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)))
    row = column = 0
    for b in blocks:
        out[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return out
