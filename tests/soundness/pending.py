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
    "functions in a namespace": "inconclusive",  # draws of a function that is an attribute of the object
}

FOURTEENTH: dict[str, str] = {
    # A turn that only batches take, or calls without a channel or with masks handed over, counts as tried by its name
    "WBatchLateFirst": "holds",
    "WBatchBareFirst": "holds",
    "WGivenLateFirst": "holds",
    "WCoinUnheardFirst": "holds",
    "WGivenTiledFirst": "holds",
    "WCompareCoinBatch": "holds",
    "WLateBatchKeeps": "holds",  # nor is the state looked at that such a call leaves
    "WEvalBatches": "holds",
    "WOfflinePool": "holds",
    "WGuardedBatch": "holds",
    "WCounterBatch": "holds",
    "WCounterUnheard": "holds",
    "WStreamlessWarm": "holds",  # by proof alone: audited runs accuse it
    # Projections of a large protocol agree to within the largest coefficient of a row
    "WTabledFemto": "holds",
    "WTabledFemtoOneMask": "holds",
    "WTabledMega": "holds",
    # Projections of a large protocol compare coefficients, and not the law and the spread of draws
    "WScheduled": "holds",
    "WUniformLate": "holds",
    "WBatchSigma": "holds",
    # Coefficients of sums are rounded to six digits, so that sums of different calls look the same
    "WSlightWeights": "holds",
    "WRemainderReal": "holds",
    # Numbers of several calls are told apart by node and place in a component, not by entry
    "WColumnSlip": "holds",
    "WLeaderColumn": "holds",
    "WEntrySwap": "holds",
    # Batches of 24 runs are traced with two entries, and all entries with two runs
    "WPoolShift": "holds",
    # Where traced iterations suffice, no batches of more than two runs are traced, and the proof says otherwise
    "WBatchSigmaPlain": "holds",
    # Coefficients below 1e-8 are left out of sums, and sizes of 1e-14 count as none
    "WEpsilonWeights": "holds",
    "WArchiveKey": "holds",
    # What batches larger than those traced do, which a proof prints as assumed
    "WSmallSeeds32": "holds",
    # Right ones that no proof clears yet
    "RFlattened": "inconclusive",  # a reshape of zeros in a table
    "RPublicPattern": "inconclusive",  # a public boolean index over all axes of a table
    "RShamirByHand": "inconclusive",  # masks that are Python's integers
    "RChaChaSecAgg": "inconclusive",  # a block of messages for each run
    "RShape": "inconclusive",  # a reshape of zeros in a table
    "RAxes": "inconclusive",  # an array in order F is a copy, which is taken for the inputs
}
"""Of the protocols of the fourteenth hand, by proof alone: name and verdict seen."""
