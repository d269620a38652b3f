"""What departs from c + A s + M r is found: one wrong protocol a mechanism; nothing is found in right ones.

A right protocol differs from each wrong one by a line. The wrong one gives node 0's data away in that line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import secmix
from secmix import Network
from secmix.adversaries import Adversary, CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.soundness import Soundness, examine, examine_collaboration
from secmix.auditing.soundness.masks.traced import Logged, trace
from secmix.estimators.unequal import explained
from secmix.protocols import PDMM, Plain, SecureSum
from secmix.transcript import SERVER, Channel

N = 5
NETWORK = Network.complete(N)
INPUTS = {t: np.random.default_rng(t).normal(size=(N, 20, 3)) for t in (0, 3)}


@dataclass(frozen=True)
class Dealt:
    """A dealer gives each node a mask; it is told the masked inputs, and a server their sum (Beaver 1997)."""

    sigma: float = 1e3

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(scale=self.sigma, size=(runs, network.n, m))

    def average(
        self, inputs: Any, network: Network, rng: Any, *, masks: Any = None, channel: Channel | None = None
    ) -> Any:
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(len(inputs), np.shape(inputs)[2], network, rng)
        s, r = (np.asarray(part, dtype=float).transpose(1, 0, 2) for part in (inputs, masks))
        nodes = np.arange(network.n)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, nodes, "mask", r)
        received = channel.send(0, nodes, SERVER, "masked", self.sent(s, r, rng, channel))
        total = channel.send(1, nodes, SERVER, "mask", r, encrypted=True).sum(axis=0)
        mean = (received.sum(axis=0) - total) / network.n
        back = np.zeros(network.n, dtype=int)
        channel.send(2, SERVER, nodes, "average", mean[None], content=back)
        return np.repeat(mean[:, None], network.n, axis=1), channel.transcript

    def sent(self, s: np.ndarray, r: np.ndarray, rng: Any, channel: Channel) -> np.ndarray:
        return s + r


OUT = Eavesdropper()


def found(protocol: Any, adversary: Adversary = OUT) -> set[str]:
    """The checks that fail."""
    sound = examine(protocol, NETWORK, adversary, INPUTS)
    return {check.name for check in sound.checks if check.failed}


@pytest.mark.parametrize(
    ("protocol", "adversary"),
    [
        (Dealt(), OUT),
        (Plain(), CuriousServer()),
        (Plain(encrypted=True), HonestButCurious({2})),
        (SecureSum(), HonestButCurious({1, 3})),
        (SecureSum(sigma=1.0), HonestButCurious({1, 3})),
        (SecureSum(arithmetic="modular"), HonestButCurious({1, 3})),
        (PDMM(), HonestButCurious({1, 3})),
        (PDMM(sigma=1.0), OUT),
        (PDMM(schedule="asynchronous", loss=0.3), HonestButCurious({2}, eavesdrops=False)),
        (PDMM(schedule="synchronous"), OUT),
        (PDMM(dropout=(4, 20)), Eavesdropper(tapped=[(0, 1)])),
    ],
)
def test_nothing_is_found_in_right_protocols(protocol: Any, adversary: Adversary) -> None:
    assert found(protocol, adversary) == set()


class Squared(Dealt):
    def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
        return s + r + s**2 - s


class Counting(Dealt):
    calls: list[int]

    def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
        count = self.__dict__.setdefault("calls", [])
        count.append(0)
        return s if len(count) > 20 else s + r


class Alone(Dealt):
    def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
        return s if s.shape[1] == 1 else s + r


class OwnMasks(Dealt):
    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        masks = np.zeros_like(np.asarray(inputs)) if masks is None else masks
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class Above(Dealt):
    def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
        return np.where(np.abs(s) > 500, s, s + r)


class AtLength(Dealt):
    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        ended, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        if np.abs(np.asarray(inputs)).max() > 1e4:  # nothing that was sent before is any different
            channel.send(3, 0, SERVER, "more", np.asarray(inputs)[:, 0])
        return ended, transcript


class Spelling(Dealt):
    def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
        channel.send(0, 0, SERVER, "idle" if s[0, 0, 0] < 0 else "idle ", np.zeros_like(s[0]))
        return s + r


class LastBit(Dealt):
    def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
        bits = (s + r).view(np.uint64) & ~np.uint64(1)
        return (bits | (s[:1] < 0).astype(np.uint64)).view(float)


class Offset(Dealt):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return 5e6 + 1e-3 * super().draw_masks(runs, m, network, rng)


class OwnSeed(Dealt):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return super().draw_masks(runs, m, network, np.random.default_rng(int(rng.integers(16))))


class SeldomOpen(Dealt):
    def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
        return s**2 if rng.random() < 1e-4 else s + r


class Aside(Dealt):
    def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
        Channel().send(0, 0, SERVER, "aside", s[0])
        return s + r


class Erased(Dealt):
    def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
        channel.send(0, 0, SERVER, "aside", s[0])
        channel.transcript.blocks.pop()
        return s + r


@dataclass(frozen=True)
class EvenMasks(SecureSum):
    """Modular, but the mask enters twice over: the last bit of a word is bare."""

    arithmetic: Any = "modular"

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if masks is None:
            masks = self.draw_masks(len(inputs), np.shape(inputs)[2], network, rng)
        doubled = np.remainder(2 * masks, self.modulus)
        return super().average(inputs, network, rng, masks=doubled, channel=channel)


class Unrecorded(Dealt):
    """Needs no mask where nobody keeps a record."""

    def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
        return s + r * channel.record


class Rewound(Dealt):
    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> np.ndarray:
        before = rng.bit_generator.state
        drawn = super().draw_masks(runs, m, network, rng)
        rng.bit_generator.state = before
        return drawn


@pytest.mark.parametrize(
    ("wrong", "by"),
    [
        (Squared(), "linearity"),
        (Counting(), "state"),
        (Alone(), "calls"),
        (OwnMasks(), "calls"),
        (Above(), "homogeneity"),
        (AtLength(), "homogeneity"),
        (Spelling(), "replay"),
        (LastBit(), "exact replay"),
        (Offset(), "mask provenance"),
        (OwnSeed(), "mask provenance"),
        (SeldomOpen(), "public draws"),
        (Unrecorded(), "calls"),
        (Rewound(), "mask provenance"),
        (Aside(), "linearity"),
        (Erased(), "linearity"),
    ],
)
def test_each_check_finds_what_it_is_for(wrong: Any, by: str) -> None:
    assert by in found(wrong)


class Readdressed(Dealt):
    """Writes into its record, once the message is gone, that it went to another node."""

    def sent(self, s: np.ndarray, r: np.ndarray, rng: Any, channel: Channel) -> np.ndarray:
        channel.send(0, [0], [1], "aside", s[:1])
        channel.transcript.blocks[-1].receiver[:] = 2
        return s + r


def test_a_message_readdressed_after_it_was_sent_is_noticed() -> None:
    (check,) = examine(Readdressed(), NETWORK, HonestButCurious([1]), INPUTS).checks[:1]
    assert check.failed
    assert "something else than was sent" in str(check.witness)


def test_an_even_coefficient_leaves_bits_bare() -> None:
    assert "residues" in found(EvenMasks(), HonestButCurious({1}))


def test_encrypted_messages_have_a_time_and_a_size() -> None:
    @dataclass(frozen=True)
    class Late(Dealt):
        def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
            channel.send(7 + int(s[0, 0, 0] < 0), 0, SERVER, "idle", np.zeros_like(s[0]), encrypted=True)
            return s + r

    assert "replay" in found(Late())
    assert found(Late(), Eavesdropper(sees_metadata=False)) == set()
    blind = examine(Late(), NETWORK, Eavesdropper(sees_metadata=False), INPUTS)
    assert "declared" in blind.assumptions[0]


def test_assumptions_are_few_and_witnesses_hold_no_data() -> None:
    sound: Soundness = examine(LastBit(), NETWORK, OUT, INPUTS)
    assert len(sound.assumptions) <= 5
    assert all(check.witness is not None for check in sound.checks if check.failed)
    numbers = {f"{value:.4g}" for value in np.abs(INPUTS[0]).ravel()[:300]}
    assert not any(number in doubt for doubt in sound.doubts for number in numbers if len(number) > 5)


@pytest.mark.parametrize("factor", [2.0**40, 2.0**-40, 1e-8])
def test_units_of_a_message_do_not_matter(factor: float) -> None:
    """A masked message in other units tells no more; an input in other units is an input."""

    @dataclass(frozen=True)
    class Again(Dealt):
        bare: bool = False

        def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
            channel.send(0, 0, SERVER, "again", factor * (s[0] if self.bare else s[0] + r[0]))
            return s + r

    assert audit(Again()).verdict == "not refuted"
    assert audit(Again(bare=True)).verdict == "violated"


def audit(protocol: Any, adversary: Adversary = OUT, **changes: Any) -> Any:
    """With 20 rows a node, no reading of permitted sums gives rows away."""
    content = {
        "network": {"kind": "complete", "nodes": N},
        "runs": 200,
        "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
        "model": {"iterations": 2},
        "measure": {"evidence": ["structure", "gaussian"], "sigmas": [1e6]},
        "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.8},
        **changes,
    }
    return secmix.audit(content, protocols={"mine": protocol}, adversaries={"theirs": adversary})


def test_payloads_that_are_no_numbers_cost_no_other_evidence() -> None:
    class Failing(Dealt):
        def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
            channel.send(0, 0, SERVER, "odd", np.where(s[0] < 0, np.nan, np.inf))
            return np.concatenate([(s + r)[:4], s[4:]])

    report = audit(Failing())
    print(report.cells[0].sentence, report.cells[0].notes)
    assert {node.node: node.standing for node in report.cells[0].nodes}[4] == "revealed"
    assert report.verdict == "violated"


def test_a_node_with_most_of_the_rows_is_not_cleared() -> None:
    """A sum over nodes with 200, 5, 5, 5 and 5 rows explains nine tenths of the first."""
    data = {"name": "breast_cancer", "features": 2, "rows_per_node": [200, 5, 5, 5, 5]}
    report = audit(SecureSum(), HonestButCurious({3}), data=data, runs=400)
    assert {node.node: node.verdict for node in report.cells[0].nodes}[0] == "violated"
    share = max(f.normalised_leakage for f in report.findings if f.node == 0)
    assert share == pytest.approx(0.95, abs=0.05)


@pytest.mark.parametrize("sizes", [(1.0, 1.0, 1.0), (5.0, 1.0, 1.0), (1.0, 2.0, 3.0)])
def test_the_share_explained_is_that_of_the_formula(sizes: tuple[float, ...]) -> None:
    spread = np.array(sizes)
    vectors = np.random.default_rng(0).normal(size=(3, 20000, 2)) * spread[:, None, None]
    share = explained(vectors, np.ones((1, 3)), np.ones(1), 0, rng=np.random.default_rng(1))
    truth = sizes[0] ** 2 / ((spread**2).sum() + 1)
    assert share.low < truth < share.high
    assert share.high - share.low < 0.1


def test_what_is_not_asked_about_is_judged_nevertheless() -> None:
    class Open(Dealt):
        def sent(self, s: Any, r: Any, rng: Any, channel: Any) -> Any:
            return np.concatenate([(s + r)[:4], s[4:]])

    measure = {"evidence": ["structure", "gaussian"], "nodes": [0], "sigmas": [1e6]}
    assert audit(Open(), measure=measure).verdict == "violated"


def test_masks_are_traced_to_draws_of_their_own() -> None:
    generator = Logged(np.random.PCG64(0))
    one = generator.normal(scale=3.0, size=(6, 2, 4))
    assert trace(one, generator.log, None, 0.0).scales == pytest.approx([3.0, 3.0])
    both = np.concatenate([one, one[:, ::-1]], axis=1)
    assert trace(both, generator.log, None, 0.0).witness is not None
    assert trace(one + 1.0, generator.log, None, 0.0).witness is not None


@dataclass(frozen=True)
class Medians:
    """Every node sends its mean, encrypted; the server sends their median back."""

    after: Callable[[Channel, np.ndarray], Any] = lambda channel, means: None
    unit: str = field(default="of the data")

    def collaborate(self, parts: Any, network: Network, rng: Any, *, channel: Channel) -> np.ndarray:
        means = np.stack([part.mean(axis=1) for part in parts])
        received = channel.send(0, np.arange(N), SERVER, "mean", means, encrypted=True)
        middle = np.median(received, axis=0)[None]
        back = np.zeros(N, dtype=int)
        ends = channel.send(1, SERVER, np.arange(N), "median", middle, encrypted=True, content=back)[0]
        self.after(channel, means)
        return np.repeat(ends[:, None], N, axis=1)

    def error(self, results: np.ndarray, reference: np.ndarray) -> np.ndarray:
        return np.abs(results - reference).max(axis=(1, 2))


def deal(runs: int, key: int) -> list[np.ndarray]:
    return list(np.random.default_rng([runs, key]).normal(size=(N, runs, 4, 2)))


def late(channel: Channel, means: np.ndarray) -> None:
    channel.send(7 + int(means[0, 0, 0] < 0), 0, SERVER, "idle", np.zeros_like(means[0]), encrypted=True)


def aside(channel: Channel, means: np.ndarray) -> None:
    Channel().send(7, 0, SERVER, "aside", means[0])


def alone(channel: Channel, means: np.ndarray) -> None:
    channel.send(7, 0, SERVER, "aside", means[0], encrypted=means.shape[1] > 1)


@pytest.mark.parametrize(("after", "by"), [(late, "other rows"), (aside, "transcript"), (alone, "company")])
def test_who_hears_nothing_of_a_collaboration_must_notice_nothing(after: Any, by: str) -> None:
    assert examine_collaboration(Medians(), NETWORK, OUT, deal).doubts == []
    sound = examine_collaboration(Medians(after), NETWORK, OUT, deal)
    assert by in {check.name for check in sound.checks if check.failed}
