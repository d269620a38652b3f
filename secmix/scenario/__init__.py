"""Scenario: one audit, read from TOML and checked.

A scenario names the data, the network, the model, the protocol and the adversary, what to measure and what is
allowed. Under ``[sweep]`` any of its settings may take several values; the audit is then the whole table, one cell a
combination.
"""

from secmix.scenario.accepted import AcceptedInRecordingSpec, AcceptedSpec
from secmix.scenario.claim_spec import ClaimSpec, PrivacyTerms, terms_of
from secmix.scenario.scenario import FEWEST_RUNS, Scenario, faults, from_dict, load, parse, render
from secmix.scenario.settings import (
    DataSpec,
    MeasureSpec,
    ModelSpec,
    NetworkSpec,
    PartSpec,
    PolicySpec,
)

__all__ = [
    "FEWEST_RUNS",
    "AcceptedInRecordingSpec",
    "AcceptedSpec",
    "ClaimSpec",
    "DataSpec",
    "MeasureSpec",
    "ModelSpec",
    "NetworkSpec",
    "PartSpec",
    "PolicySpec",
    "PrivacyTerms",
    "Scenario",
    "faults",
    "from_dict",
    "load",
    "parse",
    "render",
    "terms_of",
]
