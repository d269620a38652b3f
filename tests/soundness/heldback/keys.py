"""Keys as engineers handle them: key agreement, HKDF, AES-CTR, ChaCha20, HMAC, ratchets, long-lived sessions, drop-outs."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import random
import secrets
import struct

import numpy as np
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix.transcript import SERVER, Channel

from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}
UNIT = 2**16


def to_words(x):
    return np.rint(np.clip(x, -1e6, 1e6) * UNIT).astype(np.int64).astype(np.uint64)


def from_words(total):
    return total.astype(np.int64).astype(float) / UNIT


class PairStreams:
    """Everybody shares 256 bits with everybody else; a subclass says how a stream of words comes of them."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def stream(self, key: bytes, iteration: int, m: int) -> np.ndarray:
        raise NotImplementedError

    def pair_keys(self, channel, network, runs, m, rng, masks):
        """keys[run][(i, j)] as i has it, and as j has it."""
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        i, j = network.edges.T
        channel.hold(-1, i, "pair seed", seeds.transpose(1, 0, 2))
        got = channel.send(-1, i, j, "pair seed", seeds.transpose(1, 0, 2), encrypted=True)
        mine = [{(a, b): seeds[r, e].tobytes() for e, (a, b) in enumerate(network.edges.tolist())} for r in range(runs)]
        theirs = [{(a, b): got[e, r].tobytes() for e, (a, b) in enumerate(network.edges.tolist())} for r in range(runs)]
        return mine, theirs

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        mine, theirs = self.pair_keys(channel, network, runs, m, rng, masks)
        messages = np.zeros((n, runs, m), dtype=np.uint64)
        for r in range(runs):
            for node in range(n):
                y = to_words(x[r, node])
                for other in range(n):
                    if other > node:
                        y = y + self.stream(mine[r][node, other], channel.iteration, m)
                    elif other < node:
                        y = y - self.stream(theirs[r][other, node], channel.iteration, m)
                messages[node, r] = y
        received = channel.send(0, np.arange(n), SERVER, "y", messages)
        mean = from_words(received.sum(axis=0)) / n
        mean = channel.send(1, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript


# Right: the mask of a pair is HMAC-SHA256 of its key over round and block, four words a block.
class HmacBlocks(PairStreams):
    def stream(self, key, iteration, m):
        blocks = []
        for counter in range((m + 3) // 4):
            blocks.append(hmac.new(key, struct.pack(">QI", iteration, counter), hashlib.sha256).digest())
        return np.frombuffer(b"".join(blocks), dtype=np.uint64)[:m]


# Right: AES-256 in counter mode, round in the first twelve bytes, blocks counted in the last four.
class AesCounter(PairStreams):
    def stream(self, key, iteration, m):
        nonce = iteration.to_bytes(12, "big") + b"\x00" * 4
        encryptor = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()
        return np.frombuffer(encryptor.update(b"\x00" * (8 * m)) + encryptor.finalize(), dtype=np.uint64)


# Right: ChaCha20 with a nonce that HKDF-like hashing makes of the round; the key is hashed first.
class ChaChaHashedNonce(PairStreams):
    def stream(self, key, iteration, m):
        nonce = hashlib.sha256(b"round" + iteration.to_bytes(8, "little")).digest()[:12]
        cipher = Cipher(algorithms.ChaCha20(hashlib.sha256(key + b"mask").digest(), bytes(4) + nonce), mode=None)
        return np.frombuffer(cipher.encryptor().update(bytes(8 * m)), np.uint64)


# Right: the standard library's generator, seeded with the 256 bits as one integer and the round through SHA-512.
class StandardRandom(PairStreams):
    def stream(self, key, iteration, m):
        seed = hashlib.sha512(key + struct.pack("<q", iteration)).digest()
        source = random.Random(int.from_bytes(seed, "big"))
        return np.array([source.getrandbits(64) for _ in range(m)], dtype=np.uint64)


# Right: a ratchet along the chunks of a vector: each chunk's mask and the next key are hashes of this key under labels.
class ChunkRatchet(PairStreams):
    CHUNK = 4

    def stream(self, key, iteration, m):
        chain, out = hashlib.blake2b(iteration.to_bytes(8, "big"), key=key, digest_size=32).digest(), []
        for start in range(0, m, self.CHUNK):
            width = min(self.CHUNK, m - start)
            out.append(np.frombuffer(hashlib.shake_128(chain + b"mask").digest(8 * width), np.uint64))
            chain = hashlib.sha256(chain + b"next").digest()
        return np.concatenate(out)


# Right: a ratchet along rounds: the key of round t is t hashes of the root; all of it is fresh in every call besides.
class RoundRatchet(PairStreams):
    def stream(self, key, iteration, m):
        for _ in range(iteration):
            key = hashlib.sha256(b"ratchet" + key).digest()
        return np.frombuffer(hashlib.shake_256(b"stream" + key).digest(8 * m), np.uint64)


# Right: X25519 through the server, HKDF with the pair and the round as info, AES-CTR from the key that it gives.
class X25519Session(PairStreams):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=np.uint64)

    def pair_keys(self, channel, network, runs, m, rng, masks):
        secret = self.draw_masks(runs, m, network, rng) if masks is None else masks
        n = network.n
        channel.hold(-2, np.arange(n), "private key", secret.transpose(1, 0, 2))
        keys = [[X25519PrivateKey.from_private_bytes(secret[r, i].tobytes()) for i in range(n)] for r in range(runs)]
        public = np.array([[np.frombuffer(k.public_key().public_bytes_raw(), np.uint8) for k in row] for row in keys])
        up = channel.send(-2, np.arange(n), SERVER, "public key", public.transpose(1, 0, 2))
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
        sender, receiver = np.array(pairs).T
        down = channel.send(-1, SERVER, receiver, "public key of a peer", up, content=sender)
        mine, theirs = [], []
        for r in range(runs):
            shared = {}
            for e, (i, j) in enumerate(pairs):  # j computes with the key of i
                peer = X25519PublicKey.from_public_bytes(down[i, r].tobytes())
                secret_of_pair = keys[r][j].exchange(peer)
                info = b"secagg" + struct.pack(">II", min(i, j), max(i, j))
                derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info).derive(secret_of_pair)
                shared[j, i] = derived
            mine.append({(i, j): shared[i, j] for i, j in pairs if i < j})
            theirs.append({(i, j): shared[j, i] for i, j in pairs if i < j})
        return mine, theirs

    def stream(self, key, iteration, m):
        nonce = iteration.to_bytes(12, "big") + bytes(4)
        return np.frombuffer(Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor().update(bytes(8 * m)), np.uint64)


# Right: the same with X25519 keys that the library generates.
class GeneratedX25519(X25519Session):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def pair_keys(self, channel, network, runs, m, rng, masks):
        n = network.n
        keys = [[X25519PrivateKey.generate() for _ in range(n)] for _ in range(runs)]
        raw = np.array([[np.frombuffer(k.private_bytes_raw(), np.uint64) for k in row] for row in keys])
        return super().pair_keys(channel, network, runs, m, rng, raw)


# Right: ECDH on P-256 as the library's documentation has it, public keys as PEM, HKDF, HMAC blocks.
class P256Session(HmacBlocks):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def pair_keys(self, channel, network, runs, m, rng, masks):
        n = network.n
        pem = {"encoding": serialization.Encoding.PEM, "format": serialization.PublicFormat.SubjectPublicKeyInfo}
        mine, theirs, rows = [], [], []
        keys = [[ec.generate_private_key(ec.SECP256R1()) for _ in range(n)] for _ in range(runs)]
        rows = [[np.frombuffer(k.public_key().public_bytes(**pem), np.uint8) for k in row] for row in keys]
        up = channel.send(-2, np.arange(n), SERVER, "public key", np.array(rows).transpose(1, 0, 2))
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
        sender, receiver = np.array(pairs).T
        down = channel.send(-1, SERVER, receiver, "public key of a peer", up, content=sender)
        for r in range(runs):
            shared = {}
            for e, (i, j) in enumerate(pairs):
                peer = serialization.load_pem_public_key(down[i, r].tobytes())
                z = keys[r][j].exchange(ec.ECDH(), peer)
                shared[j, i] = HKDF(algorithm=hashes.SHA256(), length=32, salt=b"salt", info=b"fl").derive(z)
            mine.append({(i, j): shared[i, j] for i, j in pairs if i < j})
            theirs.append({(i, j): shared[j, i] for i, j in pairs if i < j})
        return mine, theirs


# Right: a session: keys of the pairs are drawn once, by the system, and live with the object; each round has masks of
# its own by HMAC of the round. (State that stays the same.)
class LongSession(HmacBlocks):
    def __init__(self, n=5):
        self.keys = {pair: secrets.token_bytes(32) for pair in itertools.combinations(range(n), 2)}

    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def pair_keys(self, channel, network, runs, m, rng, masks):
        for (i, j), key in self.keys.items():
            words = np.broadcast_to(np.frombuffer(key, np.uint64), (1, runs, 4))
            channel.hold(-1, np.array([i]), "session key", words)
            channel.hold(-1, np.array([j]), "session key", words)
        return [self.keys] * runs, [self.keys] * runs


# Right: drop-out recovery (Bonawitz without self masks): node 4 never uploads; each survivor tells the server the seed
# that it shares with node 4, and nothing else. The sum over the survivors opens.
class DropOut(AesCounter):
    GONE = 4

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        edges, alive = network.edges.tolist(), [node for node in range(n) if node != self.GONE]
        i, j = network.edges.T
        channel.hold(-1, i, "pair seed", seeds.transpose(1, 0, 2))
        got = channel.send(-1, i, j, "pair seed", seeds.transpose(1, 0, 2), encrypted=True)
        words = to_words(x.transpose(1, 0, 2))
        for r in range(runs):
            for e, (a, b) in enumerate(edges):
                words[a, r] += self.stream(seeds[r, e].tobytes(), channel.iteration, m)
                words[b, r] -= self.stream(got[e, r].tobytes(), channel.iteration, m)
        received = channel.send(0, alive, SERVER, "masked", words[alive])
        total = received.sum(axis=0)
        orphans = [e for e, pair in enumerate(edges) if self.GONE in pair]
        helpers = [a if b == self.GONE else b for a, b in (edges[e] for e in orphans)]
        held = np.stack([seeds[:, e] if edges[e][0] == h else got[e] for e, h in zip(orphans, helpers)])
        opened = channel.send(1, helpers, SERVER, "seed of the one who left", held)
        for r in range(runs):
            for row, e in enumerate(orphans):
                pad = self.stream(opened[row, r].tobytes(), channel.iteration, m)
                total[r] = total[r] - pad if edges[e][0] != self.GONE else total[r] + pad
        mean = from_words(total) / len(alive)
        mean = channel.send(2, SERVER, alive, "mean", mean[None], content=np.zeros(len(alive), dtype=int))
        averages = np.full((runs, n, m), np.nan)
        averages[:, alive] = mean.transpose(1, 0, 2)
        return averages, channel.transcript


# Right: pair masks and self masks; all upload; in the unmasking round each node opens the seed of its own self mask.
class SelfMasks(PairStreams):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges) + network.n, 4), dtype=np.uint64)

    def stream(self, key, iteration, m):
        return np.frombuffer(hashlib.shake_256(key + iteration.to_bytes(4, "big")).digest(8 * m), np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        pair, own = np.split(seeds.transpose(1, 0, 2), [len(network.edges)])
        i, j = network.edges.T
        channel.hold(-1, i, "pair seed", pair)
        channel.hold(-1, np.arange(n), "own seed", own)
        got = channel.send(-1, i, j, "pair seed", pair, encrypted=True)
        words = to_words(x.transpose(1, 0, 2))
        for r in range(runs):
            for node in range(n):
                words[node, r] += self.stream(own[node, r].tobytes(), channel.iteration, m)
            for e, (a, b) in enumerate(network.edges):
                words[a, r] += self.stream(pair[e, r].tobytes(), channel.iteration, m)
                words[b, r] -= self.stream(got[e, r].tobytes(), channel.iteration, m)
        received = channel.send(0, np.arange(n), SERVER, "masked", words)
        opened = channel.send(1, np.arange(n), SERVER, "own seed", own)
        total = received.sum(axis=0)
        for r in range(runs):
            total[r] -= sum(self.stream(opened[k, r].tobytes(), channel.iteration, m) for k in range(n))
        mean = from_words(total) / n
        mean = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript


CASES = [
    *known("HMAC blocks", HmacBlocks, "pseudorandom words of a secret key", **SAFE),
    *known("AES counter mode", AesCounter, "pseudorandom words of a secret key", **SAFE),
    *known("ChaCha20, hashed nonce", ChaChaHashedNonce, "pseudorandom words of a secret key", **SAFE),
    *known("random.Random of SHA-512", StandardRandom, "a seed of 256 bits; Mersenne Twister", **SAFE),
    *known("ratchet along chunks", ChunkRatchet, "pseudorandom words of a secret key", **SAFE),
    *known("ratchet along rounds", RoundRatchet, "pseudorandom words of a secret key", **SAFE),
    *known("X25519 through the server", X25519Session, "decisional Diffie-Hellman, HKDF", **SAFE),
    *known("generated X25519 keys", GeneratedX25519, "decisional Diffie-Hellman, HKDF", **SAFE),
    *known("P-256 with PEM", P256Session, "decisional Diffie-Hellman, HKDF", **SAFE),
    *known("a session with keys of its own", LongSession, "HMAC of the round under a lasting key", **SAFE),
    *known("drop-out recovery", DropOut, "the sum over the four who are left", **SAFE),
    *known("self masks opened", SelfMasks, "the sum: pair masks cancel, self masks open", **SAFE),
]
