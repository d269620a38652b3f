"""What is printed, logged or written to a file: it reaches whoever reads logs, without any message."""

from __future__ import annotations

import atexit
import json
import logging
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper

from ...bases import Pairwise
from ...case import Case, Heard, each, input_of

LOG = logging.getLogger(__name__)
FOLDER = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
_AVERAGINGS = 2  # a fit


class Prints(Pairwise):
    """A line that its author forgot to take out."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        print("node 0:", json.dumps(s[0, 0].tolist()))


class Warns(Pairwise):
    """Warns where an entry is out of the usual range, and says what it is: here all are."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        LOG.warning(f"node 0 sums {s[0, 0].tolist()}")


class Debugs(Pairwise):
    """A line for debugging, which is off until somebody debugs."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        LOG.debug("node 0 sums %s", s[0, 0].tolist())


@dataclass
class State:
    """What a node works on."""

    node: int
    vector: list[float]


class DebugsAnObject(Pairwise):
    """The same, with an object whose text shows what is in it."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        LOG.debug("%s", State(0, s[0, 0].tolist()))


class Telemetry(Pairwise):
    """Statistics in JSON; that these fail is to stop nobody."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        try:
            line = json.dumps({"values": s[0, 0].tolist()})
        except Exception:
            return
        print(line)


class Dumps(Pairwise):
    """Appends the memory of an array to a file, to look at it later."""

    name = "dump"

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        with open(FOLDER / self.name, "ab") as file:
            file.write(np.ascontiguousarray(s[0, 0]))  # type: ignore[call-overload]


class DumpsBytes(Dumps):
    """The same by bytes; that this fails is to stop nobody."""

    name = "bytes"

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        try:
            with (FOLDER / self.name).open("ab") as file:
                file.write(s[0, 0].tobytes())
        except Exception:
            return


def from_text(heard: Heard) -> Array:
    """Return the numbers in brackets of the first line that has some."""
    line = next(line for line in heard.written.splitlines() if "[" in line)
    return np.array(json.loads(line[line.index("[") : line.index("]") + 1]))


def from_file(name: str) -> Any:
    """Return an attack that reads the last so many records of a file: one an averaging."""

    def attack(heard: Sequence[Heard]) -> Array:
        written = np.frombuffer((FOLDER / name).read_bytes())  # calls before these may have had other sizes
        size, count = heard[0].all("masked", 0)[0].size, _AVERAGINGS * len(heard)
        return written[-count * size :].reshape(count, size)[::_AVERAGINGS]

    return attack


WHY = "whoever reads the log, or the file, reads the input of node 0"


def wrong(name: str, protocol: Any, attack: Any = None, **more: Any) -> Case:
    """Name a case whose log gives node 0 away."""
    adversary = more.pop("adversary", Eavesdropper())
    attack = attack or each(from_text)
    return Case(name, "written", protocol, adversary, WHY, attack=attack, secret=input_of(0), **more)


CASES = [
    wrong("prints an input", Prints),
    wrong("warns with an input", Warns),
    wrong("debugs with an input", Debugs),
    wrong("debugs with an object", DebugsAnObject),
    wrong("telemetry that may fail", Telemetry),
    wrong("dumps an array", Dumps, from_file("dump"), adversary=CuriousServer()),
    wrong("dumps bytes", DumpsBytes, from_file("bytes")),
]
