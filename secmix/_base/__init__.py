"""What everybody needs and nobody comes for: arrays, checks, plugins, Gaussians, Hamiltonian cycles."""
