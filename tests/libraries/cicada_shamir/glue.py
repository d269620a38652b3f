from unittest.mock import Mock

import numpy as np
from cicada import shamir
from cicada.communicator.interface import Communicator
from cicada.encoding import Identity

from secmix.wrap import ShareSum

WORLD = Mock(spec=Communicator, rank=0, ranks=range(4), world_size=4)
SUITE = shamir.ShamirBasicProtocolSuite(WORLD, threshold=3, order=2**31 - 1, encoding=Identity())


def split(word, n):
    SUITE.share(src=0, secret=np.array([word], dtype=object), shape=(1,))
    return [share for (share,) in WORLD.scatter.call_args.kwargs["values"]]


def join(shares):
    return SUITE._lagrange_coef().dot(np.array(shares, dtype=object)) % SUITE.field.order


PROTOCOL = ShareSum(split, join, modulus=2**31 - 1)
