"""The finding of a witness that computes a node's input, or part of it, in all runs that it looks at."""

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
    whole: bool,
    error: tuple[float, str] | None = None,
    view: Literal["single", "cumulative"] = "single",
    share: float = 1.0,
) -> Finding:
    """Return the finding of what came out in all of ``runs``.

    Parameters
    ----------
    about : dict
        Which cell and node it is of.
    whole : bool
        Whether the whole input of the node came out.
    error : (number, unit), optional
        The largest error; by default the finding is of the share of runs, by Wilson's interval.
    share : float
        How much of the input's variance came out.
    """
    low = wilson(runs, runs)[0]
    if error is None:
        measured: dict[str, Any] = {"value": 1.0, "unit": "share of runs", "low": low, "kind": "lower bound"}
    else:
        measured = {"value": error[0], "unit": error[1], "low": 0.0, "kind": "upper bound"}
    return Finding(
        **about,
        **measured,
        evidence="witness",
        view=view,
        target="input",
        method=method,
        high=measured["value"],
        status="determined" if whole else "resolved",
        normalised_leakage=share,
        normalised_low=low * share,
        normalised_high=1.0,
        runs=runs,
        hits=runs,
        notes=notes,
    )
