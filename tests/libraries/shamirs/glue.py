import shamirs

from secmix.wrap import ShareSum

PRIME = 2**31 - 1


def split(word, n):
    return [share.value for share in shamirs.shares(word, quantity=n, modulus=PRIME, threshold=3)]


def join(shares):
    return shamirs.interpolate([shamirs.share(k, value, PRIME) for k, value in enumerate(shares, 1)], threshold=3)


PROTOCOL = ShareSum(split, join, modulus=PRIME, coins=shamirs)
