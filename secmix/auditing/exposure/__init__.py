"""Exposure: the search for those who would have to collude, the policy it is judged by, and repairs."""
