from tno.mpc.encryption_schemes.shamir import ShamirSecretSharingScheme, ShamirShares, shamir

from secmix.wrap import ShareSum

PRIME = 2**31 - 1
SCHEME = ShamirSecretSharingScheme(PRIME, number_of_parties=4, polynomial_degree=2)


def split(word, n):
    return [share % PRIME for share in SCHEME.share_secret(word).shares.values()]


def join(shares):
    return ShamirShares(SCHEME, dict(enumerate(shares, 1))).reconstruct_secret()


PROTOCOL = ShareSum(split, join, modulus=PRIME, coins=shamir)
