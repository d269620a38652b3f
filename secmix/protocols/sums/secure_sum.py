"""Secure summation on a Hamiltonian cycle (Lin, Clifton, Zhu 2005; Li 2022, section 4.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, positive, word
from secmix.errors import DataError, NetworkError, SecmixError
from secmix.network import Network
from secmix.protocols.interfaces import Advice, Revealed, checked_inputs, checked_masks
from secmix.transcript import Channel, Transcript

_MOST_NODES = 40  # on which another cycle is sought, among so many orders
_ORDERS = 200
_MOST_NEW = 3  # lines that may be worth laying


@dataclass(frozen=True)
class SecureSum:
    """A masked running sum round a Hamiltonian cycle; the starter unmasks the total and sends it round.

    What it reveals by design: to two corrupt nodes, the sum of the honest inputs on each arc of the cycle between
    them, so the input of an honest node that stands alone between two corrupt ones (eq. 11). To an eavesdropper:
    nothing while the lines are encrypted; without encryption everything.

    Parameters
    ----------
    arithmetic : {"real", "modular"}
        *real*: the mask is N(0, sigma²). *modular*: fixed-point numbers modulo 2^bits and a uniform mask, which hides
        perfectly; sums are exact to the grid 2^-fraction_bits, and a sum that does not fit is an error.
    sigma : float
        Standard deviation of the real mask, in the units of the inputs.
    bits, fraction_bits : int
        Word length of the modular arithmetic, at most 52 so that the sum of two words is an exact float64, and how many
        of its bits stand behind the binary point.
    encrypted : bool
        Whether the lines along the cycle are encrypted. The protocol needs it.
    cycle : sequence of int, optional
        The cycle to use, first node the starter; found by search when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix.network import Network
    >>> averages, _ = SecureSum(arithmetic="modular").average(
    ...     [[[1.0], [2.0], [6.0]]], Network.cycle(3), np.random.default_rng(0))
    >>> averages[0, :, 0].tolist()
    [3.0, 3.0, 3.0]
    """

    arithmetic: Literal["real", "modular"] = "real"
    sigma: float = 1e6
    bits: int = 52
    fraction_bits: int = 24
    encrypted: bool = True
    cycle: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.arithmetic not in ("real", "modular"):
            raise SecmixError(f"arithmetic is 'real' or 'modular'; given {self.arithmetic!r}")
        positive(self.sigma, "sigma")
        word(self.bits, self.fraction_bits)

    @property
    def modulus(self) -> float | None:
        """The modulus of the messages in the units of the inputs, or None in real arithmetic."""
        return 2.0 ** (self.bits - self.fraction_bits) if self.arithmetic == "modular" else None

    @property
    def grid(self) -> float:
        """Step of the fixed-point numbers; 0 in real arithmetic."""
        return 2.0**-self.fraction_bits if self.arithmetic == "modular" else 0.0

    def advise(self, revealed: Revealed) -> list[Advice]:
        """Suggest what to change where nodes are revealed."""
        if not revealed.nodes:
            return []
        advised = []
        if not self.encrypted:
            words = "Encrypt the lines along the cycle: the protocol hides nothing without it."
            advised.append(Advice(words, {"protocol.encrypted": True}, "encrypt the lines between them"))
        advised += _another_cycle(revealed)
        words = (
            "Or sum by PDMM: it hides the summed vector of a node as long as one of its neighbours in the network is "
            "honest."
        )
        return [*advised, Advice(words, {"protocol": {"name": "pdmm"}}, "add up by PDMM instead")]

    def exposure_graph(self, network: Network) -> Network | None:
        """Declare the cycle: corrupt nodes learn the sum over each arc between two of them, and nothing else (eq. 11).

        None where the lines are open, since whoever reads two of them knows as much as two corrupt nodes.
        """
        if not self.encrypted:
            return None
        order = self._order(network)
        return Network.from_edges(network.n, list(zip(order, (*order[1:], order[0]), strict=True)))

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw the starter's mask, (runs, 1, m)."""
        if self.arithmetic == "modular":
            return np.asarray(rng.integers(0, 2**self.bits, size=(runs, 1, m)) * 2.0**-self.fraction_bits, dtype=float)
        return rng.normal(scale=self.sigma, size=(runs, 1, m))

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Average ``inputs`` (runs, n, m); return the averages (runs, n, m) and the transcript.

        Raises
        ------
        NetworkError
            If the network has no Hamiltonian cycle, or ``cycle`` is not one.
        DataError
            If a sum does not fit the modular range.
        """
        s = checked_inputs(inputs, network)
        runs, n, m = s.shape
        order = self._order(network)
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(runs, m, network, rng)
        r = checked_masks(masks, runs, 1, m)[:, 0, :]
        s = self._encode(s)
        channel.hold(-1, np.arange(n), "input", s.transpose(1, 0, 2))
        channel.hold(-1, order[0], "mask", r)

        def hand_on(round: int, step: int, kind: str, payload: Array) -> Array:
            tail, head = order[step], order[(step + 1) % n]
            return channel.send(round, tail, head, kind, payload, encrypted=self.encrypted)

        running = self._add(s[:, order[0], :], r)
        for step in range(n):
            running = hand_on(step, step, "running sum", running)
            if step < n - 1:
                running = self._add(running, s[:, order[step + 1], :])
        total = self._decode(self._add(running, -r))
        averages = np.empty_like(s)
        averages[:, order[0], :] = total / n
        for step in range(n - 1):
            total = hand_on(n + step, step, "total", total)
            averages[:, order[step + 1], :] = total / n
        return averages, channel.transcript

    def _order(self, network: Network) -> tuple[int, ...]:
        if self.cycle is None:
            return network.hamiltonian_cycle()
        for v in self.cycle:
            if isinstance(v, bool) or not isinstance(v, (int, np.integer)):
                raise NetworkError(f"the cycle lists node numbers; given {v!r}")
        order = tuple(int(v) for v in self.cycle)
        if sorted(order) != list(range(network.n)):
            raise NetworkError(f"the cycle {list(order)} must visit each of the {network.n} nodes once")
        for a, b in zip(order, (*order[1:], order[0]), strict=True):
            if not network.graph.has_edge(a, b):
                raise NetworkError(
                    f"the cycle {list(order)} uses the edge {a}-{b}, which the network lacks; follow its edges"
                )
        return order

    def _encode(self, s: Array) -> Array:
        """Round inputs to the fixed-point grid; in real arithmetic leave them."""
        if self.modulus is None:
            return s
        fixed = np.round(s * 2.0**self.fraction_bits) * 2.0**-self.fraction_bits
        largest = np.abs(fixed).sum(axis=1).max()
        if largest >= self.modulus / 2:
            raise DataError(
                f"a sum may reach {float(largest):.3g}, beyond ±{self.modulus / 2:.3g}, the range of {self.bits} bits "
                f"with {self.fraction_bits} behind the point; scale the data down or lower fraction_bits"
            )
        return fixed

    def _add(self, a: Array, b: Array) -> Array:
        # Words are below 2^52, so sums and remainders of these float64 are exact integers (times the grid).
        return a + b if self.modulus is None else np.remainder(a + b, self.modulus)

    def _decode(self, word: Array) -> Array:
        if self.modulus is None:
            return word
        return np.where(word >= self.modulus / 2, word - self.modulus, word)


def _another_cycle(revealed: Revealed) -> list[Advice]:
    """Search for an order of the nodes in which the honest ones stand together, with as few new lines as possible."""
    network, corrupt = revealed.network, revealed.corrupt
    honest = [node for node in range(network.n) if node not in corrupt]
    if not corrupt or len(honest) < 2 or not 4 <= network.n <= _MOST_NODES:
        return []
    rng = np.random.default_rng(0)
    best: tuple[int, tuple[int, ...], list[tuple[int, int]]] | None = None
    for _ in range(_ORDERS):
        order = (*rng.permutation(honest).tolist(), *rng.permutation(sorted(corrupt)).tolist())
        pairs = zip(order, (*order[1:], order[0]), strict=True)
        new = sorted((min(pair), max(pair)) for pair in pairs if not network.graph.has_edge(*pair))
        if best is None or len(new) < best[0]:
            best = (len(new), order, new)
        if not new:
            break
    if best is None or best[0] > _MOST_NEW:
        return []
    _, order, new = best
    cycle = order[order.index(0) :] + order[: order.index(0)]
    plain = "arrange the circle of participants so that nobody stands between two of those who pool what they know"
    advice = f"Order the cycle so that honest nodes stand together: {', '.join(map(str, cycle))}"
    change: dict[str, Any] = {"protocol.cycle": list(cycle)}
    if new:
        lines = ", ".join(f"{a}–{b}" for a, b in new)
        advice += f". That takes the new line{'s' * (len(new) > 1)} {lines}"
        edges = sorted([*network.edges.tolist(), *map(list, new)])
        change["network"] = {"kind": "edges", "nodes": network.n, "edges": edges}
    return [Advice(f"{advice}.", change, plain)]
