"""Write into the transcript past the channel's methods, in later rounds."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER, Block

from .common import PairSum


class WJournal(PairSum):
    """Append each fiftieth round's inputs to the transcript as a block to the server, as a journal for audits: the
    server reads the data of each node."""

    def hidden(self, s, r, other, network, channel, given):
        if channel.iteration % 50 == 49:
            nodes = np.arange(network.n)
            ends = nodes, np.full(network.n, SERVER), nodes
            channel.transcript.append(Block(49, 5, "journal", "plain", *ends, np.asarray(s)))
        return s + self.pads(r, other, network)


class WJournalGiven(PairSum):
    """Append the inputs to the transcript where masks were precomputed, since that is how a dry run is recognised: the
    server reads the data of each node in each such call."""

    def hidden(self, s, r, other, network, channel, given):
        if given:
            nodes = np.arange(network.n)
            ends = nodes, np.full(network.n, SERVER), nodes
            channel.transcript.append(Block(0, 5, "journal", "plain", *ends, np.asarray(s)))
        return s + self.pads(r, other, network)
