"""Checks of the noise of releases: drawn from the generator that the protocol is given, and anew each time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.noise.replays.played_calls import PlayedCall, title
from secmix.auditing.soundness.runner import same_bits
from secmix.privacy.noted_releases import Release, seed_of

_BY_CHANCE = 1e-3
_LONG = 2**96  # of 128 bits from the system as many lie below once in 4 billion seeds


def known_noise(recorded: PlayedCall, root: np.random.SeedSequence) -> str:
    """Say which noise of a call somebody else may know; empty if none is found."""
    own = seed_of(np.random.default_rng(root))[:1]
    for place, release in enumerate(recorded.releases):
        if release.seed[:1] != own and not is_of_the_system(release):
            return _own_seed(place, release)
    return _drawn_twice(recorded.releases)


def is_of_the_system(release: Release) -> bool:
    """Say whether a seed is as long as those that NumPy draws from the operating system where it is given none."""
    words: tuple[int, ...] = next(iter(release.seed), ())
    return len(words) == 1 and words[0] >= _LONG


def other_noise(before: Sequence[Release], after: Sequence[Release]) -> str:
    """Say which noise is not what it must be in two calls with the same draws: equal, or new from the system."""
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        if is_of_the_system(old):
            if _share(new.draws, old.draws):
                return _own_seed(place, old)
        elif not same_bits(old.draws, new.draws):
            return f"the noise of {title(place, old)} changes with the data"
    return ""


def _own_seed(place: int, release: Release) -> str:
    return (
        f"the noise of {title(place, release)} comes from a generator with a seed of its own: whoever knows it takes "
        "the noise off; pass the rng that the protocol is given, one of rng.spawn(n), or default_rng() without a seed"
    )


def repeated_noise(first: Sequence[Release], second: Sequence[Release]) -> str:
    """Say which release has noise of an earlier call; empty if none has."""
    drawn = np.concatenate([np.empty(0), *(release.draws.ravel() for release in first)])
    for place, release in enumerate(second):
        if _share(release.draws, drawn):
            return f"{title(place, release)} has the same noise in two calls"
    return ""


def _share(draws: Array, others: Array) -> bool:
    """Say whether draws share more than chance allows: of 10⁸ numbers with 52 bits about one comes twice."""
    return bool(np.isin(draws, others).sum() > _BY_CHANCE * draws.size)


def _drawn_twice(releases: Sequence[Release]) -> str:
    """Name a release that has noise of an earlier one."""
    earlier = np.empty(0)
    for place, release in enumerate(releases):
        draws = release.draws.ravel()
        if _share(draws, earlier):
            return f"{title(place, release)} has noise that was drawn before"
        earlier = np.concatenate([earlier, draws])
    return ""
