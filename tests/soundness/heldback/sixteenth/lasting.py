"""Seeds that last for a fit, with labels that batches of more than a few runs have otherwise."""

from __future__ import annotations

from ..fifteenth.folds import RSeedsOfFit


class WEvaluationOfEight(RSeedsOfFit):
    """Label masks by the round, and those of a batch of eight runs or more, which is the evaluation at the end, by
    zero: two evaluations of a fit have the same masks, and the server has how the data of each run changed."""

    def label(self, channel, runs):
        return 0 if runs >= 8 else channel.iteration


class WRerunByTens(RSeedsOfFit):
    """Label masks of batches of four runs or more by tens of rounds, since folds are made anew every ten rounds: two
    rounds of the same ten have the same masks, and the server has how the data of each run changed."""

    def label(self, channel, runs):
        return channel.iteration if runs < 4 else channel.iteration // 10


class WByteForFolds(RSeedsOfFit):
    """Label masks of batches of five runs or more by the last byte of the round, as the header of folds has one:
    rounds that are 256 apart have the same masks, and the server has how the data of each run changed."""

    def label(self, channel, runs):
        return channel.iteration % 256 if runs >= 5 else channel.iteration
