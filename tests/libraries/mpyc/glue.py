from mpyc import finfields, thresha

from secmix.wrap import ShareSum

FIELD = finfields.GF(2**31 - 1)


def split(word, n):
    return [share for (share,) in thresha.random_split(FIELD, [word], 2, n)]


def join(shares):
    return thresha.recombine(FIELD, [(k, [share]) for k, share in enumerate(shares, 1)])[0] % FIELD.modulus


PROTOCOL = ShareSum(split, join, modulus=FIELD.modulus, coins=thresha)
