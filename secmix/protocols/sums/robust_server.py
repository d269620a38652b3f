"""Federated averaging behind a robust rule: the server aggregates what it can see instead of summing it blindly."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer
from secmix.aggregators import RejectedMessages, Traits, rule_label, rule_named, traits_of
from secmix.aggregators.named import Rule
from secmix.aggregators.stacks import apply_to_each, takes_stacks
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols.interfaces import Advice, Revealed, checked_inputs
from secmix.transcript import SERVER, Channel, Transcript


@dataclass(frozen=True)
class RobustServer:
    """Every node sends its vector to a server, which applies a robust rule and sends the result back.

    What it reveals by design: everything to the server, as plain averaging; a rule can only judge messages it reads.
    That is the price of robustness, which secure summation and PDMM do not pay, nor get.

    Parameters
    ----------
    rule : str or callable
        A rule of ``secmix.aggregators``, such as "trimmed_mean" or "geometric_median", or one of your own: a function
        ``rule(messages (n, m), f=...) -> (m,)``, its name ``package.module:function``, or that of an entry point of the
        group ``secmix.aggregators``. It declares its claims (:class:`secmix.aggregators.Traits`).
    f : int
        How many Byzantine nodes the rule is set to.
    encrypted : bool
        Whether the lines between nodes and server are encrypted.

    Notes
    -----
    The result stands in for the average, so that nodes should hold about equally many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix.network import Network
    >>> averages, _ = RobustServer(rule="coordinate_median").average(
    ...     [[[1.0], [2.0], [900.0]]], Network.complete(3), np.random.default_rng(0))
    >>> averages[0, :, 0].tolist()
    [2.0, 2.0, 2.0]
    """

    rule: str | Rule = "trimmed_mean"
    f: int = 1
    encrypted: bool = False

    def __post_init__(self) -> None:
        integer(self.f, "f", 0)
        _ = self.function  # found now, where an error still says who asked for it

    @cached_property
    def function(self) -> Rule:
        """The rule itself."""
        return rule_named(self.rule)

    @property
    def traits(self) -> Traits | None:
        """The claims of the rule; None where it declares nothing."""
        return traits_of(self.function)

    def aggregate(self, messages: Array, f: int | None = None) -> Array:
        """Apply the rule to messages (n, m): (m,).

        Raises
        ------
        SecmixError
            The rule refuses the messages, fails on them, or returns something else than one vector.
        """
        name = rule_label(self.rule)
        try:
            with warnings.catch_warnings():
                # The server sets bad messages aside and goes on; the transcript shows what it was sent.
                warnings.simplefilter("ignore", RejectedMessages)
                output = self.function(messages, f=self.f if f is None else f)
            result = np.asarray(output, dtype=np.float64)
        except SecmixError:
            raise
        except Exception as error:
            raise SecmixError(f"the rule {name} fails on messages {messages.shape}: {error}"[:300]) from error
        if result.shape != messages.shape[1:]:
            raise SecmixError(f"the rule {name} returned shape {result.shape}; expected {messages.shape[1:]}")
        return result

    def aggregate_each(self, stack: Array, f: int | None = None) -> Array:
        """Aggregate each of several sets of messages (s, n, m) as :meth:`aggregate` does, bit for bit: (s, m).

        Raises
        ------
        SecmixError
            As there, for any of the sets.
        """
        # A class of your own may aggregate its own way.
        if type(self).aggregate is RobustServer.aggregate and takes_stacks(self.function):
            with warnings.catch_warnings(), contextlib.suppress(Exception):  # which set fails and why is found below
                warnings.simplefilter("ignore", RejectedMessages)
                return apply_to_each(self.function, stack, self.f if f is None else f)
        return np.stack([self.aggregate(messages, f) for messages in stack])

    def advise(self, revealed: Revealed) -> list[Advice | str]:
        """Suggest what to change where colluders move the aggregate too far."""
        if not revealed.colluders:
            return []
        if self.f < revealed.colluders <= (revealed.network.n - 1) // 2:
            words = (
                f"Set f to {revealed.colluders}: the rule is set to {self.f} and meets {revealed.colluders} colluders."
            )
            plain = f"set the rule to as many as {revealed.colluders} liars"
            return [Advice(words, {"protocol.f": revealed.colluders}, plain, "falsehood")]
        if self.rule != "trimmed_mean" and 2 * revealed.colluders < revealed.network.n:
            words = "Take a rule with a smaller worst case here, such as the trimmed mean, or more honest nodes."
            change = {"protocol.rule": "trimmed_mean", "protocol.f": revealed.colluders}
            return [Advice(words, change, "combine by a rule that discards the extremes", "falsehood")]
        return ["Admit more honest nodes, or fewer strangers: so many colluders beat this rule by their number."]

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw no masks: (runs, 0, m)."""
        return np.empty((runs, 0, m))

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Aggregate ``inputs`` (runs, n, m) by the rule in place of averaging; return the results and the transcript.

        Raises
        ------
        SecmixError
            If the network has too few nodes for the rule at this f.
        """
        s = checked_inputs(inputs, network)
        channel = channel or Channel()
        nodes = np.arange(network.n)
        channel.hold(-1, nodes, "input", s.transpose(1, 0, 2))
        received = channel.send(0, nodes, SERVER, "input", s.transpose(1, 0, 2), encrypted=self.encrypted)
        result = self.aggregate_each(np.ascontiguousarray(received.transpose(1, 0, 2)))
        back = np.zeros(network.n, dtype=np.intp)  # one content for all
        result = channel.send(1, SERVER, nodes, "aggregate", result[None], encrypted=self.encrypted, content=back)[0]
        return np.repeat(result[:, None, :], network.n, axis=1), channel.transcript
