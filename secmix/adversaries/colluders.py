"""The Byzantine adversary: corrupt nodes of one mind, against sums and collaborations alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array, positive
from secmix.adversaries.attacks.attack import CONTRIBUTION, Attack, installed, named
from secmix.adversaries.attacks.sums import FIXED
from secmix.adversaries.passive.honest_but_curious import HonestButCurious
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.transcript import Transcript, View


@dataclass(frozen=True)
class Colluders:
    """Corrupt nodes of one mind, who know everything and choose what they send or learn from.

    They control their contributions to a sum. Whatever else a colluder does inside secure summation comes down to that:
    it shifts the running sum. In PDMM it could also keep the others from agreeing, which all notice. In a collaboration
    they replace messages on the channel, or learn from other rows than their own.

    Parameters
    ----------
    corrupt : iterable of int
        The corrupt nodes.
    attack : str or Attack
        An installed attack by name (``secmix attacks --forgeries`` lists them: "alie", "mean_failure", ...);
        "worst_case", which searches for the worst contributions against the rule at hand; ``package.module:name``; or
        "all": every one that speaks messages of the protocol.
    scale : float
        How much farther than usual the attacks go; for fixed contributions, from the honest mean.
    eavesdrops : bool
        Whether they also read every plain channel.

    Raises
    ------
    SecmixError
        No attack has that name.

    Examples
    --------
    >>> colluders = Colluders(corrupt=[2], attack="sign_flip")
    >>> colluders.contribute(np.array([[1.0, 2.0], [3.0, 2.0]]), 1, np.random.default_rng(0)).tolist()
    [[-2.0, -2.0]]
    >>> list(Colluders(corrupt=[2]).against(["losses", "predictions"]))[:3]
    ['flipped_labels', 'forged_functions', 'imitated_learner']
    """

    corrupt: Iterable[int]
    attack: str | Attack = "all"
    scale: float = 1.0
    eavesdrops: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "corrupt", HonestButCurious(self.corrupt).corrupt)
        positive(self.scale, "scale")
        _ = self.attacks  # a name that nobody has is an error at once

    @property
    def attacks(self) -> dict[str, Attack]:
        """All that it may try, by name: fixed ones before those that search."""
        if isinstance(self.attack, Attack):
            return {self.attack.name: self.attack}
        if self.attack != "all":
            only = named(str(self.attack))
            return {only.name: only}
        every = [named(name) for name in dict.fromkeys([*FIXED, *installed()])]
        return {attack.name: attack for attack in sorted(every, key=lambda attack: attack.searches)}

    def against(self, kinds: Iterable[str]) -> dict[str, Attack]:
        """Select the attacks that replace messages of these kinds, by name.

        Raises
        ------
        SecmixError
            If there is none: nothing would be attacked.
        """
        sent, attacks = sorted(set(kinds)), self.attacks
        able = {name: attack for name, attack in attacks.items() if attack.speaks(sent)}
        if not able and self.attack == "all":
            raise SecmixError(
                f"no installed attack forges a message of the protocol, which sends {sent}; give one of your own, "
                "attack=Attack(kinds, forge), with some of these as its kinds"
            )
        if not able:
            raise SecmixError(
                f"the attack '{', '.join(attacks)}' forges {sorted({k for a in attacks.values() for k in a.kinds})}, "
                f'but the protocol\'s messages are {sent}; choose an attack on those, or "all"'
            )
        return able

    def contribute(self, honest: Array, f: int, rng: np.random.Generator) -> Array:
        """Make the messages (f, p) of the first attack on the honest contributions (h, p)."""
        return next(iter(self.against([CONTRIBUTION]).values()))(honest, f, rng, self.scale)

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Return the corrupt nodes, after checking that they exist and leave somebody honest."""
        return HonestButCurious(self.corrupt).corrupt_nodes(network)

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Observe as honest-but-curious nodes do: what the corrupt nodes hold, send and receive."""
        return HonestButCurious(self.corrupt, eavesdrops=self.eavesdrops).observe(transcript, network)
