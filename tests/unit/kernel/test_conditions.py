"""A trace notes which iterations take a turn, and with which public numbers secrets are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from example_protocols import Pairwise, with_steps

from secmix import Network
from secmix.kernel import prove

NETWORK = Network.complete(3)
INPUTS = np.random.default_rng(0).normal(size=(3, 1, 3, 2))
TURNS = {
    "one": (lambda t: t == 5000, 5000),
    "from one on": (lambda t: t >= 700, 700),
    "the other way round": (lambda t: 700 <= t, 700),  # noqa: SIM300
    "one of many": (lambda t: t % 1000 == 999, 999),
    "one of a few": (lambda t: t % 7 == 5, 5),
    "a polynomial": (lambda t: (3 * t - 4) % 1000 == 2, 2),
    "a quotient": (lambda t: t // 100 == 3, 300),
    "bits": (lambda t: t & 1023 == 1023, 1023),
}


def opens(when: Any) -> Any:
    return with_steps(
        Pairwise,
        after=lambda self, channel, s, *_: channel.send(8, 0, -1, "open", s[0]) if when(channel.iteration) else None,
    )


@pytest.mark.parametrize("name", TURNS)
def test_the_condition_of_a_turn_is_noted(name: str) -> None:
    when, first = TURNS[name]
    numbers = np.arange(6000)
    true = np.array([when(int(t)) for t in numbers])
    taken = []
    for fit in prove(opens(when), NETWORK, INPUTS).fits:
        conditions = [fit.trace.conditions[k] for k, turn in enumerate(fit.trace.turns) if turn[2] == 0]
        meets = np.all([condition(numbers) for condition in conditions], axis=0)
        is_open = any(message.frame[2] == "open" and message.frame[0] == 0 for message in fit.messages)
        assert (true[meets] == is_open).all()
        taken += [int(numbers[meets][0])] if is_open else []
    assert first in taken


def test_a_coin_has_no_condition() -> None:
    coin = with_steps(Pairwise, sent=lambda self, hidden, s, r, rng: s if rng.random() < 0.001 else hidden)
    proof = prove(coin, NETWORK, INPUTS)
    assert any(fit.trace.turns for fit in proof.fits)
    assert not any(fit.trace.conditions for fit in proof.fits)


@pytest.mark.parametrize(
    ("step", "public", "largest"),
    [
        (lambda self, hidden, s, r, rng: np.where(s == -999, s, hidden), -999.0, np.abs(INPUTS).max()),
        (lambda self, hidden, s, r, rng: s if np.abs(s).max() > 60 else hidden, 60.0, np.abs(INPUTS).max()),
        (lambda self, hidden, s, r, rng: s if 60 < np.rint(8 * s[0, 0, 0]) else hidden, 60.0, None),  # noqa: SIM300
    ],
)
def test_what_secrets_are_compared_with_is_noted(step: Any, public: float, largest: float | None) -> None:
    trace = prove(with_steps(Pairwise, sent=step), NETWORK, INPUTS).fits[0].trace
    assert set(trace.compared) == {public}
    place, size = trace.compared[public]
    assert place.file == __file__
    assert largest is None or size <= largest


def test_secrets_that_are_compared_with_each_other_are_not() -> None:
    alike = with_steps(Pairwise, sent=lambda self, hidden, s, r, rng: np.where(s == s[1:2], s, hidden))
    assert not prove(alike, NETWORK, INPUTS).fits[0].trace.compared
