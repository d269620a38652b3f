"""What every layer needs and nobody comes for."""
