"""The system draws again, in the untraced call that is compared, the numbers that it drew in a trace."""

from __future__ import annotations

import os
import secrets
from typing import Any

import numpy as np

from secmix.kernel.tracing.world import drawn_again, replaced
from secmix.kernel.values.current_trace import Trace, following


def _draws() -> list[Any]:
    from numpy.random import default_rng

    numbers = [secrets.randbelow(10**6), secrets.randbits(40), default_rng().integers(2**60)]
    octets = [secrets.token_bytes(6), os.urandom(3), secrets.token_bytes()]
    return [*numbers, *octets, np.random.default_rng().random(), np.random.default_rng(3).integers(9)]


def _plain(drawn: Any) -> Any:
    return drawn.plain if hasattr(drawn, "plain") else getattr(drawn, "value", drawn)


def test_the_system_draws_again_what_it_drew_in_a_trace() -> None:
    with following(Trace()), replaced({__name__}):
        traced = [_plain(each) for each in _draws()]
    with drawn_again({__name__}):
        assert _draws() == traced
    assert _draws() != traced
