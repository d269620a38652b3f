"""What is written beside the channel is reported to listeners, and to nobody afterwards."""

from __future__ import annotations

import builtins
import logging
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from secmix.transcript import watched


class Heard(list[tuple[str, list[Any], bool]]):
    def __call__(self, where: str, what: list[Any], leaves: bool) -> list[Any]:
        self.append((where, what, leaves))
        return what

    @property
    def left(self) -> list[tuple[str, Any]]:
        return [(where, what[0]) for where, what, leaves in self if leaves]


def test_all_is_told_and_written_as_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heard, (here, there) = Heard(), socket.socketpair()
    with watched(heard), here, there:
        print(1.5)
        with open(tmp_path / "a", "w") as file:
            file.writelines(["x\n", "y\n"])
        with (tmp_path / "b").open("wb") as binary:
            binary.write(b"z")
        here.send(b"w")
        assert there.recv(1) == b"w"
        logging.getLogger("tests").debug("dropped %d", 3)
        logging.getLogger("tests").warning("kept %d", 4)
        with open(tmp_path / "a") as file:
            assert list(file) == ["x\n", "y\n"]
    assert capsys.readouterr().out == "1.5\n"
    assert (tmp_path / "b").read_bytes() == b"z"
    for each in (("printed", "1.5"), ("written to a file", "y\n"), ("written to a file", b"z"), ("logged", "kept 4")):
        assert each in heard.left
    assert ("sent by a socket", b"w") in heard.left
    assert ("logged", ["dropped %d", 3], False) in heard


def test_a_file_that_is_watched_is_a_file(tmp_path: Path) -> None:
    with watched(Heard()), open(tmp_path / "a", "w+") as file:
        file.write("x\n")
        file.seek(0)
        assert list(file) == ["x\n"]


def test_what_was_replaced_is_as_it_was() -> None:
    before = (builtins.print, builtins.open, sys.stdout, logging.Logger.debug, vars(socket.socket).get("send"))
    with watched(Heard()), watched(Heard()):
        assert builtins.print is not before[0]
    after = (builtins.print, builtins.open, sys.stdout, logging.Logger.debug, vars(socket.socket).get("send"))
    assert after == before


def test_what_somebody_else_put_in_place_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched(Heard()):
        monkeypatch.setattr(sys, "stdout", sys.__stderr__)
    assert sys.stdout is sys.__stderr__


def test_a_writer_hears_nothing_of_a_thread_in_which_another_listens() -> None:
    mine, others = Heard(), Heard()

    def beside() -> None:
        with watched(others):
            print("beside")

    with watched(mine):
        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()
        thread = threading.Thread(target=print, args=["started"])
        thread.start()
        thread.join()
    assert ("printed", "beside") in others.left
    assert ("printed", "beside") not in mine.left
    assert ("printed", "started") in mine.left
