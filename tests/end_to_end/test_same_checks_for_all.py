"""A verdict does not depend on who wrote the protocol: the built-in ones take the checks that anybody's take."""

from __future__ import annotations

import inspect
import linecache
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import secmix
from secmix.adversaries import Adversary, Eavesdropper, HonestButCurious
from secmix.auditing.observation import observe as observing
from secmix.auditing.report import Report
from secmix.protocols import PDMM, Plain, SecureSum, SumProtocol
from secmix.transcript import SERVER, Channel

pytestmark = pytest.mark.build

INSIDE, OUTSIDE = "secmix.protocols.altered", "strangers.altered"
CURIOUS = HonestButCurious({1}, eavesdrops=False)
SETTINGS: dict[type, dict[str, Any]] = {Plain: {"encrypted": True}}


def audit(protocol: SumProtocol, adversary: Adversary, **changes: Any) -> Report:
    return secmix.audit(
        {
            "network": {"nodes": 5, "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 2], [2, 4], [1, 3]]},
            "runs": 100,
            "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
            "model": {"iterations": 2},
            "measure": {"evidence": ["structure"]},
            **changes,
        },
        protocols={"mine": protocol},
        adversaries={"theirs": adversary},
    )


def altered(name: str, protocol: type, hold: int | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A copy of a built-in protocol in the module ``name``, with its ``hold``-th note of what a node holds deleted."""
    lines = inspect.getsource(sys.modules[protocol.__module__]).splitlines()
    if hold is not None:
        place = [number for number, line in enumerate(lines) if "channel.hold(" in line][hold]
        assert lines[place].endswith(")")
        lines[place] = lines[place].split("channel.hold(")[0] + "pass"
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)  # where dataclasses look for the annotations
    source = "\n".join(lines)
    # Where a proof ends, or a guard stands, is looked up in the source.
    file = f"/{name}/{Path(inspect.getfile(protocol)).name}"
    monkeypatch.setitem(linecache.cache, file, (len(source), None, source.splitlines(keepends=True), file))
    exec(compile(source, file, "exec"), module.__dict__)
    return getattr(module, protocol.__name__)


@cache
def original(protocol: type) -> Report:
    """Audit a protocol as it is, once."""
    return audit(protocol(**SETTINGS.get(protocol, {})), CURIOUS)


@pytest.mark.parametrize("protocol", [Plain, SecureSum, PDMM])
@pytest.mark.parametrize("name", [INSIDE, OUTSIDE])
def test_a_copy_is_judged_as_the_original(protocol: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = altered(name, protocol, None, monkeypatch)
    assert copy.__module__ == name
    assert original(protocol).verdict == "holds"
    assert audit(copy(**SETTINGS.get(protocol, {})), CURIOUS).to_dict() == original(protocol).to_dict()


@pytest.mark.parametrize("protocol", [Plain, SecureSum, PDMM])
@pytest.mark.parametrize("name", [INSIDE, OUTSIDE])
def test_a_node_knows_its_own_input_noted_or_not(protocol: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    untold = audit(altered(name, protocol, 0, monkeypatch)(**SETTINGS.get(protocol, {})), CURIOUS)
    assert untold.verdict == "holds"
    assert untold.cells[0].leaked == original(protocol).cells[0].leaked


@pytest.mark.parametrize("protocol", [SecureSum, PDMM])
@pytest.mark.parametrize("name", [INSIDE, OUTSIDE])
def test_masks_that_are_held_and_not_noted_keep_all_nodes_from_being_cleared(
    protocol: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = audit(altered(name, protocol, 1, monkeypatch)(), CURIOUS)
    assert report.verdict == "inconclusive"
    assert all("does not follow" in node.why for node in report.cells[0].nodes if node.standing != "corrupt")


@dataclass(frozen=True)
class LaterAround(Plain):
    """From some call on, two honest nodes exchange their inputs outside the channel."""

    encrypted: bool = True
    calls: list[int] = field(default_factory=list)

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        self.calls.append(len(inputs))
        channel, nodes = channel or Channel(), np.arange(network.n)
        sent = np.asarray(inputs, dtype=float).transpose(1, 0, 2).copy()
        channel.hold(-1, nodes, "input", sent)
        if len(self.calls) > 4:  # the two averagings of each of the first two blocks
            sent[[2, 4]] = sent[[2, 4]].mean(axis=0)  # the sum stays as it is
        received = channel.send(0, nodes, SERVER, "input", sent, encrypted=True)
        back = np.zeros(network.n, dtype=int)
        mean = channel.send(1, SERVER, nodes, "average", received.mean(axis=0)[None], encrypted=True, content=back)[0]
        return np.repeat(mean[:, None, :], network.n, axis=1), channel.transcript


@dataclass(frozen=True)
class LaterEnds(LaterAround):
    """From some call on, node 2 ends with what node 4 put in; no message tells of it."""

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        self.calls.append(len(inputs))
        averages, transcript = Plain.average(self, inputs, network, rng, masks=masks, channel=channel or Channel())
        averages = averages.copy()
        if len(self.calls) > 4:
            averages[:, 2] = np.asarray(inputs)[:, 4]
        return averages, transcript


@pytest.mark.parametrize("protocol", [LaterAround, LaterEnds])
@pytest.mark.parametrize("adversary", [Eavesdropper(), CURIOUS])
@pytest.mark.parametrize("name", [INSIDE, OUTSIDE])
def test_what_later_runs_do_where_no_adversary_hears_it_is_noticed(
    protocol: Any, adversary: Adversary, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observing, "block_size", lambda cell, parts: 50)
    monkeypatch.setattr(protocol, "__module__", name)
    quiet = protocol()
    report = audit(quiet, adversary, runs=200)
    assert len(quiet.calls) > 4
    assert report.verdict == "inconclusive"


def test_probes_serve_later_blocks_of_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "block_size", lambda cell, parts: 77)  # of up to 64 runs are calls of the proof
    carried: dict[str, list[int]] = {}
    for name in (INSIDE, OUTSIDE):
        copy = altered(name, SecureSum, None, monkeypatch)
        average = copy.average
        sizes = carried.setdefault(name, [])

        def noted(self: Any, inputs: Any, *rest: Any, average: Any = average, sizes: Any = sizes, **more: Any) -> Any:
            sizes.append(len(inputs))
            return average(self, inputs, *rest, **more)

        monkeypatch.setattr(copy, "average", noted)
        audit(copy(), CURIOUS, runs=150)
    # Of a stranger's module more is traced: the list of sizes that this test keeps is one that grows.
    inside, outside = ([size for size in carried[name] if size > 2] for name in (INSIDE, OUTSIDE))
    assert inside == outside
    assert carried[OUTSIDE].count(73) == 2  # the second block, in both iterations, went without probes
