"""What plain calls print, log or write is decoded as an outsider reads it; what is public accuses nobody."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from soundness.bases import Pairwise
from soundness.case import SCENARIO

import secmix
from secmix.adversaries import CuriousServer
from secmix.auditing.counterexamples.outside import numbers_in

LOG = logging.getLogger(__name__)


class Unproved(Pairwise):
    """Takes a branch on data that changes nothing: no proof, and no fault."""

    def after(self, channel: Any, s: Any, r: Any, network: Any, rng: Any) -> None:
        if s[0, 0, 0] > 0:
            self.count(network)
        self.write(s, channel)

    def write(self, s: Any, channel: Any) -> None:
        """Write what the audit is to judge."""


class PrintsArrays(Unproved):
    """Eight digits of each entry, as NumPy prints them."""

    def write(self, s: Any, channel: Any) -> None:
        print(f"node 3, iteration {channel.iteration}: {s[3, 0].tolist()}")


class LogsWhatIsPublic(Unproved):
    """The iteration, sizes, and the average, which everybody is sent."""

    def write(self, s: Any, channel: Any) -> None:
        LOG.warning("iteration %d of %d nodes", channel.iteration, len(s))
        print("average", s.mean(axis=0)[0].tolist())
        print("largest of five sums", float(np.round(s.sum(axis=0)[0].max(), 3)))


def audited(protocol: Any) -> Any:
    """Return the cell of an audit before a server."""
    scenario = {**SCENARIO, "model": {"iterations": 1}}
    report = secmix.audit(scenario, protocols={"it": protocol}, adversaries={"server": CuriousServer()})
    return report.cells[0]


def test_a_printed_input_is_read_by_an_outsider(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = {each.node: each for each in audited(PrintsArrays()).nodes}
    assert nodes[3].verdict == "violated"
    assert "its input is in what is printed (an outsider reads it), read as a number, in all" in nodes[3].why
    assert {nodes[k].verdict for k in (0, 1, 2, 4)} == {"inconclusive"}
    assert "node 3, iteration 0" in capsys.readouterr().out


class PrintsSeldom(Pairwise):
    """A line of progress, once in a thousand iterations, with more in it than progress."""

    def after(self, channel: Any, s: Any, r: Any, network: Any, rng: Any) -> None:
        if channel.iteration % 1000 == 700:
            print(s[1, 0].tolist())


@pytest.mark.build
def test_an_iteration_that_prints_is_found_and_shown() -> None:
    nodes = {each.node: each for each in audited(PrintsSeldom()).nodes}
    assert nodes[1].verdict == "violated"
    assert "in iteration 700 its input is in what is printed (an outsider reads it)" in nodes[1].why


@pytest.mark.build
def test_what_is_public_in_a_log_accuses_nobody() -> None:
    assert {each.verdict for each in audited(LogsWhatIsPublic()).nodes} == {"inconclusive"}


@pytest.mark.parametrize(
    ("data", "numbers"),
    [
        ("x=-1.5e3, [7, .25]", [-1500.0, 7.0, 0.25]),
        (b"loss 0.5\n", [0.5]),
        (np.array([0.1, -2.0]).tobytes(), [0.1, -2.0]),
        (memoryview(np.array([0.1])), [0.1]),
        (np.array([[1, 2]]), [1.0, 2.0]),
        (b"\xff\x00\x01", []),
        (None, []),
    ],
)
def test_numbers_are_read_in_text_and_memory(data: Any, numbers: list[float]) -> None:
    assert numbers_in(data).tolist() == numbers
