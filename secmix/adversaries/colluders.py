"""Byzantine nodes inside a protocol: they see what honest-but-curious nodes see, and put in what serves them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array, positive
from secmix.adversaries.attacks.sums import FIXED
from secmix.adversaries.passive.honest_but_curious import HonestButCurious
from secmix.errors import SecmixError, nearest
from secmix.network import Network
from secmix.transcript import Transcript, View


@dataclass(frozen=True)
class Colluders:
    """Corrupt nodes of one mind, who know all honest contributions of a round and choose their own.

    What they control is what they contribute to the sums. Whatever else a colluder does inside secure summation comes
    down to that: it shifts the running sum. In PDMM it could also keep the others from agreeing, which all notice.

    Parameters
    ----------
    corrupt : iterable of int
        The corrupt nodes.
    attack : str
        A fixed attack by name (``secmix.adversaries.FIXED``: "sign_flip", "alie", "ipm", "min_max", ...); "worst_case",
        which searches for the worst contributions against the rule at hand; or "all", the worst of these.
    scale : float
        How far from the honest mean the messages of a fixed attack are pushed, as a multiple.
    eavesdrops : bool
        Whether they also hear every plain channel.

    Examples
    --------
    >>> colluders = Colluders(corrupt=[2], attack="sign_flip")
    >>> colluders.contribute(np.array([[1.0, 2.0], [3.0, 2.0]]), 1, np.random.default_rng(0)).tolist()
    [[-2.0, -2.0]]
    """

    corrupt: Iterable[int]
    attack: str = "all"
    scale: float = 1.0
    eavesdrops: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "corrupt", HonestButCurious(self.corrupt).corrupt)
        positive(self.scale, "scale")
        known = sorted([*FIXED, "all", "worst_case"])
        if self.attack not in known:
            raise SecmixError(f"no attack is called {self.attack!r}; {nearest(str(self.attack), known)}")

    @property
    def attacks(self) -> tuple[str, ...]:
        """The fixed attacks among those it tries."""
        if self.attack == "all":
            return tuple(FIXED)
        return () if self.attack == "worst_case" else (self.attack,)

    @property
    def searches(self) -> bool:
        """Whether it searches for the worst case too."""
        return self.attack in ("all", "worst_case")

    def contribute(self, honest: Array, f: int, rng: np.random.Generator, name: str | None = None) -> Array:
        """The messages (f, p) of a fixed attack on the honest ones (h, p)."""
        sent = FIXED[name or self.attacks[0]](honest, f, rng)
        middle = honest.mean(axis=0)
        return np.asarray(middle + self.scale * (sent - middle) if self.scale != 1 else sent)

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """The corrupt nodes, after checking that they exist and leave somebody honest."""
        return HonestButCurious(self.corrupt).corrupt_nodes(network)

    def observe(self, transcript: Transcript, network: Network) -> View:
        """As honest-but-curious nodes: what the corrupt nodes hold, send and receive."""
        return HonestButCurious(self.corrupt, eavesdrops=self.eavesdrops).observe(transcript, network)
