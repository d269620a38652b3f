"""Worst-case search: what colluders who know the rule and every honest message should send."""
