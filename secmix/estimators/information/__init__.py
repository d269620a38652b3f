"""Mutual information from below: critics judged by InfoNCE on rows they were not fitted on."""

from secmix.estimators.information.bound import information_lower_bound

__all__ = ["information_lower_bound"]
