"""More ways to derive masks, and to bring seeds to where they are used."""

from __future__ import annotations

import hashlib
import hmac
import secrets

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from secmix.transcript import SERVER, Channel

from .keys import PairStreams, from_words, to_words
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}


# Right: HKDF's expansion written out: T(i) = HMAC(key, T(i-1) | info | i).
class ExpandByHand(PairStreams):
    def stream(self, key, iteration, m):
        info, t, okm = b"mask" + iteration.to_bytes(8, "big"), b"", b""
        for i in range(1, (8 * m + 31) // 32 + 1):
            t = hmac.new(key, t + info + bytes([i]), hashlib.sha256).digest()
            okm += t
        return np.frombuffer(okm[: 8 * m], np.uint64)


# Right: HKDFExpand of the library, as long as the vector.
class ExpandByLibrary(PairStreams):
    def stream(self, key, iteration, m):
        info = b"mask" + iteration.to_bytes(8, "big")
        return np.frombuffer(HKDFExpand(algorithm=hashes.SHA256(), length=8 * m, info=info).derive(key), np.uint64)


# Right: PBKDF2 of the pair's key with the round as salt.
class Pbkdf2(PairStreams):
    def stream(self, key, iteration, m):
        salt = b"round" + iteration.to_bytes(8, "big")
        return np.frombuffer(hashlib.pbkdf2_hmac("sha256", key, salt, 2, dklen=8 * m), np.uint64)


# Right: Philox with the first two words of the key as its key and the round as its counter's upper word.
class PhiloxKeyed(PairStreams):
    def stream(self, key, iteration, m):
        words = np.frombuffer(key, np.uint64)
        source = np.random.Generator(np.random.Philox(key=words[:2], counter=[0, 0, 0, iteration]))
        return source.integers(0, 2**64, size=m, dtype=np.uint64)


# Right: SeedSequence with the round as spawn key.
class SpawnKey(PairStreams):
    def stream(self, key, iteration, m):
        sequence = np.random.SeedSequence(int.from_bytes(key, "little"), spawn_key=(iteration,))
        return np.random.default_rng(sequence).integers(0, 2**64, size=m, dtype=np.uint64)


# Right: the key's bytes as a list of integers and the round seed PCG64.
class ListOfBytes(PairStreams):
    def stream(self, key, iteration, m):
        return np.random.default_rng([*list(key), iteration]).integers(0, 2**64, size=m, dtype=np.uint64)


# Right: SHA3-512 blocks, counter in front, hexadecimal labels left out.
class Sha3Blocks(PairStreams):
    def stream(self, key, iteration, m):
        out = bytearray()
        for block in range((m + 7) // 8):
            out.extend(hashlib.sha3_512(block.to_bytes(4, "big") + iteration.to_bytes(8, "big") + key).digest())
        return np.frombuffer(bytes(out[: 8 * m]), np.uint64)


# Right: an entry's mask is the HMAC of its number, as a residue modulo 2^61 - 1 and of 256 bits before that.
class ResiduesOfHmac(PairStreams):
    P = 2**61 - 1

    def stream(self, key, iteration, m):
        pad = []
        for k in range(m):
            digest = hmac.digest(key, iteration.to_bytes(8, "big") + k.to_bytes(4, "big"), "sha256")
            pad.append(int.from_bytes(digest, "big") % self.P)
        return np.array(pad, dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        mine, theirs = self.pair_keys(channel, network, runs, m, rng, masks)
        words = np.rint(x.transpose(1, 0, 2) * 2**16).astype(np.int64) % self.P
        for r in range(runs):
            for i, j in network.edges.tolist():
                words[i, r] = (words[i, r] + self.stream(mine[r][i, j], channel.iteration, m).astype(np.int64)) % self.P
                words[j, r] = (
                    words[j, r] - self.stream(theirs[r][i, j], channel.iteration, m).astype(np.int64)
                ) % self.P
        received = channel.send(0, np.arange(n), SERVER, "y", words)
        total = np.zeros((runs, m), dtype=np.int64)
        for row in received:
            total = (total + row) % self.P
        mean = np.where(total > self.P // 2, total - self.P, total) / 2**16 / n
        mean = channel.send(1, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript


# Right: HMAC, blocks joined by b"".join as the manual of Python recommends: mended to +=.
class JoinMended(PairStreams):
    def stream(self, key, iteration, m):
        out = b""
        for counter in range((m + 3) // 4):
            out += hmac.new(key, iteration.to_bytes(8, "big") + counter.to_bytes(4, "big"), hashlib.sha256).digest()
        return np.frombuffer(out, dtype=np.uint64)[:m]


# Right: seeds pass through the server sealed for their receiver.
class SealedSeeds(JoinMended):
    def pair_keys(self, channel, network, runs, m, rng, masks):
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        mine, theirs = [{} for _ in range(runs)], [{} for _ in range(runs)]
        for e, (i, j) in enumerate(network.edges.tolist()):
            channel.hold(-2, np.array([i]), "pair seed", seeds[:, e][None])
            sealed = channel.send(-2, i, SERVER, "pair seed", seeds[:, e][None], sealed_for=j)
            opened = channel.send(-1, SERVER, j, "pair seed", sealed)
            for r in range(runs):
                mine[r][i, j], theirs[r][i, j] = seeds[r, e].tobytes(), opened[0, r].tobytes()
        return mine, theirs


# Right: seeds of the system (secrets.token_bytes), drawn by the lower node of each pair in every call.
class SystemSeeds(JoinMended):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def pair_keys(self, channel, network, runs, m, rng, masks):
        drawn = [[secrets.token_bytes(32) for _ in range(runs)] for _ in network.edges]
        words = np.array([[np.frombuffer(seed, np.uint64) for seed in row] for row in drawn])
        i, j = network.edges.T
        channel.hold(-1, i, "pair seed", words)
        got = channel.send(-1, i, j, "pair seed", words, encrypted=True)
        pairs = network.edges.tolist()
        mine = [{(a, b): drawn[e][r] for e, (a, b) in enumerate(pairs)} for r in range(runs)]
        theirs = [{(a, b): got[e, r].tobytes() for e, (a, b) in enumerate(pairs)} for r in range(runs)]
        return mine, theirs


# Right: X25519 keys of each node, shared secrets hashed with both public keys in order (no HKDF).
class HashedExchange(JoinMended):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def pair_keys(self, channel, network, runs, m, rng, masks):
        n, mine, theirs = network.n, [], []
        keys = [[X25519PrivateKey.generate() for _ in range(n)] for _ in range(runs)]
        for i in range(n):
            raw = np.array([np.frombuffer(keys[r][i].private_bytes_raw(), np.uint64) for r in range(runs)])
            channel.hold(-2, np.array([i]), "private key", raw[None])
        public = [
            [np.frombuffer(keys[r][i].public_key().public_bytes_raw(), np.uint8) for r in range(runs)] for i in range(n)
        ]
        book = channel.send(-2, np.arange(n), SERVER, "public key", np.array(public))
        for r in range(runs):
            a_side, b_side = {}, {}
            for i, j in network.edges.tolist():
                told_j = channel.send(-1, SERVER, i, "public key", book[j, r][None, None])[0, 0].tobytes()
                told_i = channel.send(-1, SERVER, j, "public key", book[i, r][None, None])[0, 0].tobytes()
                a = keys[r][i].exchange(X25519PublicKey.from_public_bytes(told_j))
                b = keys[r][j].exchange(X25519PublicKey.from_public_bytes(told_i))
                a_side[i, j] = hashlib.sha256(a + public[i][r].tobytes() + told_j).digest()
                b_side[i, j] = hashlib.sha256(b + told_i + public[j][r].tobytes()).digest()
            mine.append(a_side)
            theirs.append(b_side)
        return mine, theirs


# Right: two vectors a round, sums and squares, each with a label of its own in the hash.
class TwoLabels(JoinMended):
    def stream(self, key, iteration, m, label=b"sums"):
        return super().stream(hashlib.sha256(key + label).digest(), iteration, m)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        mine, theirs = self.pair_keys(channel, network, runs, m, rng, masks)
        opened = []
        for step, (label, values) in enumerate({b"sums": x, b"squares": np.minimum(x**2, 1e5)}.items()):
            y = to_words(values.transpose(1, 0, 2))
            for r in range(runs):
                for i, j in network.edges.tolist():
                    y[i, r] += self.stream(mine[r][i, j], channel.iteration, m, label)
                    y[j, r] -= self.stream(theirs[r][i, j], channel.iteration, m, label)
            opened.append(from_words(channel.send(step, np.arange(n), SERVER, f"y {step}", y).sum(axis=0)) / n)
        told = channel.send(
            9, SERVER, np.arange(n), "moments", np.concatenate(opened, axis=-1)[None], content=np.zeros(n, dtype=int)
        )
        return np.repeat(told[..., :m].transpose(1, 0, 2), n, axis=1), channel.transcript


CASES = [
    *known("HKDF's expansion by hand", ExpandByHand, "pseudorandom words of a secret key", **SAFE),
    *known("HKDFExpand as long as the vector", ExpandByLibrary, "pseudorandom words of a secret key", **SAFE),
    *known("PBKDF2", Pbkdf2, "pseudorandom words of a secret key", **SAFE),
    *known("Philox by key and counter", PhiloxKeyed, "a key of 128 bits", **SAFE),
    *known("SeedSequence with a spawn key", SpawnKey, "a seed of 256 bits", **SAFE),
    *known("a list of the key's bytes", ListOfBytes, "a seed of 256 bits", **SAFE),
    *known("SHA3 blocks in a bytearray", Sha3Blocks, "pseudorandom words of a secret key", **SAFE),
    *known("residues of HMAC", ResiduesOfHmac, "256 bits modulo 61 bits", **SAFE),
    *known("HMAC blocks by +=", JoinMended, "pseudorandom words of a secret key", **SAFE),
    *known("sealed seeds through the server", SealedSeeds, "sealed for the receiver", **SAFE),
    *known("seeds of the system", SystemSeeds, "256 bits of the system", **SAFE),
    *known("hashed exchange", HashedExchange, "Diffie-Hellman, a hash", **SAFE),
    *known("two labels", TwoLabels, "streams of two labels", **SAFE),
]
