"""Calls in long use: inputs that go out unmasked now and then, masks that come again, and none of right protocols."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from soundness.bases import Modular, Pairwise, Shares, Words

from secmix._base.checks import Array
from secmix.adversaries import Adversary, Eavesdropper, HonestButCurious
from secmix.auditing.counterexamples.calls.long_use import in_long_use
from secmix.auditing.counterexamples.calls.matches import confirmed_calls
from secmix.auditing.counterexamples.calls.patterns import PATTERNS, LongUse, Pattern, Run
from secmix.auditing.counterexamples.instance import ProtocolInstance
from secmix.auditing.report import Finding
from secmix.network import Network
from secmix.transcript import SERVER, Channel

NETWORK = Network.complete(5)
OUT = Eavesdropper()


def found(protocol: Any, adversary: Adversary = OUT, m: int = 8) -> dict[int, Finding]:
    """Return what calls of a protocol show, by node."""
    inputs = np.random.default_rng(3).normal(scale=5.0, size=(5, 200, m))
    corrupt = adversary.corrupt_nodes(NETWORK)
    honest = [node for node in range(5) if node not in corrupt]
    looks: Any = SimpleNamespace(
        nodes=honest,
        honest=honest,
        steps=[2.0**-20, 2.0**32],
        reasons=["not proved"],
        inputs={0: inputs},
        instance=ProtocolInstance(protocol, NETWORK, adversary, 0),
        case=SimpleNamespace(about=lambda node: {"protocol": "it", "adversary": "theirs", "node": node}),
    )
    return {each.node: each for each in in_long_use(looks)}


class Opens(Pairwise):
    """Sends node 1's input as it is where ``opens`` says so."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.concatenate([hidden[:1], s[1:2], hidden[2:]]) if self.opens(s, rng) else hidden

    def opens(self, s: Array, rng: Any) -> bool:
        raise NotImplementedError


class ByACoin(Opens):
    def opens(self, s: Array, rng: Any) -> bool:
        return str(rng.random()).startswith("0.3")


@dataclass(frozen=True)
class ByACounter(Opens):
    calls: list[int] = field(default_factory=lambda: [0])

    def opens(self, s: Array, rng: Any) -> bool:
        self.calls[0] += 1
        return self.calls[0] % 40 == 0


class InBatchesOfThirty(Opens):
    def opens(self, s: Array, rng: Any) -> bool:
        return s.shape[1] == 30


class WhereAllIsAbove(Opens):
    def opens(self, s: Array, rng: Any) -> bool:
        return bool((s[1] > 200).all())


class WithoutAChannel(Pairwise):
    """Makes a channel of its own where none is given, and masks nothing there."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if channel is not None:
            return super().average(inputs, network, rng, masks=masks, channel=channel)
        masks = 0 * self.draw_masks(len(inputs), np.shape(inputs)[2], network, rng)
        return super().average(inputs, network, rng, masks=masks)


class OnAnotherChannel(Pairwise):
    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        Channel().send(8, 1, SERVER, "aside", s[1])


@dataclass(frozen=True)
class KeepsMasks(Pairwise):
    """Draws masks once for every number of runs."""

    kept: dict[Any, Any] = field(default_factory=dict)

    def used(self, r: Array, s: Array) -> Array:
        return self.kept.setdefault(r.shape, r)


@dataclass(frozen=True)
class KeepsInputs(Pairwise):
    """Pads a message with what the buffer held."""

    buffer: dict[Any, Any] = field(default_factory=dict)

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 1, SERVER, "padded", self.buffer.get("last", np.zeros_like(s[1])))
        self.buffer["last"] = s[1].copy()


class Rewinds(Pairwise):
    """Leaves the generator as it was."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        before = rng.bit_generator.state
        masks = super().draw_masks(runs, m, network, rng)
        rng.bit_generator.state = before
        return masks


class OneForAllEntries(Pairwise):
    def used(self, r: Array, s: Array) -> Array:
        return np.repeat(r[..., :1], r.shape[2], axis=2)


class ZeroOverEntries(Pairwise):
    def used(self, r: Array, s: Array) -> Array:
        return np.asarray(r - r.mean(axis=2, keepdims=True))


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "by a coin": (ByACoin, "a public coin or the number of the call decides"),
    "by a counter": (ByACounter, "its input is sent unmasked in every 40th call: 'masked' from 1 to the server"),
    "in batches of thirty": (InBatchesOfThirty, "its input is sent unmasked in batches of 30 runs"),
    "where all is above": (WhereAllIsAbove, "if the input of node 1 is larger by 1,000 than usual"),
    "without a channel": (WithoutAChannel, "its input is sent unmasked if no channel is given"),
    "on another channel": (OnAnotherChannel, "its input is sent unmasked in every call"),
    "keeps masks": (KeepsMasks, "calls in a row have one mask, in every call"),
    "rewinds": (Rewinds, "calls in a row have one mask, in every call"),
    "keeps inputs": (KeepsInputs, "its input of the previous call is sent in every call"),
    "one mask for all entries": (OneForAllEntries, "all entries have one mask in every call"),
    "masks that add up to zero": (
        ZeroOverEntries,
        "masks cancel in a combination of messages ('masked'; bases.py, line",
    ),
}


@pytest.mark.parametrize("name", [pytest.param(each, marks=pytest.mark.build) for each in WRONG])
def test_an_input_that_goes_out_in_some_calls_is_shown(name: str) -> None:
    make, words = WRONG[name]
    finding = found(make())[1]
    assert words in finding.notes[0]
    assert ", line " in finding.notes[0]
    assert finding.hits == finding.runs
    assert finding.normalised_leakage == 1.0


@pytest.mark.build
@pytest.mark.parametrize("protocol", [Pairwise(), Modular(), Words(), Shares()])
@pytest.mark.parametrize("adversary", [OUT, HonestButCurious({1, 2, 3})])
def test_right_protocols_show_nothing(protocol: Any, adversary: Adversary) -> None:
    assert not found(protocol, adversary)


class Coins(Pairwise):
    """Draws masks that are none by a coin that all its copies share: no two of them drop masks in the same calls."""

    coin = np.random.default_rng(0)

    def used(self, r: Array, s: Array) -> Array:
        return r * (self.coin.random() > 0.02)


@pytest.mark.build
def test_what_another_instance_does_not_show_is_not_counted() -> None:
    assert not found(Coins())


def test_calls_count_that_both_instances_show() -> None:
    runs = [Run(call, 1, np.zeros((1, 1)), {}) for call in range(60)]
    fits = dict.fromkeys((10, 20, 30), (2.0, 1.0))
    assert confirmed_calls(fits, fits, [runs, runs]) == ([10, 20, 30], True)
    assert confirmed_calls(fits, {k: (2.0, float(k)) for k in fits}, [runs, runs]) == ([10, 20, 30], False)
    assert confirmed_calls(fits, dict.fromkeys((15, 25, 35), (2.0, 1.0)), [runs, runs]) == ([15, 25, 35], True)
    assert confirmed_calls(fits, dict.fromkeys((11, 25, 31), (2.0, 1.0)), [runs, runs]) == ([], False)
    assert confirmed_calls(fits, dict.fromkeys(fits, (3.0, 1.0)), [runs, runs]) == ([], False)


@pytest.mark.parametrize("protocol", [Words(), Pairwise()])
def test_a_second_instance_is_not_made_where_it_could_confirm_nothing(
    protocol: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def runs(use: LongUse, pattern: Pattern, copy: int) -> list[Run]:
        made.append(copy)
        return kept(use, pattern, copy)

    kept = LongUse.runs
    monkeypatch.setattr(LongUse, "runs", runs)
    assert found(protocol) == {}
    assert made == [1] * len(PATTERNS)


class Twice(Pairwise):
    """Each pair of entries has one mask."""

    def used(self, r: Array, s: Array) -> Array:
        return np.repeat(r[..., ::2], 2, axis=-1)


def test_combinations_are_confirmed_by_a_second_instance() -> None:
    [*notes] = [each.notes[0] for each in found(Twice()).values()]
    assert len(notes) == 5
    assert all("masks cancel in a combination of messages" in note for note in notes)
