"""secaggplus-app: linear regression, summed under Flower's SecAgg+."""
