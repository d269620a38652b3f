"""Sum protocols: every node puts in a vector, all end with the average, and messages show more or less of the rest."""
