"""Collaborations: protocols whose outcome is no sum of vectors are run as a whole, and judged by their transcript.

A *collaboration* takes the rows of every node and lets the nodes talk; what each ends with is a vector of numbers: the
parameters of its mixture, its basis, its predictions. Nothing about it need be linear, so what it leaks is measured on
real runs only, and never proven to be small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, finite_array
from secmix.errors import DataError, SecmixError
from secmix.network import Network
from secmix.protocols.interfaces import Advice, Revealed, no_advice
from secmix.transcript import Block, Channel, Origin, Transcript


@runtime_checkable
class Collaboration(Protocol):
    """The interface; any class with these two methods can be audited. It may have those of CollaborationTraits, too."""

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Run on the rows of each node, n arrays (runs, N_i, d), and return what each ends with, (runs, n, p).

        Everything that one node learns from another goes through ``channel.send``, and the protocol goes on with what
        that returns. What a node holds without a message, its rows first of all, is noted by ``channel.hold``.
        """
        ...

    def error(self, results: Array, reference: Array) -> Array:
        """Compute how far ``results`` (runs, nodes, p) are from ``reference`` (runs, nodes, p): (runs,), at least 0."""
        ...


@dataclass(frozen=True)
class CollaborationTraits:
    """The optional members of a collaboration; those that it lacks take the defaults here.

    Attributes
    ----------
    unit : str
        What ``error`` is measured in, in words.
    broken : float
        The error from which on the result is worthless. By default only an error that grows without bound makes it so.
    bound : callable
        ``bound(transcript, reference, colluders) -> float or None``: the largest error that a theorem allows so many
        colluders, given the messages of an honest run; None where there is none. It counts for the collaborations of
        this package alone, with the theorem cited: of others nothing is proven.
    premises : callable
        ``premises(readable) -> sentences``: what a verdict takes for granted, and what passes as it is beside what is
        hidden, given the origins of all messages that the adversary holds from nodes that are not its own.
    opaque : callable
        ``opaque(readable) -> bool``: whether some of these messages are masked or encrypted for this adversary, so that
        what is measured of them says nothing of what they hide.
    advise : callable
        ``advise(revealed) -> list of str or Advice``: what to change where this adversary learns something, as of a sum
        protocol; see :class:`~secmix.protocols.interfaces.Revealed`.
    """

    unit: str = "in the protocol's own measure"
    broken: float = math.inf
    bound: Callable[[Transcript, Array, int], float | None] = lambda transcript, reference, colluders: None
    premises: Callable[[Sequence[Origin]], Sequence[str]] = lambda readable: ()
    opaque: Callable[[Sequence[Origin]], bool] = lambda readable: False
    advise: Callable[[Revealed], Sequence[str | Advice]] = no_advice

    @classmethod
    def of(cls, protocol: Any) -> CollaborationTraits:
        """Read the optional members of ``protocol``; those that it lacks take their defaults."""
        return cls(**{each.name: getattr(protocol, each.name) for each in fields(cls) if hasattr(protocol, each.name)})


BYTES = ", bytes"
"""The end of the kind of a message whose numbers are the bytes of a key or a text; others are measured first."""

Once = Callable[[list[Array], Channel], ArrayLike]
"""One run: ``once(parts, channel) -> (n, p)``, with parts n arrays (N_i, d)."""


def run_by_run(once: Once, parts: Sequence[ArrayLike], channel: Channel) -> Array:
    """Run ``once`` for each run by itself, and join all messages in the channel's transcript.

    For protocols that are written for one data set. Where all runs send messages of the same kinds, in the same order
    and of the same length, ``channel`` then holds them along its axis of runs, as if they had been sent together.

    Returns
    -------
    (runs, n, p)

    Raises
    ------
    RunsDiffer
        Where some runs send other messages than others. It holds the results of each: an audit judges them in groups.

    Examples
    --------
    >>> def once(parts, channel):  # node 0 sends node 1 its mean, which ends with it
    ...     mean = channel.send(0, 0, 1, "mean", parts[0].mean(axis=0)[None])
    ...     return np.stack([parts[0].mean(axis=0), mean[0]])
    >>> channel = Channel()
    >>> run_by_run(once, [np.ones((3, 5, 2)), np.zeros((3, 5, 2))], channel).shape
    (3, 2, 2)
    >>> [block.payload.shape for block in channel.transcript]
    [(1, 3, 2)]
    """
    arrays = checked_parts(parts)
    transcripts: list[Transcript] = []
    results: list[Array] = []
    for run in range(arrays[0].shape[0]):
        channel.begin()
        results.append(np.asarray(once([part[run] for part in arrays], channel), dtype=np.float64))
        transcripts.append(channel.transcript)
    groups = _alike(transcripts, results)
    if len(groups) > 1:
        raise RunsDiffer(
            [
                Alike(tuple(runs), together([transcripts[r] for r in runs]), [results[r] for r in runs])
                for runs in groups
            ]
        )
    channel.transcript = together(transcripts)
    return np.stack(results)


@dataclass(frozen=True)
class Alike:
    """Runs that sent the same messages, but for the numbers in them."""

    runs: tuple[int, ...]  # their places among the runs of the call
    transcript: Transcript  # their messages, side by side
    results: list[Array]  # (n, p): for each of these runs, the numbers that each node ends with


class RunsDiffer(SecmixError):
    """The runs of one call sent different messages; ``groups`` holds those that sent the same, first come first."""

    def __init__(self, groups: list[Alike]) -> None:
        super().__init__(
            f"the runs sent different messages (other kinds, senders or lengths, {len(groups)} ways in all), so they "
            "cannot be put together; run them one by one, or send messages of fixed number and length"
        )
        self.groups = groups

    @property
    def results(self) -> Array:
        """The numbers that each node ends with, (runs, n, p), in the order of the runs.

        Raises SecmixError if some runs end with other numbers of numbers.
        """
        ends = {run: result for group in self.groups for run, result in zip(group.runs, group.results, strict=True)}
        if len({result.shape for result in ends.values()}) > 1:
            raise SecmixError("what nodes end with has another length in some runs; end all with the same length")
        return np.stack([ends[run] for run in sorted(ends)])


def _alike(transcripts: Sequence[Transcript], results: Sequence[Array]) -> list[list[int]]:
    """Group the runs that sent the same messages, types of numbers included, and ended with equally many numbers."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for run, (transcript, result) in enumerate(zip(transcripts, results, strict=True)):
        frame = (result.shape, *((*block.frame, block.payload.dtype.str) for block in transcript))
        groups.setdefault(frame, []).append(run)
    return list(groups.values())


def together(transcripts: Sequence[Transcript]) -> Transcript:
    """Join the transcripts of single runs side by side along the axis of runs.

    Raises SecmixError if the runs did not send the same messages: such a protocol must be audited run by run.
    """
    first = transcripts[0].blocks
    for other in transcripts[1:]:
        if [block.frame for block in other] != [block.frame for block in first]:
            raise SecmixError(
                "the runs sent different messages (other kinds, senders or lengths): these are joined group by group"
            )
    joined = Transcript()
    for blocks in zip(*transcripts, strict=True):
        head: Block = blocks[0]
        payload = np.concatenate([block.payload for block in blocks], axis=1)
        joined.append(
            Block(head.iteration, head.round, head.kind, head.line, head.sender, head.receiver, head.content, payload)
        )
    return joined


def checked_parts(parts: Sequence[ArrayLike], network: Network | None = None) -> list[Array]:
    """Convert ``parts`` to float64 arrays (runs, N_i, d) that agree in ``runs`` and d; check that each node has one."""
    arrays = [finite_array(part, f"the rows of node {i}", ndim=3) for i, part in enumerate(parts)]
    if not arrays or len({(part.shape[0], part.shape[2]) for part in arrays}) > 1:
        raise DataError(
            f"parts must be arrays (runs, N_i, d) that agree in runs and d; given {[part.shape for part in arrays]}"
        )
    if network is not None and len(arrays) != network.n:
        raise DataError(f"parts for {len(arrays)} nodes, but the network has {network.n}; give one part a node")
    return arrays


@dataclass(frozen=True)
class CollaborationWrapper:
    """A base for classes that wrap a collaboration; in all but ``collaborate`` they are the ``inner`` one."""

    inner: Any

    def error(self, results: Array, reference: Array) -> Array:
        """Compute the error of the inner collaboration."""
        return np.asarray(self.inner.error(results, reference))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)
