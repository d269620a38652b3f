"""The rows of the page on the five papers: what each item says, and how our numbers judge it."""

from __future__ import annotations

import numpy as np

from analysis import papers_judged as judged
from analysis.papers_items import DIFFERS, IMPOSSIBLE, MISSING, NONE, PROOF, REPRODUCED, Paper, Row, about, when
from analysis.study import Numbers
from secmix.estimators.estimate import wilson

SCHEME = (NONE, "a drawing of the method")


def _share(hits: int, n: int) -> str:
    low, high = wilson(hits, n)
    return f"{hits} of {n} [{low:.2f}, {high:.2f}]"


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
    words = ", ".join(f"{_share(hits, found['repetitions'])} at rate {rate}" for rate, hits in found["other"].items())
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

# Abdurakhmanova, Jung 2025


def _ahead(cells: list[Numbers], better: str, than: str, which: int, sign: float = 1.0) -> int:
    return sum(sign * c["scores"][better]["mean"][which] > sign * c["scores"][than]["mean"][which] for c in cells)


def _figure_1(numbers: Numbers) -> tuple[str, str]:
    cells = numbers["clusters"]
    nmi, local = (_ahead(cells, "GraphFed", than, 1) for than in ("centralised", "local"))
    words = f"GraphFed's NMI above centralised in {nmi}, above local in {local} of {len(cells)} settings"
    return when(nmi == len(cells), words)


def _matches(numbers: Numbers) -> tuple[str, str]:
    cells = [c for c in numbers["clusters"] if c["d"] in (2, 6)]
    behind = [c["scores"]["oracle pooling"]["mean"][0] - c["scores"]["centralised"]["mean"][0] for c in cells]
    error = max(c["scores"][w]["error"][0] for c in cells for w in ("oracle pooling", "centralised"))
    words = f"{min(behind):.2f} to {max(behind):.2f} nats below; the paper does not give how far clusters are apart"
    return when(max(behind) < 2 * error, words)


def _consensus(numbers: Numbers) -> tuple[str, str]:
    error = numbers["consensus"]["error"]["mean"]
    falls, denser = sum(r[-1] < r[0] for r in error), sum(a > b for a, b in zip(error[0], error[-1], strict=True))
    words = f"falls with α at {falls} of {len(error)} densities, with p_in at {denser} of {len(error[0])} strengths"
    return when(falls == len(error) and denser == len(error[0]), words)


def _spurious(numbers: Numbers) -> tuple[str, str]:
    found = dict(zip(numbers["spurious"]["p_out"], numbers["spurious"]["best_alpha"], strict=True))
    holds = all(alpha == (1.0 if p == 0 else 0.4) for p, alpha in found.items())
    return when(holds, ", ".join(f"best α {alpha} at p_out = {p}" for p, alpha in found.items()))


def _priors(numbers: Numbers) -> tuple[str, str]:
    cells = [c for c in numbers["own_priors"] if c["d"] in (6, 10) or c["rows"] == 10]
    local, central = _ahead(cells, "GraphFed", "local", 0), _ahead(cells, "centralised", "GraphFed", 0)
    words = f"by likelihood GraphFed above local in {local}, centralised above GraphFed in {central} of {len(cells)}"
    return when(local == central == len(cells), words)


def _mnist(numbers: Numbers) -> tuple[str, str]:
    each = next((e for e in numbers["digits"] if e.get("embedding") == "UMAP"), None)
    if each is None:
        raise KeyError("digits by UMAP")
    cells, first = each["cells"], each["cells"][0]
    local, central = (_ahead(cells, "GraphFed", than, 1) for than in ("local", "centralised"))
    values = ", ".join(f"{w} {first['scores'][w]['mean'][1]:.3f} ± {first['scores'][w]['error'][1]:.3f}" for w in _WAYS)
    words = f"with UMAP: above local in {local}, above centralised in {central} of {len(cells)} settings"
    return when(local == central == len(cells), f"{words}; d = {first['d']}, N_i = {first['rows']}: {values}")


_WAYS = ("local", "centralised", "GraphFed")

GRAPHFED = Paper(
    "Abdurakhmanova, Jung 2025, GraphFed-EM",
    "abdurakhmanova-2025",
    (
        Row("Figure 1, NMI", "GraphFed above centralised", _figure_1),
        Row("Figure 1, likelihood", "centralised matches Oracle for d = 2, 6", _matches),
        Row("Figure 1, cluster-pooled GraphFed", "a variant on pooled rows", (MISSING, "")),
        Row("Figure 2", "consensus error falls with α and p_in", _consensus),
        Row("Figure 3", "α = 0.4 best with edges across clusters", _spurious),
        Row("Figure 4a", "above local, below centralised for d = 6, 10 and N_i = 10", _priors),
        Row("Figure 4b", "NMI above local and centralised in all settings", _mnist),
        Row("Section VI", "aggregation as a proximal step", (PROOF, "algebra; eqs. 2 and 3 are tested by hand")),
    ),
)

# Ye, Ding et al. 2022


def _simulation_1(numbers: Numbers) -> tuple[str, str]:
    cells = numbers["simulation_1"]
    words = []
    for p in sorted({c["p"] for c in cells}):
        mine = [c for c in cells if c["p"] == p]
        total = sum(c["repeats"] for c in mine)
        each = ", ".join(f"{w} {_share(sum(c['exact'][w] for c in mine), total)}" for w in ("gap", "penalty", "given"))
        words.append(f"p = {p}: {each}")
    narrow = [c for c in cells if c["p"] == min(c["p"] for c in cells)]
    rises = narrow[-1]["exact"]["gap"] >= narrow[0]["exact"]["gap"]
    return when(rises, "all labels right over the SNRs, " + "; ".join(words))


def _simulation_2(numbers: Numbers) -> tuple[str, str]:
    cells = numbers["simulation_2"]
    if any(c["columns"] != 500 for c in cells):
        raise KeyError("simulation_2 with 500 columns")
    words = "; ".join(
        f"{len(c['candidates'])} methods: {_share(c['exact']['gap'], c['repeats'])} right, MSE {about(c['gain'], 3)} "
        "less together"
        for c in cells
    )
    return when(all(c["gain"][0] > 0 for c in cells), words + "; sets of 5 and 7 not yet run")


def _fairness(numbers: Numbers) -> tuple[str, str]:
    large = [c for c in numbers["fairness"] if c["gamma"] >= 2]
    words = "; ".join(
        f"γ = {c['gamma']:g}: gap {about(c['ratio']['gap'])}, K = 3 {about(c['ratio']['given'])}" for c in large
    )
    holds = all(c["ratio"]["gap"][0] - c["ratio"]["gap"][1] <= 0.5 for c in large)
    return when(holds, "MSE over Fairness's, " + words)


def _grid(numbers: Numbers) -> tuple[str, str]:
    cells = numbers["grid"]
    total = sum(c["repeats"] for c in cells)
    hits = {way: sum(c["exact"][way] for c in cells) for way in ("gap", "penalty", "given")}
    words = ", ".join(f"{way} {_share(count, total)}" for way, count in hits.items())
    worst = max((c["over_oracle"]["gap"] for c in cells), key=lambda pair: pair[0])
    return when(hits["gap"] == total, f"oracle's cluster: {words}; MSE over oracle's with gap at most {about(worst)}")


META = Paper(
    "Ye, Ding et al. 2022, meta clustering (SEC)",
    "meta-clustering",
    (
        Row("Figure 1", "the three steps", SCHEME),
        Row(
            "Theorem 4, lemmas 1 to 3",
            "labels right with probability → 1",
            (MISSING, "asymptotic; no study of the rate yet"),
        ),
        Row("Table 1", "SEC-Fairness about half the MSE for large γ (ratios .34, .24, .18 at γ = 3, 6, 20)", _fairness),
        Row("Figure 2", "accuracy rises with the SNR; nearly 1", _simulation_1),
        Row("Figure 3", "eigenvalues and eigenvectors of one replication", (MISSING, "")),
        Row("Table 2", "66, 74, 64 % right; MSE .100, .095, .060 together, .133, .131, .112 alone", _simulation_2),
        Row("Table 3", "CT slices", (IMPOSSIBLE, "the CT data are not among the data here; another set not yet run")),
        Row("Figure 4", "SEC's curve lies on the oracle's", _grid),
        Row("Choice of K by cross-validation", "suggested in section 4", (MISSING, "")),
    ),
)

PAPERS = (LI, ZHANG, SINGH, GRAPHFED, META)
