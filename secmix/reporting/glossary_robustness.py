"""What the words about colluders mean; part of the glossary of reports that speak of them."""

from __future__ import annotations

ATTACKS: dict[str, str] = {
    "sign_flip": "Every colluder sends the mean of the honest contributions with its sign turned.",
    "reverse": "As sign flip, a hundred times as large.",
    "large_gaussian": "Every colluder sends random numbers of standard deviation 200.",
    "constant": "Every colluder sends −100 in each entry.",
    "zero": "Every colluder sends zeros: it takes part and contributes nothing.",
    "mimic": "All colluders copy one honest node, the one furthest out, so that it counts too often.",
    "alie": "“A little is enough”: all step away from the honest mean, by so few standard deviations that "
    "enough honest nodes stand further out to make them look ordinary.",
    "ipm": "Inner product manipulation: every colluder sends minus half the honest mean.",
    "min_max": "All step away from the honest mean, as far as they can without standing further from any honest "
    "contribution than two of those stand from each other.",
    "min_sum": "As min-max, with the sum of squared distances to all honest contributions as the limit.",
    "worst_case": "A search for the contributions that do most harm to the very rule in use; against a sum, one "
    "message from very far away.",
}
"""Each attack in a line, by its name in the report."""

TERMS: tuple[tuple[str, str, str], ...] = (
    (
        "colluders",
        "colluders",
        "Nodes of one mind that know all honest contributions of a round and send what serves them, while they look at "
        "everything honest-but-curious nodes see.",
    ),
    (
        "breakdown",
        "breakdown point",
        "The largest fraction of colluders under which the error stays bounded. The audit gives it twice: up "
        "to where no unbounded error was found, and up to where a theorem excludes one. Only the second is a promise.",
    ),
    (
        "spread",
        "honest spread",
        "What errors of the aggregate are counted in. For a sum: the largest distance of an honest contribution from "
        "the mean of all honest ones, in the first iteration; at 1 the aggregate is as far off as the oddest honest "
        "node. For a whole protocol: the median error between two honest runs on other rows; at 1 the colluders do as "
        "much as chance.",
    ),
    (
        "found-error",
        "found error",
        "The largest distance between the aggregate and the honest mean that any attack or search reached. A lower "
        "bound of the worst case: a search shows damage, never that there is no more.",
    ),
    (
        "proven-bound",
        "proven bound",
        "What a theorem about the rule allows at most, on the same honest messages. Only this excludes larger errors.",
    ),
    (
        "means-error",
        "error of the outcome",
        "How far off what honest nodes end with is: the median over runs, with quartiles. For a mixture fitted through "
        "sums, the distance of its means from those the honest nodes would fit by themselves, for the worst component, "
        "in standard deviations of the data; for a whole protocol, its own measure, against the run in which all are "
        "honest. “No fit”: it failed.",
    ),
    (
        "min-breakdown",
        "policy: min breakdown",
        "The fraction of colluders up to which the error must be bounded. Only a proof satisfies it: where a search "
        "found nothing and no theorem speaks, the verdict is inconclusive.",
    ),
    (
        "max-error-ratio",
        "policy: max error ratio",
        "The largest error of the aggregate, in honest spreads, that the adversary's own number of colluders may "
        "cause.",
    ),
)
