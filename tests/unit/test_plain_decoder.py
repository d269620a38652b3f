"""The simplest decoder: numbers that are sent as they are, in words or fixed point, and none that are masked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secmix._base.checks import Array
from secmix.auditing.counterexamples.affine import AffineReading, DirectDecoding, decode_directly, marks, read_as
from secmix.transcript import Origin

RUNS, N, M = 100, 4, 6
PLACE = Origin(0, 0, "sent", "plain", 0, (-1,)), 0
PRIME = 2**61 - 1


def inputs(seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(scale=10.0, size=(RUNS, N, M))


def words(x: Array, unit: float = 2.0**20) -> Any:
    return np.rint(x * unit).astype(np.int64)


def found(
    rows: Any, truth: Array, steps: tuple[float, ...] = (), honest: tuple[int, ...] = (0, 1, 2, 3)
) -> dict[int, DirectDecoding]:
    return decode_directly(truth, read_as(PLACE, rows, steps), range(N), honest, RUNS // 2)


SENT: dict[str, Callable[[Array], Any]] = {
    "as it is": lambda x: x,
    "times and plus": lambda x: 3.0 - 1e-9 * x,
    "in single precision": lambda x: x.astype(np.float32),
    "signed words": words,
    "two's complement": lambda x: words(x).astype(np.uint64),
    "two's complement of 32 bits": lambda x: words(x, 2.0**16).astype(np.uint32),
    "words from another zero": lambda x: words(x).astype(np.uint64) + np.uint64(10**9),
    "cut off": lambda x: np.floor(x * 2.0**20).astype(np.int64),
    "modulo a prime": lambda x: words(x) % PRIME,
    "fixed point": lambda x: np.round(x * 2.0**20) / 2.0**20,
    "in a known order": lambda x: x[:, ::-1],
    "mixed by a known matrix": lambda x: x @ np.random.default_rng(9).normal(size=(M, M)),
    "below a mask of steps": lambda x: x + 4096.0 * np.random.default_rng(8).integers(0, 2**20, size=x.shape),
    "below a mask of upper halves": lambda x: (
        words(x).astype(np.uint64) + (np.random.default_rng(8).integers(0, 2**32, size=x.shape, dtype=np.uint64) << 32)
    ),
}


@pytest.mark.parametrize("name", SENT)
def test_an_input_that_is_sent_is_told_in_every_run(name: str) -> None:
    truth = inputs()
    got = found(SENT[name](truth[:, 2]), truth, (4096.0, float(PRIME)))
    assert set(got) == {2}
    assert got[2].complete
    assert got[2].runs == RUNS // 2
    assert got[2].error < 1e-4


@pytest.mark.parametrize("seed", range(20))
def test_what_is_masked_tells_nothing(seed: int) -> None:
    rng, truth = np.random.default_rng(seed), inputs(seed)
    masked = words(truth[:, 0]).astype(np.uint64) + rng.integers(0, 2**64, size=(RUNS, M), dtype=np.uint64)
    assert not found(masked, truth, (2.0**10,))
    assert not found(truth[:, 0] + rng.normal(scale=1e6, size=(RUNS, M)), truth, (0.5, 10.0))
    assert not found((truth[:, 0] + rng.normal(scale=1e6, size=(RUNS, M))).astype(np.float32), truth, (0.0625,))
    assert not found((words(truth[:, 0]) + rng.integers(0, PRIME, size=(RUNS, M))) % PRIME, truth, (float(PRIME),))
    assert not found(truth[:, 0] + 1e-3 * rng.normal(size=(RUNS, M)), truth)


def test_what_all_put_in_together_is_no_ones() -> None:
    truth = inputs()
    assert not found(truth.sum(axis=1), truth)
    assert not found(truth[:, [0, 1]].mean(axis=1), truth, honest=(0, 1))
    assert not found(truth[:, 0], truth, honest=(0,))  # the average tells it
    steady = truth.copy()
    steady[:, 1:] = steady[:1, 1:]
    assert not found(steady[:, 0], steady)


def test_public_numbers_tell_nothing() -> None:
    truth = inputs()
    assert not found(np.ones((RUNS, M)), truth)
    assert not found(np.random.default_rng(1).integers(0, 256, size=(RUNS, M)), truth)
    assert not found(np.full((RUNS, M), np.nan), truth)
    assert not found(np.sign(truth[:, 0]), truth)


def test_a_part_is_told_as_a_part() -> None:
    truth = inputs()
    rows = np.random.default_rng(1).normal(scale=1e6, size=(RUNS, M))
    rows[:, 4] = truth[:, 1, 4]
    got = found(rows, truth)
    assert got[1].entries == (4,)
    assert not got[1].complete
    mean = found(words(truth[:, 3].mean(axis=1, keepdims=True)), truth)
    assert mean[3].entries == ()
    assert not mean[3].complete


def test_an_entry_that_follows_from_the_others_is_told_with_them() -> None:
    truth = inputs()
    truth[:, :, 5] = 20.0 - truth[:, :, 0]
    assert found(truth[:, 0, :5], truth)[0].complete
    truth[:, 0, 1] = 7.0  # and one that never changes is no secret
    assert found(truth[:, 0, [0, 2, 3, 4]], truth)[0].complete


@pytest.mark.build
def test_long_vectors_are_told_entry_by_entry() -> None:
    truth = np.random.default_rng(0).normal(size=(RUNS, 2, 80))
    got = decode_directly(truth, read_as(PLACE, words(truth[:, 1]).astype(np.uint64), ()), [0, 1], [0, 1], RUNS // 2)
    assert set(got) == {1}
    assert got[1].complete


def test_a_few_runs_tell_nothing() -> None:
    truth = inputs()[:10]
    assert not decode_directly(truth, read_as(PLACE, truth[:, 0], ()), [0], range(N), 5)


def test_a_code_marks_entries_only_where_it_is_theirs() -> None:
    rng = np.random.default_rng(0)

    def call(code: float) -> list[AffineReading]:
        x, y = rng.normal(size=(20, 1)), rng.normal(scale=1e6, size=(20, 1))
        return [*read_as(PLACE, np.hstack([np.full_like(x, code) if code == -999 else x + y, np.ones_like(x)]), ())]

    assert "the number -999 in" in marks(0, call(-999), call(0), call(-998))
    assert not marks(0, call(0), call(0), call(0))
    assert not marks(0, call(-999), call(-999), call(-998))  # said in every call
    assert not marks(0, call(-999), call(0), call(-999))  # said near it as well: it hangs on its size
    assert not marks(0, call(-999), [], [])
    assert not marks(1, call(-999), call(0), call(-998))  # what another sends may be the average
