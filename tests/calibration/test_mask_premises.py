"""What is held against masks: nothing against honest ones, however few the runs or many the masks."""

from __future__ import annotations

import numpy as np
import pytest

from secmix.estimators.exact.presumed import _by_chance, unmet_independence, unmet_mask_premises

pytestmark = pytest.mark.build


@pytest.mark.parametrize("runs", [2, 3, 4, 7, 20, 100])
@pytest.mark.parametrize("modulus", [None, 2.0**40])
def test_honest_masks_pass_in_blocks_of_any_size(runs: int, modulus: float | None) -> None:
    """The last block of an audit may hold a handful of runs: a fixed bar for correlations once failed there."""
    for seed in range(4):
        draw = np.random.default_rng(seed)
        shape = (runs, 400, 3)
        masks = [
            draw.normal(size=shape) if modulus is None else np.floor(draw.uniform(0, modulus, size=shape))
            for _ in range(2)
        ]
        assert unmet_mask_premises(masks, modulus, 0.0 if modulus is None else 1.0) == []


@pytest.mark.parametrize("runs", [6, 20, 100])
def test_copies_are_found_among_hundreds(runs: int) -> None:
    masks = np.random.default_rng(0).normal(size=(runs, 400, 3))
    masks[:, 7] = -masks[:, 9]
    assert any("correlated" in doubt for doubt in unmet_mask_premises([masks], None))


@pytest.mark.parametrize("runs", [20, 100])
def test_small_masks_are_found_among_hundreds(runs: int) -> None:
    masks = np.random.default_rng(0).normal(size=(runs, 400, 3))
    masks[:, 7] *= 0.05
    assert any("differ in size" in doubt for doubt in unmet_mask_premises([masks], None))


@pytest.mark.parametrize("entry", [0, 63, 29_936, 29_999])
def test_of_a_long_vector_stretches_from_end_to_end_are_compared(entry: int) -> None:
    masks = np.random.default_rng(0).normal(size=(60, 1, 30_000))
    masks[:, :, entry] = masks[:, :, 10]
    assert any("share masks (correlation up to 1.00)" in doubt for doubt in unmet_mask_premises([masks], None))


@pytest.mark.parametrize("entry", [0, 255, 256, 2999])
def test_a_copy_of_an_entry_is_found_in_a_vector_of_thousands(entry: int) -> None:
    masks = np.random.default_rng(0).normal(size=(120, 2, 3000))
    assert unmet_mask_premises([masks], None) == []
    masks[:, :, entry] = masks[:, :, 1500]
    assert any("share masks (correlation up to 1.00)" in doubt for doubt in unmet_mask_premises([masks], None))


@pytest.mark.parametrize("beyond_chance", [-1e-9, 1e-9])
@pytest.mark.parametrize("pair", [(3, 550), (598, 599), (255, 256)])
def test_significance_is_judged_to_the_last_digit(pair: tuple[int, int], beyond_chance: float) -> None:
    """Numbers of half the length look for it first, and decide nothing that is near."""
    runs, masks = 100, 600
    wanted = _by_chance(masks**2, runs) + beyond_chance
    columns = np.random.default_rng(0).normal(size=(runs, 2))
    first, second = np.linalg.qr(columns - columns.mean(axis=0))[0].T
    drawn = np.random.default_rng(1).normal(size=(runs, masks, 1))
    drawn[:, pair[0], 0], drawn[:, pair[1], 0] = first, wanted * first + np.sqrt(1 - wanted**2) * second
    assert bool(unmet_independence([drawn])) == (beyond_chance > 0)
    largest = np.abs(np.corrcoef(drawn[:, :, 0].T) - np.eye(masks)).max()
    assert largest == pytest.approx(wanted, abs=1e-12)
