"""How rows of the page on the papers are judged: Li 2022 to the letter, Zhang 2024's figures, Singh 2024's means.

Each takes the numbers of a study and returns a verdict and words; what they lack is a KeyError that says so.
"""

from __future__ import annotations

import numpy as np

from analysis.papers_items import about, when
from analysis.singh_2024.report_means import exceeding, gains, near
from analysis.study import Numbers
from analysis.words import out_of
from analysis.zhang_2024.rates import MEASURES
from analysis.zhang_2024.report_rates import PROPOSED, fixed_total, growth, interval
from secmix.estimators.estimate import wilson

TEXT = "PDMM, asynchronous, any y⁽⁰⁾"


def to_the_letter(numbers: Numbers) -> tuple[str, str]:
    """Li, figure 2 with one node at a time and any y⁽⁰⁾."""
    found = numbers["figure_2"]["protocols"][TEXT]["largest_deviation"]
    rounding = 10 * numbers["figure_2"]["sigma"] * np.finfo(np.float64).eps  # of sums with masks of that size
    words = (
        f"largest relative deviation from pooled EM {found:.0e}; one run, deterministic. Another y⁽⁰⁾ is another λ⁽⁰⁾"
    )
    return when(found < rounding, words)


def more_machines(numbers: Numbers) -> tuple[str, str]:
    """Zhang, figure 3."""
    grown = growth(numbers["simulation"]["cells"])
    if not grown:
        raise KeyError("simulation on nested machines")
    falls = sum(all(row["factors"][rule][2] < 1 for rule in PROPOSED[1:]) for row in grown)
    words = "; ".join(
        f"N = {row['rows']}, {row['failure']}: ARED {interval(row['factors']['ARED'])}, CRED "
        f"{interval(row['factors']['CRED'])} over {row['repetitions']}"
        for row in grown
    )
    return when(falls == len(grown), f"W1 at m = 100 over that at 20, within populations: {words}; authors' code: 300")


def fixed_rows(numbers: Numbers) -> tuple[str, str]:
    """Zhang, figure 4."""
    fixed = fixed_total(numbers["simulation"]["cells"])
    if not fixed:
        raise KeyError("simulation at a fixed total of rows")
    flat = all(row["factors"][rule][1] <= 1 <= row["factors"][rule][2] for row in fixed for rule in PROPOSED[1:])
    worse = all(row["factors"]["COAT"][1] > 1 for row in fixed)
    words = "; ".join(
        f"{row['failure']}: " + ", ".join(f"{r} {interval(row['factors'][r])}" for r in ("ARED", "CRED", "COAT"))
        for row in fixed
    )
    return when(
        flat and worse,
        f"100 machines of 1000 rows over 20 of 5000, {fixed[0]['repetitions']} populations: {words}",
    )


def ari(numbers: Numbers) -> tuple[str, str]:
    """Zhang, figures 8 to 10."""
    cells = [c for c in numbers["simulation"]["cells"] if c["failure"] in ("mean", "covariance")]
    if not growth(cells):
        raise KeyError("simulation on nested machines")
    order = sum(c["rules"]["ARED"]["ari"][0] >= c["rules"]["COAT"]["ari"][0] for c in cells)
    apart = [c["rules"]["Oracle"]["ari"][0] - c["rules"]["ARED"]["ari"][0] for c in cells]
    broken = max((c["rules"]["GMR"]["ari"] for c in cells), key=lambda pair: pair[0])
    words = f"ARED's mean ARI above COAT's in {order} of {len(cells)} cells, at most {max(apart):.4f} below Oracle's"
    return when(order == len(cells), f"{words}; GMR's at most {about(broken)}")


def slopes(numbers: Numbers) -> tuple[str, str]:
    """Zhang, lemmas 4.1 and 4.2."""
    found = numbers["rates"]
    words = ", ".join(f"{name} {about(found['slopes'][name])}" for name in MEASURES)
    inside = all(abs(found["slopes"][name][0] + 1) <= found["slopes"][name][1] for name in MEASURES)
    span = f"N = {found['rows'][0]} to {found['rows'][-1]}, {found['repetitions']} populations"
    return when(inside, f"slope of ln ISE in ln N, −1 expected: {words}; {span}")


def exact_sets(numbers: Numbers) -> tuple[str, str]:
    """Zhang, lemma 4.3 and theorem 4.1."""
    found = numbers["rates"]
    n, ends = found["repetitions"], (found["rows"][0], found["rows"][-1])
    words, holds = [], True
    for failure in ("mean", "covariance", "weight"):
        mine = [[c["exact"] for c in found["found"] if (c["failure"], c["rows"]) == (failure, at)] for at in ends]
        tried = n * len(mine[0])
        first, last = sum(mine[0]), sum(mine[1])
        holds &= last == tried or wilson(last, tried)[0] > wilson(first, tried)[1]
        words.append(f"{failure} {out_of(first, tried)}, then {out_of(last, tried)}")
    return when(holds, f"ARED rejects exactly who failed at N = {ends[0]}, then {ends[1]}: " + "; ".join(words))


def of_means(numbers: Numbers) -> tuple[str, str]:
    """Singh, corollary on the Subspace Median of Means."""
    found = numbers["of_means"]
    better, cells = gains(found)
    words = ", ".join(f"{about(s['slope'], 3)} at {s['q']} samples" for s in found["slopes"])
    errors = ", ".join(f"{row['groups']} groups {about(row['errors']['1 node'], 3)}" for row in found["rows"])
    return when(
        better == cells and near(found),
        f"SD_F with 1 of {found['nodes']} corrupt: {errors}; better than single nodes in {better} of {cells} covered "
        f"settings; slope in ln ρ {words} (−1/2 expected; of the groups' own bases "
        f"{about(found['slopes'][-1]['own'], 3)}, and the most central of fewer is less central)",
    )


def probability(numbers: Numbers) -> tuple[str, str]:
    """Singh, 1 − exp(−L ψ)."""
    rows = numbers["probability"]
    words = "; ".join(
        f"L = {r['nodes']}, τ = {r['tau']:g}: {out_of(r['beyond_23'], r['trials'])} beyond 23 δ, bound {r['bound']:.3f}"
        for r in rows
    )
    return when(exceeding(rows) == 0, f"{words}; largest {max(r['largest'] for r in rows):.2f} δ; no interval above it")


def mean_gradients(numbers: Numbers) -> tuple[str, str]:
    """Singh, AltGDmin with ρ > 1."""
    found = numbers["descent"]
    covered = [row for row in found["rows"] if row["covered"]]
    arrived, tried = sum(row["arrived"] for row in covered), found["trials"] * len(covered)
    worst = max(row["worst_end"] for row in covered)
    words = f"{out_of(arrived, tried)} runs come to SD_F/√r <= 1e-8 in {found['rounds']} iterations, the worst to "
    return when(arrived == tried, f"{words}{worst:.0e}; {found['nodes']} nodes, reverse, covered by τ < 0.4 L̃/L")


def columns(numbers: Numbers) -> tuple[str, str]:
    """Singh, errors of θ_k."""
    found = numbers["descent"]
    pairs = {row["groups"]: row["theta"] for row in found["rows"] if row["corrupt"] == "1 node" and row["theta"]}
    if not pairs:
        raise KeyError("theta")
    words = ", ".join(f"{groups} groups {about(pair)}" for groups, pair in pairs.items())
    return when(
        max(pair[0] for pair in pairs.values()) <= 1,
        f"largest relative error of any θ_k at any node over SD_F: {words}; it falls as SD_F does, by a constant above",
    )
