"""Findings of a decoder that computes a node's input, or part of it, in all runs that it is judged on."""

from __future__ import annotations

from typing import Any, Literal

from secmix.auditing.report import Finding
from secmix.estimators.estimate import wilson


def in_all_runs(
    about: dict[str, Any],
    runs: int,
    notes: list[str],
    *,
    method: str,
    complete: bool,
    error: tuple[float, str] | None = None,
    view: Literal["single", "cumulative"] = "single",
    share: float = 1.0,
) -> Finding:
    """Make the finding of a result that came out in all of ``runs``.

    ``about``: fields of the finding that name its cell and node; ``complete``: whether all entries of the node's input
    came out; ``error`` (number, unit): the largest error; by default the finding gives the share of runs, with Wilson's
    interval; ``share``: share of the input's variance that came out.
    """
    low = wilson(runs, runs)[0]
    if error is None:
        measured: dict[str, Any] = {"value": 1.0, "unit": "share of runs", "low": low, "kind": "lower bound"}
    else:
        measured = {"value": error[0], "unit": error[1], "low": 0.0, "kind": "upper bound"}
    return Finding(
        **about,
        **measured,
        evidence="counterexample",
        view=view,
        target="input",
        method=method,
        high=measured["value"],
        status="determined" if complete else "resolved",
        normalised_leakage=share,
        normalised_low=low * share,
        normalised_high=1.0,
        runs=runs,
        hits=runs,
        notes=notes,
    )
