"""Right protocols: idioms of NumPy on vectors that are followed as tables."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER

from .common import BEFORE_SERVER, prepare, release


class Base:
    """The pairwise sum, with a step to override."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n = network.n
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, i, "mask", r)
        other = channel.send(-1, i, j, "mask", r, encrypted=True)
        hidden = self.hidden(s, r, other, i, j)
        up = channel.send(0, np.arange(n), SERVER, "masked", hidden)
        return release(channel, network, np.mean(up, axis=0, keepdims=True))


class RShape(Base):
    """An author reshapes an accumulator of zeros with -1, which is right: it is the pairwise sum (Bonawitz et al.
    2017)."""

    def hidden(self, s, r, other, i, j):
        acc = np.zeros((len(s), *s.shape[1:]))
        flat = acc.reshape(len(s), -1, s.shape[2])
        for e in range(len(i)):
            flat[i[e]] += r[e]
            flat[j[e]] -= other[e]
        return s + acc


class RNanInit(Base):
    """An author writes every row of an array of NaNs, which is right: it is the pairwise sum (Bonawitz et al. 2017)."""

    def hidden(self, s, r, other, i, j):
        out = np.full(s.shape, np.nan)
        for k in range(len(s)):
            out[k] = s[k] + r[i == k].sum(axis=0) - other[j == k].sum(axis=0)
        return out


class ROut(Base):
    """An author works in place by out= with a buffer of np.empty_like, which is right: it is the pairwise sum (Bonawitz
    et al. 2017)."""

    def hidden(self, s, r, other, i, j):
        out = np.empty_like(s)
        np.copyto(out, s)
        for e in range(len(i)):
            np.add(out[i[e]], r[e], out=out[i[e]])
            np.subtract(out[j[e]], other[e], out=out[j[e]])
        return out


class RAxes(Base):
    """An author works in order F with runs first and turns axes back, which is right: it is the pairwise sum (Bonawitz
    et al. 2017)."""

    def hidden(self, s, r, other, i, j):
        x = np.asfortranarray(s.swapaxes(0, 1))
        for e in range(len(i)):
            x[:, i[e]] += r[e]
            x[:, j[e], :] -= other[e]
        return np.ascontiguousarray(x.transpose((1, 0, 2)))


class RPicked(Base):
    """An author picks all entries by a public boolean index, as masked arrays do, which is right: it is the pairwise
    sum (Bonawitz et al. 2017)."""

    def hidden(self, s, r, other, i, j):
        keep = np.ones(s.shape, dtype=bool)
        out = s.copy()
        for e in range(len(i)):
            out[i[e]] += r[e]
            out[j[e]] -= other[e]
        return out[keep].reshape(s.shape)


class RIterated(Base):
    """An author makes rows by iteration and by Python's sum, which is right: it is the pairwise sum (Bonawitz et al.
    2017)."""

    def hidden(self, s, r, other, i, j):
        plus = [sum((m for m, a in zip(r, i) if a == k), np.zeros_like(s[0])) for k in range(len(s))]
        minus = [sum((m for m, b in zip(other, j) if b == k), np.zeros_like(s[0])) for k in range(len(s))]
        return np.array([x + p - q for x, p, q in zip(s, plus, minus)])


class RPadded(Base):
    """An author pads vectors to a multiple of eight and cuts them again, as for blocks of a cipher, which is right: it
    is the pairwise sum (Bonawitz et al. 2017)."""

    def hidden(self, s, r, other, i, j):
        m = s.shape[-1]
        wide = np.pad(s, ((0, 0), (0, 0), (0, -m % 8)))
        wr, wo = (np.pad(x, ((0, 0), (0, 0), (0, -m % 8))) for x in (r, other))
        np.add.at(wide, i, wr)
        np.subtract.at(wide, j, wo)
        return wide[..., :m]


class RIncidence(Base):
    """An author multiplies flattened masks by the incidence matrix of the graph, which is right: it is the pairwise sum
    (Bonawitz et al. 2017)."""

    def hidden(self, s, r, other, i, j):
        n, runs, m = s.shape
        a = np.zeros((n, len(i)))
        b = np.zeros((n, len(i)))
        a[i, np.arange(len(i))] = 1
        b[j, np.arange(len(i))] = 1
        return s + (a @ r.reshape(len(i), -1) - b @ other.reshape(len(i), -1)).reshape(n, runs, m)
