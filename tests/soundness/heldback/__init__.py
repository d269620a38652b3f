"""Protocols as practice writes them, held back: their truth was written down before any audit saw them."""
