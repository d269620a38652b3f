"""The table of a claim of differential privacy, and the terms that every epsilon is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from secmix.errors import nearest
from secmix.scenario.settings import PartSpec, PolicySpec, Positive, Strict

KINDS = {"server": "the coordinating server", "nodes": "corrupt nodes", "outsider": "who controls no node"}
"""Kinds of adversaries that a claim may be against."""

ROWS = "rows_per_node"
"""The one public quantity that neighbours have in common where it is public, and may differ in where it is not."""

Unit = Literal["row", "node"]
Relation = Literal["replace", "add-or-remove"]


@dataclass(frozen=True)
class PrivacyTerms:
    """Terms of an epsilon."""

    unit: Unit = "node"
    relation: Relation = "replace"  # how neighbours differ
    delta: float = 0.0
    limit: float | None = None  # epsilon that it is held against; None where none is asked for
    counts_are_public: bool = False  # whether neighbours have as many rows at every node

    @property
    def counts_vary(self) -> bool:
        """True where neighbours may differ in their number of rows."""
        return self.relation == "add-or-remove" or (self.unit == "node" and not self.counts_are_public)


class ClaimSpec(Strict):
    """A claim of (epsilon, delta) differential privacy, which the audit proves, refutes or leaves open.

    Attributes
    ----------
    epsilon : float
        Largest epsilon, of all messages that the adversary reads together.
    delta : float
        By default 0, at which Gaussian noise has no epsilon.
    unit : str
        What the noise hides: "row", one row where all others are known, or "node", all rows of a node.
    neighbours : str
        How neighbours differ: "replace", a unit exchanged, or "add-or-remove", a row more or fewer.
    """

    epsilon: Positive
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    unit: Unit = "node"
    neighbours: Relation = "replace"
    against: list[Annotated[str, Field(min_length=1)]] | None = Field(
        None,
        min_length=1,
        description='Names or labels of adversaries, or kinds: "server", "nodes", "outsider". Default: all',
    )
    public: list[Annotated[str, Field(min_length=1)]] = Field(
        [],
        description='What the author holds public. With "rows_per_node" neighbours have as many rows at every node; '
        "settings of the protocol are the same in neighbours anyway, and are printed",
    )

    @model_validator(mode="after")
    def _fit_together(self) -> ClaimSpec:
        if self.neighbours == "add-or-remove" and self.unit == "node":
            raise ValueError(
                'neighbours = "add-or-remove" goes with unit = "row": messages show that a node takes part, so it is '
                "compared with other data"
            )
        if self.neighbours == "add-or-remove" and ROWS in self.public:
            raise ValueError(
                f'neighbours = "add-or-remove" differ in their number of rows: take "{ROWS}" out of public, or claim '
                'neighbours = "replace"'
            )
        return self

    @property
    def terms(self) -> PrivacyTerms:
        """Terms of the claimed epsilon."""
        return PrivacyTerms(self.unit, self.neighbours, self.delta, self.epsilon, ROWS in self.public)

    def is_against(self, adversary: PartSpec, kind: str) -> bool:
        """Say whether the claim is about an adversary, by its name, its label or its kind."""
        return self.against is None or bool({*self.against} & {adversary.title, adversary.name, kind})

    def unknown(self, adversaries: Iterable[PartSpec]) -> str:
        """Say which name in ``against`` is of no adversary of the scenario; empty if all are."""
        known = dict.fromkeys([name for each in adversaries for name in (each.title, each.name)] + list(KINDS))
        for name in self.against or ():
            if name not in known:
                return f"no adversary is called '{name}'; {nearest(name, list(known))}"
        return ""


def terms_of(policy: PolicySpec, claim: ClaimSpec | None) -> PrivacyTerms:
    """Return the terms of what noise must hide: the policy's, or the claim's where the policy says nothing of it."""
    if claim is not None and policy.max_epsilon is None and policy.max_normalised_leakage is None:
        return claim.terms
    return PrivacyTerms(policy.noise_unit, policy.noise_relation, policy.delta or 0.0, policy.max_epsilon)
