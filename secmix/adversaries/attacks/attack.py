"""Attacks: one value for every protocol, found by its name among the entry points ``secmix.attacks``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base import plugins
from secmix._base.checks import Array
from secmix.adversaries.against_rules.spending import SearchBudget
from secmix.errors import ScenarioError, SecmixError, nearest

CONTRIBUTION = "contribution"
"""The kind of the messages that are summed: what a node puts into a sum protocol."""
ANY = "*"
"""The kind of an attack on messages of every kind."""
FARTHEST = 1e6
"""The scale at which an attack shows whether the error has any bound."""


@dataclass(frozen=True)
class RoundMessages:
    """The messages about to be sent in one run, as colluders who know everything read them.

    Attributes
    ----------
    kind : str
        Of the messages, in the protocol's words; "contribution" for what a sum protocol sums.
    own : (f, m)
        What the colluders would send if they followed the protocol.
    honest : (h, m)
        What honest nodes send in the same round; where messages go one by one, what they have sent so far to the same
        receiver. May be empty.
    scale : float
        How much farther than usual to go: 1 as the attack is published, 10⁶ to see whether the error has any bound.
    protocol : Any
        The protocol as it is set, with its rule.
    rng : Generator
    run, iteration : int
        Which of the runs that go on side by side, and how often the protocol's iteration has come round before.
    budget : SearchBudget
        How often an attack that searches may try the rule, and where it counts its tries.
    """

    kind: str
    own: Array
    honest: Array
    scale: float
    protocol: Any
    rng: np.random.Generator
    run: int = 0
    iteration: int = 0
    budget: SearchBudget = field(default_factory=SearchBudget, repr=False)


@dataclass(frozen=True)
class Attack:
    """Messages that colluders send in place of the protocol's, or rows that they learn from in place of their own.

    Parameters
    ----------
    kinds : iterable of str
        The messages it can replace; others go out as they are. "contribution" are those that are summed, "*" all;
        within a kind a "*" stands for anything, as in "train reply: *".
    forge : callable, optional
        ``forge(messages: RoundMessages) -> (f, m)``: the colluders' messages.
    poison : callable, optional
        ``poison(rows (runs, N, d), scale, rng) -> rows``: what a colluder learns from in place of its own rows.
    searches : bool
        Whether it tries the rule many times to find the worst, and so takes its time.
    does : str
        What it does, in a sentence for the report's reader.
    name : str
        That of its entry point, which sets it.
    title : str
        What reports call it where that is not the name with spaces.

    Raises
    ------
    SecmixError
        It neither forges nor poisons, or does not forge contributions: of rows alone no sum can be made here.

    Examples
    --------
    >>> silence = Attack(["mean"], lambda messages: 0.0 * messages.own, does="Every colluder sends zeros.")
    >>> silence.send(RoundMessages("mean", np.ones((1, 2)), np.ones((3, 2)), 1.0, None, np.random.default_rng(0)))
    array([[0., 0.]])
    """

    kinds: Iterable[str]
    forge: Callable[[RoundMessages], ArrayLike] | None = None
    poison: Callable[[Array, float, np.random.Generator], Array] | None = None
    searches: bool = False
    does: str = ""
    name: str = "attack"
    title: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", frozenset(self.kinds))
        if self.forge is None and (self.poison is None or CONTRIBUTION in self.kinds):
            raise SecmixError(f"the attack '{self.name}' needs forge(messages), or poison(rows, scale, rng) where "
                              "messages are not contributions to a sum")  # fmt: skip

    def speaks(self, kinds: Iterable[str]) -> bool:
        """Check whether it can replace messages of one of these kinds."""
        if ANY in self.kinds:
            return True
        return any(kind == own or (ANY in own and fnmatchcase(kind, own)) for kind in kinds for own in self.kinds)

    def send(self, messages: RoundMessages) -> Array:
        """Make the colluders' messages (f, m).

        Raises
        ------
        ScenarioError
            The attack made no array of numbers, or one of another shape.
        """
        if self.forge is None:
            return messages.own
        forged = self.forge(messages)
        try:
            sent = np.asarray(forged, dtype=np.float64)
        except (TypeError, ValueError):
            raise ScenarioError(
                f"the attack '{self.name}' returned a {type(forged).__name__}; expected an array of numbers "
                f"{messages.own.shape}, (f, m)"
            ) from None
        if sent.shape != messages.own.shape:
            raise ScenarioError(
                f"the attack '{self.name}' made messages of shape {sent.shape}; expected {messages.own.shape}, (f, m)"
            )
        return sent

    def __call__(self, honest: Array, f: int, rng: np.random.Generator, scale: float = 1.0) -> Array:
        """Make what f colluders contribute (f, p) to a sum beside the honest contributions (h, p)."""
        own = np.zeros((f, honest.shape[1]))
        return self.send(RoundMessages(CONTRIBUTION, own, honest, scale, None, rng))


def installed() -> dict[str, EntryPoint]:
    """List the entry points of all attacks by name, sorted."""
    return plugins.available("attacks")


def named(name: str) -> Attack:
    """Load the installed attack of that name, or the one at ``package.module:name``.

    Raises SecmixError if there is none, with the nearest name, or if it is no :class:`Attack`.

    >>> named("sign_flip").does
    'Every colluder sends the mean of the honest contributions with its sign turned.'
    """
    known = installed()
    if ":" not in name and name not in known:
        raise SecmixError(f"no attack is called {name!r}; {nearest(name, [*known, 'all'])}")
    attack = plugins.imported(known[name].value) if name in known else plugins.load("attacks", name)
    if not isinstance(attack, Attack):
        raise SecmixError(f"'{name}' is a {type(attack).__name__}; an attack is a secmix.adversaries.Attack")
    own = name.rpartition(":")[2]
    return attack if attack.name == own else replace(attack, name=own)
