"""The rows of the page on the five papers: what each item says, and how our numbers judge it."""

from __future__ import annotations

import numpy as np

from analysis import papers_judged as judged
from analysis.papers_items import (
    DIFFERS,
    IMPOSSIBLE,
    NONE,
    REPRODUCED,
    SCHEME,
    Paper,
    Row,
    about,
    when,
)  # fmt: skip
from analysis.papers_learners import GRAPHFED, META
from analysis.study import Numbers
from analysis.words import out_of

# Li et al. 2022


def _likelihood(numbers: Numbers) -> tuple[str, str]:
    found = numbers["figure_2"]["protocols"]
    off = {name: found[name]["largest_deviation"] for name in ("plain", "secure summation", "PDMM")}
    words = ", ".join(f"{name} {value:.0e}" for name, value in sorted(off.items()))
    rounding = 10 * numbers["figure_2"]["sigma"] * np.finfo(np.float64).eps  # of sums with masks of that size
    return when(max(off.values()) < rounding, f"largest relative deviation from pooled EM: {words}; deterministic")


def _privacy(numbers: Numbers) -> tuple[str, str]:
    found = numbers["figure_3"]["protocols"]
    federated = found["federated"]["ratio"][0]["nmi_paper"]
    low = found["PDMM"]["decoder_cumulative"][0]["normalised_low"]
    return DIFFERS, (
        f"the order holds; federated reads {federated:.3f}, not 1, because KSG costs an exact copy up to 1/k nats; and "
        f"the measure hides what leaks: secure summation's view determines node 1, PDMM's leaks at least {low:.2f} of 1"
    )


LI = Paper(
    "Li, Gundersen, Tjell, Wisniewski, Christensen 2022, subspace perturbation for EM",
    "li-2022",
    (
        Row("Figure 1", "a network with corrupt nodes", (REPRODUCED, "the network of figure 3")),
        Row("Figure 2", "secure summation and PDMM: the same log-likelihood curve as pooled EM", _likelihood),
        Row("Figure 2, asynchronous PDMM, any y⁽⁰⁾", "algorithm 1 to the letter", judged.to_the_letter),
        Row("Figure 3", "NMI: federated 1, above secure summation, above PDMM", _privacy),
        Row("Eqs. 10 to 12", "sums over {1, 3, 5}, {1, 5}, and what is revealed", lambda n: when(
            n["figure_3"]["protocols"]["PDMM"]["sum_over"] == [1, 3, 5]
            and n["figure_3"]["protocols"]["secure summation"]["sum_over"] == [1, 5],
            "read off the transcript, exact")),
    ),
)  # fmt: skip

# Zhang, Tan, Chen 2024


def _failures(numbers: Numbers) -> tuple[str, str]:
    every = [c for c in numbers["simulation"]["cells"] if (c["machines"], c["rows"]) == (50, 1000)]
    cells = [c for c in every if c["failure"] != "none"]
    hard = [c for c in cells if c["failure"] in ("mean", "covariance")]
    ared = max((c["rules"]["ARED"]["ratio"] for c in hard), key=lambda pair: pair[0])
    broken = min(c["rules"]["GMR"]["ratio"][0] for c in hard)
    holds = all(
        sum(c["rules"]["ARED"]["ratio"]) < c["rules"]["COAT"]["ratio"][0] - c["rules"]["COAT"]["ratio"][1] for c in hard
    )
    words = f"W1 over Oracle's: ARED at most {about(ared)}, GMR at least {broken:.3g}; ARED below COAT in every cell"
    return when(holds, words + f"; m = 50, N = 1000, {cells[0]['repetitions']} repetitions (theirs 300)")


def _overlaps(numbers: Numbers) -> tuple[str, str]:
    cells = [c for c in numbers["simulation"]["cells"] if c["machines"] == 20 and c["rows"] == 1000]
    found = {(c["overlap"], c["failure"]): c["rules"]["ARED"]["ratio"] for c in cells if c["failure"] != "weight"}
    if {0.1, 0.2, 0.3} - {o for o, _ in found}:
        raise KeyError("simulation at the overlaps 0.1, 0.2 and 0.3")
    words = "; ".join(f"{o:g}, {f}: {about(r)}" for (o, f), r in sorted(found.items()))
    return REPRODUCED, f"ARED's W1 over Oracle's at overlap: {words}"


def _digits(numbers: Numbers) -> tuple[str, str]:
    table = [row for row in numbers["digits"]["table"] if row["rate"] in (0.2, 0.4)]
    if numbers["digits"]["features"] != 50:
        raise KeyError("digits with 50 features")
    code = [row for row in numbers["digits"]["transport"] if row["rate"] in (0.2, 0.4)]
    order = all(
        min(r["rules"][a]["ari"][0] for a in ("ARED", "CRED")) > max(r["rules"][b]["ari"][0] for b in _WORSE)
        for r in code
    )
    words = "distance of the authors' code (transport): " + "; ".join(
        f"rate {r['rate']:g}: " + ", ".join(f"{n} {r['rules'][n]['ari'][0]:.3f}" for n in _RULES) for r in code
    )
    for name, rows in (("it", code), ("the text's, ∫ (f − g)²,", table)):
        rejected = ", ".join(
            f"{r['rules']['ARED']['hits']} of {r['failing']} failing and "
            f"{r['rules']['ARED']['rejected'] - r['rules']['ARED']['hits']} honest"
            for r in rows
        )
        words += f". With {name} ARED rejects {rejected}"
    words += f" over {code[0]['repetitions']} repetitions. MNIST for NIST, so levels differ"
    return when(order, words + "; the order " + ("holds" if order else "does not hold"))


_RULES, _WORSE = ("Oracle", "ARED", "CRED", "GMR", "TRIM", "COAT"), ("COAT", "TRIM", "GMR")


def _centres(numbers: Numbers) -> tuple[str, str]:
    found = numbers["centres"]
    words = ", ".join(f"{out_of(hits, found['repetitions'])} at rate {rate}" for rate, hits in found["other"].items())
    return DIFFERS, f"text and authors' code disagree, ours follows the code; another centre in {words}"


ZHANG = Paper(
    "Zhang, Tan, Chen 2024, Byzantine-tolerant mixtures",
    "zhang-2024",
    (
        Row("Figure 1", "cartoon of COAT and CRED", SCHEME),
        Row("Equation 3, COAT", "centre of the smallest ball with half of the machines", _centres),
        Row("Figure 2", "W1 by failure and rate: ARED as Oracle, CRED close, COAT weak, GMR broken", _failures),
        Row("Figure 3", "W1 of ARED and CRED falls as machines of N rows are added", judged.more_machines),
        Row("Figure 4", "at a fixed total of rows ARED and CRED do not change with m, COAT does", judged.fixed_rows),
        Row("Figure 5", "ARED near Oracle at overlaps 0.1, 0.2, 0.3 (values from the authors' code)", _overlaps),
        Row("Table 1", "sizes of NIST", (IMPOSSIBLE, "NIST SD 19 is not among the data; MNIST's test images are used")),
        Row("Figure 6", "images, t-SNE", (IMPOSSIBLE, "of NIST")),
        Row("Table 2", "ARI at 0.2 / 0.4: Oracle .919/.919, ARED .919/.919, CRED .919/.919, GMR .867/.845, TRIM "
            ".880/.905, COAT .862/.860", _digits),
        Row("Table 3", "architecture of a CNN", (DIFFERS, "a perceptron 784-200-50-10; no deep-learning library here")),
        Row("Figures 8 to 10 (its text has no 7)", "ARI mirrors W1 in figures 3 to 5", judged.ari),
        Row("Lemmas 4.1 and 4.2", "√N-consistent fits: ISE and COAT's radius fall as 1/N", judged.slopes),
        Row("Lemma 4.3, theorem 4.1", "P(ARED rejects exactly those who failed) → 1", judged.exact_sets),
        Row("Appendix A.1, penalties for location-scale and Gamma mixtures", "recommended, from Chen et al. 2008, 2016",
            (NONE, "no experiment, table or theorem of the paper uses them; only Gaussian mixtures are built here")),
    ),
)  # fmt: skip

# Singh, Vaswani 2024


def _subspaces(table: str, theirs: dict[str, float]) -> Row:
    def judged(numbers: Numbers) -> tuple[str, str]:
        found = numbers["tables"][table]
        ours = {name: [found[name]["2"]["mean"], found[name]["2"]["half"]] for name in theirs}
        off = max(abs(ours[name][0] / value - 1) for name, value in theirs.items())
        words = ", ".join(f"{name.replace(' / ', ', ')} {about(pair, 3)}" for name, pair in ours.items())
        inside = all(abs(ours[name][0] - value) <= ours[name][1] for name, value in theirs.items())
        return when(inside, f"{words}; off by {100 * off:.0f} % at most; of norms and tails, which are not given, that "
                    "are taken that fit best")  # fmt: skip

    number = "1" if table == "rank r + 1" else "2"
    return Row(f"Table {number} ({table})", ", ".join(f"{n} {v}" for n, v in theirs.items()), judged)


def _bound(numbers: Numbers) -> tuple[str, str]:
    point = next(c for c in numbers["constants"] if c["tau"] == 0.4)
    worst = max(point["searched"], point["searched among the worst"], point["attained"])
    words = f"the worst found at τ = 0.4 is {worst:.3f} δ, the sharp constant {point['sharp']:.3f}"
    return when(worst <= point["published"], words + ": the published bound holds and is loose")


def _learning(numbers: Numbers) -> tuple[str, str]:
    found = numbers["convergence"]["geometric median, reverse, 2 of 6"]
    last = found[-1] if isinstance(found, list) else found["end"]
    return when(last < 1e-8, f"SD_F/√r ends at {last:.0e} under reverse by 2 of 6; one run, deterministic")


SINGH = Paper(
    "Singh, Vaswani 2024, Byzantine-resilient subspaces",
    "singh-2024",
    (
        _subspaces("rank r + 1", {"SubsMed / alternating": 0.091, "ResPowMeth / alternating": 0.898,
                                  "PowMeth / none": 0.050}),
        _subspaces("falling tail", {"SubsMed / alternating": 0.348, "ResPowMeth / alternating": 0.972,
                                    "PowMeth / none": 0.182}),
        Row("GM and Subspace-Median theorems", "error at most 23 δ at τ = 0.4", _bound),
        Row("Probability in the theorems", "SD_F <= 23 δ but for exp(−L ψ(0.4 − τ, p))", judged.probability),
        Row("Subspace Median of Means", "samples a node fall as 1/ρ while τ < 0.4 L̃/L", judged.of_means),
        Row("AltGDmin theorem", "linear convergence under colluders", _learning),
        Row("AltGDmin with the median of mean gradients", "ρ > 1: linear convergence", judged.mean_gradients),
        Row("AltGDmin theorem, θ_k", "‖θ_k − θ_k*‖ <= ε ‖θ_k*‖ at every node", judged.columns),
    ),
)  # fmt: skip

PAPERS = (LI, ZHANG, SINGH, GRAPHFED, META)
