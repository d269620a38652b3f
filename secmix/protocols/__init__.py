"""The systems under audit: sums, distributed EM on top of them, GraphFed-EM, meta clustering, resilient subspaces."""

from secmix.protocols.alt_gd_min import ByzFedAltGDmin
from secmix.protocols.collaboration import Collaboration, run_by_run
from secmix.protocols.defences import Defences, epsilon, noise_multiplier_for
from secmix.protocols.distributed_em import DistributedEM, EMRun
from secmix.protocols.distributed_mixture import DistributedMixture, MixtureRun
from secmix.protocols.federated_pca import FederatedPCA
from secmix.protocols.graphfed_em import GraphFedEM
from secmix.protocols.local_mixture import LocalFit, fit_mixtures
from secmix.protocols.meta_clustering import MetaClustering
from secmix.protocols.meta_collaboration import SelectExchangeCluster
from secmix.protocols.pdmm import PDMM
from secmix.protocols.plain import Plain
from secmix.protocols.robust_server import RobustServer
from secmix.protocols.secure_sum import SecureSum
from secmix.protocols.sums import SumProtocol

__all__ = [
    "PDMM",
    "ByzFedAltGDmin",
    "Collaboration",
    "Defences",
    "DistributedEM",
    "DistributedMixture",
    "EMRun",
    "FederatedPCA",
    "GraphFedEM",
    "LocalFit",
    "MetaClustering",
    "MixtureRun",
    "Plain",
    "RobustServer",
    "SecureSum",
    "SelectExchangeCluster",
    "SumProtocol",
    "epsilon",
    "fit_mixtures",
    "noise_multiplier_for",
    "run_by_run",
]
