"""What is printed, logged, written to files and sent by sockets is read by outsiders: a secret in it ends the proof."""

from __future__ import annotations

import gzip
import json
import logging
import os
import pickle
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soundness.bases import Pairwise

from secmix import Network
from secmix.adversaries import Eavesdropper
from secmix.kernel import KnownSums, Open, clear, prove

LOG = logging.getLogger(__name__)
NETWORK = Network.complete(4)
INPUTS = [np.random.default_rng([5, call]).normal(size=(1, 4, 2)) for call in range(3)]
ADVICE = "log what is public, or send it through the channel"


@dataclass
class State:
    vector: Any


class Writes(Pairwise):
    """Writes something after its messages were sent, and goes on where that fails."""

    def __init__(self, write: Callable[[Any, Any, Path], object], folder: Path) -> None:
        super().__init__()
        self.__dict__.update(write=write, folder=folder)

    def after(self, channel: Any, s: Any, r: Any, network: Any, rng: Any) -> None:
        try:
            self.__dict__["write"](s, channel, self.__dict__["folder"])
        except ValueError:
            return


def _to_file(name: str, mode: str, what: Callable[[Any], Any]) -> Callable[[Any, Any, Path], object]:
    def write(s: Any, channel: Any, folder: Path) -> None:
        with open(folder / name, mode) as file:
            file.write(what(s))

    return write


def _to_socket(what: Callable[[Any], Any]) -> Callable[[Any, Any, Path], object]:
    def write(s: Any, channel: Any, folder: Path) -> None:
        here, there = socket.socketpair()
        with here, there:
            here.sendall(what(s))

    return write


def _to_descriptor(s: Any, channel: Any, folder: Path) -> None:
    descriptor = os.open(folder / "raw", os.O_WRONLY | os.O_CREAT)
    try:
        os.write(descriptor, s)
    finally:
        os.close(descriptor)


def _zipped(s: Any, channel: Any, folder: Path) -> None:
    with gzip.open(folder / "zipped", "wb") as file:
        file.write(s)


WRITTEN: dict[str, tuple[Callable[[Any, Any, Path], object], str]] = {
    "print": (lambda s, *_: print(s), "a secret is printed"),
    "memory on the output": (lambda s, *_: sys.stdout.buffer.write(s), "a secret is printed"),
    "a line that is dropped": (lambda s, *_: LOG.debug("%s", s), "a secret is logged"),
    "a line that is logged": (lambda s, *_: LOG.warning("%s", s[0]), "a secret is logged"),
    "an adapter": (lambda s, *_: logging.LoggerAdapter(LOG, {}).debug("%s", s), "a secret is logged"),
    "more for a handler": (lambda s, *_: LOG.debug("x", extra={"vector": s}), "a secret is logged"),
    "an object that is dropped": (lambda s, *_: LOG.debug("%s", State(s)), "the text of a secret"),
    "text": (lambda s, *_: LOG.debug(f"{s[0, 0, 0]}"), "the text of a secret"),
    "JSON": (lambda s, *_: json.dumps({"s": s.tolist()}), "a secret is turned into JSON"),
    "memory in a file": (_to_file("a", "wb", lambda s: s), "a secret is written to a file"),
    "bytes in a file": (_to_file("b", "ab", lambda s: s.tobytes()), "a secret is written to a file"),
    "memory of a path": (lambda s, _, folder: (folder / "c").write_bytes(s), "a secret is written to a file"),
    "memory by its number": (_to_descriptor, "a secret is written to a file"),
    "a zipped file": (_zipped, "a secret is written to a file"),
    "memory by a socket": (_to_socket(lambda s: s), "a secret is sent by a socket"),
    "bytes by a socket": (_to_socket(lambda s: s.tobytes()), "a secret is sent by a socket"),
    "a pickle": (lambda s, _, folder: (folder / "d").write_bytes(pickle.dumps(s)), "a pickle of secrets"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_secret_that_is_written_ends_the_proof(name: str, tmp_path: Path) -> None:
    write, words = WRITTEN[name]
    outcome = clear(prove(Writes(write, tmp_path), NETWORK, INPUTS), NETWORK, Eavesdropper())
    assert isinstance(outcome, Open)
    assert outcome.reason.startswith(words), outcome.reason
    assert name == "an object that is dropped" or "test_outlets.py, line" in outcome.reason
    assert "a secret" not in words or ADVICE.split(",")[0] in outcome.reason


PUBLIC: dict[str, Callable[[Any, Any, Path], object]] = {
    "print": lambda s, channel, _: print("iteration", channel.iteration, "runs", len(s)),
    "log": lambda s, channel, _: LOG.warning("iteration %d of %d nodes", channel.iteration, len(s)),
    "JSON": lambda s, *_: json.dumps({"nodes": len(s)}),
    "files": _to_file("e", "w", lambda s: f"{s.shape}\n"),
}


@pytest.mark.build
@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_may_be_written(name: str, tmp_path: Path) -> None:
    outcome = clear(prove(Writes(PUBLIC[name], tmp_path), NETWORK, INPUTS), NETWORK, Eavesdropper())
    assert isinstance(outcome, KnownSums), outcome
    assert not outcome.covers
