"""Summaries of checks, for the reader who wants to know what "passed" is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class AggregatorCheck:
    """Trials of ``check_aggregator`` that found no broken promise; spans are (least, most)."""

    rule: str
    cases: Mapping[str, int]  # by promise
    calls: int  # results of the rule that were compared with what they should be
    n: tuple[int, int]
    p: tuple[int, int]
    f: tuple[int, int]  # what the rule was set to
    types: Mapping[str, int]  # number types of the messages
    layouts: Mapping[str, int]  # how they lay in memory
    refused: Mapping[tuple[int, int, int, str, str], int]  # (n, p, f, type, layout) that the rule does not take
    searches: int  # for the worst case
    evaluations: int  # of the rule, in these searches
    values: int  # numbers that the rule's code names, tried on purpose
    seed: int

    def missed(self, share: float) -> float:
        """Return the probability that a fault in this share of the calls went unseen.

        >>> check = AggregatorCheck("rule", {}, 7000, (3, 9), (1, 3), (1, 1), {}, {}, {}, 0, 0, 0, 0)
        >>> round(check.missed(1 / 997), 4)
        0.0009
        """
        return math.exp(self.calls * math.log1p(-share)) if share < 1 else 0.0

    @property
    def share(self) -> float:
        """Return the largest share of calls in which a fault would go unseen with a probability of 1 %."""
        return 1 - math.exp(math.log(0.01) / max(self.calls, 1))

    def assumptions(self) -> tuple[str, ...]:
        """Return what the check takes for granted, in sentences."""
        shapes = ", ".join(f"n = {n}, p = {p}, f = {f}, {t}" for n, p, f, t, _ in list(self.refused)[:3])
        refused = f"the rule takes no messages of {len(self.refused)} shapes that were drawn ({shapes}, ...)"
        return (
            f"a fault that shows in fewer than one in {1 / self.share:.0f} of the calls that were drawn may have been "
            "missed (at 1 %)",
            f"nothing was tried beyond n = {self.n[1]}, p = {self.p[1]} and f = {self.f[1]}",
            "a single value, or a single size, is tried where the rule's code names it, a single direction is not",
            "the author of the rule is honest, and may be mistaken: it does not look for the check",
            *([refused] if self.refused else []),
        )

    def __str__(self) -> str:
        return "\n".join([
            f"{self.rule}: no broken promise found in {sum(self.cases.values())} cases, {self.calls} results compared",
            f"  sizes: n {_span(self.n)}, p {_span(self.p)}, f {_span(self.f)}",
            f"  promises: {_counts(self.cases)}",
            f"  number types: {_counts(self.types)}",
            f"  memory: {_counts(self.layouts)}",
            f"  from the rule's code: {self.values} numbers tried on purpose",
            f"  worst-case searches: {self.searches}, {self.evaluations} evaluations",
            f"  seed: {self.seed}",
            *(f"  assumed: {sentence}" for sentence in self.assumptions()),
        ])  # fmt: skip


@dataclass(frozen=True)
class ProtocolCheck:
    """Trials of ``check_protocol`` that found no broken promise, and what it proved; spans are (least, most)."""

    protocol: str
    cases: Mapping[str, int]  # by promise
    calls: int  # runs of the protocol that were looked at
    nodes: tuple[int, int]
    runs: tuple[int, int]  # at once
    entries: tuple[int, int]  # of a vector; of a collaboration, features of a row
    networks: Mapping[str, int]  # by kind
    refused: int  # networks that the protocol does not run on
    proved: int  # adversaries that learn what is stated and no more, whatever the data, as the kernel proves
    unproved: Mapping[str, int]  # others, by the line at which the proof ends or the calls for which alone it holds
    less: int  # adversaries who learn less than is stated
    seed: int
    seconds: float = field(default=0.0, compare=False)
    left_out: int = 0  # cases for which no time was left
    left_seconds: float = field(default=0.0, compare=False)  # that they would have taken at least

    @property
    def coalitions(self) -> int:
        """Count the adversaries for which a proof was tried."""
        return self.proved + sum(self.unproved.values())

    def time_spent(self) -> str:
        """Say how many cases the time sufficed for, and what was left out."""
        tried = sum(self.networks.values()) + self.refused
        takes = f", which take {self.left_seconds:.0f} s or more," if self.left_seconds >= 1 else ""
        return (
            f"tried {tried} of {tried + self.left_out} cases in {self.seconds:.0f} s; the other {self.left_out}{takes} "
            "were left out, and nothing is said of them (seconds= gives more time)"
        )

    def assumptions(self) -> tuple[str, ...]:
        """Return what the check takes for granted, in sentences."""
        lines = {
            f"nothing was tried beyond {self.nodes[1]} nodes, {self.runs[1]} runs and {self.entries[1]} entries": True,
            "the author of the protocol is honest, and may be mistaken": True,
            "a proof is of the networks and the sizes that were tried": self.proved,
            "without a proof, what happens in few calls or for few data may have been missed: audit it": self.unproved,
            "without a proof nothing tells what follows from messages: of masks expanded from seeds only reuse is "
            "tried": self.unproved and "leaks" not in self.cases,
            "masks are only known to be larger than inputs of size 1: audit what they hide": self.coalitions,
            "what the messages tell an adversary was not judged: audit the protocol for that": not self.coalitions,
        }
        return tuple(sentence for sentence, holds in lines.items() if holds)

    def __str__(self) -> str:
        of = f"of {self.coalitions} adversaries"
        proved = [f"  proved: {self.proved} {of} learn what is stated and no more, whatever the data"]
        return "\n".join([
            f"{self.protocol}: no broken promise found in {sum(self.cases.values())} cases, {self.calls} runs",
            *([f"  time: {self.time_spent()}"] if self.left_out else []),
            *(proved if self.proved else []),
            *(f"  {reason} ({count} {of})" for reason, count in self.unproved.items()),
            f"  sizes: {_span(self.nodes)} nodes, {_span(self.runs)} runs at once, {_span(self.entries)} entries",
            f"  promises: {_counts(self.cases)}",
            f"  networks: {_counts(self.networks)}; {self.refused} refused",
            f"  adversaries: {self.coalitions}, of which {self.less} learn less than is stated",
            f"  seed: {self.seed}",
            *(f"  assumed: {sentence}" for sentence in self.assumptions()),
        ])  # fmt: skip


def _counts(of: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in of.items())


def _span(ends: tuple[int, int]) -> str:
    return f"{ends[0]} to {ends[1]}" if ends[0] < ends[1] else str(ends[0])
