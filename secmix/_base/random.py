"""Random streams by name: what is drawn for one purpose does not change what is drawn for another.

All the random numbers of an audit come from one seed. Each purpose has a stream of its own, derived from the seed, the
purpose's place in the list and a hash of the names given with it, so that streams are independent of each other and of
the order in which they are used: one more attack, node or cell leaves the numbers of all others as they are.
"""

from __future__ import annotations

import hashlib

import numpy as np

from secmix.errors import SecmixError, nearest

PURPOSES = (
    "data",  # the rows of the Monte Carlo runs, the same in all cells of an audit
    "protocol",  # what the protocol draws in them: masks, schedules, starts
    "trial run",  # the run that tells how large messages are
    "mask sizes",  # the curve of privacy and accuracy against the size of masks
    "inversion",  # solving sums for rows
    "reconstruction",  # reading rows off the messages of a collaboration
    "undeclared flow",  # the two runs that show whether data pass outside the channel
    "attacked rows",  # the rows of the runs under attack
    "attacked protocol",  # what the protocol draws in them, the same whatever colluders do
    "attack",  # what colluders draw, for each attack
    "worst case",  # the search for the worst of all messages
    "coalitions",  # the search for who would have to collude
    "soundness",  # rows on which a collaboration is held to the checks of soundness
    "frames",  # which half of the runs chooses what messages by themselves tell of rows
    "fresh runs",  # those that confirm what was measured: a seed for all of the above
)
"""What streams are for. A new purpose is a line at the end: its place in the list is part of the derivation."""


def sequence(seed: int, purpose: str, *names: object) -> np.random.SeedSequence:
    """The seed sequence from which :func:`stream` of the same name draws, to spawn others from.

    Parameters
    ----------
    seed : int
        From 0 to 2³² − 1, as numbers beyond share streams with smaller ones.
    purpose : str
        One of :data:`PURPOSES`.
    names : anything whose ``repr`` is always the same
        Which of the streams of this purpose: an attack, a node, a number.

    Raises
    ------
    SecmixError
        If no purpose is called so.
    """
    if purpose not in PURPOSES:
        raise SecmixError(f"no random stream is called {purpose!r}; {nearest(purpose, PURPOSES)}")
    plain = tuple(int(name) if isinstance(name, np.integer) else name for name in names)
    key = np.frombuffer(hashlib.sha256(repr(plain).encode()).digest(), dtype="<u4").tolist() if names else []
    return np.random.SeedSequence([seed, PURPOSES.index(purpose), *key])


def stream(seed: int, purpose: str, *names: object) -> np.random.Generator:
    """The generator of this name, at its beginning: the same name draws the same numbers, another name others.

    See :func:`sequence` for the parameters.

    Examples
    --------
    >>> stream(0, "attack", "sign_flip").integers(1000, size=3).tolist()
    [335, 740, 185]
    >>> stream(0, "attack", "zero").integers(1000, size=3).tolist()
    [623, 902, 749]
    """
    return np.random.default_rng(sequence(seed, purpose, *names))
