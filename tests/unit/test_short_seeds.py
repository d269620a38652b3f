"""How surely the right one of many seeds is told from others."""

from __future__ import annotations

import numpy as np
import pytest

from secmix.auditing.counterexamples.masks.tried import mistaken

RUNS, SAMPLE = 20, 1024


@pytest.mark.parametrize("several", [1, 2, 3])
@pytest.mark.parametrize("smaller", [2.0**-10, 2.0**-30])
def test_others_as_small_as_the_right_one_are_as_many_as_they_are(several: int, smaller: float) -> None:
    """Of uniform numbers a share of ``smaller`` to the power of how many they are lies below."""
    rng = np.random.default_rng([several, 3])
    seeds = rng.integers(2**32, size=SAMPLE)
    size = rng.random((several, SAMPLE + RUNS, RUNS)).max(axis=0)
    right = 1000 + np.arange(RUNS)
    size[SAMPLE + np.arange(RUNS), np.arange(RUNS)] = smaller
    found = mistaken(size, np.concatenate([seeds, right]), right, several)
    assert smaller**several / 20 < found < 20 * RUNS * smaller**several


def test_the_right_one_in_the_sample_is_no_other() -> None:
    rng = np.random.default_rng(1)
    seeds, right = np.arange(SAMPLE), np.arange(RUNS)
    size = rng.random((SAMPLE + RUNS, RUNS))
    size[np.arange(RUNS), np.arange(RUNS)] = size[SAMPLE + np.arange(RUNS), np.arange(RUNS)] = 1e-12
    assert mistaken(size, np.concatenate([seeds, right]), right, 1) < 1e-8


def test_masks_that_are_smaller_than_data_tell_no_seed() -> None:
    rng = np.random.default_rng(2)
    size = 100.0 + rng.random((SAMPLE + RUNS, RUNS))
    candidates, right = np.arange(SAMPLE + RUNS), SAMPLE + np.arange(RUNS)
    assert mistaken(size, candidates, right, 3) * 2**20 > 1
