"""Masks of many runs in one call are each run's own: also in one entry, in sums over runs, and in the next call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.kernel.examples import RingSum, bare

from secmix.adversaries import CuriousServer
from secmix.kernel import clear, prove
from secmix.kernel.clearance import KnownSums, Open
from secmix.kernel.tracing.checks import _are_shared, _is_repeated
from secmix.kernel.tracing.trace import ROUNDING, have_draws_in_common
from secmix.network import Network

NETWORK = Network.complete(3)
BLOCK = 16
OF_DRAWS, OF_CALLS = "made of the same draws", "have the same masks, where the protocol draws them"
Change = Callable[[Any], Any]


class Changed(RingSum):
    """Changes what is drawn for many runs."""

    def __init__(self, change: Change) -> None:
        self.change = change

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        masks = super().draw_masks(runs, m, network, rng)
        return self.change(masks) if runs > BLOCK else masks


class ChangedWhereDrawn(Changed):
    """Changes masks that are not handed over."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return RingSum().draw_masks(runs, m, network, rng)

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        runs, _, m = np.shape(inputs)
        if masks is None:
            masks = self.draw_masks(runs, m, network, rng)
            masks = self.change(masks) if runs > BLOCK else masks
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class BareByLot(RingSum):
    """Sends the inputs of all runs where a public coin says so: that is found where its options are traced."""

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        if rng.integers(2):
            bare(channel, rows[:, 0])


class SentAgain(RingSum):
    """Sends some masks once more, by a public coin: in one call more of them than in another."""

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        lost = np.flatnonzero(rng.random(NETWORK.n) < 0.5)
        if len(lost):
            again = masks.transpose(1, 0, 2)[lost]
            channel.send(0, lost, (lost + 1) % NETWORK.n, "mask again", again, encrypted=True)


def of_block(masks: Any) -> Any:
    return np.concatenate([np.resize(masks[:BLOCK, :, :1], masks[:, :, :1].shape), masks[:, :, 1:]], axis=2)


def reason(protocol: Any) -> str:
    inputs = np.random.default_rng(0).normal(size=(3, 1, NETWORK.n, 2))
    found = clear(prove(protocol, NETWORK, inputs), NETWORK, CuriousServer())
    assert isinstance(found, (Open, KnownSums))
    return found.reason if isinstance(found, Open) else ""


SHARED: dict[str, Change] = {
    "an entry of a block": of_block,
    "mean zero": lambda masks: masks - masks.mean(axis=0),
    "the last takes all off": lambda masks: np.concatenate([masks[:-1], -masks[:-1].sum(axis=0, keepdims=True)]),
    "each the negative of another": lambda masks: np.concatenate([masks[::2], -masks[::2]])[: len(masks)],
}


@pytest.mark.parametrize("name", SHARED)
def test_runs_that_share_draws_are_found(name: str) -> None:
    assert OF_DRAWS in reason(Changed(SHARED[name]))


def test_an_entry_that_runs_share_where_masks_are_drawn_is_found() -> None:
    assert OF_CALLS in reason(ChangedWhereDrawn(of_block))


def test_masks_that_are_kept_for_many_runs_are_found() -> None:
    kept: dict[Any, Any] = {}
    assert "kept outside the protocol's object" in reason(
        ChangedWhereDrawn(lambda masks: kept.setdefault(masks.shape, masks))
    )


@pytest.mark.build
@pytest.mark.parametrize("kind", [Changed, ChangedWhereDrawn])
def test_masks_of_their_own_are_right(kind: Any) -> None:
    assert not reason(kind(lambda masks: masks[::-1]))


@pytest.mark.build
def test_a_coin_for_all_runs_is_no_mask_that_they_share() -> None:
    assert OF_CALLS not in reason(BareByLot())


@pytest.mark.build
def test_rows_are_compared_as_far_as_all_calls_send_them() -> None:
    assert not reason(SentAgain())


def test_draws_that_are_not_followed_are_not_compared() -> None:
    class Unknown(RingSum):
        def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
            return rng.normal(size=(runs, network.n, m), scale=1.0).tobytes()

    assert not have_draws_in_common(Unknown(), NETWORK, 3, 2, 0)


class LeavesMasks(RingSum):
    """Leaves masks of some calls to the first of others."""

    def __init__(self, leaves: Callable[[int, bool, bool], bool]) -> None:
        self.leaves, self.left = leaves, dict[str, Any]()

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        runs, _, m = np.shape(inputs)
        used = self.draw_masks(runs, m, network, rng) if masks is None else masks
        if self.leaves(runs, channel is not None, masks is not None):
            self.left["masks"] = used[:1]
        elif masks is None and "masks" in self.left:
            used = np.concatenate([self.left.pop("masks"), used[1:]])
        return super().average(inputs, network, rng, masks=used, channel=channel)


@pytest.mark.build
@pytest.mark.parametrize(
    "leaves",
    [
        lambda runs, is_heard, has_masks: runs > 2,
        lambda runs, is_heard, has_masks: runs == 2,
        lambda runs, is_heard, has_masks: runs == 1,
        lambda runs, is_heard, has_masks: not is_heard,
        lambda runs, is_heard, has_masks: is_heard,
        lambda runs, is_heard, has_masks: has_masks,
    ],
    ids=["batches", "two", "single runs", "unheard", "heard", "with masks"],
)
def test_masks_that_one_kind_of_call_leaves_to_another_are_not_covered(leaves: Any) -> None:
    found = prove(LeavesMasks(leaves), NETWORK, np.random.default_rng(1).normal(size=(3, 1, 3, 2)))
    assert found.open or any("keeps from call to call" in each for each in found.covers)


class Prepared(RingSum):
    """Keeps a table of each size, which is the same in all calls."""

    def __init__(self) -> None:
        self.tables = dict[int, Any]()

    def encode(self, row: Any) -> Any:
        return row * self.tables.setdefault(len(row), np.ones(row.shape[-1]))


@pytest.mark.build
def test_what_is_prepared_for_each_size_covers_all_calls() -> None:
    found = prove(Prepared(), NETWORK, np.random.default_rng(1).normal(size=(3, 1, 3, 2)))
    assert not found.open
    assert not found.covers


class ReadsWhereItLies(RingSum):
    """Looks how much a transcript has, past its attribute."""

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        blocks = vars(channel.transcript)["blocks"]
        if len(blocks) > 10**6 or blocks[-1].round > 10**6:
            bare(channel, rows[:, 0])


def test_blocks_that_are_read_where_they_lie_are_noted() -> None:
    found = prove(ReadsWhereItLies(), NETWORK, np.random.default_rng(1).normal(size=(3, 1, 3, 2)))
    assert any("what the channel has carried" in each for each in found.covers)


class FewMasks(RingSum):
    """Has no masks for many runs."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        if runs > 400:
            raise ValueError("too many runs")
        return super().draw_masks(runs, m, network, rng)


def test_masks_that_cannot_be_drawn_for_many_runs_end_the_proof() -> None:
    found = prove(FewMasks(), NETWORK, np.random.default_rng(1).normal(size=(3, 1, 3, 2)))
    assert "a call in use ends in ValueError: too many runs" in found.open


def _is_shared_row(allowed: float, few: Any, few_again: Any, many: Any, many_again: Any, others: Any) -> bool:
    """Say of one row, (runs, m), what :func:`_are_shared` says of several, entry by entry."""

    def is_near(a: Any, b: Any) -> bool:
        return all(abs(x - y) <= allowed + ROUNDING * abs(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))

    def is_as_before(runs: Any, before: Any, entry: int) -> bool:
        same = [x == y for x, y in zip(runs[:, entry].tolist(), before[:, entry].tolist(), strict=True)]
        return sum(same) > len(same) / 2

    if any(is_near(few[0], each) for each in few[1:]) or all(is_near(many[0], each) for each in many[1:]):
        return False
    for entry in range(few.shape[1]):
        count, of_others, of_few = (len({*x[:, entry].tolist()}) for x in (many, others, few))
        is_fresh = not is_as_before(few_again, few, entry) and of_few == len(few) and count > 1
        if is_fresh and (2 * count < of_others or is_as_before(many_again, many, entry)):
            return True
    return _is_repeated(many) and not _is_repeated(few)


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 6, 40]), st.sampled_from([float, np.int64]))
def test_rows_that_share_masks_are_found_together_as_one_by_one(seed: int, values: int, kind: Any) -> None:
    rng = np.random.default_rng(seed)
    blocks = [rng.integers(0, values, (3, runs, 2)).astype(kind) for runs in (3, 3, 7, 7, 7)]
    if seed % 2:
        blocks[0] = rng.integers(0, 2**40, (3, 3, 2)).astype(kind)
        blocks[1] = blocks[0] + rng.integers(0, 2, (3, 3, 2)).astype(kind)
    rows = zip(*blocks, strict=True)
    assert _are_shared(1e-12, *blocks) == any(_is_shared_row(1e-12, *row) for row in rows)
