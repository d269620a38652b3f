"""What an author would write after reading why a protocol was inconclusive, and the page on what can be proved."""

from __future__ import annotations

import hashlib

import numpy as np
from scipy.special import gammaln, softmax

from secmix.transcript import SERVER, Channel

from .derived import HashedExchange, JoinMended
from .fedavg import SecAgg, TopKFeedback
from .keys import LongSession, PairStreams
from .statistics import GaussianMixture, MaskedSums, PoissonMixture, padded
from .training import LogisticGradient
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}


# Right: words times whole numbers of examples, in place of floats times weights.
class WeightedWords(SecAgg):
    SIZES = np.array([120, 80, 100, 60, 90], dtype=np.uint64)

    def encode(self, x, network):
        return super().encode(x, network) * self.SIZES[:, None, None]

    def decode(self, total, network):
        return total.astype(np.int64) / (1 << self.FRACTION_BITS) / self.SIZES.sum()


# Right: the same, sizes close to each other.
class NearlyEqualSizes(WeightedWords):
    SIZES = np.array([101, 99, 100, 100, 100], dtype=np.uint64)


# Right: FedAvg with private counts; the server tells both totals, and who needs the model divides.
class QuotientAfterwards(SecAgg):
    CLIP = 2.0**20

    def encode(self, x, network):
        counts = np.rint(np.clip(x[..., :1], 1, 1000))
        return super().encode(np.concatenate([counts * np.clip(x, -500, 500), counts], axis=-1), network)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        both, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        return both[..., :-1] / np.maximum(both[..., -1:], 1e-6), transcript


# Right: the same, with the quotient by the server, at any length.
class QuotientByServer(QuotientAfterwards):
    def finish(self, mean, m):
        return mean[..., :m] / np.maximum(mean[..., m:], 1e-6)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        return SecAgg.average(self, inputs, network, rng, masks=masks, channel=channel)


# Right: a random subset of half the entries.
class RandomHalf(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        m = np.shape(inputs)[-1]
        kept = np.sort(np.random.default_rng([1234, channel.iteration]).choice(m, m // 2, replace=False))
        small, transcript = super().average(np.asarray(inputs)[..., kept], network, rng, masks=masks, channel=channel)
        out = np.zeros(np.shape(inputs))
        out[..., kept] = 2 * small
        return out, transcript


# Right: rotation by a public matrix; the sum is told as it is, and each node turns it back.
class TurnedBackByNodes(SecAgg):
    @staticmethod
    def rotation(m):
        q, r = np.linalg.qr(np.random.default_rng(7).standard_normal((m, m)))
        return q * np.sign(np.diag(r))

    def encode(self, x, network):
        return super().encode(np.einsum("nrm,mk->nrk", x, self.rotation(x.shape[-1])), network)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        turned, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        return turned @ self.rotation(np.shape(inputs)[-1]).T, transcript


# Right: top-k of as many entries as there are, error kept by the client.
class TopKOfAny(TopKFeedback):
    K = 1


class SumsAlone(MaskedSums):
    """Ends with what was opened; who needs more computes it after the call."""

    def widths(self, m):
        return [self.size]

    def compute(self, x, total, n):
        return padded(total(self.own(x)), x.shape[2])


# Right: E-step with scipy's softmax; the sums are all that is returned.
class MixtureSums(SumsAlone):
    size = 6

    def own(self, x):
        z = np.clip(x, -300, 300)[..., None]
        g = GaussianMixture
        resp = softmax(np.log(g.WEIGHTS) - np.log(g.SDS) - 0.5 * ((z - g.MEANS) / g.SDS) ** 2, axis=-1)
        return np.concatenate([resp.sum(axis=2), (resp * z).sum(axis=2), (resp * z**2).sum(axis=2)], axis=-1)


# Right: the same with e / np.maximum(e.sum(), 1).
class MixtureByHand(SumsAlone):
    size = 6

    def own(self, x):
        z = np.clip(x, -300, 300)[..., None]
        g = GaussianMixture
        logits = np.log(g.WEIGHTS) - np.log(g.SDS) - 0.5 * ((z - g.MEANS) / g.SDS) ** 2
        e = np.exp(logits - logits.max(axis=-1, keepdims=True))
        resp = e / np.maximum(e.sum(axis=-1, keepdims=True), 1.0)
        return np.concatenate([resp.sum(axis=2), (resp * z).sum(axis=2), (resp * z**2).sum(axis=2)], axis=-1)


# Right: Poisson mixture with softmax, the factorial left out, as it cancels.
class PoissonSums(SumsAlone):
    size = 6

    def own(self, x):
        p = PoissonMixture
        k = np.rint(np.clip(np.abs(x), 0, 60))
        r = softmax(k[..., None] * np.log(p.RATES) - p.RATES + np.log(p.WEIGHTS), axis=-1)
        return np.concatenate([r.sum(axis=2), np.einsum("nrmc,nrm->nrc", r, k)], axis=-1)


# Right: Poisson mixture with a table of log factorials in place of gammaln.
class PoissonTable(SumsAlone):
    size = 6
    TABLE = gammaln(np.arange(62) + 1.0)

    def own(self, x):
        p = PoissonMixture
        k = np.rint(np.clip(np.abs(x), 0, 60))
        logs = np.take(self.TABLE, k.astype(np.int64))
        r = softmax(k[..., None] * np.log(p.RATES) - p.RATES - logs[..., None] + np.log(p.WEIGHTS), axis=-1)
        return np.concatenate([r.sum(axis=2), np.einsum("nrmc,nrm->nrc", r, k)], axis=-1)


# Right: k-means, counts by comparison; sums are all that is returned.
class KMeansSums(SumsAlone):
    size = 4
    CENTRES = np.array([-4.0, 8.0])

    def own(self, x):
        member = (np.argmin((x[..., None] - self.CENTRES) ** 2, axis=-1)[..., None] == np.arange(2)).astype(float)
        return np.concatenate([member.sum(axis=2), (member * x[..., None]).sum(axis=2)], axis=-1)


# Right: products of rows for principal components, the sums alone.
class CovarianceSums(SumsAlone):
    size = 5

    def own(self, x):
        rows = np.clip(x, -100, 100).reshape(*x.shape[:2], -1, 2)
        upper = np.triu_indices(2)
        products = np.einsum("nrki,nrkj->nrij", rows, rows)[..., upper[0], upper[1]]
        return np.concatenate([rows.sum(axis=2), products], axis=-1)


# Right: variance in one pass: sums and squares, told as they are.
class OnePass(MaskedSums):
    def widths(self, m):
        return [2 * m]

    def compute(self, x, total, n):
        x = np.clip(x, -500, 500)
        return total(np.concatenate([x, x**2], axis=2))[:, : x.shape[2]] / n


# Right: moments told as sums.
class MomentSums(SumsAlone):
    size = 2

    def own(self, x):
        z = np.clip(x, -300, 300)
        return np.stack([z.sum(axis=2), (z**2).sum(axis=2)], axis=-1)


# Right: loss and gradient, logarithms of what is bounded.
class BoundedLogistic(LogisticGradient):
    def compute(self, x, total, n):
        m = x.shape[2]
        w = np.linspace(-0.1, 0.1, m)
        p = 1.0 / (1.0 + np.exp(-np.clip(np.clip(x, -50, 50) @ w, -30, 30)))
        target = (x[..., 0] > x[..., -1]).astype(float)
        gradient = (p - target)[..., None] * np.clip(x, -50, 50)
        loss = -(target * np.log(np.maximum(p, 1e-9)) + (1 - target) * np.log(np.maximum(1 - p, 1e-9)))
        return total(np.concatenate([gradient, loss[..., None]], axis=-1))[:, :m] / n


# Right: gaps filled by zeros before the sum.
class FilledGaps(SumsAlone):
    size = 2

    def own(self, x):
        return np.stack([np.where(x < 0, 0.0, x).sum(axis=2), (x >= 0).sum(axis=2).astype(float)], axis=-1)


# Right: SHA3 blocks by +=.
class Sha3Joined(PairStreams):
    def stream(self, key, iteration, m):
        out = b""
        for block in range((m + 7) // 8):
            out += hashlib.sha3_512(block.to_bytes(4, "big") + iteration.to_bytes(8, "big") + key).digest()
        return np.frombuffer(out[: 8 * m], np.uint64)


# Right: the key's words seed PCG64.
class WordsOfTheKey(PairStreams):
    def stream(self, key, iteration, m):
        words = np.frombuffer(key, np.uint64)
        return np.random.default_rng([*words, iteration]).integers(0, 2**64, size=m, dtype=np.uint64)


# Right: a nonce of the round as it is, in place of a hash of it.
class ChaChaPlainNonce(PairStreams):
    def stream(self, key, iteration, m):
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

        nonce = bytes(4) + iteration.to_bytes(12, "big")
        return np.frombuffer(
            Cipher(algorithms.ChaCha20(hashlib.sha256(key + b"mask").digest(), nonce), mode=None)
            .encryptor()
            .update(bytes(8 * m)),
            np.uint64,
        )


# Right: the standard library's generator on a hash of key and round, with to_bytes.
class StandardRandomMended(PairStreams):
    def stream(self, key, iteration, m):
        import random

        source = random.Random(int.from_bytes(hashlib.sha512(key + iteration.to_bytes(8, "big")).digest(), "big"))
        return np.array([source.getrandbits(64) for _ in range(m)], dtype=np.uint64)


# Right: session keys that are drawn in every call by draw_masks.
class SessionOfOneCall(JoinMended):
    pass


# Right: a session with keys of its own, blocks by +=.
class LongSessionMended(LongSession):
    def stream(self, key, iteration, m):
        return JoinMended.stream(self, key, iteration, m)


# Right: the hashed exchange, every message with all runs.
class HashedExchangeByRuns(HashedExchange):
    def pair_keys(self, channel, network, runs, m, rng, masks):
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

        n = network.n
        keys = [[X25519PrivateKey.generate() for _ in range(runs)] for _ in range(n)]
        raw = np.array([[np.frombuffer(k.private_bytes_raw(), np.uint64) for k in row] for row in keys])
        channel.hold(-2, np.arange(n), "private key", raw)
        public = np.array([[np.frombuffer(k.public_key().public_bytes_raw(), np.uint8) for k in row] for row in keys])
        book = channel.send(-2, np.arange(n), SERVER, "public key", public)
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
        owner, reader = np.array(pairs).T
        book = channel.send(-1, SERVER, reader, "public key", book, content=owner)

        def agree(me, other, r):
            shared = keys[me][r].exchange(X25519PublicKey.from_public_bytes(book[other, r].tobytes()))
            low, high = sorted((me, other))
            return hashlib.sha256(shared + book[low, r].tobytes() + book[high, r].tobytes()).digest()

        edges = network.edges.tolist()
        mine = [{(i, j): agree(i, j, r) for i, j in edges} for r in range(runs)]
        theirs = [{(i, j): agree(j, i, r) for i, j in edges} for r in range(runs)]
        return mine, theirs


CASES = [
    *known("words times sizes", WeightedWords, "one weighted sum", **SAFE),
    *known("words times nearly equal sizes", NearlyEqualSizes, "one weighted sum", **SAFE),
    *known("quotient after the call", QuotientAfterwards, "two sums", **SAFE),
    *known("quotient by the server", QuotientByServer, "two sums, divided", **SAFE),
    *known("random half", RandomHalf, "public coins", **SAFE),
    *known("turned back by nodes", TurnedBackByNodes, "public matrix", **SAFE),
    *known("top-k of any length", TopKOfAny, "own data of this and earlier rounds", **SAFE),
    *known("mixture by softmax", MixtureSums, "own statistics, one sum", **SAFE),
    *known("mixture by hand, bounded", MixtureByHand, "own statistics, one sum", **SAFE),
    *known("Poisson by softmax", PoissonSums, "own statistics, one sum", **SAFE),
    *known("Poisson by a table", PoissonTable, "own statistics, one sum", **SAFE),
    *known("k-means, sums alone", KMeansSums, "own statistics, one sum", **SAFE),
    *known("covariance sums", CovarianceSums, "own products, one sum", **SAFE),
    *known("variance in one pass", OnePass, "own statistics, one sum", **SAFE),
    *known("moments as sums", MomentSums, "own statistics, one sum", **SAFE),
    *known("logistic, bounded", BoundedLogistic, "own gradient, one sum", **SAFE),
    *known("gaps filled", FilledGaps, "own statistics, one sum", **SAFE),
    *known("SHA3 blocks by +=", Sha3Joined, "pseudorandom words of a secret key", **SAFE),
    *known("words of the key", WordsOfTheKey, "a seed of 256 bits", **SAFE),
    *known("ChaCha20, plain nonce", ChaChaPlainNonce, "pseudorandom words of a secret key", **SAFE),
    *known("random.Random of SHA-512, to_bytes", StandardRandomMended, "a seed of 512 bits", **SAFE),
    *known("a session with keys of its own, by +=", LongSessionMended, "HMAC of the round", **SAFE),
    *known("hashed exchange by runs", HashedExchangeByRuns, "Diffie-Hellman, a hash", **SAFE),
]
