"""Why the bound holds: e to the contrast of a pair averages to one over strangers, whatever the critic."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from secmix.estimators.information.contrast import contrasts, pseudo_values
from secmix.estimators.information.stacking import MIXED

SCORES = st.integers(2, 12).flatmap(
    lambda b: arrays(np.float64, (b, b), elements=st.floats(-50, 50, allow_nan=False, width=32))
)


@given(scores=SCORES, mixed=st.sampled_from((0.0, MIXED, 0.1)))
def test_exp_of_the_contrast_averages_to_one_over_strangers(scores, mixed):
    """With x_i and the b values of y held fixed, each y is as likely x_i's own where x and y are independent: the mean
    of e^s over them is one, so that E s ≤ I by Donsker and Varadhan's bound."""
    b = len(scores)
    ratios = [np.exp(contrasts(np.roll(scores, -shift, axis=1), mixed)) for shift in range(b)]
    np.testing.assert_allclose(np.mean(ratios, axis=0), 1.0, rtol=1e-9)


@given(scores=SCORES, mixed=st.sampled_from((MIXED, 0.1)))
def test_contrasts_are_bounded(scores, mixed):
    whole, pseudo = pseudo_values(scores, mixed)
    assert whole.min() >= np.log(mixed) - 1e-9
    assert whole.max() <= np.log(len(scores)) + 1e-9
    assert np.isfinite(pseudo).all()
