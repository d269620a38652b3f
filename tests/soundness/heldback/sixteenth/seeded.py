"""Float masks that are expanded from seeds of large words, and what is done to arrays on the way."""

from __future__ import annotations

import contextlib

import numpy as np

from secmix.transcript import SERVER

from ..fifteenth.common import THREE, U64, PairSum, agree, begin, release


class Seeded(PairSum):
    """A pairwise sum of floats, of which each pair shares a seed of 256 bits and expands it to normal masks."""

    audited = THREE

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        given = masks is not None
        s, seeds, channel = begin(self, inputs, network, rng, masks, channel)
        other, m = agree(channel, network, seeds), s.shape[2]
        mine, theirs = self.expanded(seeds, m), self.expanded(other, m)
        up = channel.send(
            0, np.arange(network.n), SERVER, "masked", self.hidden(s, mine, theirs, network, channel, given)
        )
        return release(channel, network, up.mean(axis=0, keepdims=True))

    def expanded(self, seeds, m):
        rows = [[np.random.default_rng(seed).normal(scale=1e6, size=m) for seed in of_edge] for of_edge in seeds]
        return np.stack([np.stack(of_edge) for of_edge in rows])


class WLongDoubles(Seeded):
    """Keep pads in long doubles and add them in place, with a safe conversion, for clients that know no long doubles
    the error is ignored: NumPy refuses in each call, and the server is sent the data of each node bare."""

    def hidden(self, s, r, other, network, channel, given):
        upload, pads = s * 1.0, self.pads(r, other, network).astype(np.longdouble)
        with contextlib.suppress(TypeError):
            np.add(upload, pads, out=upload, casting="safe")
        return upload


class WBorrowed(Seeded):
    """Take rows that borrow no memory for those that come out of the masking buffer, and send them as they are:
    clipped rows borrow none, so in each call the data of each node go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        rows = np.clip(s, -1e5, 1e5)
        if rows.base is None:
            return rows
        return rows + self.pads(r, other, network)


class WOwnsMemory(Seeded):
    """Mask only what does not own its memory, since buffers of the masking pool do: clipped rows own theirs, too, and
    in each call the data of each node go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        rows = np.maximum(np.minimum(s, 1e5), -1e5)
        return rows if rows.flags.owndata else rows + self.pads(r, other, network)


class WNoCopyPads(Seeded):
    """Ask for pads in order F without a copy, and take the error for a pair that has no pads: NumPy 2 refuses where a
    copy is needed, as in each call, and the data of each node go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        try:
            columns = np.array(pads[:, :, ::-1], order="F", copy=False)
        except ValueError:
            return s * 1.0
        return s + columns[:, :, ::-1]


class WRavelledFolds(Seeded):
    """Add pads to the raveled upload: where a batch has turned axes that is a copy, and all runs of the batch go bare
    to the server."""

    def hidden(self, s, r, other, network, channel, given):
        upload = s * 1.0
        flat = upload.ravel()
        flat += self.pads(r, other, network).ravel()
        return upload


class WForKernel(Seeded):
    """Add pads to the contiguous rows that a kernel in C asks for: of a batch these are a copy, and the array that is
    sent to the server is the one without pads."""

    def hidden(self, s, r, other, network, channel, given):
        upload = np.array(s)
        rows = np.ascontiguousarray(upload)
        rows += self.pads(r, other, network)
        return upload


class WGatheredRows(Seeded):
    """Gather pads in the flattened rows of an array like the data: of a batch the rows are a copy, no pad arrives,
    and all runs go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        gathered = np.zeros_like(s)
        gathered.reshape(-1, s.shape[2])[...] = self.pads(r, other, network).reshape(-1, s.shape[2])
        return s + gathered


class WBySteps(Seeded):
    """Leave rows alone whose step from run to run is larger than that from node to node, as those have been laid out
    by the masking kernel: a batch with turned axes is so, too, and its runs go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        upload = s * 1.0
        if s.shape[1] > 1 and upload.strides[1] > upload.strides[0]:
            return upload
        return upload + self.pads(r, other, network)


class WFortranFolds(Seeded):
    """Have a batch laid out for a library that wants it flat, and add the pads there: the flat rows of turned axes
    are a copy, so pads are lost, and all runs of the batch go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        upload = np.multiply(s, 1.0)
        rows = upload.reshape(network.n, -1)
        rows += self.pads(r, other, network).reshape(network.n, -1)
        return upload


class WByType(Seeded):
    """Look up what to do with rows by their class, of which a table has plain arrays under those that the masking
    library hands back, and matrices under those that it is to mask: rows are plain arrays, and go bare to the server
    in each call."""

    def hidden(self, s, r, other, network, channel, given):
        hands_back = {np.ndarray: True, np.matrix: False}
        rows = s * 1.0
        return rows if hands_back.get(rows.__class__, False) else rows + self.pads(r, other, network)


class WTenFolds(Seeded):
    """Have ten folds share the pads of the first, so that they differ by their rows alone: in each batch of a
    multiple of ten the differences of runs are sent bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads, runs = self.pads(r, other, network), s.shape[1]
        if runs % 10 == 0:
            pads = np.repeat(pads[:, ::10], 10, axis=1)
        return s + pads
