"""Public numbers that may be others: every option is tried that anything hangs on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from secmix.kernel.coins import Public, coin_among
from secmix.kernel.state import Trace, following


def outcomes(make: Callable[[], Public], use: Callable[[Any], Any]) -> list[Any]:
    """Return what ``use`` makes of a public number in all its ways, as a proof tries them."""
    found, waiting = [], [()]
    while waiting:
        script = waiting.pop()
        with following(Trace(script=script)) as trace:
            found.append(use(make()))
        taken = [outcome for outcome, *_ in trace.turns]
        for k, (outcome, count, *_) in list(enumerate(trace.turns))[len(script) :]:
            waiting += [(*taken[:k], other) for other in range(count) if other != outcome]
    return found


def test_options_that_differ_within_a_tuple_are_tried_each() -> None:
    options = [np.ones(3000), np.ones(3000)]
    options[0][1200] = options[1][1300] = 0.0
    places = outcomes(lambda: coin_among(options, options[0], "a coin"), lambda coin: int(coin.nonzero()[0][1250]))
    assert sorted(places) == [1250, 1251]
