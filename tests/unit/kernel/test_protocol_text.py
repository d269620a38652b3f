"""Where a secret leaves: what may catch an error, also in code without a file, and what a guard is."""

from __future__ import annotations

import linecache
import math
from typing import Any

import pytest

from secmix.kernel.values.current_trace import INF, LeftTrace, Trace, following, now, tracing
from secmix.kernel.values.numbers import Number, function
from secmix.kernel.values.protocol_text import is_guard

PLAIN = """
def root(number):
    return rooted(number)
"""
CAUGHT = """
def root(number):
    try:
        return rooted(number)
    except ValueError:
        return 0.0
"""


def secret(trace: Trace, value: float = 2.0) -> Number:
    return Number(value, {trace.variable("input", 0, value, 0): 1}, INF, 2, 0)


def rooted(number: Any) -> Any:
    return function("root", math.sqrt, number, may_fail=True)


def traced_call(text: str) -> Trace:
    """Follow a square root in code without a file, as a notebook's cell is."""
    space: dict[str, Any] = {"rooted": rooted}
    exec(compile(text, "<cell 1>", "exec"), space)
    with following(Trace()) as trace:
        try:
            space["root"](secret(trace))
        except LeftTrace:
            assert trace.left
    return trace


def test_a_cell_is_read_again_when_it_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, is_caught in ((PLAIN, False), (CAUGHT, True), (PLAIN, False)):
        lines = text.splitlines(keepends=True)
        monkeypatch.setitem(linecache.cache, "<cell 1>", (len(text), None, lines, "<cell 1>"))
        assert bool(traced_call(text).left) == is_caught


@pytest.mark.parametrize("text", ["", "this is no Python"])
def test_code_that_cannot_be_read_may_catch_all(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "<cell 1>", (len(text), None, [text] if text else [], "<cell 1>"))
    assert traced_call(CAUGHT).left


def test_a_trace_is_over_after_its_block() -> None:
    with following(Trace()) as trace:
        assert tracing()
        assert now() is trace
    assert not tracing()


@pytest.mark.parametrize(
    "test",
    [
        "x > 9 or np.abs(x).max() > 9",
        "not np.isfinite(x).all() or len(x) != 3",
        "any(v > 9 or math.isnan(v) for v in x)",
        "0 < x < max(y)",
        "self.is_large(x)",
        "self.is_large(x) and x.sum() > 3",
    ],
)
def test_a_test_that_looks_at_numbers_is_a_guard(test: str) -> None:
    assert is_guard((f"if {test}:\n", "    raise ValueError\n"), 1, ())
    assert is_guard((f"assert {test}\n",), 1, ())


@pytest.mark.parametrize(
    "test",
    [
        "x > 9 and self.refuses(x)",
        "x < 9 or noted.append(x) is None",
        "any(v > 9 and noted.append(v) for v in x)",
        "0 < x < next(tries)",
        "x > 9 and (lambda: 1)()",
    ],
)
def test_what_is_called_after_an_answer_may_act_upon_it(test: str) -> None:
    """One flip of a guard shows what its test does there, and no other place in a loop."""
    assert not is_guard((f"if {test}:\n", "    raise ValueError\n"), 1, ())
    assert not is_guard((f"assert {test}\n",), 1, ())
