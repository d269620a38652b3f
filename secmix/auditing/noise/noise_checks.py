"""Checks of the noise of releases: drawn from the generator that the protocol is given, and anew each time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secmix.auditing.noise.played_calls import PlayedCall, title
from secmix.privacy.ledger import Release, seed_of


def known_noise(recorded: PlayedCall, root: np.random.SeedSequence) -> str:
    """Say which noise of a call somebody else may know; empty if none is found."""
    own = seed_of(np.random.default_rng(root))[:1]
    for place, release in enumerate(recorded.releases):
        if release.seed[:1] != own:
            return (
                f"the noise of {title(place, release)} comes from a generator with a seed of its own: whoever knows it "
                "takes the noise off; pass the rng that the protocol is given, or one of rng.spawn(n)"
            )
    return _drawn_twice(recorded.releases)


def repeated_noise(first: Sequence[Release], second: Sequence[Release]) -> str:
    """Say which release has noise of an earlier call; empty if none has."""
    drawn = np.concatenate([np.empty(0), *(release.draws.ravel() for release in first)])
    for place, release in enumerate(second):
        if np.isin(release.draws, drawn).any():
            return f"{title(place, release)} has the same noise in two calls"
    return ""


def _drawn_twice(releases: Sequence[Release]) -> str:
    """Name a release with a draw that an earlier one has too: of numbers with 52 bits none comes twice by chance."""
    earlier = np.empty(0)
    for place, release in enumerate(releases):
        draws = release.draws.ravel()
        if len(np.unique(draws)) < len(draws) or np.isin(draws, earlier).any():
            return f"{title(place, release)} has noise that was drawn before"
        earlier = np.concatenate([earlier, draws])
    return ""
