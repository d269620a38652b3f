"""Keys that two nodes agree on by X25519: whoever knows a private key of the two knows what they agreed on."""

from __future__ import annotations

import hashlib
import secrets
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cryptography", reason="the package cryptography is not installed")
import cryptography.hazmat.primitives.asymmetric.x25519
from cryptography.hazmat.primitives.asymmetric import x25519
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from unit.kernel.seeded import INPUTS, NETWORK, Seeded

from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.kernel.randomness.agreement import drawn_by
from secmix.kernel.randomness.keystreams import ciphers
from secmix.kernel.randomness.secret_bytes import SecretBytes
from secmix.kernel.tracing.kept import kept
from secmix.kernel.tracing.world import replaced
from secmix.kernel.values.arrays import variables_of
from secmix.kernel.values.current_trace import LeftTrace, Trace, following
from secmix.network import Network
from secmix.transcript import SERVER, Channel


class Agreeing(Seeded):
    """Public keys pass through the server; each end of a pair hashes what it agrees on with the other."""

    dtype = np.uint64

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=np.uint64)

    def keys(self, masks: Any, channel: Channel) -> Any:
        channel.hold(-1, np.arange(masks.shape[1]), "private key", masks.transpose(1, 0, 2))
        return [[X25519PrivateKey.from_private_bytes(key.tobytes()) for key in of_run] for of_run in masks]

    def announced(self, key: Any) -> Any:
        return key.public_key().public_bytes_raw()

    def agreed(self, key: Any, public: Any, edge: tuple[int, int]) -> Any:
        return key.exchange(X25519PublicKey.from_public_bytes(public))

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        nodes, keys = np.arange(network.n), self.keys(masks, channel)
        told = np.array([[np.frombuffer(self.announced(key), self.dtype) for key in of_run] for of_run in keys])
        passed = channel.send(-1, nodes, SERVER, "public key", told.transpose(1, 0, 2)).transpose(1, 0, 2)
        return [
            [self.agreed(keys[run][i], passed[run][j].tobytes(), (i, j)) for run in range(len(keys))]
            for i, j in network.edges.tolist()
        ]

    @staticmethod
    def expand(secret: Any, m: int, channel: Any) -> Any:
        return np.frombuffer(hashlib.shake_256(secret).digest(8 * m), np.uint64)


def proved(protocol: type, *adversaries: Any) -> list[Any]:
    proof = prove(protocol(), NETWORK, INPUTS, in_other_calls=False)
    return [clear(proof, NETWORK, adversary) for adversary in adversaries]


class FromTheOtherEnd(Agreeing):
    """The second of a pair computes what both have."""

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        turned = Network.from_edges(network.n, [(j, i) for i, j in network.edges.tolist()])
        assert turned.edges.tolist() == network.edges.tolist()
        keys = self.keys(masks, channel)
        return [[of[j].exchange(of[i].public_key()) for of in keys] for i, j in network.edges.tolist()]


class InOctets(Agreeing):
    dtype = np.uint8  # type: ignore[assignment]


class WrittenOut(Agreeing):
    """Names the module and the encodings."""

    def keys(self, masks: Any, channel: Channel) -> Any:
        keys = super().keys(masks, channel)
        octets = [[key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()) for key in of] for of in keys]
        return [[x25519.X25519PrivateKey.from_private_bytes(key) for key in of_run] for of_run in octets]

    def announced(self, key: Any) -> Any:
        return key.public_key().public_bytes(encoding=Encoding.Raw, format=PublicFormat.Raw)

    def agreed(self, key: Any, public: Any, edge: tuple[int, int]) -> Any:
        module = cryptography.hazmat.primitives.asymmetric.x25519
        return key.exchange(peer_public_key=module.X25519PublicKey.from_public_bytes(public))


class Generated(Agreeing):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return np.zeros((runs, network.n, 0), np.uint64)

    def generated(self) -> Any:
        return X25519PrivateKey.generate()

    def keys(self, masks: Any, channel: Channel) -> Any:
        keys = [[self.generated() for _ in of_run] for of_run in masks]
        held = np.array([[np.frombuffer(key.private_bytes_raw(), np.uint64) for key in of_run] for of_run in keys])
        channel.hold(-1, np.arange(masks.shape[1]), "private key", held.transpose(1, 0, 2))
        return keys


class GeneratedByTheModule(Generated):
    def generated(self) -> Any:
        return x25519.X25519PrivateKey.generate()


@pytest.mark.parametrize("protocol", [Agreeing, FromTheOtherEnd, InOctets, WrittenOut, Generated, GeneratedByTheModule])
def test_what_a_pair_agrees_on_is_known_to_its_two_ends_alone(protocol: type) -> None:
    server, node, outside = proved(protocol, CuriousServer(), HonestButCurious({1}), Eavesdropper())
    for found, left in ((server, {0, 1, 2, 3}), (node, {0, 2, 3}), (outside, {0, 1, 2, 3})):
        assert isinstance(found, KnownSums), found
        assert found.sums == (frozenset(left),)
        assert not found.covers
    assert any("what agreement by X25519, shake_256 make of a secret seed" in each for each in server.assumes)


class ByAnother(Agreeing):
    """Node 3 expands the keys of all pairs, which it cannot know."""

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        secrets = super().agree(masks, network, channel)
        return [secrets[0] for _ in network.edges]


class PrivateTold(Agreeing):
    def announced(self, key: Any) -> Any:
        return key.private_bytes_raw()

    def agreed(self, key: Any, public: Any, edge: tuple[int, int]) -> Any:
        return key.exchange(X25519PrivateKey.from_private_bytes(public).public_key())


class OfPublicKeys(Agreeing):
    """Hashes a public key."""

    def agreed(self, key: Any, public: Any, edge: tuple[int, int]) -> Any:
        return hashlib.sha256(public).digest()


class ByPublicKeys(Agreeing):
    """Hides by the words of a public key."""

    def agreed(self, key: Any, public: Any, edge: tuple[int, int]) -> Any:
        return np.frombuffer(public, np.uint64)

    @staticmethod
    def expand(secret: Any, m: int, channel: Any) -> Any:
        return secret[:m]


class SeededByPublicKeys(ByPublicKeys):
    @staticmethod
    def expand(secret: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng(secret).integers(0, 2**64, m, dtype=np.uint64)


class OfPublicKeysAndFewBits(ByPublicKeys):
    """A seed of 320 bits, of which 256 are those of a public key."""

    def agreed(self, key: Any, public: Any, edge: tuple[int, int]) -> Any:
        return hashlib.sha256(key.private_bytes_raw()[:8] + public).digest()

    expand = Agreeing.expand


class Undrawn(Agreeing):
    """Hides by what a pair agreed on itself: the highest bit of its last word is never set."""

    def agreed(self, key: Any, public: Any, edge: tuple[int, int]) -> Any:
        return np.frombuffer(super().agreed(key, public, edge), np.uint64)

    @staticmethod
    def expand(secret: Any, m: int, channel: Any) -> Any:
        return secret[-m:]


class OfPublicPrivateKeys(Agreeing):
    """Agrees with a node whose private key is in the code."""

    def agreed(self, key: Any, public: Any, edge: tuple[int, int]) -> Any:
        return key.exchange(X25519PrivateKey.from_private_bytes(bytes([7] * 32)).public_key())


def knows_all(found: Any) -> bool:
    return isinstance(found, Open) or max(found.exact.values()) > 0.99


@pytest.mark.build
@pytest.mark.parametrize(
    "slip", [PrivateTold, OfPublicKeys, ByPublicKeys, SeededByPublicKeys, OfPublicPrivateKeys, OfPublicKeysAndFewBits]
)
def test_what_others_know_or_guess_hides_nothing(slip: type) -> None:
    (found,) = proved(slip, CuriousServer())
    assert knows_all(found), found


class Early(Agreeing):
    """Has a key pair from before the call."""

    def __init__(self) -> None:
        self.public = X25519PrivateKey.from_private_bytes(bytes([9] * 32)).public_key()

    def agreed(self, key: Any, public: Any, edge: tuple[int, int]) -> Any:
        return key.exchange(self.public)


def exchanged(change: Callable[[Any], Any]) -> type:
    """Agree with what a change makes of a public key."""

    def agreed(self: Any, key: Any, public: Any, edge: tuple[int, int]) -> Any:
        return key.exchange(X25519PublicKey.from_public_bytes(change(public)))

    return type("Changed", (Agreeing,), {"agreed": agreed})


def drawn(change: Callable[[Any], Any]) -> type:
    """Take what a change makes of drawn bytes for a private key."""

    def keys(self: Any, masks: Any, channel: Channel) -> Any:
        channel.hold(-1, np.arange(masks.shape[1]), "private key", masks.transpose(1, 0, 2))
        return [[X25519PrivateKey.from_private_bytes(change(key.tobytes())) for key in of_run] for of_run in masks]

    return type("Drawn", (Agreeing,), {"keys": keys})


def announced(how: Callable[[Any], Any]) -> type:
    return type("Announced", (Agreeing,), {"announced": lambda self, key: how(key)})


LEAVES: list[tuple[type, str]] = [
    (ByAnother, "neither holds nor was sent"),
    (Undrawn, "what a pair agreed on, which is no uniform word, is in a message: derive keys of it"),
    (Early, "a public key that was made before the call"),
    (drawn(lambda octets: octets[:31] + b"x"), "a private key of which some bytes are public"),
    (exchanged(lambda octets: octets[::-1]), "a public key of which no private key is followed"),
    (exchanged(lambda octets: bytes([9] * 32)), "a public key of which no private key is followed"),
    (exchanged(lambda octets: octets[:31] + b"x"), "a public key of which no private key is followed"),
    (exchanged(lambda octets: hashlib.sha256(octets).digest()), "a public key of which no private key is followed"),
    (announced(lambda key: key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)), "Raw"),
    (announced(lambda key: key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())), "Raw"),
]


@pytest.mark.parametrize("place", range(len(LEAVES)))
def test_what_is_no_agreement_ends_the_proof(place: int) -> None:
    protocol, reason = LEAVES[place]
    (found,) = proved(protocol, CuriousServer())
    assert isinstance(found, Open)
    assert reason in found.reason


@pytest.mark.parametrize(
    "drawn",
    [lambda: X25519PrivateKey.generate().private_bytes_raw(), lambda: secrets.randbelow(2**256).to_bytes(32, "big")],
)
def test_what_was_drawn_is_no_public_key(drawn: Callable[[], Any]) -> None:
    with following(Trace()), replaced({__name__}), pytest.raises(LeftTrace, match="no private key is followed"):
        X25519PublicKey.from_public_bytes(drawn())


class Keeping:
    """Keeps a key pair, and perhaps another one the next time."""

    def __init__(self, key: Any) -> None:
        self.key = key


class PrivateKeysHide(Seeded):
    """Hides by the words of a private key: who guesses the data sees whether the public key fits."""

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        agreed = super().agree(masks, network, channel)
        keys = [[X25519PrivateKey.from_private_bytes(key.tobytes()) for key in of_run] for of_run in masks]
        told = np.array([[np.frombuffer(key.public_key().public_bytes_raw(), np.uint64) for key in of] for of in keys])
        channel.send(-1, network.edges[:, 0], SERVER, "public key", told.transpose(1, 0, 2))
        return agreed

    @staticmethod
    def expand(secret: Any, m: int, channel: Any) -> Any:
        return secret[:m]


def test_a_private_key_that_hides_data_is_no_mask() -> None:
    path = Network.from_edges(2, [(0, 1)])
    found = clear(prove(PrivateKeysHide(), path, INPUTS[:, :, :2]), path, CuriousServer())
    assert isinstance(found, Open)
    assert "a seed hides data, and who guesses these sees whether what follows from it fits" in found.reason


def test_a_key_that_is_kept_is_told_from_another() -> None:
    with following(Trace()), replaced({__name__}):
        one, other = X25519PrivateKey.generate(), X25519PrivateKey.generate()
        digests = [kept(Keeping(each), NETWORK, {}, {__name__}, frozenset())[0] for each in (one, one, other)]
    assert digests[0] == digests[1] != digests[2]


def test_where_nothing_is_loaded_nothing_stands_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("cryptography.hazmat.primitives.")]:
        monkeypatch.delitem(sys.modules, name)
    assert ciphers(()) == {}
    assert drawn_by(bytes) == {}


def test_both_ends_have_the_same_stream_and_others_have_another() -> None:
    with following(Trace()) as trace, replaced({__name__}):
        a, b, c = (X25519PrivateKey.generate() for _ in range(3))
        one, other, third = (x.exchange(y.public_key()) for x, y in ((a, b), (b, a), (a, c)))
        assert one.plain == other.plain != third.plain
        assert one.pieces == other.pieces != third.pieces
        words = [variables_of(np.frombuffer(each, np.uint64)).tolist() for each in (one, other, third)]
    assert words[0] == words[1]
    assert not {*words[0]} & {*words[2]}
    assert [stream.bits for stream in trace.streams if stream.pieces] == [256.0, 256.0]


@pytest.mark.parametrize("order", ["big", "little"])
def test_a_public_key_may_pass_as_a_number(order: Any) -> None:
    with following(Trace()), replaced({__name__}):
        a, b = X25519PrivateKey.generate(), X25519PrivateKey.generate()
        number = int.from_bytes(b.public_key().public_bytes_raw(), order)
        found = a.exchange(X25519PublicKey.from_public_bytes(number.to_bytes(32, order)))
        assert found.pieces == b.exchange(a.public_key()).pieces
        with pytest.raises(LeftTrace, match="no private key is followed"):
            X25519PublicKey.from_public_bytes(number.to_bytes(32, order)[::-1])


def test_a_public_private_key_makes_public_keys() -> None:
    with following(Trace()), replaced({__name__}):
        key = X25519PrivateKey.from_private_bytes(bytes([5] * 32))
        assert key.private_bytes_raw() == bytes([5] * 32)
        assert not isinstance(key.public_key().public_bytes_raw(), SecretBytes)
        assert not isinstance(X25519PrivateKey.generate().exchange(key.public_key()), SecretBytes)
        assert isinstance(X25519PrivateKey.generate().public_key().public_bytes_raw(), SecretBytes)


def test_after_a_guard_any_key_answers() -> None:
    """The call goes on to the error in which it must end."""
    with following(Trace(answering=True)), replaced({__name__}):
        key = X25519PrivateKey.generate()
        found = key.exchange(X25519PublicKey.from_public_bytes(bytes([9] * 32)))
    assert not isinstance(found, SecretBytes)
