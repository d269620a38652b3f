"""GraphFed-EM: a mixture of its own at each node, averaged with its neighbours' (Abdurakhmanova and Jung 2025)."""
