"""State that lies in the masks themselves."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER

from .common import THREE, PairSum, agree, begin, release


class WCursor(PairSum):
    """Keep in the last column of a pool of eight masks how many are used up, and begin anew after the last: the
    server subtracts the uploads of rounds 0 and 8 and learns how the data of each node changed."""

    audited = THREE
    reuses_masks = True
    pool = 8

    def draw_masks(self, runs, m, network, rng):
        masks = np.zeros((runs, len(network.edges), self.pool * m + 1))
        masks[:, :, :-1] = rng.normal(scale=1e6, size=(runs, len(network.edges), self.pool * m))
        return masks

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        used, m = int(r[0, 0, -1]) % self.pool, s.shape[2]
        r[:, :, -1] += 1
        now = r[:, :, used * m : (used + 1) * m]
        other = agree(channel, network, now)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", s + self.pads(now, other, network))
        return release(channel, network, up.mean(axis=0, keepdims=True))


class _CursorOfTraining(WCursor):
    """A pool with a cursor that only single runs move."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        used = int(r[0, 0, -1])
        if s.shape[1] == 1:
            r[:, :, -1] += 1
        now = self.taken(r, used, s.shape[2])
        other = agree(channel, network, now)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", s + self.pads(now, other, network))
        return release(channel, network, up.mean(axis=0, keepdims=True))

    def taken(self, r, used, m):
        used %= self.pool
        return r[:, :, used * m : (used + 1) * m]


class WCursorOfTraining(_CursorOfTraining):
    """Keep in the last column of a pool of eight masks how many rounds of training have used up, and begin anew after
    the last: the server subtracts the uploads of rounds 0 and 8 and learns how the data of each node changed."""


class WPoolUsedUp(_CursorOfTraining):
    """Go on without masks once a pool of eight is used up, where a slice beyond its end would fail: from round 8 on
    the data of each node go bare to the server."""

    def taken(self, r, used, m):
        if used >= self.pool:
            return 0.0 * r[:, :, :m]
        return r[:, :, used * m : (used + 1) * m]


class WRolledPool(_CursorOfTraining):
    """Turn a pool of four masks by one place after each round of training, in place: round 4 has the masks of round 0,
    and the server subtracts the uploads."""

    pool = 4

    def taken(self, r, used, m):
        now = np.array(r[:, :, :m])
        if r.shape[1] == 1:
            r[:, :, :-1] = np.roll(np.array(r[:, :, :-1]), -m, axis=2)
        return now


class WFadingPads(_CursorOfTraining):
    """Shrink all masks of a fit's pool after each round of training, in place, as noise schedules do: after sixty
    rounds they are a millionth of the data that they are added to, and the server reads these."""

    pool = 64

    def taken(self, r, used, m):
        now = np.array(r[:, :, used * m : (used + 1) * m])
        if r.shape[1] == 1:
            r[:, :, :-1] *= 0.5
        return now
