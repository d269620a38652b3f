"""Byzantine nodes in a collaboration: they say what serves them, or learn from other rows than their own.

A *forgery* is one way to lie, for messages of certain kinds. It is a function and a line among the entry points
(``secmix.forgeries``); the channel on which the colluders speak puts its messages in place of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base import plugins
from secmix._base.checks import Array, Ints, positive
from secmix.adversaries.passive.honest_but_curious import HonestButCurious
from secmix.errors import ScenarioError, SecmixError, nearest
from secmix.network import Network
from secmix.transcript import Channel, Transcript, View


@dataclass(frozen=True)
class RoundMessages:
    """What is about to be said in one run, as colluders who know everything see it.

    Attributes
    ----------
    kind : str
        Of the messages, in the protocol's words.
    own : (f, m)
        What the colluders would send if they followed the protocol.
    honest : (h, m)
        What honest nodes send in the same round; where messages go one by one, what they have sent so far to the same
        receiver. May be empty.
    scale : float
        How much farther than usual to go: 1 as the forgery says, 10⁶ to see whether the error has any bound.
    protocol : Any
        The protocol as it is set, with its rule.
    rng : Generator
    """

    kind: str
    own: Array
    honest: Array
    scale: float
    protocol: Any
    rng: np.random.Generator


@dataclass(frozen=True)
class Forgery:
    """One way to lie.

    Parameters
    ----------
    kinds : iterable of str
        The messages it can forge; messages of other kinds go out as they are.
    forge : callable, optional
        ``forge(said) -> (f, m)``: the colluders' messages.
    poison : callable, optional
        ``poison(rows (runs, N, d), scale, rng) -> rows``: what a colluder learns from in place of its own rows.
    searches : bool
        Whether it tries the rule many times to find the worst, and so takes its time.
    does : str
        What it does, in a sentence for the report's reader.

    Examples
    --------
    >>> silence = Forgery(["mean"], lambda said: 0.0 * said.own, does="Every colluder sends zeros.")
    >>> channel = ForgingChannel(silence, [1], np.random.default_rng(0))
    >>> channel.send(0, [0, 1], 2, "mean", np.ones((2, 1, 1)))[:, 0, 0].tolist()
    [1.0, 0.0]
    """

    kinds: Iterable[str]
    forge: Callable[[RoundMessages], ArrayLike] | None = None
    poison: Callable[[Array, float, np.random.Generator], Array] | None = None
    searches: bool = False
    does: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", frozenset(self.kinds))


class ForgingChannel(Channel):
    """A channel on which corrupt nodes say what a forgery tells them, knowing what the honest say.

    The transcript holds what was said, the colluders' messages in place of those they would have sent honestly.

    Parameters
    ----------
    forgery : Forgery
    corrupt : iterable of int
    rng : Generator
    protocol : Any
        What runs, for forgeries that try its rule.
    scale : float
    record : bool
    """

    def __init__(
        self,
        forgery: Forgery,
        corrupt: Iterable[int],
        rng: np.random.Generator,
        *,
        protocol: Any = None,
        scale: float = 1.0,
        record: bool = True,
    ) -> None:
        super().__init__(record=record)
        self.forgery, self.corrupt, self.rng = forgery, sorted(set(corrupt)), rng
        self.protocol, self.scale = protocol, scale
        self._heard: dict[tuple[int, str, tuple[int, ...], tuple[int, ...]], list[Array]] = {}
        self._hearing = 0  # the iteration that it is of

    def begin(self) -> None:
        """As :meth:`Channel.begin`; what was heard before is forgotten."""
        super().begin()
        self._heard.clear()

    def send(
        self,
        round: int,
        sender: ArrayLike,
        receiver: ArrayLike,
        kind: str,
        payload: Array,
        *,
        encrypted: bool = False,
        content: ArrayLike | None = None,
    ) -> Array:
        """As :meth:`Channel.send`; what comes back holds the colluders' messages."""
        said = payload
        if self.forgery.forge is not None and kind in self.forgery.kinds:
            rows = payload[None] if payload.ndim == 2 else payload
            by = _sender_of_each_row(len(rows), sender, receiver, content)
            said = self._forged(round, kind, rows, by, receiver).reshape(payload.shape)
        return super().send(round, sender, receiver, kind, said, encrypted=encrypted, content=content)

    def _forged(self, round: int, kind: str, rows: Array, by: Ints, receiver: ArrayLike) -> Array:
        theirs = np.isin(by, self.corrupt)
        to = tuple(np.atleast_1d(np.asarray(receiver)).tolist())
        if self.iteration != self._hearing:
            self._heard.clear()
            self._hearing = self.iteration
        earlier = self._heard.setdefault((round, kind, to, rows.shape[1:]), [])
        earlier += list(rows[~theirs])
        if not theirs.any() or self.forgery.forge is None:
            return rows
        out = rows.copy()
        for run in range(rows.shape[1]):
            own = rows[theirs, run]
            honest = np.stack([row[run] for row in earlier]) if earlier else own[:0]
            told = RoundMessages(kind, own, honest, self.scale, self.protocol, self.rng)
            false = np.asarray(self.forgery.forge(told), dtype=np.float64)
            if false.shape != own.shape:
                raise ScenarioError(f"the forgery made messages of shape {false.shape}; due are {own.shape}, (f, m)")
            out[theirs, run] = false
        return out


def _sender_of_each_row(rows: int, sender: ArrayLike, receiver: ArrayLike, content: ArrayLike | None) -> Ints:
    """Who says each row of a payload; -2 for a row that nobody sends."""
    # One sender may have something else to say to each receiver.
    senders = np.broadcast_arrays(np.atleast_1d(sender), np.atleast_1d(receiver))[0]
    which = np.arange(len(senders)) if content is None else np.asarray(content, dtype=np.intp)
    by = np.full(rows, -2, dtype=np.intp)
    by[which] = senders
    return by


@dataclass(frozen=True)
class Forgers:
    """Corrupt nodes of one mind in a collaboration, who know everything and forge what they send or learn from.

    Parameters
    ----------
    corrupt : iterable of int
        The corrupt nodes.
    attack : str or Forgery
        An installed forgery by name (``secmix attacks --forgeries`` lists them), ``package.module:name``, or "all":
        every one that can forge messages of the protocol.
    scale : float
        How much farther than usual the forgeries go.
    eavesdrops : bool
        Whether they also hear every plain channel.

    Examples
    --------
    >>> Forgers(corrupt=[2], attack="no_such")
    Traceback (most recent call last):
    ...
    secmix.errors.SecmixError: no forgery is called 'no_such'; ...
    """

    corrupt: Iterable[int]
    attack: str | Forgery = "all"
    scale: float = 1.0
    eavesdrops: bool = True
    _named: dict[str, Forgery] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "corrupt", HonestButCurious(self.corrupt).corrupt)
        positive(self.scale, "scale")
        object.__setattr__(self, "_named", self._resolved())

    def _resolved(self) -> dict[str, Forgery]:
        if isinstance(self.attack, Forgery):
            return {"forgery": self.attack}
        known = plugins.available("forgeries")
        names = list(known) if self.attack == "all" else [self.attack]
        if ":" not in names[0] and not set(names) <= set(known):
            raise SecmixError(f"no forgery is called {self.attack!r}; {nearest(str(self.attack), [*known, 'all'])}")
        # An entry's value says where it is; by its name it would be looked up once more, each time among all.
        found = {
            name.rpartition(":")[2]: plugins.imported(known[name].value)
            if name in known
            else plugins.load("forgeries", name)
            for name in names
        }
        for name, forgery in found.items():
            if not isinstance(forgery, Forgery):
                raise SecmixError(f"'{name}' is a {type(forgery).__name__}; a forgery is a secmix.adversaries.Forgery")
        return found

    def forgeries(self, transcript: Transcript) -> dict[str, Forgery]:
        """Those that can forge something in a run like this one, by name: of its messages, or of rows.

        Raises
        ------
        SecmixError
            If there is none: nothing would be attacked.
        """
        kinds = {block.kind for block in transcript}
        able = {name: forgery for name, forgery in self._named.items() if kinds & set(forgery.kinds)}
        if not able:
            raise SecmixError(
                f"the attack {self.attack!r} forges {sorted({k for f in self._named.values() for k in f.kinds})}, but "
                f'the protocol\'s messages are {sorted(kinds)}; choose an attack on those, or "all"'
            )
        return able

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """The corrupt nodes, after checking that they exist and leave somebody honest."""
        return HonestButCurious(self.corrupt).corrupt_nodes(network)

    def observe(self, transcript: Transcript, network: Network) -> View:
        """As honest-but-curious nodes: what the corrupt nodes hold, send and receive."""
        return HonestButCurious(self.corrupt, eavesdrops=self.eavesdrops).observe(transcript, network)
