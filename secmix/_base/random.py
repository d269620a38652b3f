"""Random streams by name: draws for one purpose do not change the draws for another.

All random numbers of an audit come from one seed. Each purpose has its own stream, derived from the seed, the purpose's
index in the list and a hash of the names given with it. Streams are therefore independent of each other and of the
order in which they are used: one more attack, node or cell does not change the numbers of the others.
"""

from __future__ import annotations

import hashlib

import numpy as np

from secmix.errors import SecmixError, nearest

PURPOSES = (
    "data",  # the rows of the Monte Carlo runs, the same in all cells of an audit
    "protocol",  # what the protocol draws in them: masks, schedules, starts
    "trial run",  # the run that measures the size of messages
    "mask sizes",  # the curve of privacy and accuracy against the size of masks
    "inversion",  # solving sums for rows
    "reconstruction",  # reading rows off the messages of a collaboration
    "undeclared flow",  # the two runs that show whether data pass outside the channel
    "attacked rows",  # the rows of the runs under attack
    "attacked protocol",  # what the protocol draws in them, the same under every attack
    "attack",  # what colluders draw, for each attack
    "worst case",  # the search for the worst of all messages
    "coalitions",  # the search for coalitions
    "soundness",  # rows for the checks of a collaboration
    "frames",  # the half of the runs that selects features of messages
    "fresh runs",  # runs that confirm a measurement: a seed for all of the above
    "played back",  # calls of a collaboration whose releases are played back on other rows
    "epsilon by runs",  # runs of a collaboration on two neighbouring data sets
    "masks of more runs",  # drawn to check masks, where a block has few runs
    "membership",  # runs with a row and without it, which a released result may tell apart
)
"""Purposes of streams. A new purpose is added at the end, since its index is part of the derivation."""


def sequence(seed: int, purpose: str, *names: object) -> np.random.SeedSequence:
    """Make the seed sequence of :func:`stream` with this name, to spawn others from.

    ``seed``: from 0 to 2³² − 1, since larger numbers share streams with smaller ones; ``purpose``: one of
    :data:`PURPOSES`; ``names``: the stream of this purpose: an attack, a node, a number. Raises SecmixError if the
    purpose is unknown.
    """
    if purpose not in PURPOSES:
        raise SecmixError(f"unknown purpose of a random stream {purpose!r}; {nearest(purpose, PURPOSES)}")
    plain = tuple(int(name) if isinstance(name, np.integer) else name for name in names)
    key = np.frombuffer(hashlib.sha256(repr(plain).encode()).digest(), dtype="<u4").tolist() if names else []
    return np.random.SeedSequence([seed, PURPOSES.index(purpose), *key])


def stream(seed: int, purpose: str, *names: object) -> np.random.Generator:
    """Make the generator of this name: the same name draws the same numbers, another name others.

    See :func:`sequence` for the parameters.

    >>> stream(0, "attack", "sign_flip").integers(1000, size=3).tolist()
    [335, 740, 185]
    >>> stream(0, "attack", "zero").integers(1000, size=3).tolist()
    [623, 902, 749]
    """
    return np.random.default_rng(sequence(seed, purpose, *names))
