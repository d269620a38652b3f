"""The iteration may stand in a log, or in what is printed; as any other text it is used by value."""

from __future__ import annotations

import contextlib
import io
import logging
from typing import Any

import pytest

from secmix.kernel.randomness.coins import ITSELF, Public
from secmix.kernel.values.current_trace import Trace, following, outlets_of_now

LOG = logging.getLogger("averagings")
NAMES = {"averaging 3": "the third", "3": "the third"}
KEPT: list[str] = []


class Told:
    """Has a logger, and something that looks like one."""

    log = LOG

    def info(self, text: str) -> None:
        KEPT.append(text)


TOLD = Told()


def written(t: Any) -> None:
    LOG.info(f"averaging {t}")
    LOG.log(logging.INFO, f"averaging {t:03d}: {len(NAMES)} names of {t + 1}", stacklevel=1)
    logging.debug(f"averaging {t!r}")
    logging.getLogger("averagings").warning(f"averaging {t} of {TOLD.log.name}")
    TOLD.log.info("averaging " + str(1))
    TOLD.log.debug(
        f"averaging {t}",
    )
    print(f"averaging {t}", end="")


def a_name(t: Any) -> None:
    LOG.info(NAMES[f"averaging {t}"])


def a_name_in_it(t: Any) -> None:
    LOG.info(f"averaging {NAMES[str(t)]}")


def kept_text(t: Any) -> None:
    TOLD.info(f"averaging {t}")


def a_branch(t: Any) -> None:
    if f"averaging {t}" in NAMES: LOG.info(f"averaging {t}")  # noqa: E701 # fmt: skip


def two_statements(t: Any) -> None:
    name = f"averaging {t}"; LOG.info(f"averaging {name}")  # noqa: E702 # fmt: skip


def another_print(t: Any) -> None:
    def print(text: str) -> None:
        KEPT.append(text)

    print(f"averaging {t}")


def a_computed_width(t: Any) -> None:
    LOG.info(f"averaging {t:{len(NAMES[str(t)])}d}")


def more_than_a_text(t: Any) -> None:
    LOG.info("averaging", extra={"at": f"{t}"})


def nothing_is_called(t: Any) -> None:
    KEPT[:] = [f"averaging {t}"]


def called_by_an_index(t: Any) -> None:
    [TOLD.info][0](f"averaging {t}")


def called_by_name(t: Any) -> None:
    KEPT.append(f"averaging {t}")
    iter(f"averaging {t}")


def read_again(t: Any) -> None:
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines):
        print(f"averaging {t}")


def handled(t: Any) -> None:
    log, handler = logging.getLogger("averagings.one"), logging.StreamHandler(io.StringIO())
    log.addHandler(handler)
    log.info(f"averaging {t}")
    log.removeHandler(handler)


def uses(function: Any) -> bool:
    """Say whether a function uses the iteration by value."""
    with following(Trace(outlets=outlets_of_now())) as trace:
        function(Public(3, "the iteration", of=ITSELF))
    return bool(trace.by_value)


def test_text_that_is_written_is_no_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert not uses(written)
    assert capsys.readouterr().out == "averaging 3"


OTHERS = [a_name, a_name_in_it, kept_text, a_branch, two_statements, another_print, a_computed_width]
OTHERS += [read_again, handled, more_than_a_text, nothing_is_called, called_by_an_index, called_by_name]


@pytest.mark.parametrize("function", OTHERS)
def test_other_text_is_used_by_value(function: Any) -> None:
    assert uses(function)
