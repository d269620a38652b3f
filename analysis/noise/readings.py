"""Lower bounds of epsilon on ten mechanisms of known epsilon: how near they come, and how often they exceed it."""

from __future__ import annotations

import numpy as np

from analysis.noise.mechanisms import MECHANISMS, Mechanism, true_place
from analysis.study import Numbers
from secmix.privacy import NoiseFamily, epsilon_lower_bound_of, reading_ceiling

DRAWS, RUNS = 400, 1000  # in which readings are held against the truth, and runs of each on either data set
MANY, REPEATS = 20_000, 21  # runs on either data set, and readings of which medians are taken


def readings(*, seed: int, quick: bool) -> list[Numbers]:
    """Read every mechanism often."""
    draws, repeats = (20, 3) if quick else (DRAWS, REPEATS)
    return [
        {
            "mechanism": name,
            "delta": mechanism.delta,
            **medians(mechanism, draws=repeats, seed=seed),
            "above": above(mechanism, draws=draws, seed=seed),
            "draws": draws,
        }
        for name, mechanism in MECHANISMS.items()
    ]


def medians(mechanism: Mechanism, *, draws: int, seed: int) -> Numbers:
    """Return medians of readings of many runs, with the truth and the ceiling of the reading of any mechanism."""
    family = mechanism.family()
    found: dict[str, list[float]] = {"any": [], "family": []}
    for rng in np.random.default_rng([seed, 1]).spawn(draws):
        outputs = mechanism.draw(rng, MANY)
        for name, known in (("any", None), ("family", family)):
            found[name].append(epsilon_lower_bound_of(*outputs, delta=mechanism.delta, family=known).epsilon)
    ceiling = reading_ceiling(mechanism.curve(), runs=MANY, delta=mechanism.delta)
    return {"truth": mechanism.epsilon, "ceiling": ceiling} | {n: float(np.median(all_)) for n, all_ in found.items()}


def above(mechanism: Mechanism, *, draws: int, seed: int) -> dict[str, int]:
    """Count readings of few runs above the truth; of a family those that refute the true scale itself."""
    family = mechanism.family()
    limit = mechanism.epsilon
    if isinstance(family, NoiseFamily):  # its epsilons are a grid: the truth is refuted where its own one is read
        limit = float(np.nextafter(family.epsilon_of_scales(mechanism.delta)[true_place(family)], 0.0))
    counts = {"any": 0, "family": 0}
    for rng in np.random.default_rng([seed, 2]).spawn(draws):
        outputs = mechanism.draw(rng, RUNS)
        for name, known, most in (("any", None, mechanism.epsilon), ("family", family, limit)):
            counts[name] += epsilon_lower_bound_of(*outputs, delta=mechanism.delta, family=known).epsilon > most
    return {name: int(count) for name, count in counts.items()}


def table(found: list[Numbers]) -> list[str]:
    """Return the readings as lines of Markdown."""
    draws, total = found[0]["draws"], sum(case["above"]["any"] for case in found)
    lines = [
        "",
        "## Readings of known mechanisms",
        "",
        f"What `epsilon_lower_bound` reads at 95 % of ten mechanisms whose ε is known: medians of {REPEATS} readings "
        f"of {MANY:,} runs on either data set. A reading of any mechanism asks nothing of the code. Its ceiling is the "
        "most that it can be expected to give with so many runs, worked out from the mechanism's own trade-off curve: "
        "what δ is about happens too seldom to be counted, and one threshold does not see all that twenty numbers "
        "tell. A reading of a proved family inverts that curve in the scale of the noise. How often a reading of "
        f"{RUNS:,} runs lies above the truth is counted over {draws} draws: at 5 % at most 34 of 400 may. Of all "
        f"readings of any mechanism {total} of {draws * len(found):,} do.",
        "",
        "| mechanism | δ | ε | any mechanism | its ceiling | proved family | above the truth: any, family |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in found:
        cells = [case["mechanism"], f"{case['delta']:g}", f"{case['truth']:.3g}"]
        cells += [f"{case[key]:.3g} ({case[key] / case['truth']:.0%})" for key in ("any", "ceiling", "family")]
        lines.append(f"| {' | '.join([*cells, '{any}, {family}'.format(**case['above'])])} |")
    return lines
