"""The worst contributions that a search finds against the very rule in use."""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.against_rules.oracle import Combining
from secmix.adversaries.against_rules.outcome import TRIES
from secmix.adversaries.against_rules.ties import ranked
from secmix.adversaries.against_rules.worst_of_a_rule import LEAST_BUDGET, WorstCase
from secmix.adversaries.attacks.attack import CONTRIBUTION, FARTHEST, Attack, RoundMessages
from secmix.protocols.interfaces import SumProtocol, SumTraits

_BUDGET = 150  # tries of the rule for each contribution


def rule_of(protocol: SumProtocol | None) -> tuple[Combining, int] | None:
    """Return the rule by which a sum protocol combines contributions, and its f; None where it sums them."""
    traits = SumTraits.of(protocol)
    aggregate, aggregate_each = traits.aggregate, traits.aggregate_each
    if aggregate is None:
        return None

    def rule(messages: Array, *, f: int) -> Array:
        return aggregate(messages, f=traits.f)

    def aggregate_stack(stack: Array, f: int) -> Array:
        return (
            np.stack([rule(messages, f=f) for messages in stack])
            if aggregate_each is None
            else aggregate_each(stack, f=traits.f)
        )

    return Combining(rule, aggregate_stack), traits.f


def far(honest: Array, f: int, scale: float) -> Array:
    """Repeat one message for all colluders, ``scale`` honest spreads away from the honest mean."""
    apart = honest - honest.mean(axis=0)
    farthest = apart[ranked(np.linalg.norm(apart, axis=1))[0]]
    return np.repeat(honest.mean(axis=0)[None] + scale * farthest, f, axis=0)


def _forge(messages: RoundMessages) -> Array:
    combining, f = rule_of(messages.protocol), len(messages.own)
    if combining is None:  # in a sum no message is too far to count
        return far(messages.honest, f, FARTHEST)
    rule, rule_f = combining
    tried = []
    for most, rng in messages.budget.searches(_BUDGET, messages.rng, LEAST_BUDGET):
        tried.append(WorstCase(rule, f=f, rule_f=rule_f, budget=most).search(messages.honest, rng))
        messages.budget.spend(tried[-1].evaluations, most, certain=tried[-1].unbounded)
    return max(tried, key=lambda search: search.error).messages


worst_case = Attack(
    [CONTRIBUTION],
    _forge,
    searches=True,
    does="A search for the contributions that do most harm to the very rule in use; against a sum, one message from "
    f"very far away. Where the outcome is asked about, {TRIES} tries of the whole protocol (at standard effort): from "
    "all fixed attacks and the worst of each iteration on, it improves attack, size and direction in each iteration.",
    name="worst_case",
)
"""By itself it goes as far as it pays: ``scale`` adds nothing."""
