"""Clients that are sampled: proved for who takes part in every round, and amplification is not credited."""

from __future__ import annotations

import copy
import math
import re
from dataclasses import dataclass
from typing import Any

import noisy_protocols as twins
import numpy as np
import pytest
from noisy_protocols import (
    ADDED,
    NODE,
    NORM,
    ROW,
    SCALE,
    WRONG,
    Descent,
    Draw,
    Sampled,
    Step,
    claimed,
    each_by_a_coin,
    report,
    setup_of,
    two_of_all,
)

from secmix._base.checks import Array
from secmix.auditing.noise.noise_bounds import NoiseBound, _bound
from secmix.auditing.noise.replays.playback import play_back
from secmix.auditing.noise.replays.played_calls import root_with_other_noise
from secmix.auditing.noise.replays.sampled import play_back_sampled
from secmix.privacy import clip, gaussian, gaussian_epsilon
from secmix.privacy.noted_releases import Ledger, noting
from secmix.protocols.collaboration import run_by_run
from secmix.scenario import PolicySpec, terms_of

DELTA = NODE["delta"]


@pytest.fixture(autouse=True)
def few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make few calls where many are not needed."""
    monkeypatch.setattr("secmix.auditing.noise.replays.playback._REPLAYS", (16, 16))
    monkeypatch.setattr("secmix.auditing.noise.replays.sampled._CALLS", (60, 60))
    monkeypatch.setattr("secmix.auditing.noise.told_apart._MOST", 300)


def bounds(protocol: Any, policy: dict[str, Any]) -> list[NoiseBound]:
    terms = terms_of(PolicySpec(**policy), None)
    assert play_back(setup_of(protocol), protocol, 1, terms).why_open  # with every draw it is not proved
    found = play_back_sampled(setup_of(protocol), protocol, 1, terms)
    return [_bound(found, replays, terms) for replays in found.nodes.values()]


# --- right ones ---


@pytest.mark.parametrize("who", [two_of_all, each_by_a_coin])
@pytest.mark.parametrize(
    ("step", "policy", "sensitivity"),
    [
        (twins.of_node, NODE, 2 * NORM),
        (twins.noise_of_the_system, NODE, 2 * NORM),
        (twins.of_rows, ROW, 2 * NORM),
        (twins.of_rows, ADDED, NORM),
        (twins.mean_of_rows, ROW, 2 * NORM / 5),
    ],
)
def test_a_node_is_counted_in_every_round(step: Step, policy: dict[str, Any], sensitivity: float, who: Draw) -> None:
    for bound in bounds(Sampled(step, rounds=3, who=who), policy):
        assert bound.why_open == ""
        mu = math.sqrt(3) * sensitivity / SCALE
        assert bound.epsilon == pytest.approx(gaussian_epsilon(mu, DELTA))
        assert bound.releases.startswith("3 releases at noisy_protocols.py")
        assert (
            "a node is counted in all rounds with releases (3, as seen in 60 calls), and amplification"
            in bound.releases
        )


def of_some_rows(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    draws: np.random.Generator = self.kept["batches"]
    chosen = draws.permutation(gradients.shape[1])[: draws.integers(1, gradients.shape[1])]
    return gaussian(clip(gradients[:, chosen], NORM, axis=-1).sum(axis=1), SCALE, rng)


@dataclass
class InBatches(Descent):
    """Every node takes part, with rows that are drawn."""

    def collaborate(self, parts: Any, network: Any, rng: np.random.Generator, *, channel: Any) -> Any:
        self.kept["batches"] = rng.spawn(1)[0]
        return super().collaborate(parts, network, rng, channel=channel)


def of_rows_by_coins(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    """Draw each row by itself, so that a batch may have none (Abadi et al. 2016, lots)."""
    draws: np.random.Generator = self.kept["batches"]
    chosen = draws.random(gradients.shape[1]) < 0.2
    return gaussian(clip(gradients[:, chosen], NORM, axis=-1).sum(axis=1), SCALE, rng)


def in_batches() -> InBatches:
    return InBatches(of_some_rows)


@pytest.mark.parametrize("step", [of_some_rows, of_rows_by_coins])
def test_rows_that_are_drawn_are_counted_in_every_round(step: Step) -> None:
    for bound in bounds(InBatches(step), ROW):
        assert bound.why_open == ""
        assert bound.epsilon == pytest.approx(gaussian_epsilon(math.sqrt(2) * 2 * NORM / SCALE, DELTA))


@pytest.mark.build
def test_a_right_claim_holds_at_its_limit_and_not_below() -> None:
    exact = gaussian_epsilon(math.sqrt(3) * 2 * NORM / SCALE, DELTA)
    for share, verdict in ((1.001, "holds"), (0.999, "inconclusive")):
        found = claimed(Sampled(rounds=3), {"epsilon": share * exact, "delta": DELTA})
        assert found.verdict == verdict
        assert "amplification by sampling is not credited" in found.nodes[0].follows


class RunByRun(Sampled):
    """Draws who takes part anew in each run."""

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Array:
        def once(rows: Any, on: Any) -> Array:
            return super(RunByRun, self).collaborate([part[None] for part in rows], network, rng, channel=on)[0]

        return run_by_run(once, parts, channel)


@pytest.mark.build
def test_a_limit_on_epsilon_holds_although_few_runs_are_alike() -> None:
    exact = gaussian_epsilon(math.sqrt(3) * 2 * NORM / SCALE, DELTA)
    policy = {"max_epsilon": 1.001 * exact, "delta": DELTA}
    (cell,) = report(RunByRun(rounds=3), {"epsilon": 1.001 * exact, "delta": DELTA}, policy=policy).cells
    assert any("too few to fit decoders on" in note for note in cell.notes)
    assert cell.claim is not None
    assert cell.nodes[0].verdict == cell.claim.verdict == "holds"


# --- wrong ones: none is bounded, and each is named ---


def one_generator(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    return twins.of_node(self, t, node, gradients, self.kept["server"])


class Whispering(Sampled):
    """Ends with a mean of rows that no message carried."""

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Array:
        ends = super().collaborate(parts, network, rng, channel=channel)
        return np.asarray(ends + 1e-3 * parts[0].mean(axis=(1, 2))[:, None, None])


@pytest.mark.build
def test_what_passes_outside_the_channel_keeps_a_claim_open() -> None:
    found = claimed(Whispering(rounds=3), {"epsilon": 100.0, "delta": DELTA})
    assert found.verdict == "inconclusive"
    assert "outside the channel" in found.nodes[0].follows


def taken_off_by_the_seed(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    """Make the generator once more from what its seed says of itself."""
    seed: Any = rng.bit_generator.seed_seq
    same = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key))
    same.standard_normal(size=(t, gradients.shape[0], gradients.shape[2]))
    noisy = twins.of_node(self, t, node, gradients, rng)
    return noisy - SCALE * same.standard_normal(noisy.shape)


def scale_is_drawn(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE * self.kept["server"].random(), rng)


def again_at_times(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    sent = np.asarray(0.0)
    for _ in range(int(self.kept["server"].integers(1, 3))):
        sent = gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, rng)
    return sent


def mean_of_drawn_rows(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    some = gradients[:, : int(self.kept["server"].integers(1, gradients.shape[1]))]
    return gaussian(clip(some, NORM, axis=-1).mean(axis=1), SCALE, rng)


def bare_if_drawn(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    bare = clip(gradients.mean(axis=1), NORM, axis=-1)
    noisy = gaussian(bare, SCALE, rng)
    return np.asarray(bare) if self.kept["server"].random() < 0.2 else noisy


@dataclass
class WithServer(Sampled):
    """Lets steps draw from the generator that the sample is drawn from."""

    def chosen(self, t: int, parts: Any, theta: Any, rng: np.random.Generator) -> list[int]:
        self.kept["server"] = rng
        return super().chosen(t, parts, theta, rng)


class ByTheirLoss(Sampled):
    """Draws nodes in proportion to their loss."""

    def chosen(self, t: int, parts: Any, theta: Any, rng: np.random.Generator) -> list[int]:
        loss = np.array([1e-6 + (part[0, :, -1] ** 2).mean() for part in parts])
        return np.sort(rng.choice(len(parts), 2, replace=False, p=loss / loss.sum())).tolist()


class AsOftenAsDrawn(Sampled):
    """Draws how many rounds there are."""

    def collaborate(self, parts: Any, network: Any, rng: np.random.Generator, *, channel: Any) -> Any:
        self.rounds = int(rng.integers(1, 3))
        return super().collaborate(parts, network, rng, channel=channel)


class ByTheNoise(Sampled):
    """Lets a node take part if a draw of its own generator, which makes its noise, says so."""

    def collaborate(self, parts: Any, network: Any, rng: np.random.Generator, *, channel: Any) -> Any:
        own = rng.spawn(network.n)
        self.who = lambda t, n, _: np.flatnonzero([each.random() < 0.6 for each in own])
        rng.spawn = None  # type: ignore[method-assign,assignment]
        return super().collaborate(parts, network, rng, channel=channel)


@pytest.mark.parametrize(
    ("protocol", "policy", "words"),
    [
        (WithServer(one_generator), NODE, "from a generator of its own"),
        (Sampled(twins.noise_taken_off), NODE, "generator that noise comes from"),
        (Sampled(taken_off_by_the_seed), NODE, "generator that noise comes from"),
        (WithServer(scale_is_drawn), NODE, "the scale of release . .* changes with the draws"),
        (WithServer(again_at_times), NODE, "how often a node releases at .* in a round changes with the draws"),
        (WithServer(mean_of_drawn_rows), ROW, "the number of clipped vectors at .* changes with the draws"),
        (WithServer(bare_if_drawn), NODE, "'gradient' from node . to the server in round . changes with the data"),
        (ByTheirLoss(), NODE, "changes with the data"),
        (AsOftenAsDrawn(), NODE, "the number of rounds is drawn"),
    ],
)
def test_what_else_is_drawn_bounds_nothing_and_is_named(protocol: Any, policy: dict[str, Any], words: str) -> None:
    terms = terms_of(PolicySpec(**policy), None)
    found = play_back_sampled(setup_of(protocol), protocol, 1, terms)
    for replays in found.nodes.values():
        assert re.search(words, replays.why_open), replays.why_open


@pytest.mark.build
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("kind", [Descent, Sampled])
def test_no_wrong_step_is_bounded_where_clients_are_sampled(name: str, kind: Any) -> None:
    step, policy, _ = WRONG[name]
    terms = terms_of(PolicySpec(**policy), None)
    protocol = kind(step)
    found = play_back_sampled(setup_of(protocol), protocol, 1, terms)
    for replays in found.nodes.values():
        assert _bound(found, replays, terms).why_open


# --- from below ---


def one_of_all(t: int, n: int, rng: np.random.Generator) -> Array:
    return rng.choice(n, 1)


@pytest.mark.build
def test_noise_for_a_sample_that_messages_show_is_refuted() -> None:
    """Scale 4 keeps about ε = 1 in a round from who does not see which third of the nodes is in it: the server does."""
    found = claimed(Sampled(twins.of_rows, 1, who=one_of_all), {"epsilon": 0.25, "delta": DELTA, "unit": "row"})
    assert found.verdict == "violated"
    assert found.nodes[0].method.startswith("privacy losses")


@pytest.mark.build
def test_a_sample_that_is_secret_has_no_known_loss() -> None:
    """As if it were read, it would convict: what is said of those who take part is not said of all."""
    found = claimed(in_batches(), {"epsilon": 0.25, "delta": DELTA, "unit": "row"})
    assert "privacy losses" not in found.nodes[0].method


# --- draws that are kept ---


def test_generators_of_noise_alone_draw_anew() -> None:
    recorded, other = np.random.SeedSequence([1, 2]), np.random.SeedSequence([3, 4])
    ledger = Ledger()
    with noting(ledger):
        gaussian([1.0], 1.0, np.random.default_rng(np.random.SeedSequence([1, 2])).spawn(3)[1])
    root = np.random.default_rng(root_with_other_noise(ledger.releases, recorded, other))
    before, after = (
        np.random.default_rng(np.random.SeedSequence([1, 2])),
        np.random.default_rng(np.random.SeedSequence([3, 4])),
    )
    assert root.random() == before.random()
    mine, theirs, others = root.spawn(3), before.spawn(3), after.spawn(3)
    for k, kept in enumerate([True, False, True]):
        assert (copy.deepcopy(mine[k]).random() == theirs[k].random()) == kept
    assert copy.deepcopy(mine[1]).random() == others[1].random()
    assert copy.deepcopy(mine[1]).spawn(1)[0].random() == theirs[1].spawn(1)[0].random()
