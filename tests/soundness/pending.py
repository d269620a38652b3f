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
    "a failure that finally goes on after": "holds",
    "a failure between the parts of a with": "holds",
    "a failure that ends a loop": "holds",
    "a failure as an object is deleted": "holds",
    "a failure as a generator is dropped": "holds",
    "a failure as a reference dies": "holds",
    "a number that a byte does not hold": "holds",
    "a failure of SciPy's": "holds",
    "warnings that a function counts": "holds",
    "counted privately on a logger": "holds",
    "counted privately on a thread": "holds",
    "counted privately on channels": "holds",
    "counted on the root of loggers": "holds",
    "counted on a logger of one's own class": "holds",
    "counted on a class of Python's library": "holds",
    "counted on another protocol": "holds",
    "counted in a counter of a thread": "holds",
    "counted in a counter of a module of Python's": "holds",
    "counted by what a cache was asked": "holds",
    "counted by the lines of a log": "holds",
    "counted in a module that is named by a setting": "holds",
    "counted in a module of a step with a setting": "holds",
    "counted in a module of a step in a queue": "holds",
    "counted in a module of a step with a name": "holds",
    "drawn in a module that is named by a setting": "holds",
    "masks resumed after a guard": "holds",
    "masks resumed after a stop": "holds",
    "sessions of 63 bits and of 64": "holds",
    "sessions of 32 bits and of 33": "holds",
    "weights that decay by a billionth": "holds",
    "diagnosed later by a thread": "holds",
    "diagnosed later by a timer": "holds",
    "divided by the smallest of floats": "holds",
    "a plan that is over, by a rate": "holds",
    "a plan that is over, by a rest": "holds",
    "a plan that is over, by a shift": "holds",
    "a plan that is over, by a power": "holds",
    "a plan that is over, by a byte": "holds",
    "a plan that is over, by bytes": "holds",
    "counted down to a division": "holds",
    "a byte that is full": "holds",
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
