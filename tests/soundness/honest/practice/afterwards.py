"""Messages that are sent once the call is over, by a thread that it leaves behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, Heard, each, input_of

LATER = 4.0  # seconds, in which a service has other things to do


class Diagnosed(Pairwise):
    """Node 0 sends what it put in, for debugging, once there is time for it."""

    def later(self, send: Callable[[], Any]) -> threading.Thread:
        """Make what sends in its own time."""
        raise NotImplementedError

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        self.later(lambda: channel.send(8, 0, SERVER, "diagnosis", s[0][None])).start()


class ByThread(Diagnosed):
    def later(self, send: Callable[[], Any]) -> threading.Thread:
        def wait_and_send() -> None:
            time.sleep(LATER)
            send()

        return threading.Thread(target=wait_and_send)


class ByTimer(Diagnosed):
    def later(self, send: Callable[[], Any]) -> threading.Thread:
        return threading.Timer(LATER, send)


def diagnosis(heard: Heard) -> Array:
    numbers = heard.all("diagnosis", 0)[0].numbers
    assert numbers is not None
    return numbers[0]


_KINDS: dict[str, type[Diagnosed]] = {"a thread": ByThread, "a timer": ByTimer}
CASES = [
    Case(f"diagnosed later by {name}", "afterwards", protocol, CuriousServer(), "it is sent bare",
         attack=each(diagnosis), secret=input_of(0), calls=2, deployed={"model": {"iterations": 1}})
    for name, protocol in _KINDS.items()
]  # fmt: skip
