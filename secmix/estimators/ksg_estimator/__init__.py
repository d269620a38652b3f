"""Mutual information from nearest neighbours (Kraskov, Stögbauer and Grassberger 2004), with its standing."""
