"""The decoders' intervals, replayed on known truth: what they say is known at least is seldom more than is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from secmix.auditing.counterexamples.decode import decode
from secmix.auditing.counterexamples.features import Feature
from secmix.estimators.estimate import wilson
from secmix.estimators.learned_decoders import reconstruct

pytestmark = pytest.mark.build

REPLAYS = 150
SIDE = 0.025  # of a 95 % interval


def most(replays: int) -> float:
    return float(binom.ppf(0.999, replays, SIDE))


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("tails", ["light", "heavy"])
def test_a_linear_decoder_seldom_claims_more_than_the_best_one_explains(noise: float, tails: str) -> None:
    above = 0
    for seed in range(REPLAYS):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((120, 1)) if tails == "light" else rng.laplace(size=(120, 1)) / math.sqrt(2)
        view = x + noise * rng.standard_normal((120, 1))
        above += reconstruct(x, view).explained[1] > 1 / (1 + noise**2)
    assert above <= most(REPLAYS)


def test_a_decoder_chosen_among_many_is_judged_on_other_runs() -> None:
    above, replays = 0, 40
    for seed in range(replays):
        rng = np.random.default_rng(seed)
        truth = rng.standard_normal((160, 2, 3))
        features = [Feature(f"place {k}", "number", truth[:, 0] + rng.standard_normal((160, 3))) for k in range(8)]
        # Regression on all eight explains 8/9 of the variance; nothing does better.
        above += 1 - decode(truth, features, [0], 80, rng)[0].error.high ** 2 > 8 / 9
    assert above <= most(replays)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_wilsons_lower_end_is_seldom_above_the_share(share: float) -> None:
    hits = np.random.default_rng(0).binomial(80, share, size=2000)
    # Its nominal level is approached from both sides at small counts (Brown, Cai and DasGupta 2001, figure 5).
    assert np.mean([wilson(int(k), 80)[0] > share for k in hits]) <= 0.06
