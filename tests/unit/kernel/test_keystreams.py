"""Ciphers that are streams: where a key and a counter are used again, the same bytes come again."""

from __future__ import annotations

import functools
import hashlib
import hmac
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cryptography", reason="the package cryptography is not installed")
import cryptography
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
from unit.kernel.seeded import INPUTS, NETWORK, Seeded

from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.kernel.tracing.world import replaced
from secmix.kernel.values.arrays import variables_of
from secmix.kernel.values.current_trace import LeftTrace, Trace, following
from secmix.network import Network
from secmix.transcript import Channel

Expand = Callable[[Any, int, Any], Any]


def words(cipher: Any, m: int) -> Any:
    """The first m words that a cipher makes of zeros."""
    encryptor = cipher.encryptor()
    return np.frombuffer(encryptor.update(bytes(8 * m)) + encryptor.finalize(), np.uint64)


def aes(key: Any, nonce: Any, m: int) -> Any:
    return words(Cipher(algorithms.AES(key), modes.CTR(nonce)), m)


def chacha(key: Any, nonce: Any, m: int) -> Any:
    return words(Cipher(algorithms.ChaCha20(key=key, nonce=nonce), mode=None), m)


def derived(key: Any, m: int, salt: Any = None, info: Any = b"mask") -> Any:
    return np.frombuffer(HKDF(hashes.SHA256(), 8 * m, salt, info).derive(key), np.uint64)


def expanded(key: Any, m: int, info: Any) -> Any:
    return np.frombuffer(HKDFExpand(algorithm=hashes.SHA256(), length=8 * m, info=info).derive(key), np.uint64)


def by_hand(key: Any, m: int) -> Any:
    return np.frombuffer(hmac.new(key, b"mask\1", "sha256").digest(), np.uint64)[:m]


def finished(digest: Any, m: int, *parts: Any) -> Any:
    """The first m words of a digest of the package, keyed or not."""
    for part in parts:
        digest.update(part)
    return np.frombuffer(digest.copy().finalize(), np.uint64)[:m]


def numbered(channel: Any, length: int) -> Any:
    return channel.iteration.to_bytes(length, "big")


RIGHT: dict[str, Expand] = {
    "AES": lambda seed, m, channel: aes(seed.tobytes(), bytes(16), m),
    "AES-128, numbered": lambda seed, m, channel: aes(seed.tobytes()[:16], numbered(channel, 12) + bytes(4), m),
    "AES, half by half": lambda seed, m, channel: np.concatenate(
        [aes(seed.tobytes(), bytes([k] * 8) + bytes(8), half) for k, half in enumerate((m // 2, m - m // 2))]
    ),
    "AES, block by block": lambda seed, m, channel: np.concatenate(
        [aes(seed.tobytes(), k.to_bytes(16, "big"), 2) for k in range(-(-m // 2))]
    )[:m],
    "AES, a secret nonce": lambda seed, m, channel: aes(seed.tobytes()[:16], seed.tobytes()[16:28] + bytes(4), m),
    "ChaCha20": lambda seed, m, channel: chacha(seed.tobytes(), bytes(16), m),
    "ChaCha20, numbered": lambda seed, m, channel: chacha(seed.tobytes(), bytes(4) + numbered(channel, 12), m),
    "decrypted": lambda seed, m, channel: np.frombuffer(
        Cipher(algorithms.AES256(seed.tobytes()), modes.CTR(bytes(16))).decryptor().update(bytes(8 * m)), np.uint64
    ),
    "HKDF": lambda seed, m, channel: derived(seed.tobytes(), m),
    "HKDF, numbered": lambda seed, m, channel: derived(seed.tobytes(), m, b"salt", b"mask" + numbered(channel, 8)),
    "HKDF, a secret salt": lambda seed, m, channel: derived(seed.tobytes()[:16], m, seed.tobytes()[16:]),
    "HKDFExpand": lambda seed, m, channel: expanded(seed.tobytes(), m, b"mask"),
    "HKDF, half by half": lambda seed, m, channel: np.concatenate(
        [derived(seed.tobytes(), half, b"", bytes([k])) for k, half in enumerate((m // 2, m - m // 2))]
    ),
}


HASHED: dict[str, tuple[Expand, str]] = {
    "a hash": (lambda seed, m, channel: finished(hashes.Hash(hashes.SHA512()), m, seed.tobytes(), b"mask"), "sha512"),
    "as long as asked": (
        lambda seed, m, channel: finished(hashes.Hash(hashes.SHAKE256(8 * m)), m, seed.tobytes()),
        "shake_256",
    ),
    "HMAC": (
        lambda seed, m, channel: finished(HMAC(seed.tobytes(), hashes.SHA3_512()), m, b"mask", numbered(channel, 8)),
        "hmac sha3_512",
    ),
}


def under_another_name(seed: Any, m: int, channel: Any) -> Any:
    import cryptography.hazmat.primitives.ciphers as c

    return words(c.Cipher(c.algorithms.AES(seed.tobytes()), c.modes.CTR(bytes(16))), m)


def under_all_its_names(seed: Any, m: int, channel: Any) -> Any:
    import cryptography.hazmat.primitives.ciphers

    c = cryptography.hazmat.primitives.ciphers
    return words(c.Cipher(c.algorithms.AES(seed.tobytes()), c.modes.CTR(bytes(16))), m)


def of_a_package_above(seed: Any, m: int, channel: Any) -> Any:
    from cryptography.hazmat.primitives import ciphers as c

    return words(c.Cipher(c.algorithms.AES(seed.tobytes()), c.modes.CTR(bytes(16))), m)


def of_the_package(seed: Any, m: int, channel: Any) -> Any:
    c = cryptography.hazmat.primitives.ciphers
    return words(c.Cipher(c.algorithms.AES(seed.tobytes()), c.modes.CTR(bytes(16))), m)


IMPORTED: dict[str, Expand] = {
    each.__name__: each for each in (under_another_name, under_all_its_names, of_a_package_above, of_the_package)
}


def proved(expand: Expand, *, in_other_calls: bool = True, **more: Any) -> Any:
    protocol = type("Seeded", (Seeded,), {"expand": staticmethod(expand), **more})()
    return prove(protocol, NETWORK, INPUTS, in_other_calls=in_other_calls)


@pytest.mark.build
@pytest.mark.parametrize("name", RIGHT)
def test_a_stream_hides_from_whoever_does_not_know_the_key(name: str) -> None:
    proof = proved(RIGHT[name])
    server, node = (clear(proof, NETWORK, each) for each in (CuriousServer(), HonestButCurious({1})))
    assert isinstance(server, KnownSums), server
    assert isinstance(node, KnownSums), node
    assert (server.sums, node.sums) == ((frozenset({0, 1, 2, 3}),), (frozenset({0, 2, 3}),))
    assert not server.covers
    kind = name.split(",")[0].split("-")[0].replace("decrypted", "AES")
    kind = "hmac sha256" if "HKDF" in kind else f"{kind} with a counter"
    assert any(f"nobody tells from random what {kind} make" in each for each in server.assumes)


@pytest.mark.parametrize("name", HASHED)
def test_hashes_of_the_package_are_followed(name: str) -> None:
    expand, function = HASHED[name]
    found = clear(proved(expand, in_other_calls=False), NETWORK, CuriousServer())
    assert isinstance(found, KnownSums), found
    assert found.exact[0] == pytest.approx(0.25)
    assert any(f"nobody tells from random what {function} make" in each for each in found.assumes)


def test_a_hash_of_the_package_and_that_of_python_are_the_same_stream() -> None:
    """Their masks cancel: what one adds the other takes off."""
    proof = proved(
        lambda seed, m, channel: (
            finished(hashes.Hash(hashes.SHA256()), m, seed.tobytes())
            - np.frombuffer(hashlib.sha256(seed.tobytes()).digest(), np.uint64)[:m]
        ),
        in_other_calls=False,
    )
    assert not isinstance(clear(proof, NETWORK, CuriousServer()), KnownSums)


OPEN: dict[str, tuple[Expand, str]] = {
    "a short key": (lambda seed, m, channel: aes(seed.tobytes()[:8] + bytes(8), bytes(16), m), "a seed of 64 bits"),
    "a public key": (
        lambda seed, m, channel: aes(bytes(16), seed.tobytes()[:12] + bytes(4), m),
        "a seed of 0 bits, of 128",
    ),
    "a secret counter": (
        lambda seed, m, channel: aes(seed.tobytes()[:16], seed.tobytes()[16:], m),
        "a secret nonce of AES CTR, of which bytes 12 to 15 count blocks at test_keystreams.py, line",
    ),
    "a part of the iteration": (
        lambda seed, m, channel: aes(seed.tobytes(), numbered(channel, 8)[6:] + bytes(14), m),
        "a part of the iteration in a seed",
    ),
    "an overflow": (
        lambda seed, m, channel: aes(seed.tobytes(), bytes(12) + b"\xff" * 4, m),
        "a cipher whose counter overflows",
    ),
    "a short key of HKDF": (lambda seed, m, channel: derived(seed.tobytes()[:8], m), "a seed of 64 bits"),
    "an iteration that ends a salt": (
        lambda seed, m, channel: derived(seed.tobytes(), m, channel.iteration.to_bytes(8, "little")),
        "an iteration that ends a key with zeros",
    ),
    "no stream": (
        lambda seed, m, channel: words(Cipher(algorithms.AES(seed.tobytes()), modes.ECB()), 2)[[0] * m],
        "AES ECB with a secret key, which is no stream",
    ),
    "no zeros": (
        lambda seed, m, channel: np.frombuffer(
            Cipher(algorithms.AES(seed.tobytes()), modes.CTR(bytes(16))).encryptor().update(bytes([1] * 8 * m)), "u8"
        ),
        "a cipher of what is not zero",
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_is_no_stream_of_a_key_ends_the_proof(name: str) -> None:
    expand, said = OPEN[name]
    found = clear(proved(expand), NETWORK, CuriousServer())
    assert isinstance(found, Open)
    assert said in found.reason


def one_key(self: Any, masks: Any, network: Network, channel: Channel) -> Any:
    """The key of the first pair is that of all."""
    return [Seeded.agree(self, masks, network, channel)[0]] * len(network.edges)


def test_a_key_and_nonce_used_again_are_seen() -> None:
    """By two pairs; in two calls; and by halves of which the counters overlap."""
    of_a_fit = functools.partial(proved, in_other_calls=False)
    twice = {
        "pairs": of_a_fit(RIGHT["AES"], agree=one_key),
        "calls": of_a_fit(RIGHT["AES"], reuses_masks=True),
        "halves": of_a_fit(
            lambda seed, m, channel: np.concatenate([aes(seed.tobytes(), bytes(16), h) for h in (m // 2, m - m // 2)])
        ),
        "of HKDF": of_a_fit(RIGHT["HKDF"], reuses_masks=True),
        "of HKDF and by hand": of_a_fit(
            lambda seed, m, channel: np.concatenate(
                [expanded(seed.tobytes(), 2, b"mask"), by_hand(seed.tobytes() + b"\0", m - 2)]
            )
        ),
        "of HKDF by two salts": of_a_fit(
            lambda seed, m, channel: np.concatenate(
                [derived(seed.tobytes(), half, bytes(k)) for k, half in enumerate((m // 2, m - m // 2))]
            )
        ),
        "of ChaCha20": of_a_fit(RIGHT["ChaCha20"], reuses_masks=True),
    }
    for name, proof in twice.items():
        found = clear(proof, NETWORK, CuriousServer())
        assert not isinstance(found, KnownSums) or max(found.exact.values()) > 0.3, name
    for name in ("AES-128, numbered", "HKDF, numbered"):
        fresh = clear(proved(RIGHT[name], reuses_masks=True), NETWORK, CuriousServer())
        assert isinstance(fresh, KnownSums), name
        assert max(fresh.exact.values()) == pytest.approx(0.25)


@pytest.mark.parametrize(
    "expand",
    [
        lambda seed, m, channel: aes(seed.tobytes(), numbered(channel, 16), m),
        lambda seed, m, channel: chacha(seed.tobytes(), channel.iteration.to_bytes(16, "little"), m),
    ],
    ids=["AES", "ChaCha20"],
)
def test_an_iteration_that_counts_blocks_is_taken_as_it_is(expand: Expand) -> None:
    """With one key the words of iteration 1 begin within those of iteration 0."""
    vectors = np.random.default_rng(0).normal(size=(3, 1, 4, 12))
    kinds = [type("Counted", (Seeded,), {"expand": staticmethod(expand), "reuses_masks": kept}) for kept in (0, 1)]
    once, kept = (clear(prove(kind(), NETWORK, vectors), NETWORK, CuriousServer()) for kind in kinds)
    assert isinstance(once, KnownSums)
    assert once.covers[0].startswith("the iteration (test_keystreams.py, line ")
    assert not isinstance(kept, KnownSums) or max(kept.exact.values()) > 0.3


@pytest.mark.parametrize(
    ("cipher", "nonces", "shift"),
    [
        (aes, (bytes(16), bytes(15) + b"\1"), 2),
        (chacha, (bytes(16), b"\1" + bytes(15)), 8),
    ],
    ids=["AES", "ChaCha20"],
)
def test_streams_of_nonces_side_by_side_overlap(cipher: Any, nonces: Any, shift: int) -> None:
    with following(Trace()), replaced({__name__}):
        key = secrets.token_bytes(32)
        one, other = (cipher(key, nonce, 20).objects.tolist() for nonce in nonces)
    assert [each.value for each in one] == cipher(key.plain, nonces[0], 20).tolist()
    forms = [[*each.form] for each in one], [[*each.form] for each in other]
    assert forms[0][shift:] == forms[1][:-shift]
    assert forms[0][0] not in forms[1]


@pytest.mark.build
@pytest.mark.parametrize("cipher", [aes, chacha])
def test_a_public_key_is_public(cipher: Any) -> None:
    with following(Trace()) as trace, replaced({__name__}):
        found = cipher(bytes(32), bytes(16), 4)
        assert not trace.streams
    assert np.asarray(found).tolist() == cipher(bytes(32), bytes(16), 4).tolist()
    keyed = clear(proved(lambda seed, m, channel: cipher(bytes(32), bytes(4) + numbered(channel, 8) + bytes(4), m)),
                  NETWORK, CuriousServer())  # fmt: skip
    assert isinstance(keyed, Open) or keyed.covers


def test_what_is_derived_of_a_public_key_is_public() -> None:
    with following(Trace()) as trace, replaced({__name__}):
        found = derived(bytes(32), 4)
        assert not trace.streams
    assert np.asarray(found).tolist() == derived(bytes(32), 4).tolist()


def test_what_is_secret_itself_is_not_encrypted() -> None:
    with following(Trace()), replaced({__name__}):
        encryptor = Cipher(algorithms.AES(secrets.token_bytes(16)), modes.CTR(bytes(16))).encryptor()
        with pytest.raises(LeftTrace, match="not zero"):
            encryptor.update(secrets.token_bytes(8))


def test_after_a_guard_any_cipher_answers() -> None:
    """The call goes on to the error in which it must end."""
    with following(Trace(answering=True)), replaced({__name__}):
        key = secrets.token_bytes(16)
        found = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(bytes(16))
    assert found == Cipher(algorithms.AES(key.plain), modes.ECB()).encryptor().update(bytes(16))


@pytest.mark.build
@pytest.mark.parametrize("name", IMPORTED)
def test_a_cipher_is_followed_however_it_is_imported(name: str) -> None:
    assert not proved(IMPORTED[name]).open


FIRST_TO_LOAD = """
import sys
import numpy as np
from secmix.adversaries import CuriousServer
from secmix.kernel import KnownSums, clear, prove
from unit.kernel.seeded import INPUTS, NETWORK, Seeded

class Late(Seeded):
    @staticmethod
    def expand(seed, m, channel):
        IMPORT
        cipher = Cipher(algorithms.AES(seed.tobytes()), modes.CTR(bytes(16)))
        return np.frombuffer(cipher.encryptor().update(bytes(8 * m)), "u8")

assert "cryptography.hazmat.primitives.ciphers" not in sys.modules
found = clear(prove(Late(), NETWORK, INPUTS), NETWORK, CuriousServer())
assert isinstance(found, KnownSums), found
assert abs(max(found.exact.values()) - 0.25) < 1e-9
"""


FROM_IT = "from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes"
AS_ANOTHER = (
    "import cryptography.hazmat.primitives.ciphers as c; Cipher, algorithms, modes = c.Cipher, c.algorithms, c.modes"
)


@pytest.mark.parametrize("line", [FROM_IT, AS_ANOTHER])
@pytest.mark.build
def test_a_cipher_that_a_call_is_the_first_to_load_is_followed(line: str) -> None:
    """As where ``prove`` is called alone, before anybody imported the package: in a process of its own."""
    tests = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", FIRST_TO_LOAD.replace("IMPORT", line)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("place", [4, 5, 15])
def test_each_byte_of_a_nonce_that_counts_nothing_makes_another_stream(place: int) -> None:
    with following(Trace()) as trace, replaced({__name__}):
        key = secrets.token_bytes(32)
        one, other = (chacha(key, nonce, 4) for nonce in (bytes(16), bytes(place) + b"\1" + bytes(15 - place)))
        assert len({stream.key for stream in trace.streams if stream.pieces}) == 2
        assert not {*variables_of(one).tolist()} & {*variables_of(other).tolist()}
