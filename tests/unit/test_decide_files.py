"""Count the files of a verdict, a protocol, a whole cell and an exposure: whoever asks has so many to read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import secmix
from secmix.auditing import decide, setup
from secmix.auditing.evidence.interface import evidence_of
from secmix.protocols import Plain
from secmix.scenario import from_dict
from secmix.scenario.resolve import resolve
from secmix.scenario.scenario import render

PACKAGE = Path(secmix.__file__).parent
DECISIONS = ("of_findings", "of_cell", "of_report")
"""From findings to nodes, from nodes to a cell, and from cells to a report."""
AUDITED: dict[str, Any] = {
    "network": {"kind": "cycle", "nodes": 4},
    "data": {"name": "wine", "features": 2},
    "model": {"iterations": 2},
    "runs": 100,
    "adversary": {"name": "honest_but_curious", "corrupt": [0, 2]},
    "policy": {"max_normalised_leakage": 0.5},
    "measure": {"evidence": ["structure", "gaussian"]},
    "protocol": {"name": "secure_sum"},
}


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the files of which functions are called while something is decided; more are added as it goes."""
    called: set[str] = set()

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            before = sys.gettrace()
            sys.settrace(lambda frame, event, arg: called.add(frame.f_code.co_filename))
            try:
                return function(*args, **options)
            finally:
                sys.settrace(before)

        return call

    for name in DECISIONS:
        monkeypatch.setattr(decide, name, watched(getattr(decide, name)))
    evidence_of.cache_clear()
    return called


@pytest.mark.build
def test_from_a_finding_to_a_verdict_it_is_one_file(files: set[str]) -> None:
    before = secmix.audit(AUDITED)
    assert before.verdict == "violated"
    assert secmix.audit(AUDITED, baseline=before).verdict == "no worse"
    assert _ours(files) == ["auditing/decide.py"]


@pytest.mark.build
def test_a_cell_of_a_secure_sum_with_structure_runs_code_of_61_files_at_most() -> None:
    cell = {**AUDITED, "measure": {"evidence": ["structure"]}}
    secmix.audit(cell)  # loads what is loaded once
    report, ours = _run(lambda: secmix.audit(cell))
    assert report.verdict == "violated"  # so that advice is tried too
    assert len(ours) <= 61


def test_from_toml_to_a_protocol_it_is_seven_files_at_most(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(render(from_dict({**AUDITED, "protocol": {"name": "plain"}})))  # it checks no settings of its own

    def made() -> Any:
        scenario, _, _ = resolve(path)
        return setup._part("protocols", next(iter(scenario.cells())).protocol, "protocol", None)

    protocol, ours = _run(made)
    assert isinstance(protocol, Plain)
    assert len(ours) <= 7


def test_exposure_is_in_one_folder_of_the_audit() -> None:
    secmix.exposure(AUDITED)
    exposed, ours = _run(lambda: secmix.exposure(AUDITED))
    assert exposed.nodes
    assert {file for file in ours if file.startswith("auditing/") and "/exposure/" not in file} == {"auditing/setup.py"}
    assert len(ours) <= 31


def _run(function: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return what a function returns, and our files of which it runs code."""
    files: set[str] = set()
    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: files.add(frame.f_code.co_filename))
    try:
        result = function()
    finally:
        sys.settrace(before)
    return result, _ours(files)


def _ours(files: set[str]) -> list[str]:
    ours = sorted(str(Path(file).relative_to(PACKAGE)) for file in files if file.startswith(f"{PACKAGE}/"))
    print(len(ours), "files:", ", ".join(ours))
    return ours
