"""What a protocol's modules see meanwhile: NumPy, types and products, of which most stay what they are."""

from __future__ import annotations

import inspect
import numbers
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from secmix.kernel.randomness.coins import coin_among
from secmix.kernel.tracing.world import modules_of, replaced
from secmix.kernel.values.arrays import concrete, followed
from secmix.kernel.values.current_trace import INF, LeftTrace, Trace, following
from secmix.kernel.values.functions import _places, _signature
from secmix.kernel.values.numbers import Number


def secrets(trace: Trace) -> Any:
    numbers = [Number(v, {trace.variable("input", 0, v, 0): 1}, INF, 2, 0) for v in (1.0, -2.0, 0.5)]
    return followed(numbers)


def traced_call(call: Callable[[], Any]) -> Any:
    """Call as a trace calls a protocol: what lies above is not searched for its ``with``."""
    return call()


def test_types_that_read_memory_are_what_they_are_of_public_values() -> None:
    with replaced({__name__}), following(Trace()):
        assert isinstance(b"x", bytes)
        assert not isinstance("x", bytes)
        assert bytes.fromhex("0a") == b"\n"
        assert bytes([1, 2]) == b"\x01\x02"


def test_what_a_function_imports_is_followed_too_in_these_modules_alone() -> None:
    def imported() -> Any:
        from numpy.random import default_rng

        return default_rng

    plain = imported()
    with replaced(set()):
        assert imported() is plain
    with replaced({__name__}):
        assert imported() is np.random.default_rng is not plain
    assert imported() is plain


def test_arrays_of_coins_are_coins_and_copies_are_asked_for() -> None:
    with replaced({__name__}), following(Trace()) as trace:
        coin = coin_among([1, 2, 3], 2, "a coin")
        assert np.asarray(coin).coin is coin.coin
        assert np.full(2, coin).coin is coin.coin
        kept = np.asarray([1, 2])
        assert np.array(kept, copy=True) is not kept
        assert not trace.by_value


def test_sparse_products_of_public_numbers_are_scipys() -> None:
    with replaced({__name__}), following(Trace()) as trace:
        table = scipy.sparse.csr_array(np.diag([1.0, 2.0, 0.0]))
        assert (table @ np.arange(3)).tolist() == [0.0, 2.0, 0.0]
        assert concrete(table @ secrets(trace)).tolist() == [1.0, -4.0, 0.0]


def test_modules_of_an_array_interface_keep_pythons_own_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """They ask for types by identity."""
    module = types.ModuleType("array_api_of_a_test")
    vars(module)["np"] = np
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with replaced({module.__name__, __name__}):
        assert "float" not in vars(module)
        assert vars(module)["np"] is np
        assert "float" in globals()
    assert "float" not in globals()


def test_the_modules_of_what_a_protocol_wraps_are_its_modules() -> None:
    inner = type("Inner", (), {"__module__": __name__, "inner": None})()
    outer = types.SimpleNamespace(inner=types.SimpleNamespace(inner=inner))
    assert __name__ in modules_of(outer)


def test_the_modules_that_a_protocols_module_imports_are_its_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the module's name, and by that of a function: what they keep is compared, what they draw is followed."""
    own, beside, below = (types.ModuleType(f"of_a_user_{k}") for k in range(3))
    vars(own)["kind"] = kind = type("Kind", (), {"__module__": own.__name__})
    vars(own)["beside"] = beside
    vars(beside)["helper"] = types.FunctionType(compile("1", "x", "eval"), {"__name__": below.__name__})
    for module in (own, beside, below):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    assert {own.__name__, beside.__name__, below.__name__} <= modules_of(kind())


def test_a_bit_generator_of_a_secret_seed_takes_nothing_else() -> None:
    with following(Trace()) as trace, replaced({__name__}):
        seed = followed([Number(5, {trace.variable("draw", -1, 5, 1, range=2**64): 1}, INF, 1, 1)])
        with pytest.raises(LeftTrace, match="Philox with more than a secret seed or key"):
            np.random.Philox(seed, 3)
        with pytest.raises(LeftTrace, match="Philox with more than a secret seed or key"):
            np.random.Philox(seed, counter=3)


def test_a_function_of_c_without_a_signature_is_called_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """As NumPy's own are before its version 2.4."""

    in_c, signature, asked = (np.concatenate, np.dot, np.vdot), inspect.signature, set()

    def unknown(func: Any) -> Any:
        if func in in_c:
            asked.add(func)
            raise ValueError("no signature found")
        return signature(func)

    monkeypatch.setattr(inspect, "signature", unknown)
    _signature.cache_clear()
    _places.cache_clear()
    try:
        with replaced({__name__}), following(Trace()) as trace:
            x, out = secrets(trace), np.zeros(6)
            assert concrete(np.concatenate([x, x], out=out)).tolist() == [1.0, -2.0, 0.5] * 2
            assert concrete(out).tolist() == [1.0, -2.0, 0.5] * 2
            assert concrete(np.dot(x, np.ones(3))) == -0.5
            assert concrete(np.vdot(x, np.ones(3))) == -0.5
        assert asked == {*in_c}
    finally:
        _signature.cache_clear()
        _places.cache_clear()


def test_numpys_own_errors_are_raised() -> None:
    with replaced({__name__}), following(Trace()) as trace:
        x = secrets(trace)
        with pytest.raises(ValueError, match="axis"):
            traced_call(lambda: np.median(x, axis=7))
        with pytest.raises(ValueError, match="too deep"):
            followed(np.ones((2, 2))).searchsorted(1)
        assert not trace.left


def test_bytes_are_no_number_once_a_guard_is_taken() -> None:
    with following(Trace(answering=True)) as trace:
        number = secrets(trace).objects[0]
        assert number.__reduce__() == (float, (1.0,))
        with pytest.raises(AttributeError, match="to_bytes"):  # as a float has none
            number.to_bytes()
    with following(Trace()) as trace, pytest.raises(LeftTrace):
        secrets(trace).objects[0].to_bytes()


def test_what_cancels_is_public_also_where_it_was_added_in_another_order() -> None:
    with following(Trace()) as trace:
        a, b, _ = secrets(trace).tolist()
        assert type((a + b) - (b + a)) is float
        assert isinstance((a + b) - (b + 2 * a), Number)


def test_lists_with_arrays_among_them_are_words_too() -> None:
    """An array in a list is not read as Python's own numbers are, which may be longer than words."""
    with replaced({__name__}), following(Trace()) as trace:
        words = Number(7, {trace.variable("input", 0, 7, 1): 1}, INF, 2, 1), Number(2, None, 0, 2, 1, pure=False)
        found = traced_call(lambda: np.asarray([followed(words), np.arange(2)], dtype=np.int64))
        assert (found.dtype, concrete(found).tolist()) == (np.dtype(np.int64), [[7, 2], [0, 1]])


def test_secrets_among_public_numbers_end_no_proof_where_they_are_followed() -> None:
    """The public number is then taken by its value, of which every one is traced."""
    with replaced({__name__}), following(Trace()) as trace:
        number, coin = secrets(trace).objects[0], coin_among([1, 2], 2, "a coin")
        assert [concrete(coin * number), concrete(np.stack([coin, number]))[1]] == [2.0, 1.0]
        assert len(trace.turns) == 1


def test_bits_that_do_not_meet_are_added() -> None:
    with following(Trace()) as trace:
        low = Number(5, {trace.variable("draw", -1, 5, 1, range=8): 1}, INF, 1, 1)
        low.below = 8
        high = Number(16, {trace.variable("input", 0, 2, 1): 8}, INF, 2, 8)
        for either in (low | high, high | low, low | 16):
            assert (either.value, either.modulus) == (21, INF)
        low.below = 9
        assert (high | low).modulus == 0


def test_modules_of_symbolic_libraries_are_not_a_protocols_but_for_their_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, is_one in (("sympy.of_a_test", False), ("sympy.core.random", True)):
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        inner = type("Inner", (), {"__module__": name, "inner": None})()
        assert (name in modules_of(inner)) == is_one


@numbers.Integral.register
class Whole:
    """A whole number of a library of C, as gmpy2 has them."""

    def __int__(self) -> int:
        return 3


def test_whole_numbers_of_a_library_are_numbers() -> None:
    with following(Trace()) as trace:
        secret = secrets(trace)[0]
        for found in (Whole() * secret, secret * Whole()):
            assert found.value == 3.0
            assert found.terms == {next(iter(secret.form)): 3}
