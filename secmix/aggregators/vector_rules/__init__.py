"""Rules on vectors: ``rule(messages (n, p), f=...) -> (p,)``. ``secmix.aggregators`` has them all by name."""
