"""What a protocol's modules see during a trace: NumPy, Python's numbers and generators, followed.

NumPy itself stays as it is. In the modules of a protocol's code, names for NumPy, ``float``, ``int``, ``max``, ``min``
and what reads memory stand for others meanwhile.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import concurrent.futures
import decimal
import fractions
import functools
import gc
import hashlib
import hmac
import importlib.util
import itertools
import math
import operator
import os
import queue
import random
import secrets
import ssl
import statistics
import struct
import sys
import threading
import time
import timeit
import types
import uuid
import warnings
import zlib
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numpy as np
import scipy.sparse
import scipy.special

from secmix.kernel.randomness.agreement import drawn_by
from secmix.kernel.randomness.coins import (
    ERRORS,
    OF_NUMPY,
    OF_PYTHON,
    SYSTEM,
    WARNINGS,
    Public,
    as_type,
    by_value,
    clock,
    lifted,
    noted,
    noted_limit,
)
from secmix.kernel.randomness.draws import (
    GENERATORS,
    Draws,
    SecretSequence,
    by_system,
    generator,
    is_seed,
    keyed_bits,
    seeded_bits,
    with_key,
)
from secmix.kernel.randomness.keystreams import ALGORITHMS, KEYED, OF_CIPHERS, ciphers
from secmix.kernel.randomness.older import PythonsDraws, RandomStateDraws
from secmix.kernel.randomness.secret_bytes import SecretBytes, from_bytes, struct_packed, struct_unpacked, words_of
from secmix.kernel.randomness.streams import number_drawn, system_bytes, system_number
from secmix.kernel.tracing.kept import AT_FIRST, is_filled
from secmix.kernel.tracing.python_library import by_machine, files_noted, instead_of
from secmix.kernel.values.arrays import (
    Followed,
    array_of,
    fitting,
    followed,
    is_secret,
    parts,
    public,
    unwritten,
    values,
)
from secmix.kernel.values.current_trace import is_plain, now, tracing
from secmix.kernel.values.functions import FOLLOWED, OF_SCIPY, fsum, full, of_all_arguments
from secmix.kernel.values.numbers import Number, as_integer, cast, function, plain
from secmix.kernel.values.protocol_text import file_of, imports_in, is_protocol

_MOST_PARTS = 10_000
_LOCK = threading.RLock()
_is_numbas: Any = functools.cache(lambda kind: str(kind.__module__).startswith("numba."))
_IMPORT, _IMPORT_MODULE = builtins.__import__, importlib.import_module
_SYSTEM_BYTES = noted(os.urandom, SYSTEM)
_OF_KERNEL = {name: noted(getattr(os, name), SYSTEM) for name in ("getrandom",) if hasattr(os, name)}  # that of Linux
_MAKERS = {"zeros": 0, "empty": None, "ones": 1}
_TAKERS = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite")
_SPARSE = [getattr(scipy.sparse, f"{a}_{b}") for a in ("csr", "csc", "coo", "dia") for b in ("array", "matrix")]
_CLOCKS = [
    f"{n}{ns}" for n in ("time", "perf_counter", "monotonic", "process_time", "thread_time") for ns in ("", "_ns")
]
_WHOLE_MODULES = (zlib, struct, random, time, hashlib, hmac)


def _maker(name: str) -> Callable[..., Any]:
    original = getattr(np, name)

    def make(shape: Any, dtype: Any = float, *args: Any, **kw: Any) -> Any:
        kind = np.dtype(dtype if dtype is not None else float)
        if kind.kind not in "fiu" or _are_counts(shape, kind, dtype) or is_plain():
            return original(public(shape, "a shape made of a secret"), dtype, *args, **kw)
        return full(shape, unwritten(kind) if name == "empty" else kind.type(_MAKERS[name]).item(), kind)

    return make


def _full(shape: Any, value: Any, dtype: Any = None, **kw: Any) -> Any:
    if isinstance(value, int) and _are_counts(shape, np.dtype(np.intp if dtype is None else dtype), dtype):
        return np.full(public(shape, "a shape made of a secret"), value, dtype, **kw)
    if isinstance(value, Public):
        return as_type(lambda each: np.full(shape, each, dtype), value, dtype)
    return np.full(shape, value, dtype, **kw) if is_plain() else full(shape, value, dtype)


def _tabled(make: Callable[..., Any]) -> Callable[..., Any]:
    """Follow a public table: a secret may be the place at which a number is taken of it."""

    def go(*args: Any, **kw: Any) -> Any:
        made = make(*public(args, "a shape made of a secret"), **kw)
        return made if is_plain() else followed(made)

    return go


def _are_counts(shape: Any, kind: np.dtype[Any], dtype: Any) -> bool:
    """Take whole numbers along one axis for counts and indices: a secret among them ends the proof."""
    return kind == np.intp and dtype is not np.int64 and (np.ndim(shape) == 0 or len(shape) < 2)


def _taker(name: str) -> Callable[..., Any]:
    original = getattr(np, name)

    def take(x: Any, dtype: Any = None, *args: Any, copy: Any = None, **kw: Any) -> Any:
        if not isinstance(x, np.ndarray) and any(True for _ in parts(x)):
            if dtype is not None:
                fitting(x, np.dtype(dtype))
            x = _as_words(x, np.dtype(dtype)) if dtype is not None and np.dtype(dtype).kind in "iuO" else followed(x)
        if isinstance(x, Public):
            return as_type(lambda each: original(each, dtype), x, dtype)
        if isinstance(x, Followed):
            x = x if dtype is None or np.dtype(dtype) == x.kind else x.astype(dtype)
            lies = {"ascontiguousarray": x.flags.c_contiguous, "asfortranarray": x.flags.f_contiguous}.get(name, True)
            return x.copy() if (name == "array" and copy is not False) or not lies else x
        if copy is not None:
            kw["copy"] = copy
        found = original(x, *args, **kw) if dtype is None else original(x, dtype, *args, **kw)
        may_be_written = name == "array" and found.dtype.kind == "f" and found.ndim and not is_plain()
        return followed(found) if may_be_written else found

    return take


def _as_words(x: Any, kind: np.dtype[Any]) -> Any:
    """Return lists of numbers as words: Python's own may be longer than NumPy's."""
    words = followed(x)
    several = np.array(x, dtype=object) if not any(isinstance(each, np.ndarray) for each in parts(x)) else None
    if several is None or several.shape != words.shape:
        return words
    return array_of(several, kind).each(lambda number: cast(plain(number), kind), kind)


def _not_followed(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*args: Any, **kw: Any) -> Any:
        if any(True for _ in parts([args, kw])):
            return f(*values(args, f"{name}() of a secret"), **values(kw, f"{name}() of a secret"))
        return f(*args, **kw)

    return call


def standing_for(original: Any, instead: dict[str, Any]) -> types.ModuleType:
    """Make a module whose members are those of ``original``, but for some."""
    module = types.ModuleType(original.__name__)
    module.__dict__.update(instead, __wrapped__=original)
    module.__getattr__ = lambda name: getattr(original, name)  # type: ignore[method-assign]
    return module


def _functions_of(module: types.ModuleType) -> dict[str, Any]:
    return {n: f for n, f in vars(module).items() if callable(f) and n[0] != "_" and not isinstance(f, type)}


def _by_process(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Note what is another in each process: of anything but the hash of a number, or of several, and of keys."""

    def is_number(value: Any) -> bool:
        return isinstance(value, (int, float, complex, Number, Public)) or (
            type(value) is tuple and all(map(is_number, value))
        )

    ask = _not_followed(f, f.__name__)

    def call(value: Any) -> Any:
        is_of_key = sys._getframe(1).f_code.co_name == "__hash__"
        if tracing() and not is_of_key and (f is id or not is_number(value)):
            now().narrow(by_machine(f.__name__))
        return ask(value)

    return call


def _guarded(original: types.ModuleType, what: str = "") -> dict[str, Any]:
    """Return functions of a module that end the proof where they are given a secret; ``what`` names their coins."""
    members = _functions_of(original).items()
    return {n: _not_followed(noted(f, what) if what else f, f"{original.__name__}.{n}") for n, f in members}


def _noted(module: types.ModuleType, *names: str) -> dict[str, Any]:
    """Return functions of a module that note that the machine is asked."""
    return {name: noted(getattr(module, name), by_machine(module.__name__, name)) for name in names}


def _of_numbers(name: str) -> Callable[..., Any]:
    original = getattr(math, name)

    def go(*args: Any) -> Any:
        args = tuple(each.item() if isinstance(each, Followed) else plain(each) for each in args)
        followed_ones = [each for each in args if isinstance(each, Number)]
        return function(f"math.{name}", original, *args, may_fail=True) if followed_ones else original(*args)

    return go


class _Like(type):
    """Numbers that are followed pass for Python's own where a protocol asks what they are; so does their type."""

    def __eq__(cls, other: Any) -> bool:
        return other is cls or other is cls.__mro__[1]

    def __hash__(cls) -> int:
        return hash(cls.__mro__[1])

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.__mro__[1]) or (
            isinstance(value, (Number, Public)) and isinstance(value.value, cls.__mro__[1])
        )


def _methods_of(kind: Any) -> dict[str, Any]:
    """Return what a type says of its numbers; given a secret it ends the proof."""
    several = {name: getattr(kind, name) for name in dir(kind) if name[0] != "_" and not name.startswith("from")}
    several = {name: each for name, each in several.items() if callable(each)}
    return {name: staticmethod(_not_followed(each, f"{kind.__name__}.{name}")) for name, each in several.items()}


class _Float(float, metaclass=_Like):
    dtype = np.dtype(float)
    locals().update(_methods_of(float))

    def __new__(cls, x: Any = 0.0) -> Any:
        if isinstance(x, Public):
            return lifted(float, x)
        x = x.item() if isinstance(x, Followed) and x.size == 1 else x
        return cast(x, np.dtype(float)) if isinstance(x, Number) else float(x)


class _Int(int, metaclass=_Like):
    dtype = np.dtype(int)
    locals().update(_methods_of(int))

    def __new__(cls, x: Any = 0, *base: Any) -> Any:
        if isinstance(x, Public):
            return x if type(x.value) is int else lifted(int, x)
        x = x.item() if isinstance(x, Followed) and x.size == 1 else x
        return as_integer(x) if isinstance(x, Number) else int(x, *base)

    from_bytes = staticmethod(from_bytes)  # type: ignore[assignment]


def _extreme(original: Callable[..., Any], ufunc: Any) -> Callable[..., Any]:
    def go(*args: Any, **kw: Any) -> Any:
        several = list(args[0]) if len(args) == 1 and not isinstance(args[0], (str, bytes)) else list(args)
        if kw or not any(isinstance(each, (Number, Followed)) and not each.ndim for each in several):
            return original(*args, **kw) if len(args) != 1 else original(several, **kw)
        return functools.reduce(ufunc, several)

    return go


@functools.cache
def replacements() -> dict[int, Any]:
    """Return what stands for what, by the identity of the original."""
    stands_for: dict[int, Any] = {id(os.urandom): _urandom}
    stands_for |= {id(getattr(os, name)): each for name, each in _OF_KERNEL.items()}

    def replace(original: types.ModuleType, members: dict[str, Any]) -> types.ModuleType:
        stands_for.update({id(getattr(original, name)): each for name, each in members.items()})
        stands_for[id(original)] = made = standing_for(original, members)
        AT_FIRST.append((vars(made), len(vars(made))))
        return made

    replace(np, _of_numpy() | {"random": replace(np.random, _guarded(np.random, OF_NUMPY) | _generators())})
    special = {name: of_all_arguments(getattr(scipy.special, name)) for name in OF_SCIPY}
    replace(scipy, {"special": replace(scipy.special, special)})
    replace(math, {name: _of_numbers(name) for name in _functions_of(math)} | {"fsum": fsum})
    drawn = {"randbelow": system_number, "randbits": lambda k: system_number(2**k)}
    replace(secrets, drawn | {"token_bytes": lambda nbytes=None: system_bytes(32 if nbytes is None else nbytes)})
    replace(random, _guarded(random, OF_PYTHON) | {"Random": PythonsDraws})
    clocks = {name: clock(getattr(time, name)) for name in _CLOCKS if hasattr(time, name)}
    replace(operator, {name: _not_followed(getattr(operator, name), f"operator.{name}") for name in ("is_", "is_not")})
    replace(time, _guarded(time, "the clock") | clocks | {"sleep": _not_followed(time.sleep, "time.sleep")})
    replace(timeit, {"default_timer": clock(timeit.default_timer)})
    replace(
        concurrent.futures,
        {"wait": noted_limit(concurrent.futures.wait, 0)} | _noted(concurrent.futures, "as_completed"),
    )
    replace(uuid, {"uuid1": noted(uuid.uuid1, SYSTEM)})
    replace(ssl, {"RAND_bytes": noted(ssl.RAND_bytes, SYSTEM)})
    replace(hashlib, ALGORITHMS)
    replace(hmac, KEYED)
    replace(decimal, {"Decimal": _reading(decimal.Decimal)} | _noted(decimal, "getcontext", "localcontext"))
    replace(fractions, {"Fraction": _reading(fractions.Fraction)})
    replace(zlib, _guarded(zlib))
    replace(statistics, {name: _of_list(name) for name in _STATISTICS})
    replace(struct, _guarded(struct) | {"pack": struct_packed, "unpack": struct_unpacked})
    stands_for.update({id(getattr(warnings, name)): each for name, each in WARNINGS.items()})
    return stands_for


def _generators() -> dict[str, Any]:
    generators: dict[str, Any] = {"default_rng": generator, "Generator": Draws, "SeedSequence": _seed_sequence}
    return generators | {"RandomState": RandomStateDraws} | {name: _bits(name) for name in GENERATORS}


def _of_numpy() -> dict[str, Any]:
    """Return what stands for members of NumPy, by name."""
    numbers: dict[str, Any] = {name: _maker(name) for name in _MAKERS} | {name: _taker(name) for name in _TAKERS}
    numbers |= {name: of_all_arguments(getattr(np, name)) for name in FOLLOWED if callable(getattr(np, name, None))}
    numbers |= {name: _tabled(getattr(np, name)) for name in ("eye", "identity")}
    numbers |= {"full": _full, "frombuffer": words_of, "isscalar": _is_scalar} | ERRORS
    return numbers | _noted(np, "datetime64", "fromfile", "get_printoptions", "getbufsize", "geterr", "geterrcall")


def _ciphers() -> dict[int, Any]:
    """Return what stands for ciphers, and for the modules that they are taken from, by the identity of the original."""
    stands_for: dict[int, Any] = {}
    loaded = tuple(name for name in OF_CIPHERS if name in sys.modules)
    for name, members in ciphers(loaded).items():
        original = sys.modules[name]
        inner = {key: stands_for[id(each)] for key, each in vars(original).items() if id(each) in stands_for}
        stands_for.update({id(getattr(original, key)): each for key, each in members.items()})
        stands_for[id(original)] = standing_for(original, inner | members)
    return stands_for


def _seed_sequence(entropy: Any = None, *, spawn_key: Any = (), **more: Any) -> Any:
    """Stand for ``SeedSequence``: of a secret seed it is the numbers of the seed, and spawns others."""
    if is_seed(entropy) and not more:
        return SecretSequence(entropy, spawn_key)
    make = _not_followed(np.random.SeedSequence, "SeedSequence")
    return by_value(make, entropy, spawn_key=spawn_key, **more)


def _bits(name: str) -> Callable[..., Any]:
    kind = getattr(np.random, name)

    def bits(seed: Any = None, *args: Any, key: Any = None, **more: Any) -> Any:
        if is_seed(seed) or is_seed(key):
            if args or {*more} - ({"counter"} if key is not None else set()):
                now().leave(f"{name} with more than a secret seed or key")
            return seeded_bits(kind, seed) if key is None else keyed_bits(kind, key, **more)
        if key is not None:
            return by_value(with_key, kind, key, **more)
        return by_value(kind, seed, *args, **more)

    return bits


def _urandom(size: int) -> Any:
    """Stand for ``os.urandom``: secret bytes for the protocol's own code, noted where a library asks."""
    if tracing() and is_protocol(sys._getframe(1).f_code.co_filename):
        return system_bytes(size)
    return _SYSTEM_BYTES(size)


def _reading(kind: Any) -> Any:
    """Make a type that stands for one that reads memory: given a secret it ends the proof."""

    class Reading(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, kind) or (kind is bytes and isinstance(value, SecretBytes))

        def __call__(cls, *args: Any, **kw: Any) -> Any:
            if kind is bytes and len(args) == 1 and isinstance(args[0], SecretBytes):
                return args[0]
            return _not_followed(kind, kind.__name__)(*args, **kw)

        def __getattr__(cls, name: str) -> Any:
            return getattr(kind, name)

    return Reading(kind.__name__, (), {})


_STATISTICS: dict[str, Any] = {"mean": np.mean, "fmean": np.mean, "median": np.median}
_STATISTICS |= {"pvariance": np.var, "pstdev": np.std}
"""Functions of Python's ``statistics`` and what of NumPy's gives the same, but for rounding."""


def _of_list(name: str) -> Callable[..., Any]:
    original = getattr(statistics, name)

    def go(data: Any, *args: Any, **kw: Any) -> Any:
        several = data if isinstance(data, np.ndarray) else list(data)
        if args or kw or not is_secret(several):
            return original(several, *args, **kw)
        return _STATISTICS[name](followed(several))

    return go


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (Number, Public)) or np.isscalar(value)


def _is_instance(value: Any, kinds: Any) -> bool:
    """Say whether a value is of some types; of a secret, if it would be whether it is Python's or NumPy's own."""
    if type(value) is not Number:
        return isinstance(value, kinds)
    several = tuple(_each_of(kinds))
    passes = any(isinstance(value, kind) for kind in several if isinstance(kind, _Like))  # whichever int or float it is
    answers = {passes or issubclass(kind, several) for kind in value.kinds}
    if len(answers) > 1:
        now().leave("whether a secret is a number of Python's or of NumPy's")
    return answers.pop()


def _each_of(kinds: Any) -> Iterator[Any]:
    """Yield the types that ``isinstance`` is given, in a tuple or a union."""
    several = kinds if isinstance(kinds, tuple) else getattr(kinds, "__args__", None)
    yield from (kind for each in several for kind in _each_of(each)) if several is not None else (kinds,)


class _Types(type):
    """The type ``type`` in a protocol: what is followed has the type of what it stands for."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, type)

    def __call__(cls, *args: Any, **kw: Any) -> Any:
        if len(args) != 1:
            return type(*args, **kw)
        if type(value := args[0]) is Number:
            now().leave("the type of a secret")
        kind = type(value.value) if type(value) is Public else type(value)
        return _STAND_FOR.get(kind, kind)


_STAND_FOR = {int: _Int, float: _Float, Followed: np.ndarray}
_BUILTINS: dict[str, Any] = {each.__name__: _reading(each) for each in (bytes, bytearray, memoryview)}
_BUILTINS |= {each.__name__: _by_process(each) for each in (hash, id)}
_BUILTINS |= {"isinstance": _is_instance, "type": _Types("type", (), {})}
_BUILTINS |= {"float": _Float, "int": _Int, "max": _extreme(max, np.maximum), "min": _extreme(min, np.minimum)}
_OTHERS = {"numpy", "scipy", "sklearn", "pandas", "numba", "matplotlib", "networkx", "llvmlite", "joblib", "pydantic"}
_OTHERS |= {"threadpoolctl", "hypothesis", "pytest", "_pytest", "pluggy", "xdist", "execnet", "rich", "typer", "click"}
_OTHERS |= {"sympy", "mpmath", "cryptography"}
_HOUSE = tuple(f"secmix.{x}" for x in "protocols _base aggregators adversaries testing wrap.bus".split())  # noqa: SIM905
_HOUSE += ("sympy.core.random", *(f"secmix.wrap.{x}_sum" for x in ("share", "sealed", "masked")))


def _is_protocols(name: str) -> bool:
    top = name.split(".")[0]
    if name not in sys.modules or top in sys.stdlib_module_names or top in _OTHERS:
        return False
    return name.startswith(_HOUSE) if top == "secmix" else True


def modules_of(protocol: Any) -> set[str]:
    """Name the modules in which a protocol's code lies: of its classes and parts, and what these import.

    Another thread of this process may run code of other modules meanwhile, and is to find it as it was.
    """
    waiting = {"secmix.protocols"}
    for part in _parts_of(protocol):
        waiting |= {kind.__module__ for kind in type(part).__mro__} | {str(getattr(part, "__module__", ""))}
    own = {name.split(".")[0] for name in waiting}  # what libraries import within functions, they import for all
    modules = {name for name in sys.modules if name.startswith(_HOUSE)}
    while waiting:
        name = waiting.pop()
        if (name in modules and not name.startswith("secmix.protocols")) or not _is_protocols(name):
            continue
        modules.add(name)
        waiting |= _imported_by(sys.modules[name]) - modules if name.split(".")[0] in own else set()
        for each in vars(sys.modules[name]).values():
            used = each.__name__ if isinstance(each, types.ModuleType) else getattr(each, "__module__", None)
            if isinstance(used, str) and used not in modules:
                waiting.add(used)
    return modules


def _parts_of(protocol: Any) -> Iterator[Any]:
    """Yield a protocol and what it holds, whatever that holds in its turn."""
    known: dict[int, Any] = {}
    waiting = [protocol]
    while waiting and len(known) < _MOST_PARTS:
        part = waiting.pop()
        if id(part) in known or isinstance(part, (str, bytes, int, float, np.ndarray, types.ModuleType)):
            continue
        known[id(part)] = part
        yield part
        if isinstance(part, types.FunctionType):
            cells = (cell.cell_contents for cell in part.__closure__ or () if is_filled(cell))
            waiting += [*cells, *(part.__defaults__ or ()), *(part.__kwdefaults__ or {}).values()]
        elif isinstance(part, dict):
            waiting += part.values()
        elif not isinstance(part, type):  # whatever it holds them in: a list, attributes, slots, a queue, a partial
            waiting += gc.get_referents(part)


def _imported_by(module: types.ModuleType) -> set[str]:
    """Name the modules that a module's text imports, within functions too; those of the same package are loaded."""
    names: set[str] = set()
    for node in imports_in(getattr(module, "__file__", None) or ""):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
            continue
        base = "." * node.level + (node.module or "")
        with suppress(ImportError, ValueError):
            base = importlib.util.resolve_name(base, module.__package__ or "") if node.level else base
            names |= {base, *(f"{base}.{each.name}" for each in node.names)}
    return {name for name in names if name in sys.modules or _is_loaded(name, module.__name__)}


@functools.cache  # most are names of what a module holds, and no modules
def _is_loaded(name: str, by: str) -> bool:
    """Load a module of the same package, as a call would, and say whether that is one."""
    with suppress(Exception):  # a user's module may fail in any way, and does then in the call
        if name.split(".")[0] == by.split(".")[0] != "secmix" and importlib.util.find_spec(name) is not None:
            importlib.import_module(name)
    return name in sys.modules


def own_of(protocol: Any, modules: Iterable[str]) -> frozenset[str]:
    """Return the modules that are a protocol's own: those of libraries that are installed do as they say."""
    own = {kind.__module__.split(".")[0] for kind in type(protocol).__mro__}
    installed = {name for name in modules if "site-packages" in file_of(name)}
    return frozenset(
        name
        for name in modules
        if (name not in installed or name.split(".")[0] in own) and not name.startswith("secmix.")
    )


def _instead(name: str, space: dict[str, Any], stands_for: dict[int, Any], is_own: bool) -> dict[str, Any]:
    """Return what stands for what in a module of a protocol's."""
    others = {key: _not_followed(each, key) for key, each in space.items() if _is_numbas(type(each)) and callable(each)}
    if not name.startswith("array_api"):
        others |= {key: value for key, value in _BUILTINS.items() if key not in space}
    own = {key: each for key, each in space.items() if key[:2] != "__"}
    if is_own:
        return others | {key: made for key, each in own.items() if (made := instead_of(each, stands_for)) is not each}
    return others | {key: stands_for[id(each)] for key, each in own.items() if id(each) in stands_for}


@contextmanager
def _with_names(space: Any, **instead: Any) -> Iterator[None]:
    before = {key: space[key] for key in instead.keys() & space.keys()}
    space.update(instead)
    try:
        yield
    finally:
        for key in instead.keys() - before.keys():
            space.pop(key, None)
        space.update(before)


@contextmanager
def with_method(kind: type, name: str, method: Any) -> Iterator[None]:
    """Give a class another method meanwhile; one that it inherits is covered, and uncovered again."""
    own = vars(kind).get(name)
    setattr(kind, name, method)
    try:
        yield
    finally:
        setattr(kind, name, own) if own is not None else delattr(kind, name)


_LIMITED: dict[tuple[Any, str], int] = {
    (threading.Condition, "wait"): 0,
    (threading.Condition, "wait_for"): 1,
    (threading.Event, "wait"): 0,
    (threading.Barrier, "wait"): 0,
    (threading.Thread, "join"): 0,
    (concurrent.futures.Future, "result"): 0,
    (concurrent.futures.Future, "exception"): 0,
    (queue.Queue, "get"): 1,
    (queue.Queue, "put"): 2,
    (asyncio.BaseEventLoop, "call_at"): 0,
}
"""Methods that wait, or have something done later, and which of their arguments says how long."""


@contextmanager
def limits_noted() -> Iterator[None]:
    """Have waits with a limit of time noted meanwhile: what comes too late in another call may be left out."""
    with ExitStack() as stack:
        for (kind, name), place in _LIMITED.items():
            stack.enter_context(with_method(kind, name, noted_limit(getattr(kind, name), place)))
        yield


def _import(
    modules: frozenset[str],
    own: frozenset[str],
    by_id: dict[int, Any],
    name: str,
    space: Any = None,
    *args: Any,
    **kw: Any,
) -> Any:
    """Stand for ``__import__``: what a function of these modules imports is followed, too, loaded before or not."""
    imported = _IMPORT(name, space, *args, **kw)
    if (space or {}).get("__name__") not in modules:
        return imported
    by_id.update(_ciphers())
    return instead_of(imported, by_id) if space["__name__"] in own else by_id.get(id(imported), imported)


def _import_by_name(modules: frozenset[str], by_id: dict[int, Any], name: str, package: str | None = None) -> Any:
    """Stand for ``importlib.import_module``: code that no text names is not followed."""
    imported = _IMPORT_MODULE(name, package)
    if is_protocol(sys._getframe(1).f_code.co_filename) and tracing():
        if _is_protocols(imported.__name__) and imported.__name__ not in modules:
            now().leave("a module that is imported by its name (import it at the top),")
        return instead_of(imported, by_id)
    return imported


def _of_public(init: Callable[..., None]) -> Callable[..., None]:
    """Have a sparse matrix made of public numbers alone."""
    return lambda self, of, *args, **kw: init(self, values(of, "a sparse matrix of secrets"), *args, **kw)


@contextmanager
def replaced(modules: Iterable[str], own: frozenset[str] | None = None) -> Iterator[None]:
    """Let the names for numbers and arrays stand for followed ones, in these modules, meanwhile.

    What those that are the protocol's ``own`` ask of the machine is noted, too; None: what all do.
    """
    own = frozenset(modules) if own is None else own
    by_id = replacements() | _ciphers()
    with _LOCK, ExitStack() as stack:
        names = {sys.modules[name]: _instead(name, vars(sys.modules[name]), by_id, name in own) for name in modules}
        # Whatever is seeded or drawn by the system, in Python, its library or NumPy, asks one of two functions.
        draw, get = by_id[id(os.urandom)], functools.partial(_import, frozenset(modules), own, by_id)
        names |= {
            os: {"urandom": draw} | _OF_KERNEL,
            random: {"_urandom": draw},
            warnings: WARNINGS,
            builtins: {"__import__": get},
            importlib: {"import_module": functools.partial(_import_by_name, frozenset(modules), by_id)},
        }
        for module, noting in files_noted().items():
            names[module] = noting | names.get(module, {})
        for module, instead in names.items():
            stack.enter_context(_with_names(vars(module), **instead))
        stack.enter_context(_with_names(sys.modules, **{each.__name__: by_id[id(each)] for each in _WHOLE_MODULES}))
        for name, draws in by_system(system_number, system_bytes).items():
            stack.enter_context(with_method(random.SystemRandom, name, draws))
        for kind in _SPARSE:
            f = kind.__matmul__
            product = lambda a, b, f=f: a.toarray() @ b if isinstance(b, Followed) else f(a, b)  # noqa: E731
            for method, stand_in in (
                ("__matmul__", product),
                ("dot", product),
                ("__init__", _of_public(kind.__init__)),
            ):
                stack.enter_context(with_method(kind, method, stand_in))
        yield


_OF_ALL: random.Random = random._inst


@contextmanager
def drawing_apart(threads: Container[int | None]) -> Iterator[None]:
    """Have these threads draw from a generator of their own, where they ask the module random.

    What a server's threads draw meanwhile is not to be taken for draws of the protocol.
    """
    separate = random.Random()

    def apart(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def draw(*args: Any, **kw: Any) -> Any:
            return (getattr(separate, name) if threading.get_ident() in threads else original)(*args, **kw)

        return draw

    shared = {name: each for name, each in vars(random).items() if getattr(each, "__self__", None) is _OF_ALL}
    instead = {name: apart(name, each) for name, each in shared.items()}
    asked = {name: instead[name] for name in ("random", "getrandbits")}  # by methods that somebody took before
    with _with_names(vars(random), **instead), _with_names(vars(_OF_ALL), **asked):
        yield


@contextmanager
def drawn_again(modules: set[str]) -> Iterator[None]:
    """Let the system draw for these modules what it draws for them in a trace; nothing is followed."""
    count = itertools.count(1)

    def octets(nbytes: int | None = None) -> bytes:
        return np.random.default_rng([11, next(count)]).bytes(32 if nbytes is None else nbytes)

    def made(seed: Any = None) -> Any:
        return np.random.default_rng([7, next(count)] if seed is None else seed)

    def below(bound: int) -> int:
        return number_drawn(bound, next(count))

    drawn = {"randbelow": below, "token_bytes": octets, "randbits": lambda k: below(2**k)}
    again: dict[int, Any] = {id(getattr(secrets, name)): each for name, each in drawn.items()}
    again |= {id(os.urandom): octets, id(np.random.default_rng): made, id(secrets): standing_for(secrets, drawn)}
    again |= {
        id(os): standing_for(os, {"urandom": octets}),
        id(np.random): standing_for(np.random, {"default_rng": made}),
    }
    again[id(np)] = standing_for(np, {"random": again[id(np.random)]})
    again |= drawn_by(octets) if modules else {}

    def get(name: str, space: Any = None, *args: Any, **kw: Any) -> Any:
        imported = _IMPORT(name, space, *args, **kw)
        return again.get(id(imported), imported) if (space or {}).get("__name__") in modules else imported

    with _LOCK, ExitStack() as stack:
        for space in [vars(sys.modules[name]) for name in modules]:
            names = {key: again[id(each)] for key, each in space.items() if id(each) in again and key[:2] != "__"}
            stack.enter_context(_with_names(space, **names))
        stack.enter_context(_with_names(vars(builtins), __import__=get))
        for method, instead in by_system(below, octets).items() if modules else ():
            stack.enter_context(with_method(random.SystemRandom, method, instead))
        yield
