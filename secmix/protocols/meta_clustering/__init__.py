"""Select, exchange, cluster: which learners share a regression function (Ye, Ding et al. 2022, Meta clustering)."""

from secmix.protocols.meta_clustering.clustering import FewerClusters, MetaClustering
from secmix.protocols.meta_clustering.select_exchange_cluster import SelectExchangeCluster

__all__ = ["FewerClusters", "MetaClustering", "SelectExchangeCluster"]
