"""What is held against masks: nothing against honest ones, however few the runs or many the masks."""

from __future__ import annotations

import numpy as np
import pytest

from secmix.estimators.exact.presumed import unmet_mask_premises

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
