"""How sums are solved for rows: the equations, where to start, the steps, and when a solution is certain."""
