"""The neural estimators of Czyż et al., from their own package ``benchmark-mi``, which imports as ``bmi``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

NAMES = {
    "BMI InfoNCE": "InfoNCEEstimator",
    "BMI MINE": "MINEEstimator",
    "BMI NWJ": "NWJEstimator",
    "BMI Donsker–Varadhan": "DonskerVaradhanEstimator",
}


def installed() -> bool:
    """Whether the package is there, with what its estimators need."""
    return all(importlib.util.find_spec(name) for name in ("bmi", "jax", "equinox", "optax", "pandas", "tqdm"))


def accelerator() -> str:
    """What JAX computes on, in words; empty where that is the processor, or where there is nothing to compute."""
    if not installed():
        return ""
    import jax

    device = jax.devices()[0]
    return "" if device.platform == "cpu" else str(device.device_kind)


def estimator(name: str, seed: int) -> Any:
    """One of :data:`NAMES` with the settings of its package; JAX puts it on an accelerator where there is one."""
    kind = getattr(_estimators(), NAMES[name])
    return kind(verbose=False, seed=seed)


def _estimators() -> ModuleType:
    """``bmi.estimators`` alone: the package's first lines import its benchmark, which no newer JAX can run."""
    if "bmi" not in sys.modules:
        spec = importlib.util.find_spec("bmi")
        assert spec is not None
        package = ModuleType("bmi")
        package.__spec__ = spec  # so that who looks for the package finds it again
        package.__path__ = list(spec.submodule_search_locations or ())
        samplers: Any = ModuleType("bmi.samplers")
        samplers.bmm = None  # what one estimator that is not asked for would fit
        sys.modules |= {"bmi": package, "bmi.samplers": samplers}
    return importlib.import_module("bmi.estimators")
