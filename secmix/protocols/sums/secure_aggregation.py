"""Secure aggregation with drop-outs (Bonawitz et al. 2017, Practical secure aggregation; Bell et al. 2020).

A node u sends y_u = x_u + b_u + Σ_{v<u} p_uv − Σ_{v>u} p_uv modulo a prime: b_u is its *self mask*, p_uv the *pair
mask* that it shares with its neighbour v. Both are shared by Shamir's scheme among u and its neighbours. Once the
server knows who survived it asks for shares of the self masks of those, and of the pair masks of all others; what is
left of Σ y_u is Σ x_u over the survivors.

Here masks are drawn whole. A deployment expands them from seeds, and shares seeds; the proof of security puts uniform
masks in their place first (Bonawitz et al. 2017, hybrids 1 to 4 of Theorem 6.3), and that is what runs here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer
from secmix.errors import NetworkError, SecmixError
from secmix.network import Network, nodes_in_words
from secmix.protocols.interfaces import Revealed, checked_inputs, checked_masks
from secmix.protocols.sums.fixed_point import FixedPoint
from secmix.protocols.sums.mask_shares import DealtShares, answers, consents, deal, keepers_of, requests, wanted_of
from secmix.protocols.sums.shamir import Words
from secmix.transcript import SERVER, Channel, Transcript


@dataclass(frozen=True)
class SecureAggregation:
    """Sums at a server under masks that cancel, whoever drops out, as long as enough nodes answer.

    Pair masks follow the edges of the network: complete, it is the protocol of Bonawitz et al. (2017); with fewer
    edges that of Bell et al. (2020).

    What it reveals by design: to a server with corrupt nodes who hold fewer than the threshold of shares of each honest
    node, the sum of the honest survivors' inputs over each piece that is left of the network without all others; to
    nodes without the server, and to an eavesdropper on encrypted lines, the total at most.

    Parameters
    ----------
    threshold : int, optional
        How many shares recover a mask. By default ⌊2 k / 3⌋ + 1 of the k shares of a node, the least that a dishonest
        server cannot get round with up to a third of the shares (Bonawitz et al. 2017, section 4.4).
    dropped : sequence of int
        Nodes that fall silent after the shares are dealt: they are not summed.
    late : sequence of int
        Nodes whose masked vector arrives after the server counted them as dropped out: they are not summed, the server
        holds their vector, and only their self mask hides it.
    silent : sequence of int
        Nodes that send their masked vector and do not answer the server's request: they are summed.
    refuses : bool
        Whether a client that is asked for both shares of one node answers neither. Without it the protocol hides
        nothing from a server that asks; the option is there so that the audit can show it.
    bits, fraction_bits : int
        The modulus is the largest prime below 2^bits; so many bits stand behind the binary point. At most 52, so that
        words are exact in float64.
    encrypted : bool
        Whether the lines to the server are encrypted. Lines between nodes always are.

    Examples
    --------
    >>> averages, _ = SecureAggregation(dropped=[3]).average(
    ...     [[[1.0], [2.0], [6.0], [100.0]]], Network.complete(4), np.random.default_rng(0))
    >>> averages[0, :, 0].tolist()
    [3.0, 3.0, 3.0, nan]
    """

    threshold: int | None = None
    dropped: Sequence[int] = ()
    late: Sequence[int] = ()
    silent: Sequence[int] = ()
    refuses: bool = True
    bits: int = 52
    fraction_bits: int = 24
    encrypted: bool = True

    def __post_init__(self) -> None:
        if self.threshold is not None:
            integer(self.threshold, "threshold", 1)
        FixedPoint(self.bits, self.fraction_bits)
        gone = [*self.dropped, *self.late, *self.silent]
        if len(set(gone)) != len(gone):
            raise SecmixError(f"a node is dropped, late or silent, and only one of them; given {gone}")

    @property
    def code(self) -> FixedPoint:
        """The code that writes numbers as words."""
        return FixedPoint(self.bits, self.fraction_bits)

    @property
    def modulus(self) -> float:
        """The modulus of the messages, in the units of the inputs."""
        return self.code.prime * self.grid

    @property
    def grid(self) -> float:
        """Step of the fixed-point numbers."""
        return self.code.grid

    def advise(self, revealed: Revealed) -> list[str]:
        """Suggest what to change where nodes are revealed."""
        if not revealed.nodes:
            return []
        who, network = nodes_in_words(revealed.nodes), revealed.network
        sentences = [] if self.encrypted else ["Encrypt the lines to the server."]
        if not self.refuses:
            sentences.append("Let clients refuse a server that asks for both kinds of share of one node.")
        known = {u: len(revealed.corrupt & set(keepers_of(network, u))) for u in revealed.nodes}
        if any(known[u] >= self.threshold_of(network, u) for u in revealed.nodes):
            sentences.append(f"Raise the threshold: corrupt nodes hold enough shares to unmask {who} by themselves.")
        elif any(2 * self.threshold_of(network, u) <= len(keepers_of(network, u)) + known[u] for u in revealed.nodes):
            sentences.append(
                f"Raise the threshold above half of all shares and corrupt shares together: a server that asks some "
                f"clients for one kind of share and the others for the other kind unmasks {who}."
            )
        return sentences

    def exposure_graph(self, network: Network) -> Network | None:
        """Declare the complete graph: corrupt nodes without the server learn the total, and nothing else.

        They hold shares of masks and no masked vector. None where the lines to the server are open, or a node drops
        out, so that the total is of fewer.
        """
        return None if not self.encrypted or self.dropped or self.late else Network.complete(network.n)

    def threshold_of(self, network: Network, node: int) -> int:
        """Compute how many shares recover a mask of ``node``."""
        shares = len(keepers_of(network, node))
        if self.threshold is None:
            return 2 * shares // 3 + 1
        if self.threshold > shares:
            raise NetworkError(
                f"threshold = {self.threshold}, but node {node} and its neighbours hold {shares} shares; lower the "
                "threshold or add edges"
            )
        return self.threshold

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw self masks, pair masks and the first shares of both, uniform over the words: (runs, k, m)."""
        words = rng.integers(0, self.code.prime, size=(runs, self._count(network), m))
        return np.asarray(words * self.grid, dtype=float)

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Average the survivors' ``inputs`` (runs, n, m), NaN at nodes that are gone; return the transcript too.

        Where the server asks for something else than the protocol says, and too few clients answer to unmask the sum,
        the protocol ends without a sum: all averages are NaN.

        Raises
        ------
        NetworkError
            If a node that is to drop out does not exist, or a node has fewer neighbours than the threshold asks for.
        DataError
            If a sum does not fit the range of the words.
        SecmixError
            If so many drop out that the sum cannot be unmasked.
        """
        s = checked_inputs(inputs, network)
        runs, n, m = s.shape
        network.node_set([*self.dropped, *self.late, *self.silent], "dropped-out")
        channel, code = channel or Channel(), self.code
        if masks is None:
            masks = self.draw_masks(runs, m, network, rng)
        drawn = code.words(checked_masks(masks, runs, self._count(network), m).transpose(1, 0, 2))
        own, edges, first_shares = np.split(drawn, [n, n + len(network.edges)])
        x = code.encoded(s)
        channel.hold(-1, np.arange(n), "input", np.asarray(x * code.grid, dtype=np.float64))
        channel.hold(-1, np.arange(n), "mask", code.payload(own))
        pairs = _agreed(edges, network, code, channel)
        secrets = {u: np.stack([own[u], *pairs[u].values()]) for u in range(n)}
        thresholds = tuple(self.threshold_of(network, u) for u in range(n))
        secret_shares = deal(secrets, first_shares, thresholds, network, code, channel)

        def masked(round: int, nodes: list[int]) -> Words:
            """Send the vectors of ``nodes`` under their masks, and return what the server gets."""
            hidden = [x[u] + own[u] + sum(_sign(u, v) * p for v, p in pairs[u].items()) for u in nodes]
            sent = code.payload(np.stack(hidden))
            return code.words(channel.send(round, nodes, SERVER, "masked", sent, encrypted=self.encrypted))

        survivors = [u for u in range(n) if u not in {*self.dropped, *self.late}]
        if not survivors:
            raise SecmixError("no node is left whose vector could be summed; let fewer drop out")
        total = masked(1, survivors).sum(axis=0)
        asked = requests(secret_shares, survivors, (runs, m), channel, encrypted=self.encrypted)
        if self.late:
            masked(3, sorted(self.late))
        willing = {
            v: wanted
            for v, wanted in asked.items()
            if v not in self.silent and (not self.refuses or consents(wanted, thresholds[v]))
        }
        answered = answers(secret_shares, willing, channel, encrypted=self.encrypted)
        averages = np.full_like(s, np.nan)
        needed = _shares_needed(secret_shares, survivors, answered)
        too_few = any(len(shares) < thresholds[u] for u, shares in needed.items())
        if too_few and any(want != wanted_of(u, survivors) for v in asked for u, want in asked[v].items()):
            return averages, channel.transcript
        masks_left = _masks_left(
            secret_shares, survivors, needed
        )  # an error where the drop-outs that were set are too many
        plain = code.decoded((total - masks_left) % code.prime)
        there = [u for u in survivors if u not in self.silent]
        one_for_all = np.zeros(len(there), dtype=np.intp)
        plain = channel.send(5, SERVER, there, "total", plain[None], encrypted=self.encrypted, content=one_for_all)
        averages[:, there] = plain.transpose(1, 0, 2) / len(survivors)
        return averages, channel.transcript

    def _count(self, network: Network) -> int:
        """Count the numbers that are drawn for an entry."""
        shares = [(self.threshold_of(network, u) - 1) * (1 + len(network.neighbours(u))) for u in range(network.n)]
        return network.n + len(network.edges) + sum(shares)


def _sign(node: int, neighbour: int) -> int:
    """Return the sign with which ``node`` adds the mask that it shares with ``neighbour``."""
    return 1 if neighbour < node else -1


def _agreed(drawn: Words, network: Network, code: FixedPoint, channel: Channel) -> dict[int, dict[int, Words]]:
    """Send the pair masks from the ends that draw them; return what each end has, by neighbour in order."""
    first, second = network.edges.T
    channel.hold(-1, first, "pair mask", code.payload(drawn))
    arrived = code.words(channel.send(-1, first, second, "pair mask", code.payload(drawn), encrypted=True))
    pairs: dict[int, dict[int, Words]] = {u: {} for u in range(network.n)}
    for e, (u, v) in enumerate(network.edges.tolist()):
        pairs[u][v], pairs[v][u] = drawn[e], arrived[e]
    return {u: dict(sorted(masks.items())) for u, masks in pairs.items()}


def _shares_needed(
    secret_shares: DealtShares, survivors: list[int], answered: dict[int, tuple[dict[int, Words], dict[int, Words]]]
) -> dict[int, dict[int, Words]]:
    """Pick, for each node whose masks are in the sum, the shares that recover them, by keeper."""
    needed = {}
    for u in range(secret_shares.network.n):
        if u in survivors:
            needed[u] = answered[u][0]
        elif set(secret_shares.network.neighbours(u)) & set(survivors):
            needed[u] = answered[u][1]
    return needed


def _masks_left(secret_shares: DealtShares, survivors: list[int], needed: dict[int, dict[int, Words]]) -> Words:
    """Add up what the masked vectors of the survivors hold beside their inputs, modulo the prime."""
    left: list[Words] = []
    for u, shares in needed.items():
        secrets = secret_shares.recovered(u, shares)
        if u in survivors:
            left.append(secrets[0])
        else:
            pairs = zip(secret_shares.network.neighbours(u), secrets, strict=True)
            left += [_sign(v, u) * p for v, p in pairs if v in survivors]
    return np.asarray(sum(left) % secret_shares.code.prime)
