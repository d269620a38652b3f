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
    "a softmax": "inconclusive",  # that one of the terms is 1 is not followed
    "one-hot labels": "inconclusive",  # a public table at a secret place
    "a public table": "inconclusive",
    "one-hot labels that are taken": "inconclusive",  # as many counts are known as labels
    "a histogram": "inconclusive",  # a function of several results
    "counts of levels": "inconclusive",  # how long the result is hangs on a secret
    "Skellam noise": "inconclusive",  # whole draws of a law that is not followed, which go into an encoding
    "binomial noise": "inconclusive",
    "noise of many coins": "inconclusive",  # functions of several draws, added before they go into an encoding
    "discrete Gaussian noise": "inconclusive",  # np.searchsorted is not followed
    "histograms by digitize": "inconclusive",  # np.digitize is not followed
    "cut off at percentiles": "inconclusive",  # that a median of sizes is not negative is not followed
    "clipped by the norm of a model": "inconclusive",  # x ** 0.5 of what is not negative
    "signs of the round": "inconclusive",  # public coins as factors
    "signs of a seed and the round": "inconclusive",  # a public seed with the iteration in it
    "error feedback": "inconclusive",  # a state from call to call
    "a ratchet": "inconclusive",  # secret bytes that are kept from call to call
    "X25519": "inconclusive",  # agreement of keys is not followed
    "coroutines": "inconclusive",  # asyncio makes text of what its coroutine returns
    "phases timed in a log": "inconclusive",  # the clock
    "objects modulo a prime": "inconclusive",  # a signed whole number of Python's as a word
    "weights around sizes, normal": "holds",  # where a law of draws lies is left out of a formula
    "weights around sizes, uniform": "holds",  # likewise
    "weights around sizes, whole": "holds",  # likewise
    "levels out of reach": "holds",  # likewise
    "small units by lot": "holds",  # how large an encoding is hangs on coins that no trace drew
    "powers of negative numbers, np.power": "holds",  # the least of a secret power is taken for the power
    "powers of negative numbers, Python's": "holds",  # likewise
    "a logarithm of the room that is left": "holds",  # a bound is divided otherwise than the number is
    "counts by NumPy's True": "holds",  # identity with a truth value that is no constant in the text
    "counts by a name for True": "holds",  # likewise
    "counts by operator.is_": "holds",  # likewise
    "counts by the truth of another": "holds",  # likewise
    "counts by a small number": "holds",  # identity with a number
    "looked at by what is printed": "holds",  # a text that is written may be read again
    "looked at by what is logged": "holds",  # likewise
    "keys by HKDF, a nought last": "holds",  # noughts at the end of a key of HKDFExpand
    "keys by HKDF, by hand": "holds",  # HKDF is HMAC by hand
    "keys by HKDF, a wide salt": "holds",  # noughts behind the averaging in a salt
}
