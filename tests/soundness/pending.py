"""Cases whose verdict is not yet what it must be, with the verdict seen.

Right protocols that no proof clears yet: each is a gap, with what ends its proof. Take a case off as soon as its
verdict is true; the test of verdicts fails until that is done.
"""

from __future__ import annotations

PENDING: dict[str, str] = {
    "order by lot": "inconclusive",  # the order of a permutation is a public coin used by value
    "rounds by lot": "inconclusive",  # a public coin used by value
    "twice by lot": "inconclusive",  # public coins used by value
    "own statistics": "inconclusive",  # a state from call to call
    "another ring each time": "inconclusive",  # the iteration is used by value
    "nonce, yes and bye": "inconclusive",  # public coins used by value
    "drawn by lot": "inconclusive",  # public coins used by value
    "how arrays lie": "inconclusive",  # a branch on a secret
    "first by lot": "inconclusive",  # a public coin used by value
    "first by weighted lot": "inconclusive",  # a public coin used by value
    "Student's masks": "inconclusive",  # a law that is not followed
    "Cauchy masks": "inconclusive",  # a law that is not followed
    "complex numbers": "inconclusive",  # complex numbers are not followed
    "a session number": "inconclusive",  # a public coin used by value
    "drawn jointly": "inconclusive",  # a law that is not followed
    "alive every seventh": "inconclusive",  # more ways to compare public numbers than are tried
    "remembers results": "inconclusive",  # a state from call to call
    "leader goes round": "inconclusive",  # the iteration is used by value
    "two coins": "inconclusive",  # more ways to compare public numbers than are tried
    "levels that warn": "inconclusive",  # a branch on a secret
}
