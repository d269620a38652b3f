"""secmix audits distributed learning: what an adversary learns about a node's private data.

The names here load on first use, so that ``import secmix`` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secmix.api import audit
    from secmix.auditing import Finding, Report
    from secmix.auditing.exposure.exposures import exposure
    from secmix.mixture import Mixture
    from secmix.network import Network
    from secmix.scenario import Scenario

__version__ = "0.1.0"
__all__ = ["Finding", "Mixture", "Network", "Report", "Scenario", "__version__", "audit", "exposure"]

_HOMES = {
    "audit": "secmix.api",
    "exposure": "secmix.auditing.exposure.exposures",
    "Report": "secmix.auditing",
    "Finding": "secmix.auditing",
    "Mixture": "secmix.mixture",
    "Network": "secmix.network",
    "Scenario": "secmix.scenario",
}
_PACKAGES = {
    "adversaries",
    "aggregators",
    "auditing",
    "data",
    "estimators",
    "privacy",
    "protocols",
    "reporting",
    "testing",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value  # next time it is there
        return value
    if name in _PACKAGES:
        return importlib.import_module(f"secmix.{name}")
    raise AttributeError(f"module 'secmix' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES])
