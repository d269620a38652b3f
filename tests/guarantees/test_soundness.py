"""No slip is cleared: one wrong protocol a way to go wrong; the right ones are.

A right protocol differs from each wrong one by a line. The wrong one gives node 0's data away in that line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from example_protocols import Averaging, Pairwise, with_steps

import secmix
from secmix import Network
from secmix.adversaries import Adversary, Eavesdropper, HonestButCurious
from secmix.auditing.observation.sum_observation import explained
from secmix.auditing.soundness import examine_collaboration
from secmix.kernel import KnownSums, clear, prove
from secmix.protocols import PDMM, SecureSum
from secmix.transcript import SERVER, Channel

N = 5
NETWORK = Network.complete(N)
INPUTS = [np.random.default_rng(call).normal(size=(1, N, 3)) for call in range(3)]
OUT = Eavesdropper()


def is_cleared(protocol: Any, adversary: Adversary = OUT) -> bool:
    """Say whether of each node no more is proved to be known than the sum tells, in every call."""
    found = clear(prove(protocol, NETWORK, INPUTS), NETWORK, adversary)
    if not isinstance(found, KnownSums) or (found.covers and not isinstance(protocol, PDMM)) or found.uneven:
        return False
    sum_of_others = 1.01 / (N - len(adversary.corrupt_nodes(NETWORK)))
    return max(*found.exact.values(), *found.behind_masks.values()) <= sum_of_others


@pytest.mark.build
@pytest.mark.parametrize(
    ("protocol", "adversary"),
    [
        (Pairwise(), OUT),
        (SecureSum(), HonestButCurious({1})),
        (SecureSum(arithmetic="modular"), HonestButCurious({1})),
        (PDMM(), HonestButCurious({1, 3})),
        (PDMM(schedule="asynchronous", loss=0.3), HonestButCurious({2}, eavesdrops=False)),
        (PDMM(schedule="synchronous"), OUT),
    ],
)
def test_right_protocols_are_cleared(protocol: Any, adversary: Adversary) -> None:
    assert is_cleared(protocol, adversary)


def adds_noise(protocol, hidden, s, r, rng):
    return s + rng.normal(scale=1e-3, size=s.shape)


def adds_the_same_noise_in_all_runs(protocol, hidden, s, r, rng):
    return s + rng.normal(size=(len(s), 1, 1))


def rounds(protocol, hidden, s, r, rng):
    return np.round(s)


def is_open_in_later_calls(protocol, hidden, s, r, rng):
    count = protocol.__dict__.setdefault("calls", [])
    count.append(0)
    return s if len(count) > 20 else hidden


def is_open_in_single_runs(protocol, hidden, s, r, rng):
    return s if s.shape[1] == 1 else hidden


def has_no_masks_of_its_own(protocol, runs, m, network, rng):
    return np.zeros((runs, protocol.count(network), m))


def is_open_far_out(protocol, hidden, s, r, rng):
    return np.where(np.abs(s) > 500, s, hidden)


def goes_on_far_out(protocol, channel, s, r, network, rng):
    if np.abs(s).max() > 1e4:  # nothing that was sent before is any different
        channel.send(10, 0, SERVER, "more", s[0])


def spells_the_sign(protocol, channel, s, r, network, rng):
    channel.send(0, 0, SERVER, "idle" if s[0, 0, 0] < 0 else "idle ", np.zeros_like(s[0]))


def has_the_sign_for_last_bit(protocol, hidden, s, r, rng):
    bits = hidden.view(np.uint64) & ~np.uint64(1)
    return (bits | (s[:1] < 0).astype(np.uint64)).view(float)


def is_seldom_open(protocol, hidden, s, r, rng):
    return s**2 if rng.random() < 1e-4 else hidden


def speaks_aside(protocol, channel, s, r, network, rng):
    Channel().send(0, 0, SERVER, "aside", s[0])


def erases(protocol, channel, s, r, network, rng):
    channel.send(0, 0, SERVER, "aside", s[0])
    channel.transcript.blocks.pop()


def needs_no_masks_unrecorded(protocol, channel, s, r, network, rng):
    return Pairwise.body(protocol, channel, s, r * channel.record, network, rng)


@dataclass(frozen=True)
class EvenMasks(SecureSum):
    """Modular, but the mask enters twice over: the last bit of a word is bare."""

    arithmetic: Any = "modular"

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if masks is None:
            masks = self.draw_masks(len(inputs), np.shape(inputs)[2], network, rng)
        doubled = np.remainder(2 * masks, self.modulus)
        return super().average(inputs, network, rng, masks=doubled, channel=channel)


@pytest.mark.parametrize(
    "steps",
    [
        {"sent": adds_noise},
        {"sent": adds_the_same_noise_in_all_runs},
        {"sent": rounds},
        {"sent": is_open_in_later_calls},
        {"sent": is_open_in_single_runs},
        {"own_masks": has_no_masks_of_its_own},
        {"sent": is_open_far_out},
        {"after": goes_on_far_out},
        {"before": spells_the_sign},
        {"sent": has_the_sign_for_last_bit},
        {"sent": is_seldom_open},
        {"body": needs_no_masks_unrecorded},
        {"before": speaks_aside},
        {"before": erases},
    ],
    ids=lambda given: next(iter(given.values())).__name__,
)
def test_no_slip_is_cleared(steps: Any) -> None:
    assert not is_cleared(with_steps(Pairwise, **steps))


def offset(draw, protocol, runs, m, network, rng):
    return 5e6 + 1e-6 * draw(runs, m, network, rng)


def from_a_seed_of_its_own(draw, protocol, runs, m, network, rng):
    return draw(runs, m, network, np.random.default_rng(int(rng.integers(16))))


def set_back(draw, protocol, runs, m, network, rng):
    before = rng.bit_generator.state
    drawn = draw(runs, m, network, rng)
    rng.bit_generator.state = before
    return drawn


def of_the_first_entry(draw, protocol, runs, m, network, rng):
    return draw(runs, m, network, rng) * (np.arange(m) == 0)


def the_same_for_all_entries(draw, protocol, runs, m, network, rng):
    return np.repeat(draw(runs, 1, network, rng), m, axis=2)


def the_same_on_every_line(draw, protocol, runs, m, network, rng):
    return np.repeat(draw(runs, m, network, rng)[:, :1], protocol.count(network), axis=1)


def in_one_run_of_ten(draw, protocol, runs, m, network, rng):
    return draw(runs, m, network, rng) * (rng.random((runs, 1, 1)) < 0.1)


def in_whole_thousands(draw, protocol, runs, m, network, rng):
    return 1000.0 * np.round(draw(runs, m, network, rng))


def of_coins(draw, protocol, runs, m, network, rng):
    return protocol.sigma * rng.choice([-1.0, 1.0], size=(runs, protocol.count(network), m))


def large_by_a_few(draw, protocol, runs, m, network, rng):
    return draw(runs, m, network, rng) * 1e-6 * np.exp(3 * rng.normal(size=(runs, 1, 1)))


@pytest.mark.parametrize(
    "how",
    [
        offset,
        from_a_seed_of_its_own,
        set_back,
        of_the_first_entry,
        the_same_for_all_entries,
        the_same_on_every_line,
        in_one_run_of_ten,
        in_whole_thousands,
        of_coins,
        large_by_a_few,
    ],
)
def test_masks_that_do_not_hide_clear_nobody(how: Any) -> None:
    def draw_masks(protocol, *drawing):
        return how(lambda *drawing: Pairwise.draw_masks(protocol, *drawing), protocol, *drawing)

    assert not is_cleared(with_steps(Pairwise, draw_masks=draw_masks))


def from_a_pool(size: int, factor: float) -> Any:
    def again(protocol, pool, drawn):
        return drawn if len(pool) < size else factor * pool[-size]

    return again


def but_node_0(protocol, pool, drawn):
    drawn[:, :4] = pool[0][:, :4] if pool else drawn[:, :4]
    return drawn


def smaller_and_smaller(protocol, pool, drawn):
    return drawn * 1e-6 ** len(pool)


@pytest.mark.parametrize(
    "again",
    [from_a_pool(1, 1.0), from_a_pool(2, 1.0), from_a_pool(1, -1.5), but_node_0, smaller_and_smaller],
    ids=["one for all", "two in turn", "turned about", "those of node 0", "smaller"],
)
def test_masks_that_follow_from_earlier_ones_clear_nobody(again: Any) -> None:
    def draw_masks(protocol, runs, m, network, rng):
        pool = protocol.__dict__.setdefault("pools", {}).setdefault((runs, m), [])
        pool.append(again(protocol, pool, Pairwise.draw_masks(protocol, runs, m, network, rng)))
        return pool[-1].copy()

    assert not is_cleared(with_steps(Pairwise, draw_masks=draw_masks))


@pytest.mark.parametrize(("scale", "step"), [(0.0, 2.0**-24), (1e-3, 2.0**-24), (2.0**28, 1.0)])
def test_modular_masks_that_are_not_uniform_clear_nobody(scale: float, step: float) -> None:
    def draw_masks(protocol, runs, m, network, rng):
        return step * np.floor(rng.uniform(0, scale, size=(runs, 1, m)) / step)

    class Ring(SecureSum):
        pass

    Ring.draw_masks = draw_masks
    assert not is_cleared(Ring(arithmetic="modular"), HonestButCurious({1}))


def readdresses(protocol, channel, s, r, network, rng):
    channel.send(0, [0], [1], "aside", s[:1])
    channel.transcript.blocks[-1].receiver[:] = 2


def test_a_message_readdressed_after_it_was_sent_clears_nobody() -> None:
    assert not is_cleared(with_steps(Pairwise, before=readdresses), HonestButCurious([1]))


def test_an_even_coefficient_leaves_bits_bare() -> None:
    assert not is_cleared(EvenMasks(), HonestButCurious({1}))


def test_encrypted_messages_have_a_time_and_a_size() -> None:
    def idles(protocol, channel, s, r, network, rng):
        channel.send(7 + int(s[0, 0, 0] < 0), 0, SERVER, "idle", np.zeros_like(s[0]), encrypted=True)

    assert not is_cleared(with_steps(Pairwise, before=idles))


@pytest.mark.parametrize("factor", [2.0**40, 2.0**-40, 1e-8])
def test_units_of_a_message_do_not_matter(factor: float) -> None:
    """A masked message in other units tells no more; an input in other units is an input."""

    def again(of: Any) -> Any:
        def upload(protocol, channel, hidden, s, rng):
            channel.send(0, 0, SERVER, "again", factor * of(hidden, s)[0])
            return Pairwise.upload(protocol, channel, hidden, s, rng)

        return with_steps(Pairwise, upload=upload)

    assert audit(again(lambda hidden, s: hidden)).verdict == "holds"
    assert audit(again(lambda hidden, s: s)).verdict == "violated"


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


@pytest.mark.build
def test_payloads_that_are_no_numbers_cost_no_other_evidence() -> None:
    def upload(protocol, channel, hidden, s, rng):
        channel.send(0, 0, SERVER, "odd", np.where(s[0] < 0, np.nan, np.inf))
        return Pairwise.upload(protocol, channel, np.concatenate([hidden[:4], s[4:]]), s, rng)

    report = audit(with_steps(Pairwise, upload=upload))
    assert {node.node: node.standing for node in report.cells[0].nodes}[4] == "revealed"
    assert report.verdict == "violated"


@pytest.mark.build
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
    def sent(protocol, hidden, s, r, rng):
        return np.concatenate([hidden[:4], s[4:]])

    measure = {"evidence": ["structure", "gaussian"], "nodes": [0], "sigmas": [1e6]}
    assert audit(with_steps(Pairwise, sent=sent), measure=measure).verdict == "violated"


def deal(runs: int, key: int) -> list[np.ndarray]:
    return list(np.random.default_rng([runs, key]).normal(size=(N, runs, 4, 2)))


def late(protocol, channel, means):
    channel.send(7 + int(means[0, 0, 0] < 0), 0, SERVER, "idle", np.zeros_like(means[0]), encrypted=True)


def aside(protocol, channel, means):
    Channel().send(7, 0, SERVER, "aside", means[0])


def alone(protocol, channel, means):
    channel.send(7, 0, SERVER, "aside", means[0], encrypted=means.shape[1] > 1)


@pytest.mark.parametrize(("after", "by"), [(late, "other rows"), (aside, "transcript"), (alone, "batch size")])
def test_who_hears_nothing_of_a_collaboration_must_notice_nothing(after: Any, by: str) -> None:
    medians = {"rule": "median", "encrypted": True}
    assert examine_collaboration(Averaging(**medians), NETWORK, OUT, deal).unmet_premises == []
    sound = examine_collaboration(with_steps(Averaging, "mean", "median", True, after=after), NETWORK, OUT, deal)
    assert by in {check.name for check in sound.checks if check.failed}
