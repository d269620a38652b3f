"""Select, exchange, cluster: which learners share a regression function (Ye, Ding et al. 2022, Meta clustering)."""
