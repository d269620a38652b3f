"""PDMM with subspace perturbation (Li 2022, Algorithm 1): average consensus behind masks that never need removing.

Each edge carries two dual variables. With z_{i|j} = c y_i + B_{i|j} λ_{i|j}, the updates (8) and (9) of the paper read

    y_i     = (s_i + Σ_{j∈N(i)} z_{j|i}) / (1 + c d_i)          (8)
    z_{i|j} = 2 c y_i − z_{j|i}                                  (9)

and from y^(0) = 0 they start at z^(0)_{j|i} = B_{j|i} λ^(0)_{j|i}. The tests run the paper's form beside this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from secmix._base.arrays import checked, floats, numpy_of
from secmix._base.checks import Array, Ints, integer, positive, probability
from secmix.errors import NetworkError, NotConverged, SecmixError
from secmix.network import Network
from secmix.protocols.interfaces import Advice, Shown, checked_inputs, checked_masks, nodes_in_words
from secmix.transcript import Channel, Transcript

Schedule = Literal["coloured", "synchronous", "asynchronous"]
_FEW = 8  # active nodes whose sums are formed one by one


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
        edge agree on its variables. A lost message still counts as heard: loss is no protection.
    dropout : (node, round), optional
        A node that falls silent from that round on. Its neighbours take its edges out, the others converge to the
        average of their own inputs, and the node itself ends with NaN.
    masks : {"fresh", "reused"}
        Whether each averaging draws new masks. Reusing them across EM iterations gives the differences of the inputs
        away; the option is there so that the audit can show it.
    tol : float
        Stop when all nodes agree to within ``tol`` and moved by no more in the last sweep. Where rounding forbids that
        (large sigma), a few units in the last place of the largest mask take its place.
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
        """Whether one draw of masks serves all averagings of a run."""
        return self.masks == "reused"

    def advise(self, shown: Shown) -> list[Advice | str]:
        """What to change where nodes are revealed."""
        advised: list[Advice | str] = []
        if self.dropout is not None and self.dropout[0] in shown.revealed:
            advised.append(
                "Start again with fresh masks when a node falls silent: what all have summed to by then, less what the "
                f"others sum to, is what node {self.dropout[0]} put in."
            )
        honest = [i for i in range(shown.network.n) if i not in shown.corrupt]
        alone = tuple(i for i in shown.revealed if set(shown.network.neighbours(i)) <= shown.corrupt)
        if alone and len(honest) > 1:
            new = sorted({(min(i, j), max(i, j)) for i in alone for j in [next(k for k in honest if k != i)]})
            lines = ", ".join(f"{a}–{b}" for a, b in new)
            edges = sorted([*shown.network.edges.tolist(), *map(list, new)])
            words = (
                f"Give {nodes_in_words(alone)} a neighbour that this adversary does not control, such as by the line"
                f"{'s' * (len(new) > 1)} {lines}."
            )
            network = {"kind": "edges", "nodes": shown.network.n, "edges": edges}
            advised.append(Advice(words, {"network": network}, "connect whoever has no trustworthy neighbour to one"))
        return advised

    def exposure_graph(self, network: Network) -> Network | None:
        """The network: corrupt nodes learn the sum over each piece that is left of it without them, and nothing else.

        No more: a flow on z along the edges of a piece, with divergence −δ, hides any change δ of its inputs that keeps
        their sum, since by (8) no y changes then and (9) keeps the change; so it is for any schedule, and where
        messages are lost. No less: in the limit the pairs of z inside a piece sum to 2 c y*. None where masks are
        reused, which gives differences away, or a node drops out, whose own input then follows.
        """
        return None if self.reuses_masks or self.dropout is not None else network

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """λ^(0) for every arc of the network, (runs, 2E, m); arc e runs from ``network.arcs[e, 0]``, who draws it."""
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
        """Averages (runs, n, m) of ``inputs`` (runs, n, m), and the transcript.

        Arrays of another library than NumPy are taken, and averages of that library returned; the work in between is
        NumPy's, since sums over sparse neighbourhoods are not in the Array API standard.

        Raises
        ------
        NotConverged
            If the nodes do not agree after ``max_sweeps``; the error carries the residual.
        NetworkError
            If a drop-out leaves the network unconnected, or names a node that does not exist.
        """
        xp, given = checked(inputs, lambda array: checked_inputs(array, network))
        s = numpy_of(given)
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
        z = np.ascontiguousarray(sign[:, None, None] * lam)  # arcs first in memory too: every round gathers whole arcs
        s = np.ascontiguousarray(s.transpose(1, 0, 2))
        y = np.zeros_like(s)
        floor = 4 * np.finfo(float).eps * max(float(np.abs(lam).max(initial=0)), float(np.abs(s).max()))
        tol = max(self.tol, floor)
        ties = _Ties(network, self.c)
        before, last_sweep, residual = y.copy(), 0, np.inf
        for round, (active, sweep) in enumerate(self._rounds(network, schedule_rng)):
            if sweep > last_sweep:
                living = y[ties.living]
                apart = float((living.max(axis=0) - living.min(axis=0)).max())
                residual = max(apart, float(np.abs(living - before[ties.living]).max()))
                if residual <= tol and (self.dropout is None or round > self.dropout[1]):
                    break
                before, last_sweep = y.copy(), sweep
            if self.dropout is not None and round == self.dropout[1]:
                ties = ties.without(self.dropout[0])
            turn = ties.turn(active)
            if not len(turn.nodes):
                continue
            arriving = z[turn.opposite]
            moved = (s[turn.nodes] + turn.incoming(z, arriving)) / turn.divisors  # (8)
            y[turn.nodes] = moved
            heard = channel.send(round, turn.senders, turn.receivers, "y", moved, content=turn.content)
            sent: Ints | slice = turn.own
            fresh = 2.0 * self.c * heard
            if self.loss:
                arrived = schedule_rng.random(len(turn.arcs)) >= self.loss
                sent, fresh, arriving = turn.arcs[arrived], fresh[turn.content[arrived]], arriving[arrived]
            elif len(turn.nodes) > 1:
                fresh = fresh[turn.content]
            fresh = fresh - arriving  # (9)
            z[sent] = 0.5 * (z[sent] + fresh) if self.schedule == "synchronous" else fresh
        else:
            raise NotConverged(
                f"PDMM did not agree in {self.max_sweeps} sweeps: nodes still differ or move by {residual:.3g}, wanted "
                f"{tol:.3g}; raise max_sweeps or tol, or change c (now {self.c:g})",
                residual,
            )
        averages = y.transpose(1, 0, 2).copy()
        averages[:, ~ties.alive] = np.nan
        return floats(xp, averages, given), channel.transcript

    def _rounds(self, network: Network, rng: np.random.Generator) -> Iterator[tuple[Ints, int]]:
        """Who is active in each round, and how many whole sweeps are done before it."""
        everyone = np.arange(network.n)
        for sweep in range(self.max_sweeps + 1):
            if self.schedule == "synchronous":
                yield everyone, sweep
            elif self.schedule == "coloured":
                for colour in network.colours:
                    yield colour, sweep
            else:
                for node in rng.integers(network.n, size=network.n):
                    yield everyone[node : node + 1], sweep


@dataclass(frozen=True)
class _Turn:
    """What a set of active nodes needs for one round."""

    nodes: Ints  # the active ones that are alive
    divisors: Array  # 1 + c times the number of their living neighbours, shaped as vectors are
    gather: csr_array | None  # sums the arriving z of each, where they are many
    arcs: Ints  # the arcs on which they broadcast
    senders: Ints  # their ends; kept, so that a transcript of many rounds holds them once
    receivers: Ints
    content: Ints  # for each of these arcs, the place of its tail in ``nodes``
    opposite: Ints  # and the arc the other way
    own: Ints | slice  # ``arcs``, as a slice where they lie side by side
    few: tuple[slice, ...]  # the places in ``opposite`` of the arcs that end at each, where they are few

    def incoming(self, z: Array, arriving: Array) -> Array:
        """The sum of what arrives at each active node, of z on all arcs (2E, runs, m), in the order of the arcs.

        ``arriving`` is z of ``opposite``.
        """
        out = np.empty((len(self.nodes), *z.shape[1:]))
        if self.gather is not None:
            out[:] = (self.gather @ z.reshape(len(z), -1)).reshape(out.shape)
        for k, places in enumerate(self.few):  # of a few, a product with a sparse matrix takes longer to set up
            np.add.reduce(arriving[places], axis=0, out=out[k])
        return out


class _Ties:
    """The arcs between living nodes, and what each set of active nodes needs of them."""

    def __init__(self, network: Network, c: float, alive: np.ndarray | None = None) -> None:
        self.network, self.c = network, c
        self.alive = np.ones(network.n, dtype=bool) if alive is None else alive
        self.living: Ints = np.flatnonzero(self.alive)
        self._turns: dict[bytes, _Turn] = {}

    def without(self, node: int) -> _Ties:
        """The ties once ``node`` has fallen silent."""
        self.network.node_set([node], "dropped-out")
        alive = self.alive.copy()
        alive[node] = False
        if len(self.network.components_without(np.flatnonzero(~alive))) != 1:
            raise NetworkError(
                f"without node {node} the network falls apart, so the others cannot agree on one average"
            )
        return _Ties(self.network, self.c, alive)

    def turn(self, active: Ints) -> _Turn:
        """The turn of ``active``, worked out once for each set."""
        key = active.tobytes()
        if key not in self._turns:
            self._turns[key] = self._work_out(active[self.alive[active]])
        return self._turns[key]

    def _work_out(self, nodes: Ints) -> _Turn:
        arcs, degrees = self.network.arcs, self.network.degrees
        place = np.full(self.network.n, -1)
        place[nodes] = np.arange(len(nodes))
        # Arcs are in the order of their tails: those of a node are neighbours, found without a look at the others.
        first = np.concatenate([[0], np.cumsum(degrees)])
        leaving = np.concatenate([np.arange(first[node], first[node + 1]) for node in nodes] or [np.arange(0)])
        leaving = np.sort(leaving[self.alive[arcs[leaving]].all(axis=1)])
        opposite = self.network.opposite[leaving]
        degrees = np.bincount(place[arcs[leaving, 0]], minlength=len(nodes))
        divisors = np.asarray(1.0 + self.c * degrees, dtype=np.float64)[:, None, None]
        gather: csr_array | None = None
        few: tuple[slice, ...] = ()
        if len(nodes) <= _FEW:
            # Arcs are in the order of their tails and then their heads: so are those that leave a node, and with
            # them the arcs the other way, node by node.
            at = np.searchsorted(arcs[leaving, 0], nodes), np.searchsorted(arcs[leaving, 0], nodes, side="right")
            few = tuple(slice(*ends) for ends in np.transpose(at).tolist())
        else:
            arriving = np.sort(opposite)
            entries = np.ones(len(arriving)), (place[arcs[arriving, 1]], arriving)
            gather = csr_array(entries, shape=(len(nodes), len(arcs)))
        senders, receivers = arcs[leaving].T.copy()
        together = len(leaving) and leaving[-1] - leaving[0] + 1 == len(leaving)
        own = slice(int(leaving[0]), int(leaving[-1]) + 1) if together else leaving
        return _Turn(nodes, divisors, gather, leaving, senders, receivers, place[senders], opposite, own, few)
