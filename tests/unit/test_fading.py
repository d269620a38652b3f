"""Growth that ends, at an edge of the support, told from growth that does not."""

from __future__ import annotations

import pytest

from secmix.estimators.ksg_estimator.fading import NeighbourSteps


def test_growth_is_excused_where_the_steps_shorten_and_the_rows_are_enough():
    edge = NeighbourSteps(far=0.13, near=0.04, least=0.06, nats=0.55, k=3, rows=2000)
    assert edge.fade
    assert edge.to_go == pytest.approx(0.12)
    assert not edge._replace(near=0.10).fade  # rows that leak grow on
    assert not edge._replace(least=0.12).fade
    assert not edge._replace(rows=1000).fade
    # A far step that is long for the number comes of curvature, and excuses no more.
    assert not NeighbourSteps(far=0.9, near=0.15, least=0.2, nats=0.6, k=3, rows=2000).fade
