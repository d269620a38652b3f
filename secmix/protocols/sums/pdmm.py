"""PDMM with subspace perturbation (Li 2022, Algorithm 1): average consensus behind masks that never need removing.

Each edge carries two dual variables. With z_{i|j} = c y_i + B_{i|j} λ_{i|j}, the updates (8) and (9) of the paper read

    y_i     = (s_i + Σ_{j∈N(i)} z_{j|i}) / (1 + c d_i)          (8)
    z_{i|j} = 2 c y_i − z_{j|i}                                  (9)

and from y^(0) = 0 they start at z^(0)_{j|i} = B_{j|i} λ^(0)_{j|i}. The tests run the paper's form beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer, positive, probability
from secmix.errors import NotConverged, SecmixError
from secmix.network import Network, nodes_in_words
from secmix.protocols.interfaces import Advice, Revealed, checked_inputs, checked_masks
from secmix.protocols.sums.pdmm_rounds import ROUNDING, Schedule, Settings, planned, residual_of
from secmix.transcript import Channel, Transcript

_SLACK = 8.0  # how much farther apart many runs may end than the few public starts, where rounding parts them


@dataclass(frozen=True)
class PDMM:
    """Average consensus by the primal-dual method of multipliers, masked by its own dual variables.

    What it reveals by design, as sigma grows: to corrupt nodes, the sum of the honest inputs in each connected piece
    that is left of the network without them; to an eavesdropper, the average.

    Parameters
    ----------
    sigma : float
        Standard deviation of the initial dual variables λ^(0), in the units of the inputs. More hides better and costs
        digits: the float64 error grows in proportion.
    c : float
        The penalty of PDMM; it sets the speed, not the limit.
    schedule : {"coloured", "synchronous", "asynchronous"}
        Who is active in a round: all nodes of one colour of a greedy colouring; all nodes (with the update averaged
        by 1/2, since plain synchronous PDMM may cycle); or one node drawn uniformly.
    loss : float
        Probability that a neighbour does not receive a broadcast. Receipts are acknowledged, so that both ends of an
        edge agree on its variables. A lost message still counts as read: loss is no protection.
    dropout : (node, round), optional
        A node that falls silent from that round on. Its neighbours take its edges out, the others converge to the
        average of their own inputs, and the node itself ends with NaN.
    masks : {"fresh", "reused"}
        Whether each averaging draws new masks. Reusing them across EM iterations gives the differences of the inputs
        away; the option is there so that the audit can show it.
    tol : float
        The rounds go on until public starts as large as the masks (and no smaller than 1) agree to within ``tol`` and
        moved by no more in the last sweep, and a tenth longer. Where rounding forbids that (large sigma), a few units
        in the last place of the largest mask take its place. How many rounds there are so depends on the network, the
        settings and the public coins alone, never on inputs or masks. Inputs larger than such starts agree to ``tol``
        in proportion to their size. At the end the nodes compare: what is farther apart is an error.
    max_sweeps : int
        Give up after this many sweeps over all nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix.network import Network
    >>> averages, _ = PDMM(sigma=10.0).average([[[1.0], [2.0], [6.0]]], Network.cycle(3), np.random.default_rng(0))
    >>> averages.round(6)[0, :, 0].tolist()
    [3.0, 3.0, 3.0]
    """

    sigma: float = 1e6
    c: float = 0.4
    schedule: Schedule = "coloured"
    loss: float = 0.0
    dropout: tuple[int, int] | None = None
    masks: Literal["fresh", "reused"] = "fresh"
    tol: float = 1e-10
    max_sweeps: int = 5000

    def __post_init__(self) -> None:
        positive(self.sigma, "sigma")
        positive(self.c, "c")
        positive(self.tol, "tol")
        probability(self.loss, "loss")
        integer(self.max_sweeps, "max_sweeps")
        if self.schedule not in ("coloured", "synchronous", "asynchronous"):
            raise SecmixError(f"schedule is 'coloured', 'synchronous' or 'asynchronous'; given {self.schedule!r}")
        if self.masks not in ("fresh", "reused"):
            raise SecmixError(f"masks are 'fresh' or 'reused'; given {self.masks!r}")
        if self.dropout is not None:
            if not isinstance(self.dropout, (tuple, list)) or len(self.dropout) != 2:
                raise SecmixError(f"dropout is a pair (node, round); given {self.dropout!r}")
            integer(self.dropout[0], "dropout node", 0)
            integer(self.dropout[1], "dropout round", 0)

    @property
    def reuses_masks(self) -> bool:
        """True where one draw of masks serves all averagings of a run."""
        return self.masks == "reused"

    def advise(self, revealed: Revealed) -> list[Advice | str]:
        """Suggest what to change where nodes are revealed."""
        advised: list[Advice | str] = []
        if self.dropout is not None and self.dropout[0] in revealed.nodes:
            advised.append(
                "Start again with fresh masks when a node falls silent: what all have summed to by then, less what the "
                f"others sum to, is what node {self.dropout[0]} put in."
            )
        honest = [i for i in range(revealed.network.n) if i not in revealed.corrupt]
        alone = tuple(i for i in revealed.nodes if set(revealed.network.neighbours(i)) <= revealed.corrupt)
        if alone and len(honest) > 1:
            new = sorted({(min(i, j), max(i, j)) for i in alone for j in [next(k for k in honest if k != i)]})
            lines = ", ".join(f"{a}–{b}" for a, b in new)
            edges = sorted([*revealed.network.edges.tolist(), *map(list, new)])
            words = (
                f"Give {nodes_in_words(alone)} a neighbour that this adversary does not control, such as by the line"
                f"{'s' * (len(new) > 1)} {lines}."
            )
            network = {"kind": "edges", "nodes": revealed.network.n, "edges": edges}
            advised.append(Advice(words, {"network": network}, "connect whoever has no trustworthy neighbour to one"))
        return advised

    def exposure_graph(self, network: Network) -> Network | None:
        """Declare the network: corrupt nodes learn the sum over each piece left of it without them, and nothing else.

        No more: a flow on z along the edges of a piece, with divergence −δ, hides any change δ of its inputs that keeps
        their sum, since by (8) no y then changes and (9) keeps the change, for any schedule and where messages are
        lost. No less: in the limit the pairs of z inside a piece sum to 2 c y*. None where masks are reused, which
        gives differences away, or a node drops out, whose own input then follows.
        """
        return None if self.reuses_masks or self.dropout is not None else network

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw λ^(0) for every arc of the network, (runs, 2E, m); node ``network.arcs[e, 0]`` draws that of arc e."""
        return rng.normal(scale=self.sigma, size=(runs, len(network.arcs), m))

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Average ``inputs`` (runs, n, m); return the averages (runs, n, m) and the transcript.

        Raises
        ------
        NotConverged
            If the nodes do not agree at the end; the error carries the residual.
        NetworkError
            If a drop-out leaves the network unconnected, or names a node that does not exist.
        """
        s = checked_inputs(inputs, network)
        runs, n, m = s.shape
        schedule_rng, mask_rng = rng.spawn(2)
        arcs = network.arcs
        if masks is None:
            masks = self.draw_masks(runs, m, network, mask_rng)
        lam = checked_masks(masks, runs, len(arcs), m).transpose(1, 0, 2)
        channel = channel or Channel()
        channel.hold(-1, np.arange(n), "input", s.transpose(1, 0, 2))
        channel.hold(-1, arcs[:, 0], "mask", lam)
        lam = channel.send(-1, arcs[:, 0], arcs[:, 1], "lambda", lam, encrypted=True)
        sign = np.where(arcs[:, 0] > arcs[:, 1], 1.0, -1.0)  # B_{i|j} of the paper
        z = np.zeros((len(arcs) + 1, runs, m))  # arcs first in memory too: every round gathers whole arcs
        z[:-1] = sign[:, None, None] * lam  # the last is of no arc
        s = np.ascontiguousarray(s.transpose(1, 0, 2))
        y = np.zeros_like(s)
        settings = self._settings
        plan = planned(network, settings, schedule_rng)
        for sweep in plan.sweeps:
            before = y[plan.living]
            for round in sweep:
                active = round.active
                arriving = z[active.opposite]
                moved = (s[active.nodes] + active.incoming(z, arriving)) / active.divisors  # (8)
                y[active.nodes] = moved
                sent = channel.send(round.number, active.senders, active.receivers, "y", moved, content=active.content)
                z[active.own] = active.updated(z, arriving, sent, settings, round.arrived)  # (9)
        size = np.linalg.norm(np.concatenate([lam.ravel(), s.ravel()]), np.inf)  # one function, where it is followed
        rounding = max(ROUNDING, _SLACK * plan.agreed) * size
        wanted = np.maximum(self.tol * np.maximum(1.0, size / settings.scale), rounding)
        residual = residual_of(y[plan.living], before)
        if not residual <= wanted:
            raise NotConverged(
                f"PDMM did not agree in {len(plan.sweeps)} sweeps: nodes still differ or move by {float(residual):.3g},"
                f" wanted {float(wanted):.3g}; raise max_sweeps or tol, or change c (now {self.c:g})",
                float(residual),
            )
        averages = np.full_like(s, np.nan)
        averages[plan.living] = y[plan.living]
        return averages.transpose(1, 0, 2).copy(), channel.transcript

    @property
    def _settings(self) -> Settings:
        """Name what the rounds depend on, beside network and coins; inputs may be of order one whatever sigma is."""
        dropout = None if self.dropout is None else (int(self.dropout[0]), int(self.dropout[1]))
        scale = max(float(self.sigma), 1.0)
        return Settings(self.c, self.schedule, self.loss, dropout, self.tol, scale, self.max_sweeps)
