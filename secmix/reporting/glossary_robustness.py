"""What the words about colluders mean; part of the glossary of reports that speak of them."""

from __future__ import annotations

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
