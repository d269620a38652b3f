"""The shares of secure aggregation: how masks are shared, asked for and recovered.

A node and its neighbours are the *keepers* of its shares. Its secrets are its self mask and, as they make up its key,
the pair masks of all its edges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols.sums.fixed_point import FixedPoint
from secmix.protocols.sums.shamir import Words, recovery_coefficients, share_coefficients, weighted_sums
from secmix.transcript import SERVER, Channel

SELF, PAIRS = 1, 2
"""What a request asks of a client: a share of the self mask, or those of the pair masks; SELF + PAIRS is both."""


class TooFewShares(SecmixError):
    """Fewer shares than the threshold: a mask stays what it is."""


@dataclass(frozen=True)
class DealtShares:
    """All shares of one averaging."""

    network: Network
    code: FixedPoint
    thresholds: tuple[int, ...]  # how many shares recover a mask of each node
    # node -> keeper -> (1 + degree, runs, m): what each keeper holds of a node's self mask, and of its
    # pair masks in the order of its neighbours, as messages carry it: of many shares few are asked for
    shares: dict[int, dict[int, Array]]

    def recovered(self, node: int, answers: Mapping[int, Words]) -> Words:
        """Recover the secrets of ``node`` from the shares (count, runs, m) of its keepers.

        Raises TooFewShares if there are too few.
        """
        needed = self.thresholds[node]
        if len(answers) < needed:
            raise TooFewShares(
                f"the sum cannot be unmasked: {len(answers)} shares of node {node} came and {needed} are needed; let "
                "fewer nodes drop out, or lower the threshold"
            )
        chosen = dict(list(answers.items())[:needed])
        keepers = keepers_of(self.network, node)
        points = [keepers.index(v) + 1 for v in chosen]
        prime = self.code.prime
        return np.asarray(
            weighted_sums([recovery_coefficients(points, prime)], np.stack(list(chosen.values())), prime)[0]
        )


def keepers_of(network: Network, node: int) -> list[int]:
    """List who holds shares of the masks of ``node``: itself and its neighbours, in order."""
    return sorted({node, *network.neighbours(node)})


def deal(
    secrets: Mapping[int, Words],
    drawn: Words,
    thresholds: tuple[int, ...],
    network: Network,
    code: FixedPoint,
    channel: Channel,
) -> DealtShares:
    """Deal shares of ``secrets``, node -> (1 + degree, runs, m); ``drawn`` holds the first shares of each in turn."""
    shares_of: dict[int, dict[int, Array]] = {}
    for u, secret in secrets.items():
        keepers, count = keepers_of(network, u), (thresholds[u] - 1) * len(secret)
        first, drawn = drawn[:count], drawn[count:]
        first_shares = code.payload(first)
        channel.hold(0, [u] * count, "dealt share", first_shares)
        known = np.concatenate([secret[None], first.reshape(thresholds[u] - 1, *secret.shape)])
        rows = share_coefficients(thresholds[u], len(keepers))[thresholds[u] - 1 :]
        shares = [*first_shares.reshape(known[1:].shape), *code.payload(weighted_sums(rows, known, code.prime))]
        own, others = keepers.index(u), [v for v in keepers if v != u]
        sent = np.concatenate([*shares[:own], *shares[own + 1 :]])
        arrived = channel.send(0, u, np.repeat(others, len(secret)), "share", sent, encrypted=True)
        parts = np.split(arrived, len(others))
        shares_of[u] = {**dict(zip(others, parts, strict=True)), u: shares[own]}
    return DealtShares(network, code, thresholds, shares_of)


def wanted_of(node: int, survivors: list[int]) -> int:
    """Choose the shares an honest server asks for: of the self mask of a survivor, of the pair masks of all others."""
    return SELF if node in survivors else PAIRS


def requests(
    secret_shares: DealtShares, survivors: list[int], shape: tuple[int, ...], channel: Channel, *, encrypted: bool
) -> dict[int, dict[int, int]]:
    """Send the requests; return what each survivor is asked for, by client and node, as it arrived."""
    asked: dict[int, dict[int, int]] = {v: {} for v in survivors}
    for u in range(secret_shares.network.n):
        clients = [v for v in keepers_of(secret_shares.network, u) if v in asked]
        if not clients:
            continue
        wanted = np.full((len(clients), *shape), float(wanted_of(u, survivors)))
        arrived = channel.send(2, SERVER, clients, f"request about {u}", wanted, encrypted=encrypted)
        for v, request in zip(clients, arrived, strict=True):
            if (request != request[:1, :1]).any():
                raise SecmixError(f"a request about node {u} differs between runs or entries; make it the same in all")
            asked[v][u] = int(request[0, 0])
    return asked


def consents(asked: Mapping[int, int], threshold: int) -> bool:
    """Decide whether an honest client answers: nobody's shares of both kinds are wanted, and enough nodes survived.

    >>> consents({0: SELF, 1: PAIRS}, 1), consents({0: SELF, 1: SELF + PAIRS}, 1), consents({0: SELF, 1: PAIRS}, 2)
    (True, False, False)
    """
    return SELF + PAIRS not in asked.values() and sum(want == SELF for want in asked.values()) >= threshold


def answers(
    secret_shares: DealtShares, asked: Mapping[int, Mapping[int, int]], channel: Channel, *, encrypted: bool
) -> dict[int, tuple[dict[int, Words], dict[int, Words]]]:
    """Send the shares that clients are asked for; return those of self and pair masks by node, then by keeper."""
    received, code = {}, secret_shares.code
    for u in range(secret_shares.network.n):
        kinds: list[dict[int, Words]] = []
        for want, what, rows in ((SELF, "self mask", slice(1)), (PAIRS, "pair masks", slice(1, None))):
            by = [v for v in asked if asked[v].get(u, 0) in (want, SELF + PAIRS)]
            parts = [secret_shares.shares[u][v][rows] for v in by]
            if not by:
                kinds.append({})
                continue
            senders = np.repeat(by, [len(part) for part in parts])
            sent = code.payload(code.words(np.concatenate(parts)))
            arrived = channel.send(4, senders, SERVER, f"share of the {what} of {u}", sent, encrypted=encrypted)
            kinds.append(dict(zip(by, np.split(code.words(arrived), len(by)), strict=True)))
        received[u] = (kinds[0], kinds[1])
    return received
