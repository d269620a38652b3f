"""Seeds of a call whose noise is drawn anew, while all that is drawn beside it, such as who takes part, is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from secmix.privacy.ledger import Release, seed_of

Key = tuple[int, ...]
"""Path of a generator by which it was spawned, from the one that the protocol is given: ``SeedSequence.spawn_key``."""


def root_with_other_noise(
    releases: Iterable[Release], recorded: np.random.SeedSequence, other: np.random.SeedSequence
) -> np.random.SeedSequence:
    """Return the seed of a call like the ``recorded`` one, whose noise is that of the ``other`` one.

    Generators are told apart by the way they were spawned: each that noise of a release came from draws as it does in
    the other call, every other one as it did in the recorded call. A generator that draws both has all of it new.
    """
    own = seed_of(np.random.default_rng(recorded))[:1]
    noisy = frozenset(tuple(release.seed[1]) for release in releases if release.seed[:1] == own)
    return _PartlyKept(other, recorded, noisy)


class _PartlyKept(np.random.SeedSequence):
    """A seed that spawns like another one, and draws like a third where no noise came from it."""

    def __init__(self, other: np.random.SeedSequence, kept: np.random.SeedSequence, noisy: frozenset[Key]) -> None:
        # Entropy is the other's: whoever seeds a generator by it to repeat the noise has other noise.
        super().__init__(other.entropy, spawn_key=other.spawn_key, pool_size=other.pool_size)
        self.other, self.kept, self.noisy = other, kept, noisy

    def spawn(self, n_children: int) -> list[Any]:
        """Make seeds of the same kind."""
        pairs = zip(self.other.spawn(n_children), self.kept.spawn(n_children), strict=True)
        return [_PartlyKept(other, kept, self.noisy) for other, kept in pairs]

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
        """Return the state of a generator with this seed."""
        seed = self.other if tuple(self.spawn_key) in self.noisy else self.kept
        return seed.generate_state(n_words, dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy like the three parts that it is made of."""
        return (_PartlyKept, (self.other, self.kept, self.noisy))
