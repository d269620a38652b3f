"""Public numbers that may be others: every option is tried that anything hangs on."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secmix.kernel.randomness.coins import Public, coin_among
from secmix.kernel.randomness.draws import Draws
from secmix.kernel.values.current_trace import Trace, following


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


def test_options_that_are_the_same_array_are_one() -> None:
    with following(Trace()) as trace:
        coin = coin_among([np.ones(2), np.ones(2)], np.ones(2), "a coin")
        assert np.asarray(coin).tolist() == [1.0, 1.0]
        assert not trace.turns


@pytest.mark.parametrize("of", [lambda t: t, lambda t: 2 * t + 1, lambda t: t // 10], ids=["itself", "odd", "tenth"])
def test_what_is_asked_twice_of_one_number_is_answered_alike(of: Callable[[Any], Any]) -> None:
    """Each pair of nodes asked whether an iteration was late: a session of three pairs was tried 512 times."""
    answers = outcomes(lambda: Public(3, "the iteration"), lambda t: [bool(of(t) >= 5000) for _ in range(3)])
    assert sorted(answers) == [[False] * 3, [True] * 3]


def test_what_is_asked_of_other_numbers_is_answered_apart() -> None:
    def ask(t: Any) -> list[bool]:
        return [bool(t >= 5), bool(t >= 6), bool(t <= 5), bool(t + 1 >= 5), bool(Public(3, "another") >= 5)]

    assert len(outcomes(lambda: Public(3, "the iteration"), ask)) == 2**5


def test_a_later_call_is_answered_apart() -> None:
    with following(Trace()) as trace:
        number = Public(3, "a count that is kept")
        for trace.call in range(2):
            assert not number >= 5
            assert not number >= 5
    assert [call for _, _, call, _ in trace.turns] == [0, 1]


def test_an_array_that_is_written_to_is_asked_again() -> None:
    with following(Trace()):
        number = Public(np.zeros(2), "counts")
        first = number + 1
        number += 1
        assert number.tolist() == [1.0, 1.0]
        assert first.used().tolist() == [1.0, 1.0]


OPTIONS = [np.array([[2, 3]]), np.array([[0, 3]]), np.array([[5, 1]])]
USES: dict[str, Callable[[Any], Any]] = {
    "a ufunc": lambda coin: np.add(coin, 1),
    "a ufunc of an array": lambda coin: np.ones((1, 2)) * coin,
    "a ufunc into an array": lambda coin: np.add(coin, 1, out=np.zeros((1, 2))),
    "a ufunc's method": lambda coin: np.add.reduce(coin, axis=1),
    "a function": lambda coin: np.concatenate([coin, coin]),
    "a function by value": lambda coin: np.unique(coin),
    "an attribute": lambda coin: coin.T,
    "a method": lambda coin: coin.sum(),
    "a shape": lambda coin: np.zeros(coin.shape),
    "a type": lambda coin: np.zeros((1, 2), coin.dtype) + coin,
    "an entry": lambda coin: coin[0, 1],
    "entries": lambda coin: [int(each) for row in coin for each in row],
    "a copy": lambda coin: copy.deepcopy(coin),
    "a pickle": lambda coin: pickle.loads(pickle.dumps(coin)),
    "an array": lambda coin: np.asarray(coin),
    "a quotient that may fail": lambda coin: 12 // int(coin[0, 0]) if int(coin[0, 0]) else -1,
    "a power": lambda coin: coin[0, 1].item() ** 2,
    "a power modulo a prime": lambda coin: pow(coin[0, 0].item(), 3, 7),
    "an inverse that there may not be": lambda coin: _inverse(coin[0, 0].item()),
    "an index beyond a list": lambda coin: _entry([7, 8, 9, 10], coin[0, 0]),
    "a value written": lambda coin: _written(coin),
}


def _entry(several: list[int], place: Any) -> int:
    try:
        return several[place]
    except IndexError:
        return -1


def _inverse(number: Any) -> Any:
    try:
        return pow(number, -1, 5)
    except ValueError:
        return -1


def _written(coin: Any) -> Any:
    coin = coin + 0
    coin[0, 0] = 4
    return coin


@pytest.mark.parametrize("name", USES)
def test_every_option_is_tried_and_does_what_it_does_alone(name: str) -> None:
    use = USES[name]
    found = outcomes(
        lambda: coin_among(OPTIONS, OPTIONS[0], "a coin"),
        lambda coin: (lambda out: out.used() if isinstance(out, Public) else out)(use(coin)),
    )
    tried = {np.asarray(each).tolist().__repr__() for each in found}
    assert tried == {np.asarray(use(option)).tolist().__repr__() for option in OPTIONS}


@pytest.mark.parametrize(("draw", "most"), [("permutation", 5), ("choice", 128)])
def test_few_ways_of_a_draw_are_listed_and_no_more(draw: str, most: int) -> None:
    with following(Trace()):
        few, many, huge = (getattr(Draws(np.random.PCG64(1), secret=None), draw)(n) for n in (most, most + 1, 10**6))
        assert [each.is_known for each in (few, many, huge)] == [True, False, False]
    assert len(few.coin.left) == {"permutation": 120, "choice": 128}[draw]


def test_a_claim_is_narrowed_by_an_inverse_whose_lack_may_be_caught() -> None:
    with following(Trace()) as trace:
        assert _inverse(Public(3, "a count")) == 2
        assert [*trace.by_value] == ["a count"]


def test_a_remainder_of_another_trace_is_not_believed() -> None:
    with following(Trace()):
        count = Public(23, "a count")
        first = count % 5
        assert (count % 5).coin is first.coin
        assert first.used() == 3
    with following(Trace()):
        assert (count % 5).coin is not first.coin


def test_what_a_coin_is_written_into_is_taken_by_value() -> None:
    """An array that is written to holds one of the options, whichever way is traced."""
    with following(Trace()) as trace:
        coins = coin_among([np.array([1.0, 2.0]), np.array([3.0, 4.0])], np.array([1.0, 2.0]), "public coins")
        assert isinstance(np.cumsum(coins), Public)
        assert not trace.turns
        into = np.zeros(2)
        np.cumsum(coins, out=into)
        assert into.tolist() == [1.0, 3.0]
        assert [(outcome, count) for outcome, count, *_ in trace.turns] == [(0, 2)]


def test_of_whole_numbers_alone_the_conditions_are_solved() -> None:
    with following(Trace()):
        number = Public(3, "the iteration", of=lambda x: x)
        assert (number * 2 + 1).base is number
        assert (number * 0.5).base is not number
