"""The meaning of the words about robustness: part of the glossary of reports that mention colluders."""

from __future__ import annotations

TERMS: tuple[tuple[str, str, str], ...] = (
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
        "honest "
        "node. For a whole protocol: the median error between two honest runs on other rows; at 1 the colluders have "
        "the "
        "same effect as chance.",
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
