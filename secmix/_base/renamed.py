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

MOVED = {
    "adversaries.byzantine": "adversaries.attacks.sums",
    "adversaries.curious_server": "adversaries.passive.curious_server",
    "adversaries.eavesdropper": "adversaries.passive.eavesdropper",
    "adversaries.forgers": "adversaries",
    "adversaries.forgeries": "adversaries.attacks",
    "adversaries.forgeries.learners": "adversaries.attacks.meta_clustering",
    "adversaries.forgeries.mixtures": "adversaries.attacks.mixture",
    "adversaries.forgeries.neighbours": "adversaries.attacks.graphfed",
    "adversaries.honest_but_curious": "adversaries.passive.honest_but_curious",
    "adversaries.mixture_colluders": "adversaries.search.mixtures",
    "adversaries.mixture_failures": "adversaries.attacks.mixture_failures",
    "adversaries.observer": "adversaries.interfaces",
    "adversaries.reconstruction": "adversaries.reconstructions.interfaces",
    "adversaries.reconstructions.bases": "adversaries.reconstructions.subspace",
    "adversaries.reconstructions.mixtures": "adversaries.reconstructions.mixture",
    "adversaries.reconstructions.models": "adversaries.reconstructions.meta_clustering",
    "adversaries.reconstructions.neighbours": "adversaries.reconstructions.graphfed",
    "adversaries.subspace_attacks": "adversaries.attacks.subspace",
    "adversaries.worst_case": "adversaries.search.worst_case",
    "aggregators.blocks": "aggregators.numerics.blocks",
    "aggregators.clipping": "aggregators.vector.clipping",
    "aggregators.coordinatewise": "aggregators.vector.coordinatewise",
    "aggregators.diameter": "aggregators.vector.diameter",
    "aggregators.geometric_median": "aggregators.vector.geometric_median",
    "aggregators.geometry": "aggregators.numerics.geometry",
    "aggregators.grouping": "aggregators.vector.grouping",
    "aggregators.median_of_points": "aggregators.numerics.median_of_points",
    "aggregators.ordering": "aggregators.numerics.ordering",
    "aggregators.selection": "aggregators.vector.selection",
    "arrays": "_base.arrays",
    "checks": "_base.checks",
    "estimators.closure": "estimators.exact.provenance",
    "estimators.clouds": "estimators.robustness.clouds",
    "estimators.gaussian": "estimators.exact.gaussian",
    "estimators.ksg_checks": "estimators.ksg.checks",
    "estimators.ksg_doubts": "estimators.ksg.doubts",
    "estimators.ksg_levels": "estimators.ksg.levels",
    "estimators.ksg_reading": "estimators.ksg.reading",
    "estimators.ksg_samples": "estimators.ksg.samples",
    "estimators.linear": "estimators.exact.linear",
    "estimators.masks": "estimators.exact.masks",
    "estimators.proven": "estimators.robustness.proven",
    "estimators.structure": "estimators.exact.structure",
    "gaussians": "_base.gaussians",
    "hamilton": "_base.hamilton",
    "plugins": "_base.plugins",
    "protocols.alt_gd_min": "protocols.subspace.alt_gd_min",
    "protocols.blocks": "protocols.sums.blocks",
    "protocols.defences": "protocols.em.defences",
    "protocols.distributed_em": "protocols.em.distributed_em",
    "protocols.distributed_mixture": "protocols.mixture.distributed_mixture",
    "protocols.federated_pca": "protocols.subspace.federated_pca",
    "protocols.graphfed_aggregation": "protocols.graphfed.aggregation",
    "protocols.graphfed_em": "protocols.graphfed.graphfed_em",
    "protocols.graphfed_local": "protocols.graphfed.local",
    "protocols.local_mixture": "protocols.mixture.local_mixture",
    "protocols.meta_collaboration": "protocols.meta_clustering.select_exchange_cluster",
    "protocols.meta_exchange": "protocols.meta_clustering.exchange",
    "protocols.meta_selection": "protocols.meta_clustering.selection",
    "protocols.meta_spectral": "protocols.meta_clustering.spectral",
    "protocols.pdmm": "protocols.sums.pdmm",
    "protocols.plain": "protocols.sums.plain",
    "protocols.robust_server": "protocols.sums.robust_server",
    "protocols.secure_sum": "protocols.sums.secure_sum",
    "protocols.start": "protocols.em.start",
    "protocols.statistics": "protocols.em.statistics",
}
"""Old path to new path, both below ``secmix``."""


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
