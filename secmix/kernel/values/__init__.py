"""Traced values: variables, linear forms of them, numbers, arrays and functions; and what linear forms tell."""
