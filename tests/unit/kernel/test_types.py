"""A protocol that asks for a number's type, or for what it can do, hears what it hears in use; or the proof ends."""

from __future__ import annotations

import ast
import functools
import numbers
import sys
import textwrap
import types
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secmix.kernel import prove
from secmix.kernel.randomness.coins import ITSELF, Public, is_iteration
from secmix.kernel.tracing import world
from secmix.kernel.values.current_trace import INF, LeftTrace, Trace, following
from secmix.kernel.values.forms import alone
from secmix.kernel.values.numbers import OF_ANY_OBJECT, Number
from secmix.kernel.values.protocol_text import is_followed
from secmix.network import Network

INPUTS = [np.random.default_rng([5, call]).normal(size=(1, 3, 2)) for call in range(3)]
TYPE, FLOAT, INT = (world._BUILTINS[name] for name in ("type", "float", "int"))


@pytest.fixture
def secret() -> Any:
    """Return a number that is followed, within a trace."""
    with following(Trace()) as trace:
        yield Number(2.5, alone(trace.variable("input", 0, 2.5, 0)), INF, 2, 0)


@functools.singledispatch
def says_float(x: Any) -> bool:
    return False


@says_float.register
def _(x: np.floating) -> bool:
    return True


LEAVING = {
    "a method of numbers": lambda x: hasattr(x, "is_integer"),
    "a method of NumPy's": lambda x: getattr(x, "view", None),
    "a hash": lambda x: x in {1.0: 2},
    "its type": TYPE,
    "its class": lambda x: x.__class__,
    "a function for its class": says_float,
    "a number of NumPy's": lambda x: world._is_instance(x, np.floating),
    "a number of NumPy's among others": lambda x: world._is_instance(x, (str, (np.floating, bytes))),
    "a fraction beside it": lambda x: x + Fraction(1, 2),
    "a decimal times it": lambda x: Decimal(2) * x,
    "a quotient that may fail": lambda x: divmod(7.0, x),
    "a method of its type": lambda x: FLOAT.is_integer(x),
}


@pytest.mark.parametrize("name", LEAVING)
def test_what_differs_from_use_ends_the_proof(name: str, secret: Any) -> None:
    with pytest.raises(LeftTrace):
        LEAVING[name](secret)


@pytest.mark.parametrize("name", sorted({*dir(int), *dir(float)} - OF_ANY_OBJECT))
def test_what_a_number_of_pythons_says_of_itself_is_followed_or_ends_the_proof(name: str) -> None:
    """No method that looks at a value is inherited from ``object``, which would look at the stand-in."""
    assert name[:2] != "__" or getattr(Number, name) is not getattr(object, name, None)


def test_how_large_a_secret_lies_in_memory_ends_the_proof(secret: Any) -> None:
    for ask in (sys.getsizeof, lambda x: x.__sizeof__(), lambda x: x.__trunc__(), lambda x: x.__getnewargs__()):
        with pytest.raises(LeftTrace):
            ask(secret)


def test_how_large_a_public_number_lies_in_memory_is_noted() -> None:
    with following(Trace()) as trace:
        assert sys.getsizeof(Public(2**40, "a coin")) >= sys.getsizeof(2**40)
        assert [*trace.by_value] == ["a coin"]


def test_what_is_the_same_in_use_is_answered(secret: Any) -> None:
    assert world._is_instance(secret, numbers.Real)
    assert world._is_instance(secret, float | int)
    assert world._is_instance(secret, (str, FLOAT))
    assert world._is_instance(secret, (str, (bytes, FLOAT)))
    assert not world._is_instance(secret, (str, np.ndarray))
    assert not world._is_instance(secret, INT)
    assert world._is_instance(Number(3, None, INF, 2, 1), INT)  # Python's or a word of NumPy's
    assert world._is_instance("text", str)
    assert world._is_scalar(secret)
    assert world._is_scalar(2.0)
    assert not world._is_scalar([2.0])
    assert not hasattr(secret, "append")
    assert [each.value for each in divmod(secret, 2.0)] == [1.0, 0.5]


def test_a_class_is_asked_for_outside_a_trace(secret: Any) -> None:
    assert secret.conjugate() is secret
    plain = Number(1.0, None, INF, 2, 0)
    assert isinstance(plain, Number)


def test_types_are_those_that_a_protocol_names() -> None:
    with following(Trace()):
        assert TYPE(Public(3, "the iteration", of=ITSELF)) is INT
        assert Public(3, "the iteration").__class__ is int
        assert TYPE(2.0) is FLOAT
        assert float == FLOAT  # noqa: E721
        assert {float: "by type"}[TYPE(2.0)] == "by type"
        assert TYPE(world.followed(np.ones(2))) is np.ndarray
        assert TYPE("text") is str
        assert isinstance(int, TYPE)
        assert TYPE("Made", (), {}).__name__ == "Made"


def test_only_the_iteration_itself_comes_once() -> None:
    with following(Trace()):
        iteration = Public(3, "the iteration", of=ITSELF)
        assert is_iteration(iteration)
        assert not any(map(is_iteration, (iteration // 2, iteration & 255, iteration + 1, abs(iteration), 3)))


def test_what_may_be_a_stand_in_is_told_by_its_name(secret: Any) -> None:
    public, kept = 3.0, types.SimpleNamespace(number=secret, public=2.0)
    texts = [
        "secret",
        "kept.number",
        "secret > 2",
        "unknown",
        "public",
        "kept.public",
        "True",
        "type(secret)",
        "abs(secret)",
    ]
    frame = sys._getframe()
    told = [is_followed(ast.parse(text, mode="eval").body, frame) for text in texts]
    assert told == [True, True, True, True, False, False, False, False, True], public + kept.public


def test_what_a_generator_is_to_draw_is_looked_at(secret: Any) -> None:
    name = ast.parse("x", mode="eval").body

    def is_looked_at(several: Any) -> bool:
        generator = (x for x in several)
        return is_followed(name, generator.gi_frame)

    assert not is_looked_at([1, 2.0])
    assert not is_looked_at((1, "text"))
    assert is_looked_at([1, secret])
    assert is_looked_at(x for x in (1, 2))


IDENTITIES = {
    "x > 2 is compared": "return [(x > 2) is True for x in s.ravel()[:1]]",
    "with NumPy's": "return [(x > 2) is np.True_ for x in s.ravel()[:1]]",
    "with another": "x = s.ravel()[0]\ny = x * 1\nreturn x is y",
    "the other way round": "return [False is not x for x in s.ravel()[:1]]",
    "by a match": "match s.ravel()[0] > 2:\n    case True:\n        return 1",
}


@pytest.mark.build
@pytest.mark.parametrize("name", IDENTITIES)
def test_a_line_that_asks_what_is_true_ends_the_proof_if_it_runs(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    text = textwrap.indent("def ask(s):\n" + textwrap.indent(IDENTITIES[name], "    "), "    ")
    imports = "import numpy as np\nfrom unit.kernel.examples import RingSum\n\n\nclass Asking(RingSum):\n"
    beside = "    def beside(self, channel, rows, masks, rng):\n        if self.asks:\n            self.ask(rows)\n"
    (tmp_path / "asking_for_truth.py").write_text(f"{imports}    asks = True\n\n    @staticmethod\n{text}\n\n{beside}")
    monkeypatch.syspath_prepend(tmp_path)
    import asking_for_truth

    before, protocol = sys.gettrace(), asking_for_truth.Asking()
    assert "compared by identity" in prove(protocol, Network.complete(3), INPUTS).open
    protocol.asks = False
    assert not prove(protocol, Network.complete(3), INPUTS).open
    assert sys.gettrace() is before
    del sys.modules["asking_for_truth"]


def test_modules_of_parts_and_of_imports_within_functions_are_named(tmp_path: Path, monkeypatch: Any) -> None:
    package = tmp_path / "late_parts"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "steps.py").write_text("class Step:\n    pass\n")
    (package / "broken.py").write_text("raise RuntimeError\n")
    (package / "needed.py").write_text("COUNT = 0\n")
    (package / "used.py").write_text(
        "class Sum:\n    def average(self):\n        from . import needed\n        from .broken import nothing\n"
        "        from ... import beyond\n        import late_parts.missing\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from late_parts.steps import Step
    from late_parts.used import Sum

    protocol = Sum()
    protocol.steps = ({"first": [Step()]}, Step, "text")
    own = {name for name in world.modules_of(protocol) if name.startswith("late_parts")}
    assert own == {"late_parts", "late_parts.used", "late_parts.steps", "late_parts.needed"}
    for name in [each for each in sys.modules if each.startswith("late_parts")]:
        del sys.modules[name]
