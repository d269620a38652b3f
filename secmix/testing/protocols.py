"""check_protocol: a user's protocol on drawn networks, sizes and coalitions; what fails is a test to paste."""

from __future__ import annotations

import copy
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer, positive
from secmix.adversaries import Adversary, HonestButCurious
from secmix.adversaries.against_rules.oracle import quietly
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.errors import NetworkError, SecmixError
from secmix.estimators.exact.linear import are_seeds
from secmix.kernel import KnownSums, Open, Proof, clear, prove
from secmix.network import Network
from secmix.protocols import Collaboration, SumProtocol
from secmix.protocols.collaboration import checked_parts
from secmix.protocols.interfaces import SumTraits, check_draw_masks
from secmix.testing.call_inputs import CallDraw, large_calls, options
from secmix.testing.check_summary import ProtocolCheck
from secmix.testing.counterexample import BrokenPromise, Promise, protocol_defined
from secmix.testing.protocol_promises import (
    COLLABORATION,
    LEAKS,
    LINEAR,
    MASKS,
    QUICK,
    SAME_DRAWS,
    SUM,
    WITHOUT_PROOF,
)
from secmix.testing.sizes import numbers_of
from secmix.testing.strategies import smallest_failure
from secmix.transcript import Channel
from secmix.wrap import MaskedSum

NodeSets = Iterable[Iterable[int]]
Reveals = Literal["nothing", "total", "everything"] | NodeSets | Callable[[Network, frozenset[int]], NodeSets]
CallInputs = dict[str, Any]
"""What the promises need, by name."""
# Cases of small networks; those of drawn sizes, and twice as many that the code names.
_EFFORT = {"quick": (14, 18), "thorough": (200, 180)}
_SECONDS = {"quick": 300.0, "thorough": 3600.0}
_SIZING = 0.1  # of the time, to find out how much calls of large cases send
_NO_SEED = 11  # entries of a vector; few seeds have so many words
_TRIES = 60  # simpler calls that are tried where one breaks a promise


def check_protocol(
    protocol: SumProtocol | Collaboration,
    *,
    reveals: Reveals = "total",
    network: Network | None = None,
    adversary: Adversary | None = None,
    parts: Sequence[ArrayLike] | None = None,
    tolerance: float = 1e-6,
    skip: Iterable[str] = (),
    level: Literal["quick", "thorough"] = "quick",
    seconds: float | None = None,
    seed: int | None = None,
) -> ProtocolCheck:
    """Hold a protocol to everything that the audit presumes of it, and to what it says it reveals.

    A sum protocol must give every node the mean, go on with what arrived, depend on nothing but its inputs and its
    generator, and let an adversary learn the stated combinations of inputs and no others. The kernel that clears nodes
    in an audit is asked for that. Where its answer contradicts what is stated, the check fails; where the proof ends,
    the result names the line, and messages that are not linear or pass outside the channel still fail. Of a
    *collaboration* the results, the channel and the generator are checked.

    Parameters
    ----------
    protocol : sum protocol or collaboration
    reveals : {"nothing", "total", "everything"}, sets of nodes, or function of (network, corrupt)
        The sums of inputs that an adversary may learn, each as the set of its nodes. What corrupt nodes put in
        themselves is always known to them.
    network : Network, optional
        By default several are drawn; those that the protocol refuses with a NetworkError are counted.
    adversary : Adversary, optional
        By default coalitions of honest-but-curious nodes are drawn, who also hear every plain line.
    parts : sequence of (runs, N_i, d), optional
        Rows of each node for a collaboration; standard normal ones are drawn where none are given.
    tolerance : float
        The largest error of an average, for inputs of size 1; in proportion for larger ones.
    skip : iterable of str
        Promises, by title, that the protocol does not make; without "reveals" nothing is proved.
    level : {"quick", "thorough"}
    seconds : float, optional
        What the cases may take together: 300, or 3600 at level "thorough". How long one takes is foreseen from a timed
        call; the simplest is always tried, and the result and a warning say how many were left out. With ``math.inf``
        nothing is left out, and the result hangs on no clock.
    seed : int, optional
        Another seed draws other cases; the same call draws the same ones.

    Returns
    -------
    ProtocolCheck
        What is proved and what is not, how many cases of which sizes were tried, and what is assumed; print it. It is
        so for inputs of any distribution; how much the permitted sums tell of a node's data is the audit's matter.

    Raises
    ------
    AssertionError
        A promise is broken; the message holds the smallest case that was found, as a test to paste. It is made small
        by Hypothesis, where that is installed (``pip install 'secmix[test]'``).
    SecmixError
        The arguments make no sense.

    Examples
    --------
    >>> from secmix.protocols import Plain, SecureSum
    >>> check = check_protocol(SecureSum(), network=Network.cycle(4), adversary=HonestButCurious([0]), seed=0)
    >>> print(str(check).splitlines()[1])  # doctest: +ELLIPSIS
      proved: ... adversaries learn what is stated and no more, whatever the data
    >>> try:
    ...     check_protocol(Plain(), reveals="total", seed=0)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    Plain fails "reveals": it must let an adversary learn no combination of inputs but the stated ones and its own.
    """
    positive(tolerance, "tolerance")
    if level not in _EFFORT:
        raise SecmixError(f"level is 'quick' or 'thorough'; given {level!r}")
    if not isinstance(protocol, SumProtocol | Collaboration):
        raise SecmixError(
            f"{type(protocol).__name__} has neither average and draw_masks nor collaborate and error: not a protocol"
        )
    promises = COLLABORATION if isinstance(protocol, Collaboration) else SUM
    if not isinstance(protocol, Collaboration):
        check_draw_masks(protocol)
    if unknown := set(skip) - {promise.title for promise in promises}:
        raise SecmixError(f"skip names {sorted(unknown)}; the promises are {[one.title for one in promises]}")
    seed = integer(seed or 0, "seed", least=0)
    node_rows = None if parts is None else checked_parts(parts)
    if seconds != np.inf:
        seconds = _SECONDS[level] if seconds is None else positive(seconds, "seconds")
    check = _ProtocolCheck(protocol, reveals, network, adversary, node_rows, tolerance, seed, _TimeBudget(seconds))
    summary = check.run([promise for promise in promises if promise.title not in skip], *_EFFORT[level])
    if summary.left_out:
        warnings.warn(f"check_protocol of {summary.protocol} {summary.time_spent()}", stacklevel=2)
    return summary


class _TimeBudget:
    """Decides which cases fit the seconds that are given, by a timed call of each."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.began, self.limit = seconds, time.monotonic(), seconds
        self.call_seconds = self.case_seconds = 0.0  # of cases that were tried, together
        self.left_out: dict[CallDraw, float] = {}  # cases, and the seconds that each is foreseen to take

    @property
    def spent(self) -> float:
        """Return the seconds since the check began."""
        return time.monotonic() - self.began

    def affords(self, drawn: CallDraw, call: Callable[[], Any]) -> float | None:
        """Return the seconds that ``call`` takes; None where a case of such calls would take too long."""
        first, cost = not self.call_seconds, 0.0
        if first or self.spent < self.limit:
            before = self.spent
            with suppress(Exception, SystemExit):  # reported by the promises
                quietly(call)
            seconds = self.spent - before
            cost = 0.0 if first else seconds * self.case_seconds / self.call_seconds
            if first or self.spent + cost < self.limit:
                self.left_out.pop(drawn, None)
                return seconds
        self.left_out[drawn] = max(self.left_out.get(drawn, 0.0), cost)
        return None

    def learn(self, call_seconds: float, case_seconds: float) -> None:
        """Note what a case took whose call took ``call_seconds``."""
        self.call_seconds += call_seconds
        self.case_seconds += case_seconds


@dataclass
class _ProtocolCheck:
    """One check, from the first case to the summary."""

    protocol: Any
    reveals: Reveals
    network: Network | None
    adversary: Adversary | None
    parts: list[Array] | None
    tolerance: float
    seed: int
    budget: _TimeBudget

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.sums = not isinstance(self.protocol, Collaboration)
        self.proofs: dict[Any, Proof] = {}
        self.cases, self.kinds, self.unproved = Counter[str](), Counter[str](), Counter[str]()
        self.sizes: list[tuple[int, int, int]] = []
        self.reason = ""  # why nothing is proved of the last call
        self.proved = self.calls = self.refused = self.less = 0

    def run(self, promises: list[Promise], small_cases: int, large_cases: int) -> ProtocolCheck:
        """Try every promise on small cases, and those that take little time on large ones."""

        def fails(values: Any, first: BrokenPromise | None) -> BrokenPromise | None:
            drawn = CallDraw(*values)
            inputs = self._sum_inputs(drawn) if self.sums else self._rows(drawn)
            if first is None:
                return self._first_broken_in_time(promises, drawn, inputs)
            if self.budget.spent > self.budget.seconds:
                return None  # the failure is told as it stands
            if "proof" in first.promise.needs:
                inputs["proof"] = self._proof(inputs)
            failure = self._failure(first.promise, drawn, inputs)
            return failure if failure and type(failure.why) is type(first.why) else None

        numbers = [int(number) for number in numbers_of(self.protocol) if number == int(number)]
        named = (self.protocol, self.network, numbers, large_cases, self.random)
        large: list[Any] = []
        if self.sums:
            large = large_calls(*named, in_time=lambda: self.budget.spent < _SIZING * self.budget.seconds)
        usual = options(self.network, None if self.parts is None else len(self.parts))
        simplest = tuple(part[0] for part in usual)
        # Half the time for either; what was left out for its cost comes last.
        steps: list[tuple[float, int, Callable[[], list[Any]]]] = [
            (0.5, small_cases - 1, lambda: [simplest]),
            (1.0, 0, lambda: large),
            (1.0, 0, lambda: sorted(self.budget.left_out, key=self.budget.left_out.__getitem__)),
        ]
        for share, examples, first in steps:
            self.budget.limit = share * self.budget.seconds
            failure = smallest_failure(usual, fails, examples=examples, random=self.random, first=first())
            if failure is not None:
                defined, found = protocol_defined(self.protocol), f"found with seed={self.seed}"
                raise failure.error(type(self.protocol).__name__, "protocol", defined, found) from None
        return self._summary()

    def _first_broken_in_time(
        self, promises: list[Promise], drawn: CallDraw, inputs: CallInputs
    ) -> BrokenPromise | None:
        """Try the promises where the time suffices, and learn what a case takes."""
        proved = len(self.proofs)
        call_seconds = self.budget.affords(drawn, lambda: self._call(inputs))
        if call_seconds is None:
            return None
        before, tried = self.budget.spent, len(self.sizes)
        failure = self._first_broken(promises, drawn, inputs)
        if len(self.sizes) > tried and (len(self.proofs) > proved or not self.sums):  # else it took less than others
            self.budget.learn(call_seconds, self.budget.spent - before)
        return failure

    def _call(self, inputs: CallInputs) -> None:
        """Run the protocol once, on as many numbers as a proof of it."""
        network, rng = inputs["network"], np.random.default_rng(0)
        if self.sums:
            self.protocol.average(np.zeros(inputs["shape"][1:]), network, rng)
        else:
            self.protocol.collaborate([part.copy() for part in inputs["parts"]], network, rng, channel=Channel())

    def _first_broken(self, promises: list[Promise], drawn: CallDraw, inputs: CallInputs) -> BrokenPromise | None:
        """Try the promises, and count; return the first that is broken."""
        runs = (SUM if self.sums else COLLABORATION)[0]  # fails where the protocol does not run
        if (refusal := self._failure(runs, drawn, inputs)) and isinstance(refusal.why, NetworkError):
            self.refused += 1
            return None
        for promise in self._tried(promises, inputs, quick=drawn.quick):
            self.cases[promise.title] += 1
            self.calls += promise.calls
            if failure := self._failure(promise, drawn, inputs):
                return failure
        self.kinds[drawn.kind] += 1
        sample = inputs["inputs"] if self.sums else inputs["parts"][0]
        self.sizes.append((inputs["network"].n, sample.shape[0], sample.shape[2]))
        return None

    def _summary(self) -> ProtocolCheck:
        name = type(self.protocol).__name__
        if not self.sizes:
            raise AssertionError(f"{name} refuses every network that was tried ({self.refused})")
        nodes, runs, entries = ((min(column), max(column)) for column in zip(*self.sizes, strict=True))
        return ProtocolCheck(
            name, dict(self.cases), self.calls, nodes, runs, entries, dict(self.kinds), self.refused, self.proved,
            dict(self.unproved), self.less, self.seed, self.budget.spent, len(self.budget.left_out),
            sum(self.budget.left_out.values()),
        )  # fmt: skip

    def _tried(self, promises: list[Promise], inputs: CallInputs, *, quick: bool) -> list[Promise]:
        """Return the promises to try: what no proof implies, on large cases what is quick."""
        if not self.sums:
            return promises
        asked = any(promise.title == "reveals" for promise in promises)
        left = {MASKS} if not asked else {*WITHOUT_PROOF} if self._proves(inputs) else set()
        if self._draws_seeds(inputs):
            left |= {LINEAR} if isinstance(self.protocol, MaskedSum) else {LINEAR, LEAKS}
        left |= {SAME_DRAWS} if asked and self._has_coins_of_its_own(inputs) else set()
        return [promise for promise in promises if promise not in left and (promise in QUICK or not quick)]

    def _draws_seeds(self, inputs: CallInputs) -> bool:
        """Say whether masks are expanded from seeds: of these no message is a linear function."""
        if isinstance(self.protocol, MaskedSum):
            return True
        network, rng = inputs["network"], np.random.default_rng(0)
        try:
            return are_seeds(quietly(lambda: self.protocol.draw_masks(1, _NO_SEED, network, rng)), _NO_SEED)
        except Exception:  # which a promise of its own finds
            return False

    def _has_coins_of_its_own(self, inputs: CallInputs) -> bool:
        """Say whether the system seeds coins of nodes' own: two calls send other messages then."""
        return any(fit.trace.system_seeds for fit in self._proof(inputs).fits)

    def _proof(self, inputs: CallInputs) -> Proof:
        network, shape = inputs["network"], inputs["shape"]
        key = network.n, network.edges.tobytes(), shape
        if key not in self.proofs:
            calls = np.asarray(np.random.default_rng(0).uniform(-1, 1, shape))  # as ``written`` prints them
            self.proofs[key] = quietly(lambda: prove(self.protocol, network, list(calls), in_other_calls=shape[1] == 1))
        return self.proofs[key]

    def _proves(self, inputs: CallInputs) -> bool:
        """Ask the kernel, count its answer, and say whether it holds for every call."""
        network, adversary = inputs["network"], inputs["adversary"]
        proof = inputs["proof"] = self._proof(inputs)
        answer = quietly(lambda: clear(proof, network, adversary))
        if isinstance(answer, KnownSums):
            honest = [i for i in range(network.n) if i not in adversary.corrupt_nodes(network)]
            stated = np.array([[float(i in nodes) for i in honest] for nodes in inputs["stated"]])
            self.less += len(answer.sums) < (np.linalg.matrix_rank(stated) if stated.size else 0)
        sealed = SumTraits.of(self.protocol).cipher(network) is not None
        self.reason = _unproved(answer, adversary, sealed=sealed)
        if self.reason:
            self.unproved[self.reason] += 1
            return False
        self.proved += 1
        return True

    def _sum_inputs(self, drawn: CallDraw) -> CallInputs:
        rng, network = np.random.default_rng(drawn.seed), drawn.network(self.network)
        scale = 1.0 if drawn.plain else float(10.0 ** rng.uniform(-3, 3))
        inputs = scale * rng.standard_normal((drawn.runs, network.n, drawn.entries))
        inputs = np.rint(9 * inputs) if drawn.plain else inputs
        adversary, traits = self.adversary, SumTraits.of(self.protocol)
        if adversary is None:
            count = min(drawn.corrupt, max(network.n - 2, 1))
            adversary = HonestButCurious(sorted(int(i) for i in rng.choice(network.n, count, replace=False)))
        rows_by_node = inputs[:2, :, :2].transpose(1, 0, 2)
        return {
            "network": network,
            "seed": drawn.seed % 2**31,
            "inputs": inputs,
            "parts": list(rows_by_node),
            "others": list(rows_by_node + scale * rng.standard_normal(rows_by_node.shape)),
            # What is rounded to a grid is off by half a step.
            "tolerance": self.tolerance * max(1.0, float(np.abs(inputs).max())) + min(traits.grid, 0.125) / 2,
            "adversary": adversary,
            "shape": (3, drawn.runs, network.n, drawn.entries) if drawn.quick else (3, 1, network.n, 2),
            "stated": _stated(self.reveals, network, adversary.corrupt_nodes(network)),
            "rounds": 2 if traits.reuses_masks else 1,
            "grid": traits.grid,
            "modulus": traits.modulus,
        }

    def _rows(self, drawn: CallDraw) -> CallInputs:
        rng, network = np.random.default_rng(drawn.seed), drawn.network(self.network)
        if self.parts is not None:
            first = [part.copy() for part in self.parts]
            # In place of one's rows, the same in another order and moved: other rows of the same kind.
            others = [part[:, rng.permutation(part.shape[1])] + 0.1 * part.std() for part in self.parts]
        else:
            count, features = int(rng.integers(8, 20)), int(rng.integers(2, 4))
            first, others = (list(rng.standard_normal((network.n, 1, count, features))) for _ in "ab")
        return {"network": network, "seed": drawn.seed % 2**31, "parts": first, "others": others}

    def _failure(self, promise: Promise, drawn: CallDraw, inputs: CallInputs) -> BrokenPromise | None:
        values = {name: inputs[name] for name in promise.needs}
        # Copies: a protocol that writes on its inputs must not change the case.
        copies = {name: copy.deepcopy(values[name]) for name in {"inputs", "parts", "others"} & set(values)}
        try:
            quietly(lambda: promise.check(self.protocol, **{**values, **copies}))
        except (Exception, SystemExit) as error:
            where = f"{drawn.kind} network of {inputs['network'].n} nodes"
            stands_in = bool(self.reason) and promise in WITHOUT_PROOF
            note = f"That is asked where no proof says more; it is {self.reason}" if stands_in else ""
            return BrokenPromise(promise, values, error, where, note, tries=_TRIES)
        return None


def _unproved(answer: KnownSums | Open, adversary: Adversary, *, sealed: bool) -> str:
    """Say why the kernel's answer does not hold for every call; nothing where it does."""
    if isinstance(answer, Open):
        return f"not proved: {answer.reason}"
    if sealed:
        return "not proved: what seals its words is tried in an audit alone"
    if AdversaryTraits.of(adversary).active is not None:
        return "not proved: the adversary does not follow the protocol, and the proof is of those who do"
    return f"proved for what was traced, not for every call: {'; '.join(answer.covers)}" if answer.covers else ""


def _stated(reveals: Reveals, network: Network, corrupt: frozenset[int]) -> list[set[int]]:
    """Return the sums of inputs that may be learnt, as sets of nodes."""
    everybody = set(range(network.n))
    by_name = {"nothing": [], "total": [everybody], "everything": [{i} for i in sorted(everybody)]}
    if isinstance(reveals, str):
        if reveals not in by_name:
            raise SecmixError(
                f"reveals is 'nothing', 'total', 'everything', sets of nodes or a function; given {reveals!r}"
            )
        return by_name[reveals]
    sums = [{int(i) for i in nodes} for nodes in (reveals(network, corrupt) if callable(reveals) else reveals)]
    if any(not nodes <= everybody for nodes in sums):
        raise SecmixError(f"reveals names nodes that the network of {network.n} does not have: {sums}")
    return sums
