"""Cases whose verdict is not yet what it must be, with the verdict seen: today's known false clearances.

Take a case off as soon as its verdict is true; the test of verdicts fails until that is done.
"""

from __future__ import annotations

PENDING: dict[str, str] = {
    "missing is -999": "not refuted",
    "missing is -1": "not refuted",
    "missing is -9999": "not refuted",
    "falls back above 2^22": "not refuted",
    "a level in words": "not refuted",
    "a level in text": "not refuted",
    "from iteration 5000 on": "not refuted",
    "every ten thousandth iteration": "not refuted",
    "warm-up and period": "not refuted",
    "one of twenty orders": "not refuted",
}
