"""Protocols and adversaries with known truth: what an audit of somebody else's protocol must not get wrong."""
