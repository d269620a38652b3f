"""The sentence that says a report's verdict, first on its first page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from secmix._base.naming import label
from secmix.auditing import decide
from secmix.auditing.cell_parts import Verdict
from secmix.auditing.report import Cell, Conclusion, covered

_FAR = 10.0
"""Output error from which on it is said first: rules that set messages aside reach 3 in the catalogue."""


def verdict_sentence(verdict: Conclusion, policy: Mapping[str, Any], cells: Sequence[Cell]) -> str:
    """Say what the verdict is, of which combinations, and what a reader must know beside it."""
    return _sentence(verdict, cells, _question(policy, cells)) + _known_in_part(policy, cells) + _far_off(cells)


def _question(policy: Mapping[str, Any], cells: Sequence[Cell]) -> str:
    """Name what an audit asks: the policy, a claim of differential privacy, or both."""
    if not any(cell.claim for cell in cells):
        return "policy"
    return "policy with its claim" if policy else "claim"


def _known_in_part(policy: Mapping[str, Any], cells: Sequence[Cell]) -> str:
    """Say of how many nodes a part is known where the policy counts no parts; nothing where it does."""
    if "max_revealed_nodes" not in policy or "max_normalised_leakage" in policy:
        return ""
    known = {
        label(node.node, cell.names)
        for cell in cells
        for node in cell.nodes
        if node.standing == "partly leaked" and node.worst >= decide.NEARLY
    }
    if not known:
        return ""
    return (
        f" A part of the data of {len(known)} node{'s' * (len(known) > 1)} is known: max_revealed_nodes "
        "counts a node only where all of it is, max_normalised_leakage limits the parts."
    )


def _far_off(cells: Sequence[Cell]) -> str:
    """Say that a protocol computes something else than an average, as far as fitted means tell; else nothing."""
    error, protocol = max(((cell.output_error or 0.0, cell.protocol) for cell in cells), default=(0.0, ""))
    if error <= _FAR:
        return ""
    return (
        f" What {protocol} computes is no average: the fitted means are off by {error:.3g} times the largest of "
        "those of all rows together."
    )


def _sentence(verdict: Conclusion, cells: Sequence[Cell], question: str) -> str:
    def count(which: Verdict) -> int:
        return sum(cell.verdict == which for cell in cells)

    total = f"{len(cells)} combination{'s' * (len(cells) != 1)} of protocol and adversary"
    if verdict == "violated":
        bad = [c for c in cells if c.verdict == "violated"]
        listed = bad if len(bad) <= 5 else bad[:4]  # one more is named as well
        named = "; ".join(f"{c.protocol} against {c.adversary}" for c in listed)
        more = f" and {len(bad) - len(listed)} more" if len(listed) < len(bad) else ""
        text = f"The {question} is violated in {len(bad)} of {total}: {named}{more}"
        return (
            f"{text}. Of the rest, {count('inconclusive')} could not be decided."
            if count("inconclusive")
            else f"{text}."
        )
    if verdict == "inconclusive" and not count("inconclusive"):
        nothing = "nothing of these combinations of protocol and adversary: nothing is known to hold."
        return f"The {question} asks {nothing}"
    if verdict == "inconclusive":
        return (
            f"No violation was found in {total}, but for {count('inconclusive')} the evidence does not suffice: this "
            "is not a clearance."
        )
    asked = len(cells) - count("not asked")
    named = total if asked == len(cells) else f"{asked} of {total}; of the others it asks nothing"
    return (
        f"The {question} holds in {named}{covered(cells)}. That is proved, under the assumptions that each combination "
        "names."
    )
