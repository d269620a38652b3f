"""What a protocol owes its users, each property as the very lines that the printed counterexample runs.

The lines use what the audit itself uses: probes, the leaked subspace, the search for what no message explains. Another
property is another entry of ``SUM`` or ``COLLABORATION``.
"""

from __future__ import annotations

from secmix.testing.properties import Property

_RUN = "averages, transcript = protocol.average(inputs, network, np.random.default_rng(seed))"

SUM = (
    Property(
        "average", "every node ends with the mean of all inputs, which stay as they were.",
        ("network", "inputs", "tolerance", "seed"),
        f"""
from secmix.protocols.interfaces import SumTraits
before = inputs.copy()
{_RUN}
assert averages.shape == inputs.shape, averages.shape
assert np.array_equal(inputs, before), "the protocol changed its inputs"
error = np.abs(averages - inputs.mean(axis=1, keepdims=True)).max()
tolerance += min(SumTraits.of(protocol).grid, 0.125) / 2  # what is rounded to a grid, each input by half a step
assert error <= tolerance, f"an average is wrong by {{error:.3g}}, allowed are {{tolerance:.3g}}"
""",
    ),
    Property(
        "same draws", "the same inputs and generator give the same messages and averages, also from a copy.",
        ("network", "inputs", "seed"),
        f"""
from secmix.auditing.soundness import fresh
copied = fresh(protocol)
{_RUN}
for again in (protocol, copied):
    others, second = again.average(inputs, network, np.random.default_rng(seed))
    assert np.array_equal(averages, others, equal_nan=True), "other averages"
    assert [block.frame for block in transcript] == [block.frame for block in second], "other messages"
    same = [np.array_equal(a.payload, b.payload, equal_nan=True) for a, b in zip(transcript, second)]
    assert all(same), f"another '{{transcript.blocks[same.index(False)].kind}}'"
""",
        calls=3,
    ),
    Property(
        "masks", "masks are independent, new in each averaging, of one size, and Gaussian or uniform over the modulus.",
        ("network", "entries", "seed"),
        """
from secmix.auditing.soundness import understood
from secmix.auditing.soundness.masks.mixed import independent, least_spread
from secmix.estimators.exact.masks import mask_doubts
from secmix.protocols.interfaces import SumTraits
sums = understood(protocol, network)  # masks that follow from fewer are these
traits = SumTraits.of(sums)
rng = np.random.default_rng(seed)
drawn = [np.asarray(sums.draw_masks(400, entries, network, rng)) for _ in range(2)]
assert all(d.ndim == 3 and d.shape[::2] == (400, entries) for d in drawn), drawn[0].shape
doubts = mask_doubts([independent(sums, d) for d in drawn], traits.modulus, traits.grid, given=drawn)
if drawn[0].size and not traits.reuses_masks:
    assert not np.array_equal(*drawn), "two averagings draw the same masks"
assert not doubts, doubts
least = min(least_spread(sums, d) for d in drawn)
assert least >= 1, f"a mask spreads by {least:.3g}, and inputs by 1: it hides little of them"
""",
        calls=2,
    ),
    Property(
        "linear", "every message is what unit inputs and unit masks say: c + A s + M r, in every run and entry.",
        ("network", "inputs", "seed"),
        """
from secmix.auditing.soundness import understood
from secmix.estimators.exact.linear import Probed, residue
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import Channel
class Shaken(Channel):  # what arrives is off by 64 units in the last place: it shows how much rounding is amplified
    def send(self, *message, **how):
        arrived = super().send(*message, **how)
        if not isinstance(arrived, np.ndarray) or arrived.dtype.kind != "f":
            return arrived
        by = 64 * np.finfo(arrived.dtype).eps * shakes.choice([-1, 1], arrived.shape)
        return (arrived * (1 + by)).astype(arrived.dtype)
shakes = np.random.default_rng(1)
sums = understood(protocol, network)
traits = SumTraits.of(sums)
probed, channel, shaken = Probed(sums), Channel(), Shaken()
probed.average(inputs, network, np.random.default_rng(seed), channel=channel)
try:
    Probed(sums).average(inputs, network, np.random.default_rng(seed), channel=shaken)
except Exception:
    pass  # it noticed
blocks = list(channel.transcript)
off = [0.0] * len(blocks)
if traits.modulus is None and [b.payload.shape for b in shaken.transcript] == [b.payload.shape for b in blocks]:
    off = [float(np.abs(x.payload * 1.0 - b.payload).max()) for x, b in zip(shaken.transcript, blocks)]
known = np.concatenate([inputs, probed.seen[0][1]], axis=1)
modulus, runs, digits, top = traits.modulus, len(inputs), 0.0, 1.0
for block, amplified in zip(blocks, off):
    numbers = np.asarray(block.payload, dtype=float)
    sent, extra = numbers[:, :runs], numbers[:, runs:]
    if block.payload.shape[2] != inputs.shape[2] and np.array_equal(numbers, 0 * numbers + sent[:, :1]):
        continue  # of another length, and the same in every run: a public constant
    assert block.payload.shape[2] == inputs.shape[2], f"'{block.kind}' has {block.payload.shape[2]} numbers"
    table = extra.reshape(len(sent), -1)[:, : known.shape[1] + 1]
    zero = table[:, -1:]  # what is sent for inputs and masks of zero: a public constant
    units = residue(table[:, :-1] - zero, modulus)
    gap = np.abs(residue(sent - zero[:, :, None] - np.einsum("pu,rum->prm", units, known), modulus)).max()
    size = np.einsum("pu,rum->prm", np.abs(units), np.abs(known)).max()
    top = max(top, size)
    if block.payload.dtype.kind == "f":
        digits = max(digits, 16 * np.finfo(block.payload.dtype).eps)  # what follows is no finer
    rounding = 1e-9 * max(size, 1.0) + min(4 * amplified, max(1e-8 * size, 1e-6)) + digits * top
    allowed = rounding + traits.grid * np.abs(units).sum(axis=1).max()
    assert gap <= allowed, f"'{block.kind}' of round {block.round} is wrong by {gap:.3g} of {size:.3g}"
""",
    ),
    Property(
        "channel", "what a node sends and ends with follows from what it held and received, all through the channel.",
        ("network", "inputs", "seed"),
        """
from secmix.auditing.soundness import understood
from secmix.estimators.exact.provenance import unexplained
from secmix.estimators.exact.linear import Probed
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import Channel
sums = understood(protocol, network)
probed, channel = Probed(sums), Channel()
probed.average(inputs, network, np.random.default_rng(seed), channel=channel)
assert channel.transcript.messages, "nothing was sent through the channel"
units = network.n + probed.seen[0][1].shape[1]
doubt = unexplained(
    channel.transcript.at(0), probed.ended[0], len(inputs), units, SumTraits.of(sums).modulus
)
assert not doubt, doubt
""",
    ),
    Property(
        "arrives", "nodes go on with what the channel delivered, not with what was sent.",
        ("network", "inputs", "seed"),
        """
from secmix.transcript import Channel
def silent(said):
    if isinstance(said, dict):
        return {key: silent(value) for key, value in said.items()}
    if isinstance(said, (list, tuple)):
        return type(said)(map(silent, said))
    return 0 * said if isinstance(said, np.ndarray) else said
class Silence(Channel):
    def send(self, *message, **how):
        return silent(super().send(*message, **how))
averages, _ = protocol.average(inputs, network, np.random.default_rng(seed))
try:
    deaf, _ = protocol.average(inputs, network, np.random.default_rng(seed), channel=Silence())
except ValueError:
    pass  # it noticed
else:
    near = 1e-8 * np.abs(inputs).max()
    alike = np.allclose(deaf, averages, atol=near, equal_nan=True)
    # Inputs that sum to zero have the right average where nothing arrives.
    assert not alike or np.allclose(averages, 0, atol=near), "the averages are right though every message was lost"
""",
        calls=2,
    ),
    Property(
        "reveals", "an adversary learns no combination of inputs but those that are stated, and its own.",
        ("network", "adversary", "stated", "rounds", "seed"),
        """
from secmix.auditing.soundness import understood
from secmix.estimators.exact.structure import leaked_subspace
sums = understood(protocol, network)
leaked = leaked_subspace(sums, network, adversary, rounds=rounds, rng=seed)
own = [{node} for node in adversary.corrupt_nodes(network)]
rows = np.array([[float(i in nodes) for i in range(network.n)] for nodes in [*stated, *own]]).reshape(-1, network.n)
rows = np.kron(np.eye(rounds), rows)
outside = leaked.basis - leaked.basis @ np.linalg.pinv(rows) @ rows if len(rows) else leaked.basis
more = [words for words, row in zip(leaked.describe(), outside) if np.abs(row).max() > 1e-6]
assert not more, f"it learns {more}"
""",
    ),
    Property(
        "any size", "so it is with however many nodes, runs and entries.",
        ("network", "inputs", "adversary", "stated", "seed"),
        """
from secmix.auditing.soundness import known_in, understood
sums = understood(protocol, network)
leaked, _ = known_in(sums, network, adversary, inputs.transpose(1, 0, 2), seed=seed)
own = [{node} for node in adversary.corrupt_nodes(network)]
rows = np.array([[float(i in nodes) for i in range(network.n)] for nodes in [*stated, *own]]).reshape(-1, network.n)
outside = leaked.basis - leaked.basis @ np.linalg.pinv(rows) @ rows if len(rows) else leaked.basis
more = [words for words, row in zip(leaked.describe(), outside) if np.abs(row).max() > 1e-6]
assert not more, f"of {inputs.shape[2]} entries and {len(inputs)} runs it learns {more}"
""",
    ),
    Property(
        "sound", "what an adversary sees follows from inputs and masks alone, at any size and in any call.",
        ("network", "adversary", "seed"),
        """
from secmix.auditing.soundness import examine, understood
from secmix.estimators.exact.structure import leaked_subspace
sums = understood(protocol, network)
rows = np.random.default_rng(seed).standard_normal((network.n, 24, 3))
found = examine(sums, network, adversary, {0: rows}, seed=seed)
assert not found.doubts, found.doubts[0]
known = leaked_subspace(sums, network, adversary, rng=seed)
for node, share in found.shares.items():
    usual = float(known.explained(node).max(initial=0.0))
    assert share <= usual + 1e-6, f"in some calls {share:.0%} of node {node} is known, in others {usual:.0%}"
""",
        calls=40, most=2,
    ),
)  # fmt: skip
"""Of sum protocols."""

COLLABORATION = (
    Property(
        "result", "every node ends with a vector of numbers, and the rows stay as they were.",
        ("network", "parts", "seed"),
        """
from secmix.transcript import Channel
before, channel = [part.copy() for part in parts], Channel()
ends = np.asarray(protocol.collaborate(parts, network, np.random.default_rng(seed), channel=channel))
assert ends.ndim == 3 and ends.shape[:2] == (len(parts[0]), network.n), ends.shape
assert np.isfinite(ends).all(), "a result is not finite"
assert all(map(np.array_equal, parts, before)), "the protocol changed its rows"
assert channel.transcript.messages, "nothing was sent through the channel"
apart = np.asarray(protocol.error(ends, ends))
assert apart.shape == ends.shape[:1] and np.abs(apart).max() <= 1e-6, f"a result is {apart} away from itself"
""",
    ),
    Property(
        "same draws", "the same rows and generator give the same messages and results, from a used object or a copy.",
        ("network", "parts", "seed"),
        """
from secmix.auditing.soundness import fresh
from secmix.transcript import Channel
def run(one):
    channel = Channel()
    given = [part.copy() for part in parts]
    return one.collaborate(given, network, np.random.default_rng(seed), channel=channel), channel.transcript
copied = fresh(protocol)
ends, transcript = run(protocol)
for again in (protocol, copied):
    others, second = run(again)
    assert np.array_equal(ends, others, equal_nan=True), "other results"
    assert [block.frame for block in transcript] == [block.frame for block in second], "other messages"
    same = [np.array_equal(a.payload, b.payload, equal_nan=True) for a, b in zip(transcript, second)]
    assert all(same), f"another '{transcript.blocks[same.index(False)].kind}'"
""",
        calls=3,
    ),
    Property(
        "channel", "what one node learns of another's rows reached it in messages.",
        ("network", "parts", "others", "seed"),
        """
from secmix.auditing.soundness.collaborations.undeclared import passed_outside
why = passed_outside(protocol, network, parts, others, seed)
assert why is None, why
""",
        calls=3,
    ),
)  # fmt: skip
"""Of collaborations."""
