"""The report on Zhang 2024, second part: colluders, digits, and what a mixture tells of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.words import plus_minus, share, verdict
from analysis.zhang_2024.colluders import OVERLAP, REACH, ROWS
from analysis.zhang_2024.colluders import PAPER as ROBUST
from analysis.zhang_2024.digits import HIDDEN, PAPER, POOL, TRAINED
from analysis.zhang_2024.simulation import NAMES

Numbers = dict[str, Any]
SPREAD = 0.0019  # of ARED over the paper's repetitions, Table 2


def colluders(found: Numbers, command: str) -> list[str]:
    near, far = found["near"], found["anywhere"]
    sizes = sorted({p["machines"] for p in near})
    repetitions = near[0]["repetitions"]
    lines = [
        "## Colluders",
        "",
        "The paper tries failures only. Here the Byzantine machines all send one mixture, searched for with full "
        "knowledge of the rule and of the honest mixtures, and count only if the rule keeps them. What a search "
        "finds is a lower bound of what can be done.",
        "",
        "### Near the oracle",
        "",
        "![W1 over Oracle's against the share of colluders: it rises with the number of machines](colluders.png)",
        "",
        f"Each component within {REACH:g} of its standard deviations of the oracle's, its weight and variances within "
        f"a factor e^{REACH:g}: nothing a look at the numbers would find odd. Overlap {OVERLAP:g}, {ROWS} rows a "
        f"machine, {repetitions} repetitions (± is wide). W1 and, in brackets, W1 over Oracle's:",
        "",
        "| rule, colluders | " + " | ".join(f"m = {m}" for m in sizes) + " | if they may be rejected too |",
        "|---" * (len(sizes) + 2) + "|",
    ]
    for rule, rate in dict.fromkeys((p["rule"], p["rate"]) for p in near):
        mine = {p["machines"]: p for p in near if (p["rule"], p["rate"]) == (rule, rate)}
        loose = mine[sizes[0]]["ratio_if_rejected_too"]
        lines.append(
            f"| {rule}, {100 * rate:.0f} % | "
            + " | ".join(f"{plus_minus(mine[m]['error'], 3)} ({plus_minus(mine[m]['ratio'])})" for m in sizes)
            + f" | ({plus_minus(loose)}) |"
        )
    small, large = sizes[0], sizes[-1]
    if small != large:
        lines += ["", _growth(near, small, large)]
    cost = [p["ratio_if_rejected_too"][0] / p["ratio"][0] for p in near if p["ratio_if_rejected_too"]]
    lines += [
        "",
        f"*The cost of not being detected*: free to be rejected, the same search gains a factor of {np.mean(cost):.2f} "
        f"on average ({min(cost):.2f} to {max(cost):.2f}) at m = {small}. A machine that is rejected is lost to the "
        "colluders" + (", so the threshold costs them next to nothing." if np.mean(cost) < 1.1 else "."),
        "",
        "### As far as it goes",
        "",
        "Without that restriction, in populations like those of the first section. *Unbounded*: the error grows in "
        "proportion to the lie from 10⁴ to 10⁶ standard deviations and the colluders are kept.",
        "",
        "| overlap, colluders | " + " | ".join(_columns(far)) + " |",
        "|---" * (len(_columns(far)) + 1) + "|",
    ]
    for overlap, rate in dict.fromkeys((p["overlap"], p["rate"]) for p in far):
        mine = {_column(p): p for p in far if (p["overlap"], p["rate"]) == (overlap, rate)}
        cells = [_far_cell(mine[c]) if c in mine else "" for c in _columns(far)]
        lines.append(f"| {overlap:g}, {100 * rate:.0f} % | " + " | ".join(cells) + " |")
    paper = [p for p in far if p["rule"] in ROBUST]
    hits, n = sum(p["unbounded"] for p in paper), sum(p["repetitions"] for p in paper)
    wise = [p for p in far if p["rule"] == "component-wise"]
    own, tried = sum(p["unbounded"] for p in wise), sum(p["repetitions"] for p in wise)
    populations = sum(max(p["repetitions"] for p in far if p["overlap"] == o) for o in {p["overlap"] for p in far})
    if hits:
        lines += [
            "",
            f"**The paper's rules had no bound against colluders in {hits} of {n} searches**, on {populations} "
            "populations in all, so that the searches are not independent. "
            "∫ (f − g)² sees a component by its squared weight over the root of its determinant: in ten dimensions one "
            "with a larger covariance than another hardly counts, and the sampling error of the tightest component "
            "hides all of it. So one component goes anywhere while the rest stays: near in this distance is not near "
            "in W1, and the paper's theorems, which are for many rows, do not say from how many.",
        ]
    if wise:
        lines += ["", f"The component-wise rule: {own} of {tried} searches unbounded."]
    return [*lines, "", f"Reproduce: `{command}`."]


def _growth(near: list[Numbers], small: int, large: int) -> str:
    """What happens to Oracle and to the bias as machines are added."""

    def change(key: str, which: list[Numbers]) -> float:
        by_size = [np.mean([p[key][0] for p in which if p["machines"] == m]) for m in (small, large)]
        return float(by_size[1] / by_size[0])

    rules = {r: [p for p in near if p["rule"] == r] for r in ROBUST}
    ratios = {
        (r, m): float(np.mean([p["ratio"][0] for p in which if p["machines"] == m]))
        for r, which in rules.items()
        for m in (small, large)
    }
    kept = {r: change("error", which) for r, which in rules.items()}
    oracle = change("oracle", near)
    return (
        verdict(all(value > oracle for value in kept.values()))
        + f" *The bias does not shrink as Oracle's error does.* From {small} to {large} machines Oracle's W1 falls to "
        f"{oracle:.2f} of what it was, W1 under undetected colluders to "
        + ", ".join(f"{value:.2f} ({r})" for r, value in kept.items())
        + "; over Oracle's it grows from "
        + ", ".join(f"{ratios[r, small]:.2f} to {ratios[r, large]:.2f} ({r})" for r in ROBUST)
        + ", all averaged over the shares of colluders. It falls a little all the same, so 'does not shrink' alone "
        "would say too much: these are lower bounds, and the same number of trials covers less of a larger problem."
    )


def digits(found: Numbers, command: str) -> list[str]:
    table = found["table"]
    lines = [
        "## Digits",
        "",
        f"MNIST test images in place of NIST's, {found['features']} features as in the paper: the linear output of the "
        f"narrow layer of a perceptron (784, {HIDDEN}, {found['features']}, 10) that was trained on labels (the paper: "
        f"a convolutional network). Of the 10 000 images {TRAINED} train the network, {POOL} are the machines', and "
        f"the other {10000 - TRAINED - POOL} are those that the ARI is of: none is in two of these. "
        f"{found['machines']} machines hold {found['rows']} of the {POOL} each, so that machines share images (the "
        "paper's do not). In place of letters, every other failing machine holds digits turned by 90 degrees, and the "
        "rest digits with black and white exchanged. All fits start at the Gaussians of the ten classes, from the "
        f"labels. {table[0]['repetitions']} repetitions of the machines' draws, one network, as in the paper.",
        "",
        "### With the text's distance, ∫ (f − g)²",
        "",
        *_ari(table, found["machines"]),
        "",
        *_order(table),
        "",
        "### With the distance of the authors' code, transport with the KL cost",
        "",
        "Their code for these data (github.com/SarahQiong/RobustSCGMM, real_data/NIST/nist.py, `ground_distance="
        '"CTD-KL"`) takes the composite transportation divergence in place of D. The same fits:',
        "",
        *_ari(found["transport"], found["machines"]),
        "",
        *_order(found["transport"]),
        "",
        *_cause(found),
    ]
    if found.get("principal"):
        reach = found["norm_over_radius"]
        lines += [
            "",
            f"**It hangs on the features.** With {found['features']} principal components of the same {TRAINED} "
            f"images, else the same, {found['principal'][0]['repetitions']} repetitions:",
            "",
            *_ari(found["principal"], found["machines"]),
            "",
            *_order(found["principal"]),
            "",
            "A mixture far from COAT's f is at √(‖f‖² + ‖g‖²), and ‖g‖ is small where it is flat, so that what cannot "
            "be told from an honest one hangs on ‖f‖: of COAT's radius it is "
            f"{reach['learned']:.2f} with learned features and {reach['pca']:.2f} with principal components (of "
            f"{found['machines']} honest machines; ARED keeps 1.48 radii at m = 50).",
        ]
    return [*lines, "", f"Reproduce: `{command}`."]


def _cause(found: Numbers) -> list[str]:
    """Why ARED rejects honest machines with the text's distance."""

    def wronged(table: list[Numbers]) -> str:
        failing = [row for row in table if row["rate"] > 0]
        hits = sum(row["rules"]["ARED"]["rejected"] - row["rules"]["ARED"]["hits"] for row in failing)
        return f"{hits} of {sum(found['machines'] * row['repetitions'] - row['failing'] for row in failing)}"

    lines = [
        f"**Why ARED rejects honest machines with the text's distance**: {wronged(found['table'])}, and "
        f"{wronged(found['transport'])} with that of the code, under failures. {found['rows']} rows are "
        f"{found['rows'] // 10} a class in {found['features']} dimensions. From so few, determinants of covariances, "
        "and with them ∫ f², differ between honest machines by orders of magnitude, and ∫ (f − g)² is then the larger "
        "of the two norms. The divergence of the code has no such term. (Their code also takes ⌊rows / machines⌋ rows "
        "*of each class* for a machine, 1000 with its defaults of 30000 and 30: ten times as many as here. The paper's "
        "numbers are lost in the text.)",
    ]
    if found.get("honest"):
        lines += [
            "",
            "Rows drawn from the Gaussians of the classes, nobody failing, no row shared:",
            "",
            "| rows a machine | rejected by ARED, all honest | standard deviation of ln ∫ f² over machines |",
            "|---|---|---|",
            *(
                f"| {row['rows']} | {share(row['rejected'], row['machines'] * row['repetitions'])} | "
                f"{row['spread']:.2f} |"
                for row in found["honest"]
            ),
        ]
    return lines


def _ari(table: list[Numbers], machines: int) -> list[str]:
    """Both tables of a set of features: the ARI, and what is lost against Oracle."""
    lines = [
        "ARI, ours with standard deviation over the repetitions / the paper's:",
        "",
        "| rate | " + " | ".join(NAMES) + " |",
        "|---" * (len(NAMES) + 1) + "|",
    ]
    for row in table:
        theirs = PAPER.get(row["rate"], {})
        cells = [
            f"{row['rules'][n]['ari'][0]:.4f} ({row['rules'][n]['spread']:.4f}) / {theirs.get(n, '—')}" for n in NAMES
        ]
        lines.append(f"| {row['rate']:g} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "Less than Oracle by (mean ±, paired), and who was rejected:",
        "",
        "| rate | " + " | ".join(_COMPARED) + " | ARED rejects: failed, honest | DFMR |",
        "|---" * (len(_COMPARED) + 3) + "|",
    ]
    for row in table:
        cells = [plus_minus(row["rules"][n]["less_than_oracle"], 4) for n in _COMPARED]
        for n in ("ARED", "DFMR"):
            hits, rejected = row["rules"][n]["hits"], row["rules"][n]["rejected"]
            honest = machines * row["repetitions"] - row["failing"]
            cells.append(f"{hits} of {row['failing']}, {rejected - hits} of {honest}")
        lines.append(f"| {row['rate']:g} | " + " | ".join(cells) + " |")
    return lines


def _order(table: list[Numbers]) -> list[str]:
    """Whether the paper's order holds, and whether ARED is as good as Oracle."""
    failing = [row for row in table if row["rate"] > 0]
    loss = {n: max(row["rules"][n]["less_than_oracle"][0] for row in failing) for n in _COMPARED}
    apart = max(abs(row["rules"]["ARED"]["less_than_oracle"][0]) for row in failing)
    order = all(
        min(row["rules"][a]["ari"][0] for a in ("ARED", "CRED"))
        > max(row["rules"][b]["ari"][0] for b in ("COAT", "TRIM", "GMR"))
        for row in failing
    )
    missed = {n: sum(row["failing"] - row["rules"][n]["hits"] for row in failing) for n in ROBUST}
    return [
        verdict(order)
        + " *ARED and CRED above TRIM, COAT and GMR at every rate*. Largest mean loss against Oracle: "
        + ", ".join(f"{n} {value:.4f}" for n, value in loss.items())
        + ".",
        verdict(apart < SPREAD)
        + f" *ARED equals Oracle*: its mean ARI is within {apart:.4f} of it (the paper: 0.0000; the largest standard "
        f"deviation in its row is {SPREAD}). Machines that failed "
        f"and were missed, of {sum(row['failing'] for row in failing)}: "
        + ", ".join(f"{n} {count}" for n, count in missed.items())
        + ".",
    ]


_COMPARED = ("ARED", "DFMR", "CRED", "component-wise", "COAT", "TRIM", "GMR")


def rows(found: list[Numbers], command: str) -> list[str]:
    lines = [
        "## What one mixture tells of its rows",
        "",
        "A machine's only message. At the end of EM it stands for K q − 1 sums of its rows' statistics, "
        "q = 1 + d + d (d + 1) / 2. Solving those gives rows to about the tolerance's root; replaying EM from every "
        "partition that k-means++ can start with, until it ends at the message to the last digit, gives them exactly. "
        "*Exact*: all rows within 1e-6 of the truth, up to their order.",
        "",
        "| rows, features, components | numbers / unknowns | tolerance of EM | machines exact | rows within 0.01 | "
        "certified, of these wrong |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['rows']}, {r['features']}, {r['components']} | {r['numbers']} / {r['unknowns']} | "
        f"{r['tolerance']:.0e} | {r['exact']} of {r['machines']} [{r['low']:.2f}, {r['high']:.2f}] | "
        f"{100 * r['within_1e-2']:.0f} % | {r['certified']}, {r['certified_wrong']} |"
        for r in found
    ]
    return [
        *lines,
        "",
        "Where rows are not found they are not safe: the numbers determine them, only this search did not get there. "
        "For any number of rows their mean and covariance follow from the mixture exactly.",
        "",
        f"Reproduce: `{command}`.",
    ]


def _column(point: Numbers) -> str:
    return f"{point['rule']}, m = {point['machines']}"


def _columns(points: list[Numbers]) -> list[str]:
    return list(dict.fromkeys(_column(p) for p in sorted(points, key=lambda p: (p["rule"], p["machines"]))))


def _far_cell(point: Numbers) -> str:
    share = f"{point['unbounded']} of {point['repetitions']}"
    ratio = point["largest_ratio"]
    return (
        share if ratio is None else f"{share}; else {ratio:.3g} times" if ratio < 1e4 else f"{share}; else > 10⁴ times"
    )
