"""Named random streams: the same for the same name, independent for others, of registered purposes alone."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import secmix
from secmix._base.random import PURPOSES, sequence, stream
from secmix.errors import SecmixError

NAMES = st.lists(st.one_of(st.text(), st.integers()), max_size=3).map(tuple)
KEYS = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from(PURPOSES), NAMES)


@pytest.mark.build
@given(KEYS)
def test_the_same_name_draws_the_same(key: tuple[int, str, tuple[str | int, ...]]) -> None:
    seed, purpose, names = key
    first, second = (stream(seed, purpose, *names).bytes(16) for _ in range(2))
    assert first == second
    assert first == np.random.default_rng(sequence(seed, purpose, *names)).bytes(16)


@given(KEYS, KEYS)
def test_another_name_draws_others(
    one: tuple[int, str, tuple[str | int, ...]], other: tuple[int, str, tuple[str | int, ...]]
) -> None:
    if repr(one) != repr(other):
        assert stream(one[0], one[1], *one[2]).bytes(16) != stream(other[0], other[1], *other[2]).bytes(16)


def test_names_do_not_run_together() -> None:
    drawn = {
        stream(0, "attack", *names).bytes(16)
        for names in [(), ("",), ("", ""), ("a", "b"), ("ab",), ("b", "a"), (1, 2), (12,), ("1", "2"), (1, "2")]
    }
    assert len(drawn) == 10


def test_streams_are_uncorrelated() -> None:
    drawn = np.stack([stream(0, "attack", k).standard_normal(4000) for k in range(30)])
    off = np.corrcoef(drawn)[np.triu_indices(30, 1)]
    assert np.abs(off).max() < 5 / np.sqrt(4000)


def test_an_unknown_purpose_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(SecmixError, match="unknown purpose of a random stream 'atack'; did you mean 'attack'"):
        stream(0, "atack")


def test_the_auditing_layer_draws_from_named_streams_alone() -> None:
    """No generator is made from a list of numbers, nor from the scenario's seed as it is."""
    made = []
    for path in (Path(secmix.__file__).parent / "auditing").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("default_rng", "SeedSequence"):
                words = ast.unparse(node)
                made += [f"{path.name}: {words}"] if "[" in words or "cell.seed" in words else []
    assert not made
