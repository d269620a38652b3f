"""The meaning of each word and number of a report, for a reader who meets them for the first time."""

from __future__ import annotations

from secmix.adversaries import FIXED
from secmix.adversaries.attacks.attack import installed, named
from secmix.auditing.evidence.interface import kinds
from secmix.auditing.report import Report
from secmix.reporting import robustness as robust

GLOSSARY: tuple[tuple[str, str, str], ...] = (
    # (anchor, term, meaning)
    (
        "violated",
        "violated",
        "The audit found a leak beyond the limit that the policy sets, and shows by which evidence.",
    ),
    (
        "holds",
        "holds",
        "It is proved that the limit of the policy is met: the protocol's own code was traced, and what its messages "
        "determine was computed; or its nodes add noise, whose releases were played back on other data. The "
        "assumptions of the proof are listed with each combination; nothing else is promised.",
    ),
    (
        "inconclusive",
        "inconclusive",
        "No violation was shown, and it is not proved that there is none; the reason is given beside it. It counts as "
        "neither good nor bad news, and never passes a policy.",
    ),
    (
        "not-asked",
        "not asked",
        "The policy sets no limit: for a corrupt node, or for a quantity that it does not mention.",
    ),
    (
        "no-worse",
        "no worse",
        "Every fault is accepted, or was already in the baseline that the audit was compared with.",
    ),
    (
        "revealed",
        "revealed",
        "The adversary computes the node's private vector exactly, whatever the data and however large the masks.",
    ),
    (
        "partly-leaked",
        "partly leaked",
        "The adversary learns more about the node than the protocol's output reveals, but not everything.",
    ),
    (
        "bounded-by-noise",
        "bounded by noise",
        "All that is sent follows from values with noise on them, and that noise is proved to keep what anybody learns "
        "about the node within the policy's limit, for the unit that the policy names.",
    ),
    (
        "output",
        "no more than the output itself reveals",
        "What the adversary learns about the node follows from the result that the protocol is meant to"
        " publish. The result itself may still say much, above all when few nodes take part.",
    ),
    (
        "corrupt",
        "corrupt",
        "A node that belongs to the adversary and shares all it knows. Its own data are not protected from the "
        "adversary.",
    ),
    (
        "normalised",
        "normalised leakage",
        "Leakage on a scale from 0 (the view is independent of the secret) to 1 (the view determines "
        "it). With I nats about d numbers it is 1 − exp(−2 I / d): the share of a Gaussian secret's "
        "variance that the adversary can explain.",
    ),
    (
        "units",
        "nats and bits",
        "Units of mutual information, which measures how much one quantity says about another. One "
        "nat is 1.443 bits; 0 means nothing is learnt, ∞ that the secret is known exactly.",
    ),
    (
        "interval",
        "95 % interval",
        "A range that misses the true value at most one time in twenty. A result that would make a violation is "
        "measured again on new runs, and its lower end misses so seldom (99.9 %, say) that the whole audit "
        "reports a wrong violation at most one time in twenty. A result marked "
        "exact comes from algebra and has no sampling error. An upper end of ∞ means that only a lower "
        "bound is known.",
    ),
    (
        "kind",
        "exact, upper bound, lower bound, estimate",
        "What the number says about the truth: it is the truth; the truth is at most this; the truth is"
        " at least this; or the number lies near the truth by its interval.",
    ),
    (
        "status",
        "resolved, unresolved, determined",
        "Resolved: more data would not move the number much. Unresolved: the number still grows with "
        "the number of samples, or the method is known to read low here, so it clears nobody. "
        "Determined: the secret is a function of what the adversary reads, and the true information is "
        "infinite.",
    ),
    (
        "view",
        "one iteration, all iterations",
        "What the adversary has seen: the messages of a single iteration, or everything from the start "
        "to the end. A real adversary keeps everything, so the cumulative view decides.",
    ),
    (
        "target",
        "summed vector, row",
        "The secret in question: the vector that a node contributes to the sum (input), or one row of its data.",
    ),
    (
        "baseline",
        "baseline",
        "The normalised leakage of the output alone: what everybody learns even from a perfect protocol.",
    ),
    (
        "limit",
        "limit",
        "The largest normalised leakage that the policy allows.",
    ),
    (
        "subspace",
        "leaked subspace",
        "The combinations of inputs that the adversary learns exactly, whatever the data, in a readable"
        " basis: x0 + x2 means that the sum of the inputs of nodes 0 and 2 is known, but neither by "
        "itself; x1 alone means that node 1 is revealed; x0[1] is the input of node 0 in iteration 1. "
        "Nodes and iterations count from 0.",
    ),
    *((kind.name.replace(" ", "-"), f"evidence: {kind.name}", kind.meaning) for kind in kinds()),
    (
        "sigma",
        "σ, the mask size",
        "The standard deviation of the random masks. Larger masks hide more and cost digits of the "
        "result; the figure shows both.",
    ),
    (
        "output-error",
        "output error",
        "How far the fitted means are from those of the same algorithm run on all data in one place, without defences; "
        "the largest over runs, relative to their size.",
    ),
)

OF_COLLUDERS: tuple[tuple[str, str, str], ...] = (
    (
        "colluders",
        "colluders",
        "Nodes that act together: they know all honest contributions of a round, send whatever serves them, and read "
        "everything that honest-but-curious nodes read.",
    ),
    (
        "breakdown",
        "breakdown point",
        "The largest fraction of colluders for which the error stays bounded. The audit gives two numbers: up "
        "to which fraction no unbounded error was found, and up to which a theorem excludes one. Only the second is "
        "proved.",
    ),
    (
        "spread",
        "honest spread",
        "The unit of errors of the aggregate. For a sum: the largest distance of an honest contribution from "
        "the mean of all honest ones, in the first iteration; at 1 the error equals the distance of the most distant "
        "honest node. For a whole protocol: the median error between two honest runs on other rows; at 1 the colluders "
        "have the same effect as chance.",
    ),
    (
        "found-error",
        "found error",
        "The largest distance between the aggregate and the honest mean that any attack or search reached. A lower "
        "bound on the worst case: a search shows damage, but never that there is no larger damage.",
    ),
    (
        "proven-bound",
        "proven bound",
        "The largest error that a theorem about the rule allows, on the same honest messages. Only this excludes "
        "larger errors.",
    ),
    (
        "means-error",
        "error of the outcome",
        "The error of the result at honest nodes: the median over runs, with quartiles. For a mixture fitted through "
        "sums, the distance of its means from those the honest nodes would fit by themselves, for the worst component, "
        "in standard deviations of the data; for a whole protocol, its own measure, against the run in which all are "
        "honest. “No fit”: it failed.",
    ),
    (
        "min-breakdown",
        "policy: min breakdown",
        "The fraction of colluders up to which the error must be bounded. Only a proof satisfies it: if a search "
        "found nothing and no theorem applies, the verdict is inconclusive.",
    ),
    (
        "max-error-ratio",
        "policy: max error ratio",
        "The largest error of the aggregate, in honest spreads, that the adversary's own number of colluders may "
        "cause.",
    ),
)
"""Words of reports that mention colluders."""

CLAIM = (
    "claim",
    "claim of differential privacy",
    "That whatever is read is at most e^ε times as likely on one of two neighbouring data sets as on the other, but "
    "for a probability δ. It is proved where the noise keeps it, refuted where two data sets are told apart more "
    "often than it allows, and open otherwise.",
)

HOW_TO_READ = (
    "Each node is examined by several independent kinds of evidence, and the worst of them "
    "decides. Evidence can only show a violation: finding none clears no node. “Holds” means that a proof clears the "
    "node, under the assumptions listed with it; what is neither shown nor proved is “inconclusive”."
)


def glossary(report: Report) -> list[tuple[str, str, str]]:
    """List (anchor, term, meaning) of all that this report mentions; colluders only if there are any."""
    known = [*GLOSSARY, *[CLAIM] * any(cell.claim for cell in report.cells)]
    if not robust.concerns(report):
        return known
    tried = [damage.attack for cell in report.cells if cell.robustness for damage in cell.robustness.damages]
    # Sentences name the attack that pushed a sum farthest, so all attacks on sums are explained where one is tried.
    on_sums = [*FIXED, "worst_case"]
    names = dict.fromkeys([*(on_sums if not tried or set(tried) & set(on_sums) else ()), *tried])
    attacks = [(anchor(name), f"attack: {robust.name(name)}", meaning(name)) for name in names if meaning(name)]
    return [*known, *OF_COLLUDERS, *attacks]


def meaning(attack: str) -> str:
    """Describe what an installed attack does, in a line; empty for one that is not installed."""
    return named(attack).does if attack in installed() else ""


def anchor(attack: str) -> str:
    """Return the anchor where the glossary explains an attack; empty if it does not."""
    return "attack-" + attack.replace("_", "-") if meaning(attack) else ""
