"""What may pass from one call to the next: a digest of it, and the numbers among it, which may be any in a later call.

It is all that can be reached from the protocol, its network, its channel, and the modules of its code. What cannot be
compared in full is unlike everything, itself included: a claim then covers the calls that were traced.
"""

from __future__ import annotations

import copyreg
import gc
import io
import logging
import os
import random
import sys
import threading
import time
import types
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np

from secmix.kernel.randomness.coins import NOTES, Public
from secmix.kernel.randomness.draws import Draws, OfStream
from secmix.kernel.randomness.secret_bytes import SecretBytes, as_pieces
from secmix.kernel.tracing.python_library import answers_by_data
from secmix.kernel.values.arrays import Followed, concrete, is_of_python, is_secret
from secmix.kernel.values.current_trace import DRAWS, loggers, now, tracing
from secmix.kernel.values.numbers import Number
from secmix.kernel.values.protocol_text import is_protocol
from secmix.network import Network
from secmix.transcript import Channel, Transcript

KEPT = "what the protocol keeps from call to call"
_VALUES = frozenset({bool, int, float, complex, str, bytes, range, slice, *map(type, (None, Ellipsis, NotImplemented))})
_CONTAINERS = (dict, list, tuple, set, frozenset)  # which carry nothing beside what they contain
_COUNTING = (int, float, dict, list, tuple, set, deque, np.ndarray)  # what may count
_MEMBER = types.MemberDescriptorType
_NAMED = (types.ModuleType, _MEMBER, types.GetSetDescriptorType, types.WrapperDescriptorType)
_NO_DATA: tuple[str, ...] = ("_thread.", "_abc.", "logging.", "typing.", "numba.core.", "numba.np.", "IPython.")
_NO_DATA += ("ipykernel.", "_pytest.", "builtins.PyCapsule", "concurrent.futures.thread.", "functools._lru_list_elem")
_NO_DATA += ("secmix.kernel.proving.", "secmix.kernel.clearance.", "secmix.kernel.tracing.trace.")  # of earlier proofs
"""Names of classes whose objects carry no data of their own from call to call: locks, loggers, code, shells, tests."""
_PLUMBING = ("manager", "parent", "stream", "_cache", "lock")  # of loggers: what others have beside them
_AS_IT_IS = sys.stdlib_module_names | {"numpy", "scipy", "networkx"}  # all that is loaded whole by now
_MODULES = [
    x
    for name, x in [*sys.modules.items()]
    if name.partition(".")[0] in _AS_IT_IS and isinstance(x, types.ModuleType)  # None stands for what is not to load
]
_CLASSES = {id(each): each for of in _MODULES for each in list(vars(of).values()) if isinstance(each, type)}
AT_FIRST: list[tuple[Mapping[str, Any], int]] = [(x, len(x)) for x in map(vars, (*_MODULES, *_CLASSES.values()))]
"""What modules and classes name, and how much that was before any protocol is followed: what is added comes last."""
_OF_LOGGERS = frozenset(vars(logging.Logger("one")))  # what each has
_OF_THREADS = frozenset(vars(threading.Thread()))
_OF_STREAMS = frozenset({"mode"})  # as a file of text has it
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_RECORD = frozenset({"blocks", "_written"})  # of a transcript
_OF_WARNINGS = ("_filters_version",)  # which counts how often these were changed
_PYTHONS = frozenset({*dir(types.ModuleType), *dir(type), *dir(object)})
_PYTHONS |= {
    f"__{name}__"
    for name in """
    abstractmethods all annotate annotate_func annotations annotations_cache builtins cached conditional_annotations
    dataclass_fields dataclass_params file firstlineno loader match_args orig_bases package parameters path slotnames
    slots spec static_attributes warningregistry weakref
    """.split()  # noqa: SIM905
}
"""Names under which Python keeps what it needs in a module or a class."""
_PLAIN = (*(f"builtins.{each.__name__}" for each in _CONTAINERS), "numpy.ndarray", f"{Followed.__module__}.Followed")
"""Classes whose digests say all that they hold."""
_MOST = 200_000  # objects
_LONG = 1000  # entries of a list, of which the numbers are not looked at one by one
_OF_PYTHON = 1 << 9  # the flag of a class that was made by a class statement (Py_TPFLAGS_HEAPTYPE)


def kept(
    protocol: Any, network: Network, channel: dict[str, Any], modules: Iterable[str], varying: frozenset[str] | None
) -> tuple[Any, dict[str, str]]:
    """Return a digest of what is kept and the numbers in it by where they are; let those that vary be any from here on.

    None lets all be what they are again: a module, or a copy, may share what it keeps.
    """
    kinds = [kind for kind in type(protocol).__mro__ if kind.__module__ != "builtins"]
    foreign = {name for name in modules if not name.startswith("secmix.")} | {kind.__module__ for kind in kinds}
    loaded = {name: sys.modules[name] for name in sorted(foreign) if name in sys.modules}
    spaces = {name: vars(each) for name, each in loaded.items() if is_protocol(getattr(each, "__file__", None) or "")}
    own = {key: each for key, each in channel.items() if key not in ("fit", "iteration", "transcript")}
    walk = _Walk(varying, foreign)
    digest: Any
    try:
        roots = {
            "": protocol,
            "network": vars(network),
            "channel": own,
            "environment": dict(os.environ),
            "path": sys.path,
        }
        roots["at hand"] = walk.at_hand(channel.get("transcript"))
        found = [(path, walk.digest(each, path)) for path, each in roots.items()]
        found += [(path, walk.namespace(each, path, each.__setitem__)) for path, each in spaces.items()]
        digest = _LAST[0] = _shared(tuple(found), _LAST[0])
    except Exception:  # too deep, or an object of a library refuses to say what it holds
        digest = object()
    return digest, walk.numbers


def digest_of(value: Any) -> Any:
    """Return a digest of all that a value holds."""
    return _Walk(frozenset(), set()).digest(value, "")


_LAST: list[Any] = [None]


def _shared(digest: Any, last: Any) -> Any:
    """Return an equal digest, made of parts of the last one where these are equal: calls leave most as it is."""
    if digest == last:
        return last
    is_alike = type(digest) in (list, tuple) and type(digest) is type(last) and len(digest) == len(last)
    return type(digest)(map(_shared, digest, last)) if is_alike else digest


def first_change(before: Any, after: Any) -> str:
    """Name what differs first in two digests, by what holds it: a module or a class; empty where no name is known."""
    path: list[str] = []
    while isinstance(before, (list, tuple)) and type(before) is type(after) and len(before) == len(after):
        before, after = next(each for each in zip(before, after, strict=True) if each[0] != each[1])
        if isinstance(before, tuple) and isinstance(after, tuple) and before[:1] == after[:1] != ():
            is_member = isinstance(before[0], tuple)  # else what holds members, of which the first is named
            name = before[0][0] if is_member else before[0]
            path += [name] * bool((is_member or not path) and name and isinstance(name, str))
    return " of ".join(path[1::-1])


_UNSAID = (*_NO_DATA, "functools._lru_cache_wrapper", "secmix.kernel.")  # whose digests do not say what they hold
_OF_DATA, _OF_DRAWS, _SEEN = "secret", "secret draws", "seen"  # in a digest; the second is the larger


def may_hold_draws(before: Any, after: Any) -> bool:
    """Say whether what is kept may be made of draws that were not kept before: all but what is public, or data.

    What was met elsewhere is looked at there.
    """
    return _may_hold_draws(_without_places(before), _without_places(after))


def _without_places(digest: Any) -> Any:
    """Leave out of a digest where else something was met, which is another place once there is more."""
    if isinstance(digest, (list, tuple)):
        return _SEEN if _is_named(digest) and digest[0] == _SEEN else type(digest)(map(_without_places, digest))
    return digest


def in_any_order(digest: Any) -> Any:
    """Return what is equal for two digests in which no more differs than the order in which names were given."""
    return _sorted(_without_places(digest))


def _sorted(digest: Any) -> Any:
    if not isinstance(digest, (list, tuple)):
        return digest
    parts = [*map(_sorted, digest)]
    are_named = all(isinstance(each, list) and len(each) == 2 and isinstance(each[0], list) for each in parts)
    return sorted(parts, key=lambda each: repr(each[0])) if are_named else parts


def _may_hold_draws(before: Any, after: Any) -> bool:
    if before == after:
        return False
    if type(before) is not type(after) or not isinstance(after, (list, tuple)):
        return not _is_without_draws(after)
    if _is_named(after):
        says_all = before[:1] == after[:1] and not after[0].startswith((_OF_DATA, *_UNSAID))
        return _may_hold_draws(before[1], after[1]) if says_all else not _is_without_draws(after)
    if len(before) == len(after):
        return any(map(_may_hold_draws, before, after))
    return not all(_is_without_draws(each) for each in after if each not in before)


def _is_named(digest: Any) -> bool:
    """Say whether it is the digest of a secret, or of an object of a class that may hold what it does not say."""
    is_pair = isinstance(digest, tuple) and len(digest) == 2 and isinstance(digest[0], str)
    return is_pair and digest[0] not in _PLAIN


def _is_without_draws(digest: Any) -> bool:
    if _is_named(digest):
        return bool(digest[0] == _OF_DATA)
    if isinstance(digest, (list, tuple)):
        return all(map(_is_without_draws, digest))
    return type(digest) in _VALUES or any(digest is each for each in _VALUES)


def _tag(number: Number) -> str:
    return _OF_DRAWS if number.depends & DRAWS else _OF_DATA


@dataclass
class _Walk:
    varying: frozenset[str] | None
    foreign: set[str]
    seen: dict[int, tuple[int, Any]] = field(default_factory=dict)  # with what was seen: an address is used again
    edges: dict[int, int] = field(default_factory=dict)  # of a graph, apart, since there may be millions
    numbers: dict[str, str] = field(default_factory=dict)
    kinds: set[Any] = field(default_factory=set)  # those of pools and of threads' data

    def digest(self, value: Any, path: str) -> Any:
        """Return what is equal for two values that nobody can tell apart."""
        kind: Any = type(value)
        if type(kind).__hash__ is None:  # its class cannot be told from others
            return object()
        if kind in _VALUES:
            return kind, repr(value)
        if isinstance(value, (Number, Public)):  # what is public is another in the next call, and may be any there
            return (_tag(value), id(value)) if isinstance(value, Number) else KEPT
        if isinstance(value, SecretBytes):
            return _OF_DRAWS, as_pieces([value])
        if id(value) in self.seen:
            return _SEEN, self.seen[id(value)][0]
        if len(self.seen) > _MOST:
            return object()
        self.seen[id(value)] = len(self.seen), value
        parts = self._parts(value, path)
        return _name(kind), (parts, self.digest(kind, path)) if self.is_own(kind) else parts

    def is_own(self, kind: Any) -> bool:
        """Say whether a class is of the protocol's code, or of nobody's: no module has it under its name."""
        return kind.__module__ in self.foreign or not _is_in_its_module(kind)

    def at_hand(self, transcript: Any) -> list[Any]:
        """Return what may have been added to what all code has at hand: modules, classes, loggers, threads, streams.

        Its numbers are compared as they are, and none is let be any, but for those of objects.
        """
        usual: list[tuple[Any, frozenset[str]]] = [(logging.root, _OF_LOGGERS), (transcript, _RECORD)]
        usual += [(x, _OF_THREADS) for x in {threading.current_thread(), threading.main_thread()}]
        usual += [(x, _of_loops()) for x in _loops()]
        usual += [(x, _OF_STREAMS) for x in (sys.__stdin__, sys.__stdout__, sys.__stderr__)]
        own = [[(n, x) for n, x in getattr(each, "__dict__", {}).items() if n not in names] for each, names in usual]
        own += [[(name, x) for name, x in sys.modules.items() if not isinstance(x, types.ModuleType)]]
        spaces = [("", each) for each in (*own, [(str(k), x) for k, x in enumerate(logging.root.handlers)])]
        spaces += [("secmix", list(vars(x).items())) for x in (sys.modules["secmix"], Channel, Transcript, Network)]
        spaces += [(_package(names), list(names.items())[count:]) for names, count in AT_FIRST if len(names) != count]
        members = ({n: x for n, x in several if self._may_count(n, x, package)} for package, several in spaces)
        return [loggers(), *map(types.MappingProxyType, filter(None, members))]

    def _may_count(self, name: str, value: Any, package: str) -> bool:
        """Say whether a member that not all such objects have is data of the protocol's, and none of a library's."""
        kind: Any = type(value)
        of = value.__module__ if isinstance(value, types.FunctionType) else kind.__module__
        if of in self.foreign or name[:2] == "__":
            return of in self.foreign
        return isinstance(value, _COUNTING) or of.partition(".")[0] in _AS_IT_IS - {"builtins", package}

    def _parts(self, value: Any, path: str) -> Any:
        if isinstance(value, _CALLED):
            return self._called(value, path)
        if isinstance(value, Followed):
            return value.kind.str, value.shape, self._array(value, path)
        kind: Any = type(value)
        if kind in _LOCKS:
            return repr(value).partition(" at ")[0]  # whether it is locked, and how often
        if kind in (ThreadPoolExecutor, threading.local):
            self.kinds.add(kind)
            if len(self.kinds) > 1:  # what the threads of a pool keep of their own is not seen
                return object()
        if isinstance(value, types.ModuleType) and not _is_loaded(space := vars(_stood_for(value))):
            return self.namespace(space, path, space.__setitem__)
        if _has_no_data(kind):
            is_of_thread = _name(kind) == "_thread._local"  # of this one
            own = vars(value) if is_of_thread else _added_to(value, self.foreign)
            return self._each(own, path, own.__setitem__ if kind == threading.local else None)
        if isinstance(value, (weakref.ref, ContextVar)):
            inside = value() if isinstance(value, weakref.ref) else value.get(None)
            return self.digest(inside, path), self.digest(getattr(value, "__dict__", None), path)
        return self._content(value, path) if type(value) in _CONTAINERS else self._object(value, path)

    def _called(self, value: Any, path: str) -> Any:
        """Digest a class, or a function of Python's, of C or of NumPy."""
        if isinstance(value, types.FunctionType):
            return self._function(value, path)
        if isinstance(value, type):
            return self._class(value, path)
        if isinstance(value, types.BuiltinFunctionType):
            bound = value.__self__
            unbound = bound is None or isinstance(bound, (types.ModuleType, type))
            if value.__name__ == "urandom" or bound is time or (unbound and not answers_by_data(value)):
                return object()  # behind no name of a module: what it says is not followed
            return value.__name__, None if unbound else self.digest(bound, path)
        if isinstance(value, (np.ufunc, type(np.sum))):  # one of Python's function does not say what that keeps
            return object() if is_of_python(value) else value.__name__
        if isinstance(value, type(_name)):
            info = value.cache_info()
            asked = info.hits if tracing() and "asked" in now().hears else 0
            return info.misses, asked, [self.digest(each, path) for each in gc.get_referents(value)]
        return value.__qualname__

    def _object(self, value: Any, path: str) -> Any:
        kind: Any = type(value)
        if isinstance(value, (weakref.WeakValueDictionary, weakref.WeakSet)) and value:  # the collector empties it
            return object()
        own = getattr(value, "__dict__", {})
        is_own = isinstance(own, dict)  # of a type with parameters it is that of the type
        attributes = self._each(own, path, own.__setitem__) if is_own else self.namespace(own, path, None)
        slots = {name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}
        setter = lambda name, number: object.__setattr__(value, name, number)  # noqa: E731
        return attributes, self._each(slots, path, setter), self._content(value, path)

    def _content(self, value: Any, path: str) -> Any:
        """Digest what an object holds beside its attributes."""
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if type(value) is dict and _joins(value):
            return tuple(value), [self.edges.setdefault(id(each), len(self.edges)) for each in value.values()]
        if isinstance(value, (dict, types.MappingProxyType)):
            members = dict.copy(value) if isinstance(value, dict) else value  # whatever a kind of dict lists
            beside = self.digest(getattr(value, "default_factory", None), path)
            return beside, self._each(members, path, _setter(value))
        if isinstance(value, (list, deque, tuple, set, frozenset)):
            base: Any = next(kind for kind in (list, deque, tuple, set, frozenset) if isinstance(value, kind))
            entries = list(base.__iter__(value))
            if base in (list, deque) and len(entries) > _LONG and all(type(each) in _VALUES for each in entries):
                return len(entries), sha256(repr(entries).encode()).digest()
            if base in (list, deque):
                return self._each(dict(enumerate(entries)), path, _setter(value))
            return [self.digest(each, path) for each in (entries if base is tuple else sorted(entries, key=repr))]
        if type(value) is random.SystemRandom:
            return None  # it asks the system each time, and refuses to be copied
        wrapped = ("__func__", "__self__", "fget", "fset", "fdel")
        if found := [self.digest(getattr(value, name), path) for name in wrapped if hasattr(value, name)]:
            return found
        return self._reduced(value, path)

    def _reduced(self, value: Any, path: str) -> Any:
        """Digest what an object is made of, as for a copy; what cannot be told is unlike everything.

        Python itself refuses where an object of C is larger than its attributes, and does not say how it is copied.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # as of iterators, from Python 3.12 on
                reduce = copyreg.dispatch_table.get(type(value))
                reduced: Any = value.__reduce_ex__(2) if reduce is None else reduce(value)
        except Exception:  # an object may refuse in any way
            return object()
        if isinstance(reduced, str):
            return reduced
        inside = _Walk(frozenset(), self.foreign, self.seen)  # what is changed there changes nothing
        return [inside.digest(list(each) if hasattr(each, "__next__") else each, path) for each in reduced[1:]]

    def _array(self, value: Any, path: str) -> Any:
        if isinstance(value, Followed) and is_secret(value):
            several = value.objects.ravel().tolist()
            tags = {_tag(each) for each in several if isinstance(each, Number)}
            return max(tags), [id(each) for each in several]
        value = np.asarray(concrete(value) if isinstance(value, Followed) else value)  # also what is masked out
        if value.dtype.hasobject:
            return value.shape, value.dtype.str, [self.digest(each, path) for each in value.ravel().tolist()]
        return value.shape, value.dtype.str, sha256(value.tobytes()).digest()

    def _function(self, value: types.FunctionType, path: str) -> Any:
        if NOTES in value.__dict__:
            return value.__dict__[NOTES]
        if not is_protocol(value.__code__.co_filename) and not value.__closure__:
            return value.__code__ if answers_by_data(value) or value.__module__ == "weakref" else object()
        given: tuple[Any, ...] = (value.__defaults__, value.__kwdefaults__, value.__dict__)
        if not _is_loaded(space := value.__globals__):  # of a text that was run: it may count there
            counts = {n: x for n, x in space.items() if not callable(x) and self._may_count(n, x, "")}
            given += (self._each(counts, f"{path}/{value.__qualname__}", space.__setitem__),)
        if not value.__closure__ and not any(given):
            return value.__code__
        cells = {str(k): cell for k, cell in enumerate(value.__closure__ or ())}
        filled = {name: cell.cell_contents for name, cell in cells.items() if is_filled(cell)}
        inside = self._each(
            filled, f"{path}/{value.__qualname__}", lambda name, number: setattr(cells[name], "cell_contents", number)
        )
        return value.__code__, inside, [self.digest(each, path) for each in given]

    def _class(self, value: type, path: str) -> Any:
        if not self.is_own(value):
            counts = {name: each for name, each in vars(value).items() if type(each) in (int, float)}
            return value.__qualname__, self._each(counts, path)
        put = lambda name, number: setattr(value, name, number)  # noqa: E731
        return self.namespace(vars(value), f"{path}/{value.__qualname__}", put)

    def namespace(self, members: Mapping[str, Any], path: str, put: Callable[[Any, Any], Any] | None) -> Any:
        """Digest what a module or a class names: of what Python keeps there functions and numbers alone."""
        taken = (types.FunctionType, int, float)
        own = {name: each for name, each in members.items() if name not in _PYTHONS or isinstance(each, taken)}
        return self._each(own, path, put)

    def _each(self, members: Mapping[Any, Any], path: str, put: Callable[[Any, Any], Any] | None = None) -> Any:
        """Digest all members; ``put`` writes one."""
        digests = []
        for key, member in list(members.items()):
            place = sys.intern(f"{path}/{KEPT if isinstance(key, Public) else key}")
            name = (key,) if type(key) is str else self.digest(key, place)
            digests.append((name, self._member(member, key, place, put)))
        return digests

    def _member(self, member: Any, key: Any, place: str, put: Callable[[Any, Any], Any] | None) -> Any:
        if type(member) not in (int, float, Public):
            return self.digest(member, place)
        self.numbers[place] = KEPT if type(member) is Public else repr(member)
        plain = member.value if type(member) is Public else member
        if put is not None and (self.varying is None or place in self.varying):
            if type(member) is Public or self.varying is not None:
                put(key, plain if self.varying is None else Public(plain, KEPT))
            return KEPT
        return self.digest(member, place)


def _joins(members: dict[Any, Any]) -> bool:
    """Say whether these are the neighbours of a node, by number, with nothing kept of an edge."""
    return bool(members) and all(type(k) is int and type(each) is dict and not each for k, each in members.items())


def _setter(container: Any) -> Callable[[Any, Any], Any] | None:
    return None if isinstance(container, types.MappingProxyType) else container.__setitem__


def _loops() -> list[Any]:
    """Return the loop of events that this thread has, if it has one."""
    of_thread = getattr(getattr(sys.modules.get("asyncio.events"), "_event_loop_policy", None), "_local", None)
    loop = getattr(of_thread, "_loop", None)
    return [] if loop is None else [loop]


@cache
def _of_loops() -> frozenset[str]:
    """Name what each loop of events has."""
    loop = sys.modules["asyncio"].new_event_loop()
    loop.close()
    return frozenset(vars(loop))


def _stood_for(module: types.ModuleType) -> types.ModuleType:
    """Return the module that another stands for in a trace; itself where it stands for none."""
    original: types.ModuleType = vars(module).get("__wrapped__", module)
    return original


def _is_loaded(space: dict[str, Any]) -> bool:
    """Say whether it is the namespace of a module that is found under its name."""
    name = space.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    return isinstance(module, types.ModuleType) and vars(_stood_for(module)) is space


@cache
def _is_in_its_module(kind: Any) -> bool:
    """Say whether a class is what its module has under its name."""
    named: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        named = getattr(named, name, None)
    return named is kind


@cache
def _name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


_CALLED = (
    *(types.FunctionType, types.BuiltinFunctionType, type, np.ufunc, type(np.sum), type(_name)),
    *(types.MethodDescriptorType, types.ClassMethodDescriptorType),
)


@cache
def _has_no_data(kind: Any) -> bool:
    return issubclass(kind, (OfStream, *_NAMED)) or _name(kind).startswith(_NO_DATA)


def _added_to(value: Any, foreign: set[str]) -> dict[str, Any]:
    """Return what was added to an object that carries no data of its own, and how much a generator has drawn."""
    if isinstance(value, Draws) and value.secret is False:
        return {"drawn": str(value.drawn_before)}
    kind: Any = type(value)
    if isinstance(value, types.ModuleType):  # of another's module what may count; what is added to any is at hand
        return {
            name: x
            for name, x in vars(_stood_for(value)).items()
            if type(x) in (int, float) and name not in _OF_WARNINGS
        }
    is_plumbing = isinstance(value, logging.Logger) or _name(kind).startswith(("logging.", "concurrent."))
    own = getattr(value, "__dict__", {}) if is_plumbing else {}
    written = {name: each.getvalue() for name, each in own.items() if isinstance(each, (io.StringIO, io.BytesIO))}
    return written | {n: x for n, x in own.items() if n not in _PLUMBING or type(x).__module__ in foreign}


def _package(names: Mapping[str, Any]) -> str:
    """Return the package of a module, or of the module that has a class, by what it names."""
    name = names.get("__name__") or names.get("__module__")
    return name.partition(".")[0] if isinstance(name, str) else ""


def is_filled(cell: Any) -> bool:
    """Say whether a variable of a function around another has a value yet."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


@cache
def _slots(kind: Any) -> list[str]:
    """Name what objects of a class hold beside a dictionary; members of a class of C cannot be written to."""
    pythons = (base for base in kind.__mro__ if base.__flags__ & _OF_PYTHON)
    return [name for base in pythons for name, each in vars(base).items() if type(each) is _MEMBER]
