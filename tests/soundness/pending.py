"""Cases whose verdict is not yet what it must be, with the verdict seen.

Right protocols that no proof clears yet, and wrong ones that one clears: each is a gap, with what ends its proof, or
lets it through. Take a case off as soon as its verdict is true; the test of verdicts fails until that is done.
"""

from __future__ import annotations

PENDING: dict[str, str] = {
    "drawn by lot": "inconclusive",  # public coins used by value
    "how arrays lie": "inconclusive",  # a branch on a secret
    "complex numbers": "inconclusive",  # complex numbers are not followed
    "remembers results": "inconclusive",  # a state from call to call
    "levels that warn": "inconclusive",  # a branch on a secret
    "framed as bytes": "inconclusive",  # the bytes of numbers that are no draws are not followed
    "one-hot labels": "inconclusive",  # as many counts are known as labels
    "one-hot labels that are taken": "inconclusive",
    "a public table": "inconclusive",  # integers at a secret place
    "signs of the round": "inconclusive",  # public coins as factors
    "signs of a seed and the round": "inconclusive",  # a public seed with the iteration in it
    "error feedback": "inconclusive",  # a state from call to call
    "a ratchet": "inconclusive",  # secret bytes that are kept from call to call
    "counted by what a cache was asked": "holds",
    "diagnosed later by a thread": "holds",
    "diagnosed later by a timer": "holds",
    "a plan that is over, by a byte": "holds",
    "a plan that is over, by bytes": "holds",
    "large batches bare but for noise": "holds",
    "bare but for noise without a channel": "holds",
    "a mask of the system's for all runs": "holds",
    "masks of mean zero over hundreds of runs": "holds",
    "own masks of mean zero": "holds",
    "own masks that many runs take off again": "holds",
    "own masks of either sign": "holds",
    "own words of either sign": "holds",
    "own masks of sixteen runs in several sizes": "holds",
    "own masks of few bits, filled up": "holds",
    "masks kept without a channel": "holds",
    "cents of prices in an array": "holds",
    "cents of prices in a list": "holds",
    "a number above votes": "holds",
}
