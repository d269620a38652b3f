"""Where a check of soundness failed: whether what the adversary holds there tells a node's data."""
