"""What a check tried, for the reader who wants to know what "passed" is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class AggregatorCheck:
    """What ``check_aggregator`` tried without finding a broken promise.

    Attributes
    ----------
    rule : str
    cases : mapping from property to count
    calls : int
        Results of the rule that were compared with what they should be.
    n, p, f : (least, most)
        Numbers of messages, of entries, and what the rule was set to.
    types, layouts : mapping to count
        Number types of the messages, and how they lay in memory.
    refused : mapping from (n, p, f, type, layout) to count
        Shapes of which the rule takes no messages, whatever they hold: nothing was tried on them.
    searches, evaluations : int
        Worst-case searches, and how often they called the rule.
    values, directions : int
        Numbers and vectors found in the rule's code and variables, and tried on purpose.
    unread : bool
        The rule's code could not be read, so that none were found.
    seed : int
        With which everything can be drawn again.
    """

    rule: str
    cases: Mapping[str, int]
    calls: int
    n: tuple[int, int]
    p: tuple[int, int]
    f: tuple[int, int]
    types: Mapping[str, int]
    layouts: Mapping[str, int]
    refused: Mapping[tuple[int, int, int, str, str], int] = field(default_factory=dict)
    searches: int = 0
    evaluations: int = 0
    values: int = 0
    directions: int = 0
    unread: bool = False
    seed: int = 0

    def missed(self, share: float) -> float:
        """The probability that a fault in this share of the calls went unseen.

        >>> check = AggregatorCheck("rule", {"consensus": 50}, 7000, (3, 9), (1, 3), (1, 1), {}, {})
        >>> round(check.missed(1 / 997), 4)
        0.0009
        """
        return math.exp(self.calls * math.log1p(-share)) if share < 1 else 0.0

    @property
    def share(self) -> float:
        """The largest share of calls in which a fault would go unseen with a probability of 1 %."""
        return 1 - math.exp(math.log(0.01) / max(self.calls, 1))

    def assumptions(self) -> tuple[str, ...]:
        """What the check takes for granted, in sentences."""
        lines = [
            f"a fault that shows in fewer than one in {1 / self.share:.0f} of the calls that were drawn may have been "
            "missed (at 1 %)",
            f"nothing was tried beyond n = {self.n[1]}, p = {self.p[1]} and f = {self.f[1]}",
            "a single direction among many entries, or a single value, is tried where the rule's code or its variables "
            "show it" + ("; this rule's code could not be read" if self.unread else ""),
        ]
        if self.refused:
            shapes = ", ".join(f"n = {n}, p = {p}, f = {f}, {t}" for n, p, f, t, _ in list(self.refused)[:3])
            lines.append(f"the rule takes no messages of {len(self.refused)} shapes that were drawn ({shapes}, ...)")
        return tuple(lines)

    def __str__(self) -> str:
        def span(name: str, ends: tuple[int, int]) -> str:
            return f"{name} {ends[0]} to {ends[1]}" if ends[0] < ends[1] else f"{name} = {ends[0]}"

        def counts(of: Mapping[str, int]) -> str:
            return ", ".join(f"{name} {count}" for name, count in of.items())

        return "\n".join([
            f"{self.rule}: no broken promise found in {sum(self.cases.values())} cases, {self.calls} results compared",
            f"  sizes: {span('n', self.n)}, {span('p', self.p)}, {span('f', self.f)}",
            f"  properties: {counts(self.cases)}",
            f"  number types: {counts(self.types)}",
            f"  memory: {counts(self.layouts)}",
            f"  from the rule's code: {self.values} numbers and {self.directions} vectors tried on purpose",
            f"  worst-case searches: {self.searches}, {self.evaluations} evaluations",
            f"  seed: {self.seed}",
            *(f"  assumed: {sentence}" for sentence in self.assumptions()),
        ])  # fmt: skip


@dataclass(frozen=True)
class ProtocolCheck:
    """What ``check_protocol`` tried without finding a broken promise.

    Attributes
    ----------
    protocol : str
    cases : mapping from property to count
    calls : int
        Runs of the protocol that were looked at.
    nodes, runs, entries : (least, most)
        Sizes of the networks, of the batches, and of the vectors (of a collaboration: features of a row).
    networks : mapping from kind to count
    refused : int
        Networks that the protocol does not run on.
    coalitions : int
        Adversaries whose knowledge was compared with what is stated.
    less : int
        Of those, how many learn less than is stated.
    seed : int
    """

    protocol: str
    cases: Mapping[str, int]
    calls: int
    nodes: tuple[int, int]
    runs: tuple[int, int]
    entries: tuple[int, int]
    networks: Mapping[str, int]
    refused: int = 0
    coalitions: int = 0
    less: int = 0
    seed: int = 0

    def assumptions(self) -> tuple[str, ...]:
        """What the check takes for granted, in sentences."""
        lines = [
            f"nothing was tried beyond {self.nodes[1]} nodes, {self.runs[1]} runs and {self.entries[1]} entries",
            f"what happens in fewer than one in {max(self.calls // 3, 1)} calls may have been missed",
        ]
        if "reveals" in self.cases:
            lines.append("what masks of this size hide was not judged, only what they hide however large: audit it")
        if not self.coalitions:
            lines.append("what the messages tell an adversary was not judged: audit the protocol for that")
        return tuple(lines)

    def __str__(self) -> str:
        def span(ends: tuple[int, int]) -> str:
            return f"{ends[0]} to {ends[1]}" if ends[0] < ends[1] else str(ends[0])

        counts = ", ".join(f"{name} {count}" for name, count in self.cases.items())
        kinds = ", ".join(f"{name} {count}" for name, count in self.networks.items())
        return "\n".join([
            f"{self.protocol}: no broken promise found in {sum(self.cases.values())} cases, {self.calls} runs",
            f"  sizes: {span(self.nodes)} nodes, {span(self.runs)} runs at once, {span(self.entries)} entries",
            f"  properties: {counts}",
            f"  networks: {kinds}; {self.refused} refused",
            f"  adversaries: {self.coalitions}, of which {self.less} learn less than is stated",
            f"  seed: {self.seed}",
            *(f"  assumed: {sentence}" for sentence in self.assumptions()),
        ])  # fmt: skip
