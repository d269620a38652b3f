"""The systems under audit: sums, distributed EM on top of them, GraphFed-EM, meta clustering, resilient subspaces."""

from secmix.protocols.collaboration import Collaboration, run_by_run
from secmix.protocols.em.defences import Defences, epsilon
from secmix.protocols.em.distributed_em import DistributedEM, EMRun
from secmix.protocols.graphfed.graphfed_em import GraphFedEM
from secmix.protocols.interfaces import Advice, SumProtocol
from secmix.protocols.meta_clustering.clustering import MetaClustering
from secmix.protocols.meta_clustering.select_exchange_cluster import SelectExchangeCluster
from secmix.protocols.mixture.distributed_mixture import DistributedMixture, MixtureRun
from secmix.protocols.mixture.local_mixture import LocalFit, fit_mixtures
from secmix.protocols.regression.federated_regression import FederatedRegression
from secmix.protocols.subspace.alt_gd_min import ByzFedAltGDmin
from secmix.protocols.subspace.federated_pca import FederatedPCA
from secmix.protocols.sums.pdmm import PDMM
from secmix.protocols.sums.plain import Plain
from secmix.protocols.sums.robust_server import RobustServer
from secmix.protocols.sums.secure_aggregation import SecureAggregation
from secmix.protocols.sums.secure_sum import SecureSum

__all__ = [
    "PDMM",
    "Advice",
    "ByzFedAltGDmin",
    "Collaboration",
    "Defences",
    "DistributedEM",
    "DistributedMixture",
    "EMRun",
    "FederatedPCA",
    "FederatedRegression",
    "GraphFedEM",
    "LocalFit",
    "MetaClustering",
    "MixtureRun",
    "Plain",
    "RobustServer",
    "SecureAggregation",
    "SecureSum",
    "SelectExchangeCluster",
    "SumProtocol",
    "epsilon",
    "fit_mixtures",
    "run_by_run",
]
