"""What is a function of several sums is no secret to whoever knows these: it is the same where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.kernel.test_bounds import ONE, TWO

from secmix.kernel.values.arrays import array_of
from secmix.kernel.values.current_trace import INF, Trace, following, now
from secmix.kernel.values.forms import alone
from secmix.kernel.values.numbers import Number, traced_back

NODES, ENTRIES = 3, 2
STEPS = st.lists(st.tuples(st.sampled_from([*ONE, *TWO]), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8)


def _rows(values: Any) -> Iterator[Any]:
    """Yield the followed rows (n, m) of some nodes."""
    trace = Trace()
    numbers = np.empty(values.shape, object)
    for (node, entry), value in np.ndenumerate(values):
        variable = trace.variable("input", node, float(value), 0, entry=entry)
        numbers[node, entry] = Number(float(value), alone(variable), INF, 2 << node, 0)
    with following(trace):
        yield array_of(numbers, float)


def _computed(rows: Any, steps: Any) -> list[Any]:
    several = [rows.sum(axis=0), rows[0] + rows[1], rows[2], rows[0] - rows[1]]
    for name, one, other in steps:
        args = (several[one % len(several)], several[other % len(several)])
        several.append(ONE[name](args[0]) if name in ONE else TWO[name](*args))
    return several


@given(st.integers(0, 2**32 - 1), STEPS)
def test_whoever_knows_what_a_number_is_made_of_knows_it(seed: int, steps: Any) -> None:
    """Nodes 0 and 1 exchange what they have: whatever is made of their sums alone stays what it was."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(NODES, ENTRIES)) * 3
    moved = values + np.array([[1.0], [-1.0], [0.0]]) * rng.normal(size=ENTRIES)
    same = 0
    for rows in _rows(values):
        with np.errstate(all="ignore"):
            traced, again = _computed(rows, steps), _computed(moved, steps)
        for array, plain in zip(traced, again, strict=True):
            numbers, ends = np.ravel(np.asarray(array.reading, object)), np.ravel(np.asarray(plain, float))
            for number, value in zip(numbers.tolist(), ends.tolist(), strict=True):
                if not isinstance(number, Number):
                    continue
                leaves, is_all = traced_back([number])
                assert is_all or number.is_zero
                if is_all and all(_is_same(leaf, moved - values) for leaf in leaves):
                    same += 1
                    assert np.isclose(float(number.value), value, rtol=1e-6, atol=1e-6, equal_nan=True)
    assert same  # at least the sums themselves


def _is_same(leaf: Number, step: Any) -> bool:
    """Say whether a form is the same after a step of all rows; what node 2 encodes is, what others encode may not."""
    terms = [(c, now().variables[v]) for v, c in leaf.terms.items()]
    if any(own.kind == "code" and own.node != 2 for _, own in terms):
        return False
    return abs(sum(c * step[own.node, own.entry] for c, own in terms if own.kind == "input")) < 1e-9
