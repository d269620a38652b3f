"""The linear model of one call, read from probes in it, with what rounding allows each of its numbers to be off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix._base.random import sequence, stream
from secmix.auditing.soundness.masks.mixed import Mixed, factor_of
from secmix.auditing.soundness.result import Witness
from secmix.auditing.soundness.runner import ALLOWED, Call, call_sum, fresh, same_bits
from secmix.auditing.soundness.sight import Eyes, Seen, numbers
from secmix.estimators.exact.linear import KAPPA, LinearView, residue, units, without_rounding
from secmix.estimators.exact.structure import LeakedSubspace, subspace_of
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import Channel

HEAVY, LIGHT = 5000, 100  # messages of a call
COARSE = 1e-3  # of the inputs' spread: what rounding hides beyond this, no comparison of numbers can show to be equal


@dataclass(frozen=True)
class Case:
    """Inputs and masks of a few real runs of one averaging, and the seed of what the protocol draws in public."""

    iteration: int
    inputs: Array  # (runs, n, m)
    masks: Array  # (runs, k, m)
    seed: int

    @property
    def runs(self) -> int:
        """How many."""
        return len(self.inputs)

    def single(self, run: int) -> Case:
        """One run by itself."""
        return self.some(slice(run, run + 1))

    def some(self, runs: slice | NDArray[np.intp]) -> Case:
        """Some of the runs."""
        return Case(self.iteration, self.inputs[runs], self.masks[runs], self.seed)

    def moved(self, inputs: Array | float, masks: Array | float) -> Case:
        """With this added to inputs and masks."""
        return Case(self.iteration, self.inputs + inputs, self.masks + masks, self.seed)

    def times(self, factor: float) -> Case:
        """With inputs and masks in other units."""
        return Case(self.iteration, factor * self.inputs, factor * self.masks, self.seed)


@dataclass
class Bench:
    """What all checks of a cell share: the protocol as it was built, who watches, some real runs, a count of calls."""

    protocol: SumProtocol
    network: Network
    eyes: Eyes
    cases: list[Case]
    asked: tuple[int, ...]
    scale: Array  # (m,) spread of each entry of the inputs
    seed: int = 0
    used: SumProtocol | None = None  # the object that went through the audit
    calls: int = 0
    most: int | None = None
    runs: int = 60  # of a block of the audit
    shares: dict[int, float] = field(default_factory=dict)
    models: list[tuple[int, Model]] = field(default_factory=list)  # read so far, and of how many runs
    masks: str = ""  # their distribution, where they were traced to one that is not normal
    moves: list[tuple[LinearView, Any]] = field(default_factory=list)  # what leaves all that is known as it is
    made: dict[tuple[int, int, int], tuple[Array, Array]] = field(default_factory=dict)  # unit inputs and unit masks
    words: list[tuple[LinearView, Any, Any]] = field(default_factory=list)  # views in whole numbers, without masks too
    altered: str = ""  # what any call left beside its record, or kept from it

    @property
    def heavy(self) -> bool:
        """Whether a call sends so much that as few are made as the checks can do with."""
        return (self.most or 0) > ALLOWED * HEAVY

    @property
    def light(self) -> bool:
        """Whether it sends so little that some calls more do not matter."""
        return (self.most or 0) <= ALLOWED * LIGHT

    @cached_property
    def modulus(self) -> float | None:
        """Of the messages, where they are residues."""
        value = SumTraits.of(self.protocol).modulus
        return None if value is None else float(value)

    @cached_property
    def grid(self) -> float:
        """Step of fixed-point numbers."""
        return float(SumTraits.of(self.protocol).grid)

    @cached_property
    def shifted(self) -> bool:
        """Whether masks have a public part, which is the same at any scale."""
        return isinstance(self.protocol, Mixed) and bool(self.protocol.law.offset.any())

    def call(
        self,
        case: Case,
        *,
        rng: np.random.Generator | None = None,
        protocol: Any = None,
        record: bool = True,
        form: Callable[[Array], Any] = np.copy,
        own: bool = False,
        channel: Channel | None = None,
    ) -> Call:
        """One call on ``case`` by a fresh copy, with the case's public randomness, and its masks or its ``own``."""
        call = call_sum(
            fresh(self.protocol) if protocol is None else protocol,
            case.inputs,
            None if own else case.masks,
            self.network,
            self.public(case.seed) if rng is None else rng,
            iteration=case.iteration,
            most=self.most,
            record=record,
            form=form,
            channel=channel,
        )
        return self.noted(call)

    def noted(self, call: Call) -> Call:
        """``call``, counted; that its record does not tell all is kept, whatever it was made for."""
        self.calls += 1
        if call.altered and not call.failure:
            self.altered = self.altered or call.altered
        return call

    def public(self, seed: int) -> np.random.Generator:
        """The public randomness of a case, the same each time."""
        return np.random.default_rng(self.public_seed(seed))

    def public_seed(self, seed: int) -> np.random.SeedSequence:
        """What that comes from."""
        return sequence(self.seed, "soundness", "public draws", seed)

    def private(self, *keys: int) -> np.random.Generator:
        """For what the checks draw themselves."""
        return stream(self.seed, "soundness", "own draws", *keys)

    def units(self, case: Case) -> tuple[Array, Array]:
        """Unit inputs and unit masks as of ``case``; of one size they are made once."""
        size = case.inputs.shape[1], case.masks.shape[1], case.inputs.shape[2]
        if size not in self.made:
            self.made = {size: units(*size)}
        return self.made[size]

    def probed(self, case: Case, factor: float = 1.0) -> Case:
        """``case`` with unit inputs, unit masks and a zero behind its runs, all times ``factor``."""
        inputs, masks = self.units(case)
        both = Case(
            case.iteration, np.concatenate([case.inputs, inputs]), np.concatenate([case.masks, masks]), case.seed
        )
        return both if factor == 1 else both.times(factor)


@dataclass(frozen=True)
class Model:
    """What the adversary sees of a probed call, and how it depends on inputs and masks.

    Attributes
    ----------
    seen : Seen
        Of the whole call, probes included.
    linear : LinearView
        Of the rows in ``which``.
    which : (F,)
        Those of the seen rows that the model is of: vectors of m finite numbers.
    case : Case
        The real runs.
    odd : Witness or None
        The first row that is no public constant and no such vector, or that is not linear.
    """

    seen: Seen
    linear: LinearView
    which: NDArray[np.intp]
    case: Case
    subspace: LeakedSubspace
    odd: Witness | None

    @property
    def sizes(self) -> Array:
        """|A||s| + |M||r| + |c| of the real runs, in the units of the messages: (F, runs, m)."""
        return sizes_of(self.linear, self.case)

    def allowed(self, case: Case | None = None, seen: Seen | None = None) -> Array:
        """e_f of each row of the model, run and entry (F, runs, m), for ``case`` as it was ``seen``."""
        case, seen = case or self.case, seen or self.seen
        tops = seen.tops[self.which, : case.runs, None]
        return np.asarray(seen.coarseness[self.which, None, None] * np.maximum(tops, sizes_of(self.linear, case)))


def sizes_of(linear: LinearView, case: Case) -> Array:
    """|A||s| + |M||r| + |c| in the units of the messages, (F, runs, m)."""
    terms = np.tensordot(np.abs(linear.A), np.abs(case.inputs.transpose(1, 0, 2)), axes=1)
    terms += np.tensordot(np.abs(linear.M), np.abs(case.masks.transpose(1, 0, 2)), axes=1)
    if linear.scale is not None:
        terms /= linear.scale[:, None, None]
    if linear.c is not None:
        terms += np.abs(linear.c)[:, None, None]
    return np.asarray(terms)


def read_model(bench: Bench, case: Case, call: Call, factor: float = 1.0) -> Model:
    """The model of ``call``, which ran ``bench.probed(case, factor)``; it is of real runs ``case.times(factor)``.

    Where the very numbers of an earlier call are seen again, to the last bit, its model is the model.
    """
    seen = bench.eyes.see(call)
    if factor != 1:
        return _read(bench, case.times(factor), call, seen, factor)
    runs = len(call.results)
    for total, known in bench.models:
        if total == runs and _same_data(known.case, case) and known.seen.same_numbers(seen):
            return replace(known, seen=seen, case=case)
    model = _read(bench, case, call, seen, factor)
    bench.models.append((runs, model))
    return model


def _same_data(one: Case, other: Case) -> bool:
    return same_bits(one.inputs, other.inputs) and same_bits(one.masks, other.masks)


def _read(bench: Bench, real: Case, call: Call, seen: Seen, factor: float) -> Model:
    runs, n, m = real.inputs.shape
    k = real.masks.shape[1]
    odd: Witness | None = None
    which: list[int] = []
    table, values = [], []
    count = n + k + 1
    for place, (row, name) in enumerate(zip(seen.rows, seen.names, strict=True)):
        plain = numbers(row)
        if bench.modulus is not None and place >= seen.heard:
            continue  # a decoded result is no residue
        if row.shape[:1] == call_runs(call) and bool((row == row[:1]).all()) and row.shape[1] != m:
            continue  # a public constant of another length, or nothing but the message itself
        if row.shape[1:] != (m,) or len(row) != runs + -(-count // m):
            odd = odd or Witness(name, f"it has {row.shape[1]} numbers, the vectors that are summed have {m}")
        elif row.dtype.kind == "f" and np.isnan(plain).all():
            continue  # of a node that dropped out
        elif not np.isfinite(plain).all():
            odd = odd or Witness(name, "it holds what is no finite number")
        else:
            which.append(place)
            table.append(plain[runs:].ravel()[:count])
            values.append(plain[:runs])
    probes = np.array(table).reshape(len(which), count) / factor
    c = probes[:, -1]
    # In units of the probes a constant is divided by the factor; it is public at any scale.
    columns = residue(probes[:, :-1] - c[:, None], bench.modulus if factor == 1 else None)
    linear = LinearView(columns[:, :n], columns[:, n:], n, bench.modulus, c * factor, factor=factor_of(bench.protocol))
    linear = linear.of_sums().equilibrated()
    array = linear.normalised(np.array(values).reshape(len(which), runs, m))
    unit = float(seen.coarseness.max(initial=0.0))
    linear = without_rounding(linear, array, real.inputs, real.masks, unit=unit)
    places = np.array(which, dtype=np.intp)
    model = Model(seen, linear, places, real, subspace_of_any(linear, bench.eyes.corrupt), odd)
    return model if odd is not None else _checked(model, array, bench)


def subspace_of_any(linear: LinearView, corrupt: frozenset[int]) -> LeakedSubspace:
    """The leaked subspace of a view with or without modulus."""
    if linear.modulus is None:
        return subspace_of(linear, corrupt)
    from secmix.estimators.exact.linear import unmodular

    plain, _ = unmodular(linear, np.zeros((len(linear.A), 0, 1)))
    return subspace_of(plain, corrupt)


def call_runs(call: Call) -> tuple[int]:
    """The number of runs that the results of ``call`` are of."""
    return (len(call.results),)


def _checked(model: Model, values: Array, bench: Bench) -> Model:
    """``model`` with the first row named that is not c + A s + M r on the real runs."""
    linear, case = model.linear, model.case
    off = values - np.tensordot(linear.A, case.inputs.transpose(1, 0, 2), axes=1)
    off -= np.tensordot(linear.M, case.masks.transpose(1, 0, 2), axes=1)
    if linear.modulus is not None:
        off = residue(off, linear.modulus)
    scale = 1.0 if linear.scale is None else linear.scale[:, None, None]
    allowed = KAPPA * model.allowed() * scale
    allowed = allowed + 0.501 * bench.grid * np.abs(linear.A).sum(axis=1)[:, None, None]
    bad = np.argwhere(~(np.abs(off) <= allowed))
    if not len(bad):
        return model
    row, _, entry = bad[0]
    times = float(np.abs(off[tuple(bad[0])]) / max(float(allowed[tuple(bad[0])]), 1e-300))
    what = f"it is no linear function of inputs and masks, by {times:.2g} times what rounding allows"
    odd = Witness(model.seen.names[model.which[row]], what, int(entry))
    return Model(model.seen, linear, model.which, case, model.subspace, odd)


def note_shares(bench: Bench, model: Model) -> dict[int, float]:
    """How much of each asked node's input the leaked subspace of ``model`` explains; the largest is kept."""
    shares = {node: float(model.subspace.explained(node).max(initial=0.0)) for node in bench.asked}
    for node, share in shares.items():
        bench.shares[node] = max(bench.shares.get(node, 0.0), share)
    return shares
