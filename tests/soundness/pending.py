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
    # what batches larger than those traced do, which a proof prints as assumed
    "runs beyond a page of masks": "holds",
    "the last chunk of masks is forgotten": "holds",
    "the last page of masks is forgotten": "holds",
    "antithetic masks of many runs": "holds",
    "a block of masks for many runs": "holds",
    "a block of masks for many runs of words": "holds",
    "cached pages of masks": "holds",
    # what is kept where the kernel does not look, and orders of calls that no trace has
    "counted by what the transcript has": "holds",
    "figures in a weak reference": "holds",
    "figures in an object in a table of NumPy": "holds",
    "figures in what Python left in the module": "holds",
    "figures in what is masked out of an array": "holds",
    "figures in what makes defaults": "holds",
    "figures on NumPy": "holds",
    "figures on the builtins": "holds",
    "figures on the class of channels": "holds",
    "figures on the class of loggers": "holds",
    "figures on the class of networks": "holds",
    "figures on the class of pools": "holds",
    "figures on the package": "holds",
    "figures on the root logger": "holds",
    "figures on the standard output": "holds",
    "figures on the stream of a handler": "holds",
    "figures on the table of modules": "holds",
    "masks that are given serve again": "holds",
    "two runs leave masks to a batch": "holds",
}
