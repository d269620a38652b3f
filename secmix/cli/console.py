"""Output of the command while it works: errors in a line, progress as a bar or as log lines, in any encoding."""

from __future__ import annotations

import codecs
import errno
import logging
import math
import os
import signal
import sys
import threading
import time
import traceback
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from secmix.errors import SecmixError, brief, cause, one_line

WRONG_INPUT, UNFORESEEN, INTERRUPTED = 2, 70, 130
_PLAIN = {"σ": "sigma", "λ": "lambda", "κ": "kappa", "ρ": "rho", "τ": "tau", "Φ": "Phi", "ℓ": "l", "≥": ">=", "≤": "<="}
_PLAIN |= {"→": "->", "−": "-", "–": "-", "—": "-", "✗": "x", "○": "o", "×": "x", "∞": "inf", "≠": "!=", "√": "sqrt "}
_VERDICTS = (": violated", ": inconclusive", ": holds", ": not asked")
_ESTIMATE = "estimate: "
_CLEARING_UP = 3.0  # seconds in which another interrupt is the same one
_EVERY = 10.0  # seconds between log lines; what is done sooner says nothing


class Stopped(Exception):
    """The command ends with ``status``; what there was to say has been said."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@contextmanager
def errors_shown(
    debug: bool = False, when_interrupted: Callable[[], str] = str, when_failed: Callable[[], str] = str
) -> Iterator[None]:
    """Turn every failure into one line on standard error and a status; with ``debug`` the traceback too.

    ``when_interrupted`` and ``when_failed`` give what is to be said beside, in a line of its own after an error.
    Raises Stopped: 2 where the input is wrong, 130 after an interrupt, 70 for an unexpected error.
    """
    try:
        yield
    except Stopped:
        raise
    except SecmixError as error:
        _failed(str(error), error, debug, when_failed())
        raise Stopped(WRONG_INPUT) from None
    except KeyboardInterrupt:
        raise interrupted(when_interrupted()) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            raise Stopped(_nobody_reads()) from None
        if type(error).__module__.startswith(("click", "typer")):
            raise
        hint = "" if debug else "; the same command with --debug shows where"
        _failed(
            f"an unforeseen error ({cause(error)}): a fault of secmix, please report it{hint}",
            error,
            debug,
            when_failed(),
        )
        raise Stopped(UNFORESEEN) from None


def interrupted(more: str = "") -> Stopped:
    """Say that the command was interrupted and, where there is more to say, what became of its work."""
    _say(f"secmix: interrupted; {more}".rstrip("; "))
    return Stopped(INTERRUPTED)


def _failed(message: str, error: BaseException, debug: bool, more: str) -> None:
    if debug:
        _say("".join(traceback.format_exception(error)).rstrip())
    _say(f"secmix: {brief(message)}")
    if more:
        _say(f"secmix: {more}")


def _say(text: str) -> None:
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def _nobody_reads() -> int:
    """End without an error where the reader of our output has closed it, as ``head`` does."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


@contextmanager
def printed() -> Iterator[None]:
    """Let printing find its reader gone: what follows is done all the same."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        _nobody_reads()


@contextmanager
def results_alone() -> Iterator[None]:
    """Send what audited code prints meanwhile to standard error, also in worker processes.

    The stream stays the same object: what is printed counts as read by outsiders. Only where it leads is another place.
    """
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    try:
        results = os.dup(1)
    except OSError:  # closed: nothing printed is read
        yield
        return
    try:
        with suppress(OSError):  # where standard error is closed, it stays as it is
            os.dup2(2, 1)
        yield
    finally:
        with suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
        os.dup2(results, 1)
        os.close(results)


def interrupt_once() -> None:
    """Let Ctrl-C interrupt the command, and once more only when what was begun has had time to be put in order.

    Whoever presses it several times means one interrupt; the second would break off the clearing up after the first.
    """
    last = -math.inf

    def interrupt(signum: int, frame: Any) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > _CLEARING_UP:
            last = now
            raise KeyboardInterrupt

    # Where interrupts are ignored, as in a shell's background, they stay so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def end(status: int) -> NoReturn:
    """End the process; what is said has been said, so that an interrupt on the way out changes nothing."""
    if threading.active_count() == 1:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    exec("")  # or Python itself ends by SIGINT, where one came in an exec before, such as that of a dataclass
    sys.exit(status)


def speak_any_encoding() -> None:
    """Let streams write characters that they cannot carry in others, rather than end the command."""
    codecs.register_error("secmix", _in_others)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="secmix")  # type: ignore[union-attr]


def _in_others(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    out = ""
    for character in error.object[error.start : error.end]:
        plain = _PLAIN.get(character) or unicodedata.normalize("NFKD", character)
        out += "".join(c for c in plain if c.isascii()) or "?"
    return out, error.end


class _Line(logging.Formatter):
    """A log record in one line that is safe to print."""

    def format(self, record: logging.LogRecord) -> str:
        return f"secmix: {brief(record.getMessage())}"


@contextmanager
def progress() -> Iterator[Any]:
    """Yield a function (done, total, what): a bar with the time left on a terminal, a log line elsewhere."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    log = logging.getLogger("secmix")
    log.addHandler(handler)
    log.propagate = False
    try:
        if sys.stderr.isatty():
            with _bar() as notify:
                yield notify
        else:
            yield _LoggedProgress()
    finally:
        log.removeHandler(handler)
        log.propagate = True


class _Remaining:
    """Time that is left, by what whole combinations took: the steps of one take very different times."""

    def __init__(self) -> None:
        self.running = self.at = time.monotonic()
        self.read_back = 0.0  # combinations that took no time
        self.judged: set[str] = set()

    def note(self, done: float, what: str) -> None:
        """Note the begin of the first combination, and the end of each."""
        if what == "running":
            self.read_back, self.running = done, time.monotonic()
        if what.endswith(_VERDICTS) and what not in self.judged:
            self.judged.add(what)
            self.at = time.monotonic()

    def in_words(self, total: int) -> str:
        """Say about how long the rest takes; nothing before a combination has ended, or where the rest is late."""
        finished = len(self.judged)
        rest = total - self.read_back - finished
        if not finished or rest <= 0:
            return ""
        left = (self.at - self.running) / finished * rest - (time.monotonic() - self.at)
        return f"about {_duration(left)} to go" if left > 0 else ""


class _LoggedProgress:
    """Says how far it is, every ten seconds or so: a build's log shows that it is alive."""

    def __init__(self) -> None:
        self.began = self.last = time.monotonic()
        self.remaining = _Remaining()

    def __call__(self, done: float, total: int, what: str) -> None:
        now = time.monotonic()
        if what.startswith(_ESTIMATE):
            _say(f"secmix: {brief(what)}")
        self.remaining.note(done, what)
        if now - self.last < _EVERY:
            return
        self.last = now
        more = f", {left}" if (left := self.remaining.in_words(total)) else ""
        _say(f"secmix: {int(done)} of {total} done after {_duration(now - self.began)}{more} ({brief(what, 100)})")


@contextmanager
def _bar() -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.text import Text

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None, left="")
        lines: set[str] = set()
        remaining = _Remaining()

        def notify(done: float, total: int, what: str) -> None:
            stays = what.startswith(_ESTIMATE) or what.endswith(_VERDICTS)
            if stays and what not in lines:  # a verdict stays to be read while others are awaited
                lines.add(what)
                bar.console.print(Text(brief(one_line(what), 100 if what.endswith(_VERDICTS) else 200)))
            remaining.note(done, what)
            left = remaining.in_words(total)
            bar.update(task, completed=done, total=total, description=brief(one_line(what), 60), left=left)

        yield notify


def _duration(seconds: float) -> str:
    """Write a duration in seconds, or in minutes.

    >>> _duration(42.4), _duration(4000)
    ('42 s', '67 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
