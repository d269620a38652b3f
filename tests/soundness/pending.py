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
    "a block of masks for many runs": "holds",
    "a block of masks for many runs of words": "holds",
    "functions in a namespace": "inconclusive",  # draws of a function that is an attribute of the object
}

FOURTEENTH: dict[str, str] = {
    # What larger batches of so many entries do, or any where traced iterations suffice: a proof prints it as assumed
    "WPoolShift": "holds",
    "WBatchSigmaPlain": "holds",
    "WSmallSeeds32": "holds",
    # Right ones that no proof clears yet
    "RShamirByHand": "inconclusive",  # masks that are Python's integers
    "RChaChaSecAgg": "inconclusive",  # a block of messages for each run
}
"""Of the protocols of the fourteenth hand, by proof alone: name and verdict seen."""

FIFTEENTH: dict[str, str] = {
    # A right one that no proof clears: the runs that are audited send nothing yet
    "RWarmUp": "inconclusive",
}
"""The same of the fifteenth hand."""

_OF_OTHER_CALLS = (
    "WAntitheticGiven",
    "WJackknife",
    "WGivenInFours",
    "WDoublingBuffer",
    "WRingOfPads",
    "WCommonNumbers",
    "WCentredWarp",
    "WShortPadsOfTens",
    "WEscrowOfTens",
    "WTensByLot",
    "WLoopback",
    "WLowerDegree",
    "WBulkWords",
    "WScaledByTens",
    "WEvaluationOfEight",
    "WRerunByTens",
    "WByteForFolds",
    "WStrideOfEight",
    "WStrideOfNodes",
    "WDigitsTogether",
    "WPagesOfKeystream",
    "WFreshForTens",
    "WFreshShorts",
    "WTailLateGiven",
    "WTailLateFolds",
    "WPagesLateFolds",
    "WEightsOfFolds",
    "WGivenFoldsRepeat",
    "WSharedTail",
    "WCacheOfTens",
    "WWarmPads",
)
"""Name what goes wrong only in calls of which a proof does not speak: several runs, or masks that are handed over."""

SIXTEENTH: dict[str, str] = {
    **dict.fromkeys(_OF_OTHER_CALLS, "holds"),  # a proof prints as assumed that they are like those that are traced
    # A right one whose batches of eight runs and more send other numbers than their runs would by themselves
    "RRounds": "inconclusive",
}
"""The same of the sixteenth hand."""

SEVENTEENTH: dict[str, str] = {
    "RTwoHalfSeeds": "inconclusive",  # a seed that is the exclusive or of two
    "RHmacBlocks": "inconclusive",  # secret bytes that are joined by b"".join
    "RTextLabels": "inconclusive",  # the iteration as text
    "RStochasticQuantize": "inconclusive",  # coins of the call's own generator, which pass for public ones
    "RNoiseBelowMasks": "inconclusive",
}
"""The same of the seventeenth hand, who had read the documentation and not the proof."""

EIGHTEENTH: dict[str, str] = {
    "R02FeedbackIntegers": "inconclusive",  # bytearray.extend of secret bytes
    "R11SecretNonce": "inconclusive",  # a secret nonce of a cipher whose first bytes count blocks
    "R18LabelledChunks": "inconclusive",  # bytes that are joined by b"|".join, the iteration's among them
}
"""The same of the eighteenth hand, who had read the documentation and public code of the field."""

NINETEENTH: dict[str, str] = {
    "R01MixtureMoments": "inconclusive",  # the iteration as text
    "R22Butterfly": "inconclusive",
    "R11PublicRotation": "inconclusive",  # that too, and a table in a functools.lru_cache
    "R12ErrorFeedback": "inconclusive",  # what a node rounds away is added the next time
    "R20AgreedByXor": "inconclusive",  # a pad that is the exclusive or of two
}
"""The same of the nineteenth hand, who had read the documentation only; the first two, and error feedback, hold of the
audited iterations."""

TWENTIETH: dict[str, str] = {
    "W26LateLargeBatch": "holds",  # more runs of a session than are traced, which a proof prints as assumed
    "W52FirstOfTheProcess": "holds",  # what a class notes of the first call of the process
    # Right ones
    "R05Ratchet": "inconclusive",  # keys that are written to in place
    "R06CounterOfAllUses": "inconclusive",
    "R07FirstRoundApart": "inconclusive",  # a label of one iteration, which comes once
}
"""The same of the twentieth hand, who had read the proof and wrote against what it says of sessions."""

BY_PROOF = {
    "fourteenth": FOURTEENTH,
    "fifteenth": FIFTEENTH,
    "sixteenth": SIXTEENTH,
    "seventeenth": SEVENTEENTH,
    "eighteenth": EIGHTEENTH,
    "nineteenth": NINETEENTH,
    "twentieth": TWENTIETH,
    "twentyfirst": {},
}
"""Hands whose protocols are all audited by proof alone, with what is not as it must be."""
