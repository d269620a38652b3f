"""quickstart-sklearn: A Flower / scikit-learn app."""
