from unittest.mock import Mock, patch

from cicada import shamir
from cicada.communicator.interface import Communicator
from cicada.encoding import Identity

from secmix.wrap import ShareSum

WORLD = Mock(spec=Communicator, rank=0, ranks=range(4), world_size=4, scatter=lambda src, values: values)
SUITE = shamir.ShamirBasicProtocolSuite(WORLD, threshold=3, encoding=Identity())


def split(word, n):
    with patch.object(SUITE, "_generator", shamir.numpy.random.default_rng()):  # of 128 bits: the suite's own has 63
        return shares_of(word, SUITE)


def shares_of(word, suite):
    return suite.share(src=0, secret=shamir.numpy.array([word], dtype=object), shape=(1,)).storage[0]


def join(shares):
    return SUITE._revealing_coef.dot(shamir.numpy.array(shares, dtype=object)) % SUITE.field.order


PROTOCOL = ShareSum(split, join, modulus=SUITE.field.order, coins=shamir)
