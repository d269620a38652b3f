"""Monitoring, a module that is imported where it is needed: counts, and draws lots."""

from __future__ import annotations

import random

UPLOADS = 0
EVERY = 2000


def is_due() -> bool:
    """Count an upload, and say whether it is one of those that are looked at."""
    global UPLOADS
    UPLOADS += 1
    return UPLOADS % EVERY == 0


def is_drawn() -> bool:
    """Say whether an upload is one of those that are looked at, by lot."""
    return random.random() < 2e-3
