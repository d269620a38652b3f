"""Say what a protocol owes its users. Each function is printed as it stands, with the smallest case that breaks it.

They use what is public: protocols, channels, adversaries, the kernel, the leaked subspace and what passes outside.
"""

from __future__ import annotations

import numpy as np

from secmix.testing.counterexample import Promise


def average(protocol, network, inputs, tolerance, seed):
    """Give every node the mean of all inputs, and leave the inputs as they were."""
    before = inputs.copy()
    averages, _ = protocol.average(inputs, network, np.random.default_rng(seed))
    assert averages.shape == inputs.shape, averages.shape
    assert np.array_equal(inputs, before), "the protocol changed its inputs"
    error = np.abs(averages - inputs.mean(axis=1, keepdims=True)).max()
    assert error <= tolerance, f"an average is wrong by {error:.3g}, allowed are {tolerance:.3g}"


def same_draws(protocol, network, parts, seed):
    """Send the same messages and end with the same for the same data and generator, also from a copy."""
    import copy

    from secmix.transcript import Channel

    try:
        copied = copy.deepcopy(protocol)
    except Exception:  # a lock, or an open file
        copied = copy.copy(protocol)

    def run(user):
        channel, rng, copies = Channel(), np.random.default_rng(seed), [rows.copy() for rows in parts]
        if hasattr(user, "average"):
            return user.average(np.stack(copies, axis=1), network, rng, channel=channel)[0], channel.transcript
        return user.collaborate(copies, network, rng, channel=channel), channel.transcript

    ends, transcript = run(protocol)
    for again in (protocol, copied):
        others, second = run(again)
        assert np.array_equal(ends, others, equal_nan=True), "other results"
        assert [block.frame for block in transcript] == [block.frame for block in second], "other messages"
        for sent, other in zip(transcript, second, strict=True):
            same = np.array_equal(sent.payload, other.payload, equal_nan=sent.payload.dtype.kind in "fc")
            assert same, f"another '{sent.kind}'"


def reveals(protocol, network, adversary, stated, proof):
    """Let an adversary learn no combination of inputs but the stated ones and its own."""
    from secmix.kernel import Open, clear

    known = clear(proof, network, adversary)
    if isinstance(known, Open):
        return  # nothing is proved, and nothing contradicted
    corrupt = adversary.corrupt_nodes(network)
    sums = [*stated, *({node} for node in corrupt)]
    allowed = np.array([[float(i in nodes) for i in range(network.n)] for nodes in sums]).reshape(-1, network.n)
    most = np.diag(np.linalg.pinv(allowed) @ allowed)
    for nodes in known.sums:  # one of the combinations that are allowed must be of these nodes, and of all of them
        others = allowed[:, sorted(set(range(network.n)) - nodes - corrupt)]
        rest = allowed - others @ np.linalg.pinv(others) @ allowed
        missing = sorted(node for node in nodes if np.abs(rest[:, node]).max(initial=0.0) <= 1e-6)
        assert not missing, f"it learns {' + '.join(f'x{node}' for node in sorted(nodes))}, whatever the data are"
    for node, share in known.exact.items():
        assert share <= most[node] + 1e-6, f"it learns {share:.0%} of node {node}, of which {most[node]:.0%} are stated"


def masks(protocol, network, adversary, stated, proof):
    """Hide what is not stated behind masks at least as large as inputs of size 1."""
    from secmix.kernel import Open, clear

    known_sums = clear(proof, network, adversary)
    if isinstance(known_sums, Open):
        return
    for node, share in known_sums.behind_masks.items():
        known = known_sums.exact[node]
        assert share - known <= (1 - known) / 2, f"a mask hides little of node {node}: {share:.0%} of it are known"


def leaks(protocol, network, adversary, stated, rounds, seed):
    """Let no combination of inputs but the stated ones and an adversary's own follow from its messages."""
    from secmix.estimators import leaked_subspace

    leaked = leaked_subspace(protocol, network, adversary, rounds=rounds, rng=seed)
    own = [{node} for node in adversary.corrupt_nodes(network)]
    rows = np.array([[float(i in nodes) for i in range(network.n)] for nodes in [*stated, *own]])
    rows = np.kron(np.eye(rounds), rows.reshape(-1, network.n))
    outside = leaked.basis - leaked.basis @ np.linalg.pinv(rows) @ rows
    more = [words for words, row in zip(leaked.describe(), outside, strict=True) if np.abs(row).max() > 1e-6]
    assert not more, f"it learns {more}"


def linear(protocol, network, inputs, grid, modulus, seed):
    """Send linear functions of inputs and masks, in every run and entry by itself."""
    from contextlib import suppress

    from secmix.transcript import Channel

    class Shaken(Channel):  # what arrives is off by 64 units in the last place: it shows how rounding is amplified
        def send(self, *message, **how):
            arrived = super().send(*message, **how)
            if not isinstance(arrived, np.ndarray) or arrived.dtype.kind != "f":
                return arrived
            by = 64 * np.finfo(arrived.dtype).eps * shakes.choice([-1, 1], arrived.shape)
            return (arrived * (1 + by)).astype(arrived.dtype)

    m, factor = inputs.shape[2], 1.0 if grid else 1024.0
    shakes, rng = np.random.default_rng(1), np.random.default_rng(seed)
    none, other, alone = 0 * inputs, np.roll(inputs, 1, axis=1), np.where(np.arange(m) == 0, inputs, 0)
    all_inputs = np.concatenate([inputs, other, factor * inputs + other, none, none, alone])
    mask = protocol.draw_masks(len(inputs), m, network, rng)
    hiding = np.concatenate([each * mask for each in (0, 0, 1, 1, 0, 0)])
    channel, shaken = Channel(), Shaken()
    protocol.average(all_inputs, network, np.random.default_rng(seed), masks=hiding, channel=channel)
    with suppress(Exception):  # it may notice
        protocol.average(all_inputs, network, np.random.default_rng(seed), masks=hiding, channel=shaken)
    blocks, moved, digits, top = list(channel.transcript), list(shaken.transcript), 0.0, 1.0
    alike = modulus is None and [b.payload.shape for b in moved] == [b.payload.shape for b in blocks]
    for block, other_block in zip(blocks, moved if alike else blocks, strict=True):
        sent = np.asarray(block.payload, dtype=float)
        amplified = np.abs(other_block.payload * 1.0 - block.payload).max()
        if sent.shape[2] != m and np.array_equal(sent, 0 * sent + sent[:, :1]):
            continue  # of another length, and the same in every run: a public constant
        one, other, both, masked, zero, alone = np.split(sent, 6, axis=1)
        sums = both - masked - factor * (one - zero) - (other - zero)
        by_entry = [(alone - one)[:, :, :1], (alone - zero)[:, :, 1:]] if sent.shape[2] == m else []
        gap = np.concatenate([x.ravel() for x in (sums, *by_entry)])
        gap = np.abs(gap if modulus is None else gap - modulus * np.round(gap / modulus)).max()
        size = np.abs(sent).max()
        top = max(top, size)
        if block.payload.dtype.kind == "f":
            digits = max(digits, 16 * np.finfo(block.payload.dtype).eps)  # what follows is no finer
        allowed = (
            1e-9 * max(size, 1.0) + min(4 * amplified, max(1e-8 * size, 1e-6)) + digits * top + 2 * grid * network.n
        )
        assert gap <= allowed, f"'{block.kind}' of round {block.round} is wrong by {gap:.3g} of {size:.3g}"


def fresh_masks(protocol, network, inputs, adversary, seed):
    """Use no mask in two averagings: messages of both would differ by their inputs alone."""
    import copy

    from secmix.transcript import Channel

    rows = np.resize(inputs, (max(16, len(inputs)), *inputs.shape[1:]))  # so many that nothing is the same by chance
    corrupt = adversary.corrupt_nodes(network)

    def read(several, seed):
        try:
            user = copy.deepcopy(protocol)
        except Exception:  # a lock, or an open file
            user = copy.copy(protocol)
        channel, rng, keys = Channel(), np.random.default_rng(seed), None
        if getattr(user, "reuses_masks", False):
            keys = user.draw_masks(len(rows), rows.shape[2], network, rng)
        for channel.iteration, each in enumerate(several):
            user.average(each.copy(), network, rng, masks=keys, channel=channel)
        view = adversary.observe(channel.transcript, network)
        by_honest = [
            (origin._replace(iteration=0), row, origin.iteration)
            for origin, row in zip(view.origins, view.rows, strict=True)
            if origin.line != "held" and origin.sender >= 0 and origin.sender not in corrupt
        ]
        return [[(origin, row) for origin, row, t in by_honest if t == call] for call in range(len(several))]

    calls = *read([rows, rows, 2 * rows + 1], seed), *read([rows], seed + 1)
    if len({tuple(origin for origin, _ in call) for call in calls}) > 1:
        return  # other calls send other messages
    for (origin, sent), (_, again), (_, of_others), (_, redrawn) in zip(*calls, strict=True):
        is_same = np.array_equal(sent, again) and not np.array_equal(sent, of_others)
        by_mask = np.abs(sent * 1.0 - redrawn * 1.0).max(initial=0.0)  # much more than rounding
        is_masked = by_mask > 1e-6 * np.abs(sent * 1.0).max(initial=0.0)
        assert not (is_same and is_masked), f"{origin}, has the same mask in two averagings"


def channel(protocol, network, parts, others, seed):
    """Let one node learn of another's data by messages, and by nothing else."""
    from secmix.testing import passed_outside

    why = passed_outside(protocol, network, parts, others, seed)
    assert why is None, why


def arrives(protocol, network, inputs, seed):
    """Go on with what the channel delivered, not with what was sent."""
    from secmix.transcript import Channel

    def silent(message):
        if isinstance(message, dict):
            return {key: silent(value) for key, value in message.items()}
        if isinstance(message, (list, tuple)):
            return type(message)(map(silent, message))
        return 0 * message if isinstance(message, np.ndarray) else message

    class Silence(Channel):
        def send(self, *message, **how):
            return silent(super().send(*message, **how))

    averages, _ = protocol.average(inputs, network, np.random.default_rng(seed))
    try:
        deaf, _ = protocol.average(inputs, network, np.random.default_rng(seed), channel=Silence())
    except ValueError:
        return  # it noticed
    near = 1e-8 * np.abs(inputs).max()
    alike = np.allclose(deaf, averages, atol=near, equal_nan=True)
    # Inputs that sum to zero have the right average where nothing arrives.
    assert not alike or np.allclose(averages, 0, atol=near), "the averages are right though every message was lost"


def result(protocol, network, parts, seed):
    """End with a vector of numbers at every node, and leave the rows as they were."""
    from secmix.transcript import Channel

    before, channel = [part.copy() for part in parts], Channel()
    ends = np.asarray(protocol.collaborate(parts, network, np.random.default_rng(seed), channel=channel))
    assert (ends.ndim, *ends.shape[:2]) == (3, len(parts[0]), network.n), ends.shape
    assert np.isfinite(ends).all(), "a result is not finite"
    assert all(map(np.array_equal, parts, before)), "the protocol changed its rows"
    apart = np.asarray(protocol.error(ends, ends))
    assert apart.shape == ends.shape[:1], apart.shape
    assert np.abs(apart).max() <= 1e-6, f"a result is {apart} away from itself"


AVERAGE, REVEALS, MASKS = Promise(average), Promise(reveals), Promise(masks)
SAME_DRAWS, CHANNEL = Promise(same_draws, calls=3), Promise(channel, calls=3)
LINEAR, LEAKS, FRESH_MASKS = Promise(linear, calls=2), Promise(leaks), Promise(fresh_masks, calls=4)
WITHOUT_PROOF = (LINEAR, CHANNEL, LEAKS, FRESH_MASKS)
"""What follows from a proof, and is tried where there is none."""
SUM = (AVERAGE, SAME_DRAWS, REVEALS, MASKS, *WITHOUT_PROOF, Promise(arrives, calls=2))
"""Of sum protocols."""
QUICK = (AVERAGE, REVEALS, MASKS)
"""What large networks, batches and vectors are tried on."""
COLLABORATION = (Promise(result), SAME_DRAWS, CHANNEL)
"""Of collaborations."""
