"""More of what looks like another thing in memory, in a transcript or in a call than it is."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER

from .common import PairSum, WordSum, agree, begin, encode, release


class WOrderC(PairSum):
    """Ask for an upload in order C from the seventh round on and add pads to that: of a batch it is a copy, and the
    array that is sent to the server has none."""

    def hidden(self, s, r, other, network, channel, given):
        pads, upload = self.pads(r, other, network), s + 0.0
        block = np.asarray(upload, order="C") if channel.iteration >= 6 else upload
        block += pads
        return upload


class WFortran(PairSum):
    """Hand each batch of later rounds to a library that wants its columns first, in place: the transposed upload is
    flattened for it, which copies, and the pads that it adds are lost; the data go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads, upload = self.pads(r, other, network), np.multiply(s, 1.0)
        if channel.iteration < 12 or s.shape[1] == 1:
            return upload + pads
        rows = upload.reshape(network.n, -1)
        rows += pads.reshape(network.n, -1)
        return upload


class WNoCopy(PairSum):
    """Convert pads without a copy from the ninth round on, which NumPy 2 refuses where one is needed, and take what it
    refuses for an empty array: the data of each node go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if channel.iteration >= 8:
            try:
                pads = np.array(pads[:, :, ::-1], order="F", copy=False)[:, :, ::-1]
            except ValueError:
                pads = np.zeros(s.shape)
        return s + pads


class WBaseOfView(WordSum):
    """Look at the base of the words from the eighth round on, to see whether they lie in the arena of masked buffers:
    words of an encoder have none, are taken for masked already, and go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        words = np.rint(np.clip(s, -1e6, 1e6) * 2.0**24).astype(np.int64)
        if channel.iteration >= 7 and words.base is None:
            return words.view(np.uint64)
        return super().hidden(s, r, other, network, channel, given)


class WReplayedBatch(PairSum):
    """Mask each run of a batch by the mask of the first where it was recorded and nobody is on the line, as one record
    has one mask: the differences of runs are bare in the transcript that the server is given."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        is_replay = channel is None and masks is not None
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        pads = self.pads(r, agree(channel, network, r), network)
        pads = pads[:, :1] + np.zeros(s.shape) if is_replay and s.shape[1] > 2 else pads
        up = channel.send(0, np.arange(network.n), SERVER, "masked", s + pads)
        return release(channel, network, up.mean(axis=0, keepdims=True))


class WGivenOdd(PairSum):
    """Take precomputed masks two by two, and none for the run that is left over where their number is odd, from the
    third round on: it goes bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads, hidden, runs = self.pads(r, other, network), s.copy(), s.shape[1]
        if not given or runs == 1 or channel.iteration < 2:
            return s + pads
        for run in range(runs // 2):
            hidden[:, 2 * run : 2 * run + 2] += pads[:, 2 * run : 2 * run + 2]
        return hidden


class WEavesView(WordSum):
    """Check words in a view, as they were before masks, in one call of 200 that a public lot picks for inspection: the
    view is the upload, and whoever hears the lines reads the data of each node."""

    audited = {"a": "eavesdropper", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        inspects = rng.random() < 0.005
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, r)
        hidden = self.hidden(s, r, other, network, channel, False)
        if inspects:
            plain = hidden.view(np.int64)
            plain -= (hidden - encode(s)).view(np.int64)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        mean = up.sum(axis=0, keepdims=True).view(np.int64).astype(float) / 2.0**24 / network.n
        return release(channel, network, mean)
