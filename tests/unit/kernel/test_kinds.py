"""Protocols of a fourteenth hand that a proof cleared once: each of them is open, covers less, or is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from soundness.heldback.fourteenth import batches, columns, idioms, kinds, large, right, turns, weights
from unit.kernel.parts import in_turns

from secmix import Network
from secmix.adversaries import CuriousServer
from secmix.kernel import KnownSums, clear, proving
from secmix.kernel.tracing import projections
from secmix.kernel.tracing.trace import Fit, Way, follow
from secmix.kernel.values.algebra import known_together

NETWORK = Network.complete(5)
INPUTS = [np.random.default_rng([7, call]).normal(size=(1, 5, 6)) for call in range(3)]


def is_cleared(protocol: Any) -> bool:
    known = clear(proving.prove(protocol, NETWORK, INPUTS), NETWORK, CuriousServer())
    return isinstance(known, KnownSums) and not known.covers and max(known.behind_masks.values()) < 0.9


SLIPS = [
    *(kinds.WBatchLateFirst, kinds.WBatchBareFirst, kinds.WGivenLateFirst, kinds.WCoinUnheardFirst),
    *(kinds.WGivenTiledFirst, kinds.WCompareCoinBatch, kinds.WLateBatchKeeps, kinds.WEvalBatches),
    *(kinds.WOfflinePool, kinds.WGuardedBatch, kinds.WCounterBatch, kinds.WCounterUnheard, turns.WStreamlessWarm),
    *(columns.WColumnSlip, columns.WLeaderColumn, columns.WEntrySwap),
    *(weights.WSlightWeights, weights.WRemainderReal, weights.WEpsilonWeights, weights.WArchiveKey),
]


@pytest.mark.parametrize("kind", in_turns(SLIPS, weights.WArchiveKey))
def test_what_is_wrong_in_other_calls_is_not_cleared(kind: type) -> None:
    assert not is_cleared(kind())


@pytest.mark.build
@pytest.mark.parametrize(
    "kind", [large.WTabledFemto, large.WTabledMega, large.WScheduled, large.WUniformLate, large.WBatchSigma]
)
def test_other_calls_of_a_large_protocol_have_draws_of_the_same_laws_and_none_is_small_beside_others(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, "_LARGE", 0)
    assert not is_cleared(kind())


@pytest.mark.build
@pytest.mark.parametrize("kind", [right.RFlattened, idioms.RShape, right.RPublicPattern, idioms.RAxes])
def test_arrays_may_be_reshaped_masked_and_laid_out_anew(kind: type) -> None:
    assert is_cleared(kind())


@pytest.mark.build
def test_a_batch_is_said_to_be_followed_as_it_was() -> None:
    assumed = proving.prove(batches.WPoolShift(), NETWORK, INPUTS).assumes
    (others,) = (each for each in assumed if each.startswith("calls of other numbers of runs than 1, 2, 3, "))
    assert others.endswith(" treat each run as these do")
    assert "calls of several runs treat all entries of a vector as 2 of them" in assumed


class OfSeveralLaws(large.RTabled):
    """Draws each entry of its masks at a size of its own."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Any:
        return rng.normal(scale=1e6 * (1 + np.arange(m)), size=(runs, len(network.edges), m))


@pytest.mark.parametrize(("kind", "stands"), [(large.RTabled, True), (OfSeveralLaws, False)])
def test_a_call_stands_for_others_only_if_entries_have_the_same_laws(kind: type, stands: bool) -> None:
    fit: Fit = follow(kind(), NETWORK, INPUTS[:1], ways=Way(masks_seed=0))
    assert not fit.error
    assert projections.stands_for_others(fit) == stands


def test_sums_of_different_numbers_tell_no_more_together() -> None:
    ours, theirs = (tuple(((node, entry), 1.0) for node in range(4)) for entry in range(2))
    assert known_together([ours, theirs, ours]) == pytest.approx(dict.fromkeys(range(4), 0.25))
    mixed = (*ours[:3], theirs[3])
    assert known_together([ours, theirs, mixed])[3] == pytest.approx(1.0)
