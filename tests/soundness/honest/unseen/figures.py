"""Counts and masks that are kept beside the protocol: on what all code has at hand, or inside of unusual objects."""

from __future__ import annotations

import builtins
import io
import logging
import sys
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import secmix
from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper
from secmix.network import Network
from secmix.transcript import Channel

from ...bases import Pairwise
from ...case import Case, each, input_of
from ..state import bare
from .bases import Excepted, excepted

MANY, LATER = 10**6, 40


class Noted(Excepted):
    """Notes uploads where all code of the process finds the figures; from the millionth on they are bare."""

    def figures(self) -> Any:
        """Return what has the number of uploads in it."""
        raise NotImplementedError

    def is_bare(self) -> bool:
        figures = self.figures()
        figures.uploads += 1
        return bool(figures.uploads > MANY)


def at(where: Any, name: str = "figures") -> Any:
    """Return the figures that are noted there; where there are none yet, they are put there."""
    if name not in vars(where):
        setattr(where, name, SimpleNamespace(uploads=0))
    return vars(where)[name]


class OnRootLogger(Noted):
    def figures(self) -> Any:
        return at(logging.root)


class OnPackage(Noted):
    def figures(self) -> Any:
        return at(secmix)


class OnChannels(Noted):
    def figures(self) -> Any:
        return at(Channel)


class OnNetworks(Noted):
    def figures(self) -> Any:
        return at(Network)


class OnPools(Noted):
    def figures(self) -> Any:
        return at(ThreadPoolExecutor)


class OnLoggers(Noted):
    def figures(self) -> Any:
        return at(logging.Logger)


class AmongBuiltins(Noted):
    def figures(self) -> Any:
        return at(builtins)


class OnNumPy(Noted):
    def figures(self) -> Any:
        return at(np)


class AmongModules(Noted):
    def figures(self) -> Any:
        return sys.modules.setdefault("uploads_of_the_service", SimpleNamespace(uploads=0))  # type: ignore[arg-type]


class OnThread(Noted):
    def figures(self) -> Any:
        return at(threading.main_thread())


class OnOutput(Noted):
    def figures(self) -> Any:
        return at(sys.__stdout__)


class Lines(io.StringIO):
    """A stream that counts."""

    uploads = 0


def log() -> logging.Logger:
    return logging.getLogger("uploads of the service")


class OnStream(Noted):
    def figures(self) -> Any:
        if not log().handlers:
            log().addHandler(logging.StreamHandler(Lines()))
        return log().handlers[0].stream  # type: ignore[attr-defined]


class OfModule(Noted):
    def is_bare(self) -> bool:
        """Counts in what Python itself no longer reads."""
        own = sys.modules[__name__]
        own.__dict__["__cached__"] = uploads = _count_of(own.__dict__.get("__cached__")) + 1
        return uploads > MANY


def _count_of(cached: Any) -> int:
    return cached if isinstance(cached, int) else 0


@contextmanager
def in_module(call: int) -> Iterator[None]:
    """A million uploads go by."""
    own = sys.modules[__name__].__dict__
    before = own.get("__cached__")
    own["__cached__"] = MANY
    yield
    own["__cached__"] = before


def many_at(figures: Callable[[Any], Any]) -> Any:
    """Return what has a million uploads go by."""

    @contextmanager
    def meanwhile(call: int) -> Iterator[None]:
        where = figures(None)
        where.uploads = MANY
        yield
        where.uploads = 0

    return meanwhile


class Later(Excepted):
    """Counts its own uploads, and hides the first forty."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["kept"] = self.made()

    def made(self) -> Any:
        """Return what it counts in."""
        raise NotImplementedError

    def add(self, kept: Any) -> int:
        """Count an upload, and return how many there were."""
        kept.uploads += 1
        return int(kept.uploads)

    def is_bare(self) -> bool:
        return self.add(self.kept) > LATER


class Watched(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that says how often it was asked."""

    uploads = 0

    def __deepcopy__(self, memo: object) -> Watched:
        return type(self)(self())


class OnReference(Later):
    def made(self) -> Any:
        return Watched(Network)


class UnderMask(Later):
    """Counts in an entry that is masked out of all averages."""

    def made(self) -> Any:
        return np.ma.MaskedArray(np.zeros(2), mask=[True, False])

    def add(self, kept: Any) -> int:
        kept.data[0] += 1
        return int(kept.data[0])


class InTable(Later):
    """Counts in a table of NumPy with a column of objects."""

    def made(self) -> Any:
        table = np.zeros(1, [("figures", object)])
        table["figures"][0] = [0]
        return table

    def add(self, kept: Any) -> int:
        kept["figures"][0][0] += 1
        return int(kept["figures"][0][0])


class OnClassOfTuple(Later):
    """Counts on the class of a named tuple that a function makes."""

    def made(self) -> Any:
        class Settings(NamedTuple):
            rounds: int = 1

        Settings.uploads = 0  # type: ignore[attr-defined]
        return Settings()

    def add(self, kept: Any) -> int:
        type(kept).uploads += 1
        return int(kept.uploads)


class InClosureOfTable(Later):
    """Counts in a variable around a method of a kind of dict."""

    def made(self) -> Any:
        uploads = 0

        class Table(dict):  # type: ignore[type-arg]
            def add(self) -> int:
                nonlocal uploads
                uploads += 1
                return uploads

        return Table()

    def add(self, kept: Any) -> int:
        return int(kept.add())


class Without(dict):  # type: ignore[type-arg]
    """A dict that lists what a user put into it, and leaves out its own figures."""

    def items(self) -> Any:
        return {key: value for key, value in super().items() if key != "uploads"}.items()


class NotListed(Later):
    def made(self) -> Any:
        return Without(uploads=[0])

    def add(self, kept: Any) -> int:
        kept["uploads"][0] += 1
        return int(kept["uploads"][0])


class Zero:
    """Stand where nothing is yet, and count how often nothing was there."""

    uploads = 0

    def __call__(self) -> int:
        return 0


class InDefault(Later):
    def made(self) -> Any:
        return defaultdict(Zero())

    def add(self, kept: Any) -> int:
        kept.default_factory.uploads += 1
        return int(kept.default_factory.uploads)


class Permits(Later):
    """Has forty permits for uploads that are hidden, which are locks: somebody forgot to give them back."""

    def made(self) -> Any:
        return None

    def is_bare(self) -> bool:
        locks = self.__dict__.setdefault("locks", [threading.Lock() for _ in range(LATER)])
        return not any(lock.acquire(blocking=False) for lock in locks)

    def __deepcopy__(self, memo: object) -> Permits:
        return type(self)()  # locks cannot be copied


class Carried(Excepted):
    """Looks how much the channel has carried: from the third round on all is bare."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        channel = channel or Channel()
        self.__dict__["carried"] = len(vars(channel.transcript).get("blocks", ()))
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def is_bare(self) -> bool:
        return bool(self.carried > LATER)


class OnTranscript(Pairwise):
    """Keeps masks beside what was sent, for the next round of the fit: half of all rounds are public rehearsals."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        runs, _, m = np.shape(inputs)
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        return super().average(inputs, network, rng, masks=self.chosen(masks, rng, channel), channel=channel)

    def chosen(self, masks: Array, rng: Any, channel: Any) -> Array:
        kept = vars(channel.transcript)
        if rng.random() < 0.5:
            before = kept.get("masks", masks)
            return before if np.shape(before) == np.shape(masks) else masks
        kept["masks"] = masks
        return masks


def of_one_fit(heard: Any) -> Array:
    """Return by how much two neighbouring rounds differ where that is of the size of data."""
    sent = np.stack([[one.one("masked", 0, iteration=k) for k in (0, 1)] for one in heard])
    apart = sent[:, 1] - sent[:, 0]
    return np.where(np.abs(apart).max(axis=1, keepdims=True) < 1e4, apart, np.nan)


def difference(truth: Any) -> Array:
    return np.asarray(truth.inputs[1][0, 0] - truth.inputs[0][0, 0])


_OF_PROCESS: dict[str, type[Noted]] = {
    "the root logger": OnRootLogger,
    "the package": OnPackage,
    "the class of channels": OnChannels,
    "the class of networks": OnNetworks,
    "the class of pools": OnPools,
    "the class of loggers": OnLoggers,
    "the builtins": AmongBuiltins,
    "NumPy": OnNumPy,
    "the table of modules": AmongModules,
    "the main thread": OnThread,
    "the standard output": OnOutput,
    "the stream of a handler": OnStream,
}
_OF_OBJECT: dict[str, type[Later]] = {
    "a weak reference": OnReference,
    "what is masked out of an array": UnderMask,
    "an object in a table of NumPy": InTable,
    "the class of a named tuple": OnClassOfTuple,
    "a closure of a kind of dict": InClosureOfTable,
    "what a dict does not list": NotListed,
    "what makes defaults": InDefault,
    "locks that are never given back": Permits,
}
IN_TURN = "uploads are bare from some number on"
CASES = [
    *(
        excepted(f"figures on {name}", "counts elsewhere", kind, IN_TURN, many_at(kind.figures))
        for name, kind in _OF_PROCESS.items()
    ),
    excepted("figures in what Python left in the module", "counts elsewhere", OfModule, IN_TURN, in_module),
    *(
        Case(f"figures in {name}", "counts elsewhere", kind, Eavesdropper(), IN_TURN, attack=bare, secret=input_of(0),
             deployed={"model": {"iterations": 1}}, calls=LATER + 3, claims=0.02)
        for name, kind in _OF_OBJECT.items()
    ),
    Case("counted by what the transcript has", "counts elsewhere", Carried, Eavesdropper(), IN_TURN,
         attack=each(lambda heard: heard.one("masked", 0, iteration=14)), secret=input_of(0, 14),
         deployed={"model": {"iterations": 15}}, calls=3),
    Case("masks beside what was sent", "counts elsewhere", OnTranscript, Eavesdropper(),
         "masks serve in two rounds of a fit", attack=of_one_fit, secret=difference, claims=0.1, accuracy=1e-5),
]  # fmt: skip
