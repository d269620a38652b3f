"""A case: a protocol before an adversary, of which the truth is known because an attack shows it, or a proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Adversary
from secmix.transcript import SERVER, Channel

NETWORK = {"kind": "complete", "nodes": 5}
N = 5
ENTRY = 2  # of a vector: negative in about half of all runs
HALF = 13.4  # rows that the first component has at a node, in about half of all runs


@dataclass(frozen=True)
class Message:
    """One message as the adversary meets it; ``numbers`` (runs, m) is None where it hears a line and cannot read it."""

    iteration: int
    round: int
    kind: str
    line: Literal["plain", "encrypted", "held"]
    sender: int
    receiver: int
    size: int
    dtype: str
    numbers: Array | None


@dataclass(frozen=True)
class Heard:
    """What the adversary holds of one call: messages in order, and what each corrupt node ends every averaging with.

    Of a collaboration also what lies about after the call: the rows of its own nodes, the network and the channel,
    and the results as they were returned. ``written`` is what it prints and logs, whatever its level.
    """

    messages: tuple[Message, ...]
    ended: tuple[dict[int, Array], ...] = ()
    rows: dict[int, Any] = field(default_factory=dict)
    network: Any = None
    line: Any = None
    returned: Any = None
    written: str = ""

    def all(
        self, kind: str, sender: int | None = None, receiver: int | None = None, iteration: int | None = None
    ) -> list[Message]:
        """The messages of a kind, by sender, receiver and iteration where those are given."""
        return [
            message
            for message in self.messages
            if message.kind == kind
            and sender in (None, message.sender)
            and receiver in (None, message.receiver)
            and iteration in (None, message.iteration)
        ]

    def one(self, kind: str, sender: int | None = None, receiver: int | None = None, iteration: int = 0) -> Array:
        """The numbers (m,) of the first such message, in the first run of the call."""
        return self.many(kind, sender, receiver, iteration)[0]

    def many(self, kind: str, sender: int | None = None, receiver: int | None = None, iteration: int = 0) -> Array:
        """The numbers (runs, m) of the first such message that can be read."""
        found = [m.numbers for m in self.all(kind, sender, receiver, iteration) if m.numbers is not None]
        return np.asarray(found[0])


@dataclass(frozen=True)
class Deployed:
    """The truth behind one call: inputs (runs, n, m) of every averaging, rows (runs, N_i, d) of every node."""

    inputs: tuple[Array, ...]
    rows: tuple[Array, ...]


Attack = Callable[[Sequence[Heard]], Any]
"""From what was heard in every call to a guess of every call's secret; NaN where nothing is claimed."""

Secret = Callable[[Deployed], Any]


def each(guess: Callable[[Heard], Any]) -> Attack:
    """An attack that takes every call by itself."""
    return lambda heard: np.stack([np.asarray(guess(one), dtype=float) for one in heard])


def input_of(node: int, iteration: int = 0) -> Secret:
    """The vector of a node in one averaging, first run."""
    return lambda truth: truth.inputs[iteration][0, node]


def sign_of(node: int, entry: int = ENTRY) -> Secret:
    """Whether an entry of a node's first vector is negative."""
    return lambda truth: float(truth.inputs[0][0, node, entry] < 0)


def sign_of_mean(node: int) -> Secret:
    """Whether the mean of the first column of a node's rows is negative: for collaborations."""
    return lambda truth: float(truth.rows[node][0, :, 0].mean() < 0)


def mean_of(node: int) -> Secret:
    """The mean of a node's rows: for collaborations."""
    return lambda truth: truth.rows[node][0].mean(axis=0)


@dataclass(frozen=True)
class Use:
    """What a collaboration is handed where it is used, in place of copied rows in a list, a new channel and PCG64.

    Attributes
    ----------
    parts : function
        From the rows of all nodes, a list of (runs, N_i, d), to what is handed.
    channel : function
        Makes the channel of a call.
    generator : function
        Makes the generator of a call from its seed.
    """

    parts: Callable[[list[Array]], Any] = list
    channel: Callable[[], Channel] = Channel
    generator: Callable[[list[int]], np.random.Generator] = np.random.default_rng


@dataclass(frozen=True)
class Call:
    """Say how an averaging is called: of so many runs, with a channel and masks that are handed over, or without."""

    runs: int = 1
    has_channel: bool = True
    has_masks: bool = False


@dataclass(frozen=True)
class Case:
    """A protocol before an adversary.

    Attributes
    ----------
    name, family : str
        What it is called, and which class of faults it belongs to.
    protocol : callable
        Makes a new protocol object. The one object serves all calls, as in a service that runs for long.
    adversary : Adversary
    why : str
        Wrong: what gives the data away. Right: the proof or citation.
    truth : {"leaks", "safe"}
    node : int
        Whose data leak.
    attack : function, of wrong cases
        Gets what the adversary hears in all calls, nothing else but the code, which is public.
    secret : function
        What the attack recovers.
    goal : {"values", "bits", "share"}
        Numbers to within ``accuracy`` standard deviations; a bit, right in 95 % of the claims; or a share of the
        variance above the policy's limit.
    claims : float
        Least share of the calls in which the attack must claim anything.
    calls, batch : int
        How many calls the attack hears, of how many runs each: 1 where a protocol is used, many in a simulation.
    in_turn : sequence of Call
        How each of these calls is made, where they differ.
    first : int
        Number of the first of these calls: a window in which something rare happens.
    settings : dict
        What the scenario has otherwise than ``SCENARIO``.
    deployed : dict
        What is otherwise again where the protocol is used, after the audit.
    ears : Adversary, optional
        One of the house with the powers that the declared adversary has in truth, where its ``observe`` hides some.
    relative : bool
        Whether what is recovered is how a call's secret differs from that of the first call.
    steady : bool
        Whether the same public draws give the same messages whatever the data, as a right protocol should.
    given, chained : bool
        Whether a channel is given where it is used, and whether one generator serves all averagings of a fit,
        or all calls of a collaboration.
    use : Use
        What a collaboration is handed where it is used.
    fails : bool
        Whether calls may fail where it is used: what was heard before that counts.
    meanwhile : function
        From the number of a call to a context that it is made in where it is used, but for the audit: a clock that is
        set, a lock that somebody has, a process that runs for long. It ends while the adversary still listens.
    undecided : str
        Of right cases: why *inconclusive* is all an audit can say.
    """

    name: str
    family: str
    protocol: Callable[[], Any]
    adversary: Adversary
    why: str
    truth: Literal["leaks", "safe"] = "leaks"
    node: int = 0
    attack: Attack | None = None
    secret: Secret | None = None
    goal: Literal["values", "bits", "share"] = "values"
    accuracy: float = 1e-6
    claims: float = 1.0
    calls: int = 12
    batch: int = 1
    in_turn: Sequence[Call] = ()
    first: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    deployed: dict[str, Any] = field(default_factory=dict)
    ears: Adversary | None = None
    relative: bool = False
    steady: bool = True
    given: bool = True
    chained: bool = False
    use: Use = field(default_factory=Use)
    fails: bool = False
    meanwhile: Callable[[int], AbstractContextManager[Any]] = nullcontext
    undecided: str = ""

    def build(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Scenario, protocols and adversaries, as ``secmix.audit`` takes them."""
        protocol = self.protocol()
        scenario = COLLABORATION if hasattr(protocol, "collaborate") else SCENARIO
        return {**scenario, **self.settings}, {self.name: protocol}, {"theirs": deepcopy(self.adversary)}


SCENARIO: dict[str, Any] = {
    "network": NETWORK,
    "runs": 200,
    # Twenty rows a node: no reading of the permitted sums gives rows away, so that only the protocol is at fault.
    "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
    "model": {"iterations": 2},
    "measure": {"evidence": ["structure", "gaussian"], "sigmas": [1e6]},
    "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.8},
}
COLLABORATION: dict[str, Any] = {
    **{key: value for key, value in SCENARIO.items() if key != "model"},
    "measure": {"evidence": ["decoders"]},
}

__all__ = ["NETWORK", "SERVER", "Attack", "Call", "Case", "Deployed", "Heard", "Message", "N", "each"]
