"""Rows of the page on the five papers: GraphFed-EM and meta clustering."""

from __future__ import annotations

from analysis.papers_items import DIFFERS, IMPOSSIBLE, MISSING, PROOF, SCHEME, Paper, Row, about, when
from analysis.study import Numbers
from analysis.words import out_of
from secmix.estimators.estimate import wilson

TWO = 2.0  # standard errors of a difference, about 95 %
FULL = 10  # repetitions of SEC's simulations in their full setting
LIKELIHOOD, NMI, OFF = 0, 1, 2  # places of a setting's scores

# Abdurakhmanova, Jung 2025


def _apart(cell: Numbers, better: str, than: str, which: int) -> float:
    """By how many standard errors (taken as independent) one way's score is higher than another's."""
    one, two = cell["scores"][better], cell["scores"][than]
    error = (one["error"][which] ** 2 + two["error"][which] ** 2) ** 0.5
    return float((one["mean"][which] - two["mean"][which]) / max(error, 1e-12))


def _ahead(cells: list[Numbers], better: str, than: str, which: int, sign: float = 1.0) -> tuple[int, str]:
    """In how many settings a way is better than another, and the same in words, with how often beyond two errors."""
    by = [sign * _apart(c, better, than, which) for c in cells]
    count = sum(v > 0 for v in by)
    return count, f"{count} of {len(cells)} settings (beyond two standard errors in {sum(v > TWO for v in by)})"


def _pm(cell: Numbers, way: str, which: int, digits: int = 2) -> str:
    score = cell["scores"][way]
    return about([score["mean"][which], 1.96 * score["error"][which]], digits)


def _nmi(numbers: Numbers) -> tuple[str, str]:
    cells = numbers["clusters"]
    (central, words), (_, local) = (_ahead(cells, "GraphFed", than, NMI) for than in ("centralised", "local"))
    return when(central == len(cells), f"NMI above centralised in {words}, above local in {local}")


def _few_rows(numbers: Numbers) -> tuple[str, str]:
    few, many = ([c for c in numbers["clusters"] if c["rows"] == rows] for rows in (10, 100))
    behind = [[-c["scores"]["local"]["mean"][0] + c["scores"]["GraphFed"]["mean"][0] for c in cs] for cs in (few, many)]
    clear = all(_apart(c, "GraphFed", "local", LIKELIHOOD) > TWO for c in few)
    nearer = all(a > b for a, b in zip(*behind, strict=True))
    words = " and ".join(
        f"{min(b):.2f} to {max(b):.2f} nats behind at N_i = {n}" for b, n in zip(behind, (10, 100), strict=True)
    )
    return when(clear and nearer, f"local training is {words}")


def _centroids(numbers: Numbers) -> tuple[str, str]:
    cells = numbers["clusters"]
    found = {than: _ahead(cells, "GraphFed", than, OFF, -1.0) for than in ("centralised", "local")}
    words = "; ".join(f"below {than} in {text}" for than, (_, text) in found.items())
    return when(all(count == len(cells) for count, _ in found.values()), f"GraphFed's μ_err {words}")


def _matches(numbers: Numbers) -> tuple[str, str]:
    cells = [c for c in numbers["clusters"] if c["d"] in (2, 6)]
    behind = [c["scores"]["oracle pooling"]["mean"][0] - c["scores"]["centralised"]["mean"][0] for c in cells]
    error = max(c["scores"][w]["error"][0] for c in cells for w in ("oracle pooling", "centralised"))
    words = (
        f"{min(behind):.2f} to {max(behind):.2f} nats below (standard error at most {error:.2f}); one mixture of three "
        "cannot be those of five clusters, and how far these are apart the paper does not give"
    )
    return when(max(behind) < TWO * error, words)


def _pooling(numbers: Numbers) -> tuple[str, str]:
    few = [c for c in numbers["clusters"] if c["rows"] == 10]
    higher, words = _ahead(few, "oracle pooling", "GraphFed", LIKELIHOOD)
    clear = [c["d"] for c in few if _apart(c, "GraphFed", "oracle pooling", OFF) > TWO]
    better = "; ".join(f"d = {c['d']}: {_pm(c, 'oracle pooling', OFF)} against {_pm(c, 'GraphFed', OFF)}" for c in few)
    text = f"likelihood higher in {words}; μ_err of pooling against GraphFed {better}"
    return when(higher == len(few) and not clear, text + (f"; clear at d = {clear}" if clear else ""))


def _pooled(numbers: Numbers) -> tuple[str, str]:
    cells = numbers["clusters"]
    apart = sum(
        abs(_apart(c, "GraphFed, pooled", "oracle pooling", w)) > TWO for c in cells for w in (LIKELIHOOD, NMI, OFF)
    )
    words = f"{apart} of {3 * len(cells)} scores differ from pooling beyond two standard errors"
    return when(apart <= 2, words + "; from one start for all the two are equal, as a test shows")


def _consensus(numbers: Numbers) -> tuple[str, str]:
    found = numbers["consensus"]["error"]
    error, spread = found["mean"], found["error"]
    falls, denser = sum(r[-1] < r[0] for r in error), sum(a > b for a, b in zip(error[0], error[-1], strict=True))
    ends = " to ".join(about([error[i][i], 1.96 * spread[i][i]]) for i in (0, -1))
    words = f"falls with α at {falls} of {len(error)} densities, with p_in at {denser} of {len(error[0])} strengths"
    return when(falls == len(error) and denser == len(error[0]), f"{words}; from {ends}")


def _spurious(numbers: Numbers) -> tuple[str, str]:
    found = numbers["spurious"]
    best = dict(zip(found["p_out"], found["best_alpha"], strict=True))
    holds = all(alpha == (1.0 if p == 0 else 0.4) for p, alpha in best.items())
    place, last = found["alpha"].index(0.4), len(found["alpha"]) - 1
    words = "; ".join(
        f"p_out = {p}: best α {best[p]}, NMI {about([m[place], 1.96 * e[place]])} at 0.4, "
        f"{about([m[last], 1.96 * e[last]])} at 1"
        for p, m, e in zip(found["p_out"], found["nmi"]["mean"], found["nmi"]["error"], strict=True)
    )
    return when(holds, words)


def _priors(numbers: Numbers) -> tuple[str, str]:
    cells = [c for c in numbers["own_priors"] if c["d"] in (6, 10) or c["rows"] == 10]
    (local, a), (central, b) = (
        _ahead(cells, better, than, LIKELIHOOD) for better, than in (("GraphFed", "local"), ("centralised", "GraphFed"))
    )
    off = [f"d = {c['d']}, N_i = {c['rows']}" for c in cells if _apart(c, "centralised", "GraphFed", LIKELIHOOD) <= 0]
    words = f"by likelihood GraphFed above local in {a}, centralised above GraphFed in {b}"
    words += f", not at {'; '.join(off)}" * bool(off)
    return when(local == central == len(cells), words)


def _mnist(numbers: Numbers) -> tuple[str, str]:
    found = numbers["digits"]
    if found["embedding"] != "UMAP":
        raise KeyError("digits by UMAP")
    cells, ways = found["cells"], found["causes"]["ways"]
    (local, a), (central, b) = (_ahead(cells, "GraphFed", than, NMI) for than in ("local", "centralised"))
    values = ", ".join(f"{w} {_pm(cells[0], w, NMI, 3)}" for w in ("local", "centralised", "GraphFed"))
    tried = {w: v for w, v in ways.items() if not w.startswith(("local", "centralised", "judged", "GraphFed"))}
    best = max(tried, key=lambda w: tried[w][0])
    words = (
        f"UMAP: above local in {a}, above centralised in {b}; d = {cells[0]['d']}, N_i = {cells[0]['rows']}: {values}. "
        f"Start, graph, α, regularisation and K changed one at a time: NMI less centralised from "
        f"{about(ways['GraphFed'], 3)} to at most {about(tried[best], 3)} ({best}); neighbours' matched components "
        f"hold one digit in {100 * found['causes']['same digit']['GraphFed'][0]:.0f} % of pairs"
    )
    return when(local == central == len(cells), words)


GRAPHFED = Paper(
    "Abdurakhmanova, Jung 2025, GraphFed-EM",
    "abdurakhmanova-2025",
    (
        Row("Figure 1, NMI", "centralised has lower NMI than GraphFed", _nmi),
        Row("Figure 1, local training", "bad at N_i = 10, nearer to GraphFed as N_i grows", _few_rows),
        Row("Figure 1, μ_err", "least within the true clusters", _centroids),
        Row("Figure 1, likelihood", "centralised matches Oracle for d = 2, 6", _matches),
        Row("Figure 1, N_i = 10", "pooling has the higher likelihood, no clear advantage in NMI or μ_err", _pooling),
        Row("Figure 1, cluster-pooled GraphFed", "a variant on pooled rows", _pooled),
        Row("Figure 2", "consensus error falls with α and p_in", _consensus),
        Row("Figure 3", "α = 0.4 best with edges across clusters", _spurious),
        Row("Figure 4a", "above local, below centralised for d = 6, 10 and N_i = 10", _priors),
        Row("Figure 4b", "NMI above local and centralised in all settings", _mnist),
        Row("Section VI", "aggregation as a proximal step", (PROOF, "algebra; eqs. 2 and 3 are tested by hand")),
    ),
)

# Ye, Ding et al. 2022


def _theorem(numbers: Numbers) -> tuple[str, str]:
    cells = numbers["rate"]
    first, last = cells[0], cells[-1]
    holds = all(
        wilson(first["exact"][w], first["repeats"])[1] < wilson(last["exact"][w], last["repeats"])[0]
        for w in ("penalty", "given")
    )
    words = "; ".join(
        f"{c['rows']} rows: penalty {out_of(c['exact']['penalty'], c['repeats'])}, gap {c['exact']['gap']}, K given "
        f"{c['exact']['given']}"
        for c in cells
    )
    return when(holds, f"all labels right, least squares, {words}; the theorem is of a K given or by the penalty")


def _untold(cells: list[Numbers], words: str) -> tuple[str, str]:
    """What an interval leaves open: not yet run below the repetitions of the full setting, and not shown with them."""
    return (MISSING if cells[0]["repeats"] < FULL else DIFFERS), words


def _simulation_1(numbers: Numbers) -> tuple[str, str]:
    cells = numbers["simulation_1"]
    words = []
    for p in sorted({c["p"] for c in cells}):
        selected = [c for c in cells if c["p"] == p]
        total = sum(c["repeats"] for c in selected)
        exact = {way: sum(c["exact"][way] for c in selected) for way in ("gap", "penalty", "given")}
        words.append(f"p = {p}: {', '.join(f'{way} {out_of(hits, total)}' for way, hits in exact.items())}")
    snrs = sorted({c["snr"] for c in cells})
    hits, total = {}, {}
    for snr in (snrs[0], snrs[-1]):
        selected = [c for c in cells if c["snr"] == snr]
        hits[snr], total[snr] = sum(c["exact"]["gap"] for c in selected), sum(c["repeats"] for c in selected)
    low, high = (out_of(hits[snr], total[snr]) for snr in (snrs[0], snrs[-1]))
    rises = wilson(hits[snrs[-1]], total[snrs[-1]])[0] > wilson(hits[snrs[0]], total[snrs[0]])[1]
    falls = wilson(hits[snrs[-1]], total[snrs[-1]])[1] < wilson(hits[snrs[0]], total[snrs[0]])[0]
    text = f"with gap {low} at SNR {snrs[0]}, {high} at {snrs[-1]}; over the SNRs, {'; '.join(words)}"
    text += "; their SNRs and p are lost in the text"
    if not rises and not falls:
        return _untold(cells, f"{text}; {cells[0]['repeats']} repetitions a cell are too few to tell a rise")
    return when(rises, text)


def _spectrum(numbers: Numbers) -> tuple[str, str]:
    found = numbers["spectrum"]
    values = ", ".join(f"{v:.3f}" for v in found["eigenvalues"][:3])
    words = (
        f"eigenvalues {values}; rows of one function at cosine {found['least cosine within']:.3f} or more, of two at "
        f"{found['largest cosine between']:.3f} or less; one replication"
    )
    return when(found["right"] and found["largest cosine between"] < found["least cosine within"], words)


def _simulation_2(numbers: Numbers) -> tuple[str, str]:
    cells = numbers["simulation_2"]
    if len(cells) < 5 or any(c["columns"] != 500 for c in cells):
        raise KeyError("simulation_2 with five sets and 500 columns")
    words = "; ".join(
        f"{len(c['candidates'])} methods: {out_of(c['exact']['gap'], c['repeats'])} right with gap, K given "
        f"{c['exact']['given']}, MSE {about(c['gain'], 3)} less together, p = {c['p']:.1g}"
        for c in cells
    )
    if any(abs(c["gain"][0]) <= c["gain"][1] for c in cells):
        few = f"{cells[0]['repeats']} repetitions are too few for the sets whose interval holds 0"
        return _untold(cells, f"{words}; {few}")
    return when(all(c["gain"][0] > 0 for c in cells), words)


def _fairness(numbers: Numbers) -> tuple[str, str]:
    large = [c for c in numbers["fairness"] if c["gamma"] >= 2]
    words = "; ".join(
        f"γ = {c['gamma']:g}: gap {about(c['ratio']['gap'])} with {c['clusters']['mean']:.1f} clusters, K = 3 "
        f"{about(c['ratio']['given'])}"
        for c in large
    )
    holds = all(c["ratio"]["gap"][0] - c["ratio"]["gap"][1] <= 0.5 for c in large)
    return when(holds, f"MSE over Fairness's, {words}; the gap statistic finds fewer clusters than theirs (2.8 to 2.9)")


def _cross_validation(numbers: Numbers) -> tuple[str, str]:
    counts = numbers["counted"]
    hits, total = sum(c["right"]["cv"] for c in counts), sum(c["repeats"] for c in counts)
    others = ", ".join(f"{w} {out_of(sum(c['right'][w] for c in counts), total)}" for w in ("gap", "penalty"))
    large = [c for c in numbers["fairness"] if c["gamma"] >= 2]
    ratios = ", ".join(f"{about(c['ratio']['cv'])}" for c in large)
    words = f"K right in {out_of(hits, total)} ({others}); fairness, MSE over Fairness's at γ = 3, 6, 20: {ratios}"
    return when(all(sum(c["ratio"]["cv"]) < 1 for c in large), words)


def _public(numbers: Numbers) -> tuple[str, str]:
    found = numbers["public"]
    words = "; ".join(
        f"{way} {about(found['ways'][way]['less'], 0)} less"
        for way in ("pooled", "unpooled", "pooled, K = 2", "unpooled, K = 2")
    )
    return IMPOSSIBLE, (
        f"the CT slices are not public here; the same on {found['data']}: MSE {found['ways']['none']['mean']:.0f} "
        f"without clusters, {words}; K = 1 by the gap statistic in {out_of(found['clusters'][1], found['repeats'])}"
    )


def _grid(numbers: Numbers) -> tuple[str, str]:
    cells = [c for c in numbers["grid"] if c["attacked"] > 0]
    total = sum(c["repeats"] for c in cells)
    hits = {way: sum(c["exact"][way] for c in cells) for way in ("gap", "penalty", "given")}
    words = ", ".join(f"{way} {out_of(right, total)}" for way, right in hits.items())
    worst = max((c["over_oracle"]["gap"] for c in cells), key=lambda pair: pair[0])
    return when(
        hits["gap"] == total, f"oracle's cluster: {words}; MSE over oracle's with gap at most {about(worst, 3)}"
    )


def _nobody(numbers: Numbers) -> tuple[str, str]:
    cell = next(c for c in numbers["grid"] if c["attacked"] == 0)
    words = ", ".join(f"{way} {out_of(cell['exact'][way], cell['repeats'])}" for way in ("gap", "penalty"))
    return when(
        cell["exact"]["gap"] == cell["repeats"],
        f"all in one cluster: {words}; MSE over oracle's with gap {about(cell['over_oracle']['gap'], 3)}. The "
        "statistic has no K = 1 on rows of unit length, whose single cluster is one point",
    )


META = Paper(
    "Ye, Ding et al. 2022, meta clustering (SEC)",
    "meta-clustering",
    (
        Row("Figure 1", "the three steps", SCHEME),
        Row("Theorem 4, lemmas 1 to 3", "labels right with probability → 1", _theorem),
        Row("Table 1", "SEC-Fairness about half the MSE for large γ (ratios .34, .24, .18 at γ = 3, 6, 20)", _fairness),
        Row("Section 4, K by cross-validation", "suggested, not run; a larger K is much better", _cross_validation),
        Row("Figure 2", "accuracy rises with the SNR; nearly 1", _simulation_1),
        Row("Figure 3", "eigenvalues and eigenvectors of one replication", _spectrum),
        Row("Table 2", "66, 74, 58, 70, 64 % right; MSE .100, .095, .087, .096, .060 together, .133, .131, .125, .134, "
            ".112 alone", _simulation_2),
        Row("Table 3", "CT slices: MSE 94 pooled, 103 unpooled, 151 without clusters", _public),
        Row("Figure 4", "SEC's curve lies on the oracle's", _grid),
        Row("Figure 4, nobody attacked", "the curve's first point", _nobody),
    ),
)  # fmt: skip
