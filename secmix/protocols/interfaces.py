"""Sum protocols: their interface, the check of their inputs, and the plainest averages.

A *sum protocol* has, beside its settings,

``average(inputs, network, rng, *, masks=None, channel=None) -> (averages, Transcript)``
    inputs (runs, n, m) to averages (runs, n, m), what each node ends with: NaN for one that dropped out, the average
    over those who are left for all others. Every message goes through the channel, and ``channel.hold`` notes what a
    node holds without one: its input, the masks it drew. The audit reads the knowledge of corrupt nodes from there, and
    finds out when a message does not follow from it.
``draw_masks(runs, m, network, rng) -> (runs, k, m)``
    the secret randomness of one averaging, k numbers for each entry; ``average`` draws it by this same method when
    ``masks`` is None. How averages and messages depend on inputs and masks is all there is to know of the protocol: the
    audit reads it off by passing unit inputs and unit masks.

It may have more members: those of :class:`SumTraits`, which says what each means and what holds without it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import Array, finite_array
from secmix.errors import DataError, SecmixError
from secmix.network import Network
from secmix.protocols.cipher import Cipher
from secmix.transcript import SERVER, Channel, Origin, Transcript


@runtime_checkable
class SumProtocol(Protocol):
    """The interface; any class with these two methods can be audited."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw the secret randomness of one averaging, (runs, k, m)."""
        ...

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Average inputs (runs, n, m); return the averages (runs, n, m) and every message."""
        ...


@dataclass(frozen=True)
class Revealed:
    """The nodes that an audit found revealed, and more of what the protocol's own advice goes by."""

    # the honest nodes whose summed vector this adversary computes from the messages; of a collaboration, those whose
    # rows it learns, wholly or in part
    nodes: tuple[int, ...]
    corrupt: frozenset[int]  # the adversary's own nodes
    network: Network
    colluders: int = 0  # how many colluders move the result farther than the policy allows; 0 where none do
    readable: tuple[Origin, ...] = ()  # of a collaboration, the messages of other nodes that this adversary reads


@dataclass(frozen=True)
class Advice:
    """A change to make; where a scenario can say it, the audit tries it before the report recommends it.

    Attributes
    ----------
    words : str
        In a sentence or two, for who runs the protocol.
    change : mapping
        Keys of a scenario with their new values: "protocol.encrypted" is a setting of the protocol, "protocol" the
        whole table. Empty where no scenario can say it.
    plain : str
        In a few words without the field's own, for a reader who decides: "encrypt the lines".
    against : {"disclosure", "falsehood"}
        What it is to mend: that data become known, or that colluders move the result.
    found : str
        The outcome of trying the change, where the protocol has tried it itself.

    Examples
    --------
    >>> Advice("Encrypt the lines.", {"protocol.encrypted": True}, "encrypt the lines").against
    'disclosure'
    """

    words: str
    change: Mapping[str, Any] = field(default_factory=dict)
    plain: str = ""
    against: Literal["disclosure", "falsehood"] = "disclosure"
    found: str = ""

    @property
    def id(self) -> str:
        """Which measure it is: steps of one, such as two and three times the rows, share it; empty: no change.

        Examples
        --------
        >>> Advice("Give each node 6 rows.", {"data.rows_per_node": 6}).id
        'data.rows_per_node'
        """
        return ",".join(key if "." in key else f"{key}={value}" for key, value in sorted(self.change.items()))


def no_advice(revealed: Revealed) -> list[str | Advice]:
    """Return no advice: the protocol has no ``advise``."""
    return []


@dataclass(frozen=True)
class SumTraits:
    """The optional members of a sum protocol; those that it lacks take the defaults here.

    Attributes
    ----------
    modulus : float or None
        The messages are residues modulo this; the masks are then uniform.
    grid : float
        Step of the fixed-point numbers that messages are multiples of; 0 where they are not.
    reuses_masks : bool
        Whether all averagings of a run use the masks of the first.
    sigma : float or None
        Standard deviation of the masks, where it can be set: reports show privacy and accuracy against it.
    aggregate : callable or None
        ``aggregate(messages (n, m), f) -> (m,)``: what the protocol makes of contributions it can see, in place of
        their mean.
    aggregate_each : callable or None
        ``aggregate_each(stack (s, n, m), f) -> (s, m)``: what ``aggregate`` makes of each of several sets, bit for bit
        the same; it saves time where it can take them together.
    f : int
        The number of Byzantine nodes that ``aggregate`` is set to.
    function, traits : callable or None, secmix.aggregators.Traits or None
        The rule behind ``aggregate``, and what it declares.
    advise : callable
        ``advise(revealed) -> list of Advice or str``: what to change in this protocol. An :class:`Advice` that has
        a change of the scenario is tried; a sentence is passed on as it is, and the report says that it was not.
    exposure_graph : callable
        ``exposure_graph(network) -> Network or None``: a graph of which it is proven that corrupt nodes learn the sum
        over each piece that is left of it without them, and nothing else. The search for coalitions is then quicker,
        and compares the graph with the messages in every call.
    cipher : callable
        ``cipher(network) -> Cipher or None``: what really seals the words that pass sealed. An audit tries it.

    Examples
    --------
    >>> from secmix.protocols import PDMM
    >>> SumTraits.of(PDMM(sigma=100.0)).sigma
    100.0
    """

    modulus: float | None = None
    grid: float = 0.0
    reuses_masks: bool = False
    sigma: float | None = None
    aggregate: Callable[..., Array] | None = None
    aggregate_each: Callable[..., Array] | None = None
    f: int = 0
    function: Callable[..., Any] | None = None
    traits: Any = None
    advise: Callable[[Revealed], Sequence[str | Advice]] = no_advice
    exposure_graph: Callable[[Network], Network | None] = lambda network: None
    cipher: Callable[[Network], Cipher | None] = lambda network: None

    @classmethod
    def of(cls, protocol: Any) -> SumTraits:
        """Read the optional members of ``protocol``; those that it lacks take their defaults."""
        own = {each.name: getattr(protocol, each.name) for each in fields(cls) if hasattr(protocol, each.name)}
        # A member that is None withdraws what a class inherits.
        return cls(**{name: member for name, member in own.items() if member is not None})


@dataclass(frozen=True)
class ProtocolWrapper:
    """A base for classes that wrap a sum protocol to change what is summed, or to watch it.

    They write ``average`` themselves, which calls the one of ``inner``; masks are those of ``inner``.
    """

    inner: SumProtocol

    @property
    def reuses_masks(self) -> bool:
        """That of the wrapped protocol."""
        return SumTraits.of(self.inner).reuses_masks

    @property
    def modulus(self) -> float | None:
        """That of the wrapped protocol."""
        return SumTraits.of(self.inner).modulus

    @property
    def grid(self) -> float:
        """That of the wrapped protocol."""
        return SumTraits.of(self.inner).grid

    def cipher(self, network: Network) -> Cipher | None:
        """Return the cipher of the wrapped protocol."""
        return SumTraits.of(self.inner).cipher(network)

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw the masks of the wrapped protocol."""
        return self.inner.draw_masks(runs, m, network, rng)


_DEVIATING: ContextVar[Sequence[int]] = ContextVar("deviating", default=())


@contextmanager
def deviating(nodes: Sequence[int]) -> Iterator[None]:
    """Let the inputs of some nodes be no numbers meanwhile: who deviates from a protocol does not check its own."""
    token = _DEVIATING.set(nodes)
    try:
        yield
    finally:
        _DEVIATING.reset(token)


def checked_inputs(inputs: ArrayLike, network: Network) -> Array:
    """Convert ``inputs`` to a float64 array (runs, n, m), and check that it fits the network."""
    unchecked = _DEVIATING.get()
    if len(unchecked):
        array = np.array(inputs, dtype=np.float64)
        array[:, unchecked] = 0.0
        checked = finite_array(array, "inputs", ndim=3)
        checked[:, unchecked] = np.asarray(inputs)[:, unchecked]
        return checked
    array = finite_array(inputs, "inputs", ndim=3)
    if array.shape[1] != network.n:
        raise DataError(
            f"inputs have shape {array.shape}, (runs, nodes, entries), but the network has {network.n} nodes; "
            "give one vector a node"
        )
    return array


def check_draw_masks(protocol: SumProtocol) -> None:
    """Check that ``draw_masks`` is a method of the object, which a proof follows by name.

    Raises SecmixError where it is a method of the class or a static one.
    """
    method = inspect.getattr_static(protocol, "draw_masks", None)
    if isinstance(method, staticmethod | classmethod):
        kind = type(method).__name__
        raise SecmixError(
            f"{type(protocol).__name__}.draw_masks is a {kind}; it must be an ordinary method: leave out @{kind}, and "
            "write def draw_masks(self, runs, m, network, rng)"
        )


def averaged(
    protocol: SumProtocol, inputs: Array, network: Network, rng: np.random.Generator, **options: Any
) -> tuple[Array, Transcript]:
    """Have a protocol average ``inputs`` (runs, n, m), and check what it takes, returns and sends.

    Raises
    ------
    SecmixError
        ``average`` takes or returns something else than a sum protocol's, ``draw_masks`` is no method of the object, or
        a message has an end outside the network.
    """
    check_draw_masks(protocol)
    try:
        signature = inspect.signature(protocol.average)
        signature.bind(inputs, network, rng, **options)
    except TypeError:
        takes = ", ".join(signature.parameters)
        raise SecmixError(f"average({takes}) must take (inputs, network, rng, *, masks=None, channel=None)") from None
    except ValueError:  # of code that tells no signature
        pass
    result = protocol.average(inputs, network, rng, **options)
    if not isinstance(result, tuple) or len(result) != 2:
        what = "nothing" if result is None else f"a value of type {type(result).__name__}"
        raise SecmixError(
            f"average() returned {what}; return two: the averages (runs, nodes, entries), and channel.transcript"
        )
    averages, transcript = result
    shape, expected = np.shape(averages), inputs.shape
    if len(shape) != 3 or shape[:2] != expected[:2] or shape[2] < expected[2]:
        raise SecmixError(
            f"average() returned averages of shape {shape}, expected {expected}: return the average that each node "
            "ends with, (runs, nodes, entries)"
        )
    if not isinstance(transcript, Transcript):
        raise SecmixError(
            f"average() returned a {type(transcript).__name__} beside averages; return channel.transcript"
        )
    return averages, transcript


def check_ends(transcript: Transcript, network: Network) -> None:
    """Check that every message is between nodes of the network, or one of them and the server.

    Raises SecmixError with the first message that is not.
    """
    for block in transcript:
        outside = np.flatnonzero(np.maximum(block.sender, block.receiver) >= network.n)
        if outside.size:
            ends = [f"node {ends[outside[0]]}" for ends in (block.sender, block.receiver)]
            ends = ["the server" if end == f"node {SERVER}" else end for end in ends]
            raise SecmixError(
                f"average() sent {block.kind!r} in round {block.round} from {ends[0]} to {ends[1]}; the network has "
                f"nodes 0 to {network.n - 1}, the server is {SERVER}"
            )


def without_average(averages: Array) -> NDArray[np.bool_]:
    """Mark the nodes (n,) without an average in ``averages`` (runs, n, m): those that dropped out."""
    return np.asarray(np.isnan(averages).any(axis=2).any(axis=0))


def checked_masks(masks: Array, runs: int, k: int, m: int) -> Array:
    """Check the shape (runs, k, m) of ``masks``, and return them."""
    if masks.shape != (runs, k, m):
        raise DataError(f"masks have shape {masks.shape}; this protocol on this network takes {(runs, k, m)}")
    return masks
