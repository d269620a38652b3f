"""Secret sharing and whole-number elimination, against Python's own whole numbers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix.estimators.exact.integers import combined_residues, integer_null_space
from secmix.protocols.sums.shamir import prime_below, recovery_coefficients, share_coefficients, weighted_sums

PRIME = prime_below(52)
words = st.integers(0, PRIME - 1)


@given(st.lists(words, min_size=1, max_size=5), st.integers(0, 4))
def test_any_threshold_of_shares_recovers_the_secret(drawn, more):
    threshold, count = len(drawn), len(drawn) + more
    known = [np.array([word]) for word in drawn]  # the secret and the first shares
    shares = weighted_sums(share_coefficients(threshold, count), np.stack(known), PRIME)
    for points in combinations(range(1, count + 1), threshold):
        back = weighted_sums([recovery_coefficients(points, PRIME)], shares[np.array(points) - 1], PRIME)
        assert back.tolist() == [[drawn[0]]]


@given(st.integers(2, 5), st.integers(0, 3))
def test_fewer_shares_say_nothing_of_the_secret(threshold, more):
    # Without the secret's column the coefficients of any t − 1 shares have full rank: drawn shares explain any secret.
    rows = np.array(share_coefficients(threshold, threshold + more))
    for some in combinations(range(len(rows)), threshold - 1):
        assert np.linalg.matrix_rank(rows[list(some), 1:]) == threshold - 1


@given(st.lists(st.tuples(st.integers(-(2**60), 2**60), words), min_size=1, max_size=4))
def test_combinations_of_words_are_exact(terms):
    factors, values = zip(*terms, strict=True)
    due = sum(f * v for f, v in terms) % PRIME
    assert weighted_sums([factors], np.array([[v] for v in values]), PRIME).tolist() == [[due]]
    grid = 2.0**-24
    values_of = np.array(values, dtype=float).reshape(-1, 1, 1) * grid
    found = combined_residues(dict(enumerate(factors)), values_of, PRIME * grid)
    assert round(float(found[0, 0]) / grid) % PRIME == due


@pytest.mark.parametrize("sign", [1, -1])
def test_many_terms_of_the_largest_size_are_exact(sign):
    # Where the quotients are largest, and their rounding with them.
    rng = np.random.default_rng(0)
    factors = [sign * (PRIME // 2 - int(rng.integers(9))) for _ in range(100)]
    values = PRIME - 1 - rng.integers(9, size=(100, 200))
    due = [sum(f * int(v) for f, v in zip(factors, column, strict=True)) % PRIME for column in values.T]
    assert weighted_sums([factors], values, PRIME)[0].tolist() == due


@given(st.data())
def test_the_integer_null_space_is_all_that_vanishes(data):
    rows, columns = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 8))
    numbers = st.sampled_from([0, 0, 0, 1, -1, 2, -3, 20])
    matrix = [[data.draw(numbers) for _ in range(columns)] for _ in range(rows)]
    found = integer_null_space(np.array(matrix, dtype=float))
    assert len(found) == rows - np.linalg.matrix_rank(np.array(matrix))
    for each in found:
        assert [sum(c * matrix[r][k] for r, c in each.items()) for k in range(columns)] == [0] * columns
    table = np.array([[float(each.get(r, 0)) for r in range(rows)] for each in found]).reshape(-1, rows)
    assert np.linalg.matrix_rank(table) == len(found)
