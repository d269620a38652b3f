"""Modules that moved in 0.1: the old path still imports for one version, with a warning that names the new one."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_SAME_NAME = {
    ("adversaries", "adversaries.passive"): "curious_server eavesdropper honest_but_curious",
    ("adversaries", "adversaries.attacks"): "mixture_failures",
    ("adversaries", "adversaries.search"): "worst_case",
    ("aggregators", "aggregators.numerics"): "blocks geometry median_of_points ordering",
    ("aggregators", "aggregators.vector"): "clipping coordinatewise diameter grouping selection",
    ("", "_base"): "arrays checks gaussians hamilton plugins",
    ("estimators", "estimators.robustness"): "clouds proven",
    ("estimators", "estimators.exact"): "gaussian linear masks structure",
    ("protocols", "protocols.subspace"): "alt_gd_min federated_pca",
    ("protocols", "protocols.sums"): "blocks pdmm plain robust_server secure_sum",
    ("protocols", "protocols.em"): "defences distributed_em start statistics",
    ("protocols", "protocols.mixture"): "distributed_mixture local_mixture",
    ("protocols", "protocols.graphfed"): "graphfed_em",
}
_OTHER_NAME = {
    "adversaries.byzantine": "adversaries.attacks.sums",
    "adversaries.forgers": "adversaries",
    "adversaries.forgeries": "adversaries.attacks",
    "adversaries.forgeries.learners": "adversaries.attacks.meta_clustering",
    "adversaries.forgeries.mixtures": "adversaries.attacks.mixture",
    "adversaries.forgeries.neighbours": "adversaries.attacks.graphfed",
    "adversaries.mixture_colluders": "adversaries.search.mixtures",
    "adversaries.observer": "adversaries.interfaces",
    "adversaries.reconstruction": "adversaries.reconstructions.interfaces",
    "adversaries.reconstructions.bases": "adversaries.reconstructions.subspace",
    "adversaries.reconstructions.mixtures": "adversaries.reconstructions.mixture",
    "adversaries.reconstructions.models": "adversaries.reconstructions.meta_clustering",
    "adversaries.reconstructions.neighbours": "adversaries.reconstructions.graphfed",
    "adversaries.subspace_attacks": "adversaries.attacks.subspace",
    "estimators.closure": "estimators.exact.provenance",
    "estimators.ksg_checks": "estimators.ksg.checks",
    "estimators.ksg_doubts": "estimators.ksg.doubts",
    "estimators.ksg_levels": "estimators.ksg.levels",
    "estimators.ksg_reading": "estimators.ksg.reading",
    "estimators.ksg_samples": "estimators.samples",
    "protocols.graphfed_aggregation": "protocols.graphfed.aggregation",
    "protocols.graphfed_local": "protocols.graphfed.local",
    "protocols.meta_collaboration": "protocols.meta_clustering.select_exchange_cluster",
    "protocols.meta_exchange": "protocols.meta_clustering.exchange",
    "protocols.meta_selection": "protocols.meta_clustering.selection",
    "protocols.meta_spectral": "protocols.meta_clustering.spectral",
}
MOVED = {
    **{
        f"{old}.{name}".lstrip("."): f"{new}.{name}"
        for (old, new), names in _SAME_NAME.items()
        for name in names.split()
    },
    **_OTHER_NAME,
}
"""Old path to new path, both below ``secmix``.

``aggregators.geometric_median`` is not among them: the package has a function of that name, and the import system would
put the module in its place."""


class _Moved(MetaPathFinder, Loader):
    """Finds a module under its old path and hands out the one under the new path: the same object, not a copy."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if MOVED.get(fullname.removeprefix("secmix.")) is None or not fullname.startswith("secmix."):
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = "secmix." + MOVED[spec.name.removeprefix("secmix.")]
        warnings.warn(f"{spec.name} is now {new}; the old path goes in 0.2", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(new)
        self._kept = (module.__spec__, module.__loader__)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just put the old path into the module's own attributes.
        module.__spec__, module.__loader__ = self._kept


def install() -> None:
    """Old paths import from now on; a second call changes nothing."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.append(_Moved())


def renamed_name(package: str, name: str, names: dict[str, str]) -> Any:
    """What ``package.name`` is called now, with a warning: for the ``__getattr__`` of a package.

    Raises
    ------
    AttributeError
        If ``names``, old to new, does not have it.
    """
    if name not in names:
        raise AttributeError(f"module '{package}' has no attribute '{name}'")
    new = names[name]
    warnings.warn(f"{package}.{name} is now {new}; the old name goes in 0.2", DeprecationWarning, stacklevel=3)
    return getattr(sys.modules[package], new)
