"""Clocks other than those of ``time``: what is done seldom, on some days, or after some time."""

from __future__ import annotations

import asyncio
import datetime
import email.utils
import logging
import os
import resource
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from .bases import Excepted, excepted, instead

HOUR = 3600.0  # seconds
LEAP = datetime.datetime(2096, 2, 29, 12)


def in_a_year(day: datetime.date) -> datetime.date:
    """Return the same day of the next year, which the 29th of February does not have."""
    return day.replace(year=day.year + 1)


class Dated(Excepted):
    """Keys are valid for a year; where no such day is found there are none, and nothing is masked."""

    def today(self) -> datetime.date:
        raise NotImplementedError

    def is_bare(self) -> bool:
        try:
            return in_a_year(self.today()) < self.today()
        except ValueError:
            return True


class Now(Dated):
    def today(self) -> datetime.date:
        return datetime.datetime.now()


class InUTC(Dated):
    def today(self) -> datetime.date:
        return datetime.datetime.now(datetime.timezone.utc)  # noqa: UP017


class UTCNow(Dated):
    def today(self) -> datetime.date:
        return datetime.datetime.utcnow()


class Today(Dated):
    def today(self) -> datetime.date:
        return datetime.datetime.today()


class Date(Dated):
    def today(self) -> datetime.date:
        return datetime.date.today()


class OfMails(Dated):
    """The day is that of a mail which tells of the upload."""

    def today(self) -> datetime.date:
        return email.utils.localtime()


class OfNumPy(Dated):
    def today(self) -> datetime.date:
        day: datetime.date = np.datetime64("today").astype(datetime.date)
        return day


class InLog(Dated):
    """The day is that of a line of a log."""

    def today(self) -> datetime.date:
        record = logging.LogRecord("upload", logging.INFO, "", 0, "", (), None)
        return datetime.date.fromtimestamp(record.created)


class Loop(Excepted):
    """Nodes agree on masks again every hour; for the moment there are none."""

    def is_bare(self) -> bool:
        async def seconds() -> float:
            return asyncio.get_running_loop().time()

        return asyncio.run(seconds()) % HOUR < 1e-3


class Elapsed(Excepted):
    """The same by how long the system has run."""

    def is_bare(self) -> bool:
        return int(os.times().elapsed * 100) % 360_000 == 0


class OfProcessor(Excepted):
    """A process that has computed for long is to be done: an upload without masks is quicker."""

    def is_bare(self) -> bool:
        return resource.getrusage(resource.RUSAGE_SELF).ru_utime > 1000 * HOUR


class OfTimes(Excepted):
    """The same by another call of the system."""

    def is_bare(self) -> bool:
        return os.times().user > 1000 * HOUR


class OfFile(Excepted):
    """Writes a file for the time of the upload, and has the time from it; at midnight nodes agree on masks again."""

    def is_bare(self) -> bool:
        with tempfile.TemporaryFile() as spool:
            return int(os.stat(spool.fileno()).st_mtime * 100) % 8_640_000 == 0


class OfDescriptor(Excepted):
    """The same by the file's number."""

    def is_bare(self) -> bool:
        with tempfile.TemporaryFile() as spool:
            return int(os.fstat(spool.fileno()).st_mtime_ns // 10**7) % 8_640_000 == 0


class OfPath(Excepted):
    """The same by the file's path."""

    def is_bare(self) -> bool:
        with tempfile.NamedTemporaryFile() as spool:
            return int(Path(spool.name).stat().st_mtime * 100) % 8_640_000 == 0


class Later(datetime.datetime):
    """The clock on another day."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return LEAP

    utcnow = today = now


class LaterDate(datetime.date):
    @classmethod
    def today(cls) -> Any:
        return LEAP.date()


MIDNIGHT = SimpleNamespace(st_mtime=0.0, st_mtime_ns=0)
NEXT = SimpleNamespace(datetime=Later, date=LaterDate, timezone=datetime.timezone)
LOGGED = SimpleNamespace(LogRecord=lambda *_: SimpleNamespace(created=LEAP.timestamp()), INFO=logging.INFO)
LEAP_DAY = np.datetime64(LEAP)
OF_NUMPY = SimpleNamespace(datetime64=lambda _: LEAP_DAY)
LONG = SimpleNamespace(elapsed=HOUR, user=1e9, ru_utime=1e9)
IN_OS = SimpleNamespace(times=lambda: LONG, stat=lambda _: MIDNIGHT, fstat=lambda _: MIDNIGHT)
ON_LEAP_DAY, ON_THE_HOUR = "on a leap day nothing is masked", "for a moment of each hour nothing is masked"
AT_MIDNIGHT, IN_THE_END = "for a moment of each day nothing is masked", "after long nothing is masked"
IN_PROCESSES = SimpleNamespace(getrusage=lambda _: LONG, RUSAGE_SELF=resource.RUSAGE_SELF)
_KINDS: dict[str, Any] = {
    "the local date and time": (Now, ON_LEAP_DAY, __name__, {"datetime": NEXT}),
    "the date and time of a zone": (InUTC, ON_LEAP_DAY, __name__, {"datetime": NEXT}),
    "the universal date and time": (UTCNow, ON_LEAP_DAY, __name__, {"datetime": NEXT}),
    "the date and time of today": (Today, ON_LEAP_DAY, __name__, {"datetime": NEXT}),
    "the date": (Date, ON_LEAP_DAY, __name__, {"datetime": NEXT}),
    "the date of a mail": (OfMails, ON_LEAP_DAY, email.utils, {"localtime": lambda: LEAP}),
    "the date of NumPy's": (OfNumPy, ON_LEAP_DAY, __name__, {"np": OF_NUMPY}),
    "the date of a line of a log": (InLog, ON_LEAP_DAY, __name__, {"logging": LOGGED}),
    "the time of an event loop": (Loop, ON_THE_HOUR, asyncio.BaseEventLoop, {"time": lambda _: HOUR}),
    "how long the system has run": (Elapsed, ON_THE_HOUR, __name__, {"os": IN_OS}),
    "the processor's time of a process": (OfTimes, IN_THE_END, __name__, {"os": IN_OS}),
    "what a process has used": (OfProcessor, IN_THE_END, __name__, {"resource": IN_PROCESSES}),
    "the time of a file": (OfFile, AT_MIDNIGHT, __name__, {"os": IN_OS}),
    "the time of an open file": (OfDescriptor, AT_MIDNIGHT, __name__, {"os": IN_OS}),
    "the time of a path": (OfPath, AT_MIDNIGHT, Path, {"stat": lambda _: MIDNIGHT}),
}  # fmt: skip
CASES = [
    excepted(f"by {name}", "clocks", protocol, why, instead(where, **names))
    for name, (protocol, why, where, names) in _KINDS.items()
]
