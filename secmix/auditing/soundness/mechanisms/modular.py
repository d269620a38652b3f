"""Residues: what is known modulo 2ᵇ, or another modulus, by elimination in whole numbers; and replay to the last bit.

A mask with an even coefficient hides all but the lowest bits. Units of one do not show it, units of a grid step do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.soundness.model import Bench, Case, Model
from secmix.auditing.soundness.result import Check, Witness
from secmix.auditing.soundness.sight import Seen, numbers
from secmix.estimators.exact.linear import LinearView

NAME = "residues"
_ROUNDING = 4 * float(np.finfo(float).eps)
_Row = list[int]
_Sparse = dict[int, int]  # column -> coefficient, where it is not 0: most messages hold few of the masks


@dataclass(frozen=True)
class Words:
    """The view in whole numbers: message = A s + M r + c modulo ``size``, in grid steps."""

    A: list[_Row]
    M: list[_Sparse]
    names: list[str]
    size: int


@dataclass(frozen=True)
class Eliminated:
    """The view without its masks.

    Attributes
    ----------
    known : list of rows (n,)
        Combinations of inputs that no mask reaches.
    pivots : list of (row of masks, row of inputs, column, valuation)
    """

    known: list[_Row]
    pivots: list[tuple[_Sparse, _Row, int, int]]


def residues(bench: Bench, models: list[Model]) -> Check:
    """Elimination of the masks in whole numbers."""
    if bench.modulus is None:
        return Check(NAME, "not applicable", "Messages are real numbers.")
    before, model = bench.calls, models[0]
    words, done = _eliminated(bench, model)
    if isinstance(words, Witness):
        return Check(NAME, "failed", "Messages are no residues on the grid.", words, bench.calls - before)
    base = _base(words.size)
    honest = [i for i in range(bench.network.n) if i not in bench.eyes.corrupt]
    witness = None
    for _, inputs, _, valuation in done.pivots:
        bare = base**valuation
        if any(inputs[i] % bare for i in honest):
            witness = Witness("a mask", f"its coefficient leaves inputs modulo {bare} bare")
    leaked = model.subspace.basis
    own = np.eye(bench.network.n)[sorted(bench.eyes.corrupt)]
    for row in done.known:
        centred = np.array([(v + words.size // 2) % words.size - words.size // 2 for v in row], dtype=float)
        top = np.abs(centred).max(initial=0.0)
        if top and not _within(centred / top, np.vstack([leaked, own])):
            witness = witness or Witness("all messages together", "in whole numbers more is known than in real ones")
    if witness is not None:
        return Check(NAME, "failed", "Masks hide less modulo the modulus than it seems.", witness, bench.calls - before)
    sentence = f"Modulo {words.size:g}, every mask hides all there is to hide of what it is added to."
    return Check(NAME, "passed", sentence, calls=bench.calls - before)


def words_of(bench: Bench, model: Model) -> Words | Witness:
    """The view read off inputs and masks of one grid step."""
    case, step = model.case, bench.grid or 1.0
    size = round((bench.modulus or 0.0) / step)
    n, k, m = bench.network.n, case.masks.shape[1], case.inputs.shape[2]
    inputs, masks = bench.units(case)
    seen: Seen = bench.eyes.see(bench.call(Case(case.iteration, step * inputs, step * masks, case.seed)))
    columns = n + k + 1
    A, M, names = [], [], []
    for row, name in zip(seen.rows[: seen.heard], seen.names, strict=False):
        plain = numbers(row)
        if row.shape != (len(inputs), m) or not np.isfinite(plain).all():
            if row.shape[1:] != (m,) and bool((row == row[:1]).all()):
                continue
            return Witness(name, "it is no vector of numbers like those that are summed")
        table = _in_words(plain.ravel()[:columns] / step, n)
        if (table != np.round(table)).any() or np.abs(table).max() > size:
            return Witness(name, "it is no residue on the grid of the words")
        difference = {c: by for c in np.flatnonzero(table != table[-1]).tolist() if (by := _less(table, c, size))}
        A.append([difference.get(i, 0) for i in range(n)])
        M.append({c - n: by for c, by in difference.items() if c >= n})
        names.append(name)
    return Words(A, M, names, size)


def _in_words(table: Array, n: int) -> Array:
    """Numbers in grid steps; those of a mean, the n-th part of a whole number, as the sum that it is of."""
    total = n * table
    integral = bool((np.abs(total - np.round(total)) <= _ROUNDING * np.abs(total)).all())
    return np.round(total) if integral and (table != np.round(table)).any() else table


def _less(table: Array, column: int, size: int) -> int:
    """An entry less the last one, in whole numbers, which float64 are not beyond 2^53."""
    return (int(table[column]) - int(table[-1])) % size


def _eliminated(bench: Bench, model: Model) -> tuple[Words | Witness, Eliminated]:
    """The view in whole numbers, and without its masks; of one linear view it is worked out once."""
    for linear, words, done in bench.words:
        if linear is model.linear or _same_view(linear, model.linear):
            return words, done
    words = words_of(bench, model)
    done = Eliminated([], []) if isinstance(words, Witness) else eliminate(words, _base(words.size))
    bench.words.append((model.linear, words, done))
    return words, done


def _same_view(one: LinearView, other: LinearView) -> bool:
    return np.array_equal(one.A, other.A) and np.array_equal(one.M, other.M)


def eliminate(words: Words, base: int) -> Eliminated:
    """Row by row, the mask with the coefficient of least valuation first.

    All other coefficients in its row are then multiples of that power too, so that the row says of the inputs what it
    is modulo that power, and no more.
    """
    size = words.size
    different = {(*sorted(m.items()), *a): (dict(m), list(a)) for m, a in zip(words.M, words.A, strict=True)}
    left = dict(enumerate(different.values()))
    where: dict[int, set[int]] = {}  # column -> the rows that have it
    for r, (m, _) in left.items():
        for c in m:
            where.setdefault(c, set()).add(r)
    pivots = []
    while (best := _least(left, base, size)) is not None:
        valuation, chosen, column = best
        if valuation and base == size:
            raise ArithmeticError("a mask has a coefficient without inverse, modulo no power of two")
        mine_m, mine_a = left.pop(chosen)
        for c in mine_m:
            where[c].discard(chosen)
        power = base**valuation
        inverse = pow(mine_m[column] // power, -1, size)
        for r in sorted(where[column]):
            m, a = left[r]
            factor = m[column] // power * inverse % size
            for c, y in mine_m.items():
                value = (m.get(c, 0) - factor * y) % size
                if value:
                    m[c] = value
                    where[c].add(r)
                elif m.pop(c, 0):
                    where[c].discard(r)
            a[:] = [(x - factor * y) % size for x, y in zip(a, mine_a, strict=True)]
        pivots.append((mine_m, mine_a, column, valuation))
    return Eliminated([a for _, a in left.values() if any(a)], pivots)


def _least(rows: dict[int, tuple[_Sparse, _Row]], base: int, size: int) -> tuple[int, int, int] | None:
    """The least valuation among the coefficients of masks, with the first row and column where it is; None for none."""
    best: tuple[int, int, int] | None = None
    for r, (m, _) in rows.items():
        for c in sorted(m):
            valuation = _valuation(m[c], base, size)
            if best is None or valuation < best[0]:
                best = valuation, r, c
                if not valuation:
                    return best
    return best


class WholeMoves:
    """Changes of inputs by grid steps that no message shows, with the masks that hide them."""

    def __init__(self, bench: Bench, model: Model) -> None:
        words, done = _eliminated(bench, model)
        if isinstance(words, Witness):
            raise TypeError(str(words))
        base = _base(words.size)
        self.size, self.step = words.size, bench.grid or 1.0
        self.hiding = []  # from the last pivot to the first: masks, inputs, column, power, inverse of its coefficient
        for m, a, column, valuation in reversed(done.pivots):
            power = base**valuation
            inverse = pow(m[column] // power, -1, self.size)
            others = [(c, y) for c, y in m.items() if c != column]
            self.hiding.append((others, [(i, y) for i, y in enumerate(a) if y], column, power, inverse))
        honest = [i for i in range(bench.network.n) if i not in bench.eyes.corrupt]
        self.honest, self.jitter = honest, bool(bench.grid)
        columns = {i: tuple(row[i] for row in done.known) for i in honest}
        steps = []
        for i in honest:
            if not any(columns[i]):
                steps.append({i: 1})
            steps += [{i: 1, j: -1} for j in honest if j > i and columns[i] == columns[j] and any(columns[i])]
        self.steps = steps
        self.free = len(steps)

    def draw(self, rng: np.random.Generator, case: Case, size: Array) -> tuple[Array, Array, float]:
        """Δs (runs, n, m), Δr (runs, k, m) such that masks stay residues, and 0 for nothing left unexplained."""
        runs, n, m = case.inputs.shape
        k = case.masks.shape[1]
        ds, masks = np.zeros((runs, n, m)), case.masks.copy()
        for run in range(runs):
            for entry in range(m):
                change = [0] * n
                for step in self.steps:
                    by = round(float(rng.standard_normal() * size[entry]) / self.step)
                    for node, sign in step.items():
                        change[node] += sign * by
                words = np.round(case.inputs[run, :, entry] / self.step) + np.array(change, dtype=float)
                # What stands behind the grid is nobody's business: it is drawn anew.
                jitter = rng.uniform(-0.45, 0.45, size=n) if self.jitter else np.zeros(n)
                moved = (words + jitter) * self.step - case.inputs[run, :, entry]
                ds[run, self.honest, entry] = moved[self.honest]
                hidden = self._hide(change, k)
                residues = [
                    (round(v / self.step) + h) % self.size for v, h in zip(masks[run, :, entry], hidden, strict=True)
                ]
                masks[run, :, entry] = np.array(residues, dtype=float) * self.step
        return ds, masks - case.masks, 0.0

    def _hide(self, change: _Row, k: int) -> _Row:
        masks = [0] * k
        for others, inputs, column, power, inverse in self.hiding:
            due = -sum(y * change[i] for i, y in inputs) - sum(y * masks[c] for c, y in others)
            due %= self.size
            if due % power:
                raise ArithmeticError("no masks explain other inputs")
            masks[column] = due // power * inverse % self.size
        return masks


def _within(row: Array, space: Array) -> bool:
    if not len(space):
        return False
    left = row - np.linalg.pinv(space) @ space @ row
    return bool(np.abs(left).max() < 1e-9)


def _valuation(value: int, base: int, size: int) -> int:
    if base == size:
        return 0 if gcd(value, size) == 1 else 1
    power = 0
    while value % base == 0 and base**power < size:
        value //= base
        power += 1
    return power


def _base(size: int) -> int:
    """2 for a power of two, the modulus itself for all others: there only coefficients with an inverse will do."""
    return 2 if size > 1 and size & (size - 1) == 0 else size
