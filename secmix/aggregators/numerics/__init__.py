"""The arithmetic under the rules: blocks of columns, distances from Gram matrices, medians of points, order."""
