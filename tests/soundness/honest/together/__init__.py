"""Wrong collaborations, by what gives the data away."""
