import phe

from secmix.wrap import SealedSum

public, private = phe.generate_paillier_keypair()


def add(one, other):
    return (phe.EncryptedNumber(public, one) + phe.EncryptedNumber(public, other)).ciphertext(be_secure=False)


def decrypt(sealed):
    return private.decrypt(phe.EncryptedNumber(public, sealed))


PROTOCOL = SealedSum(lambda word: public.encrypt(word).ciphertext(), add, decrypt, public=[public.n])
NOT_BLINDED = SealedSum(lambda word: public.raw_encrypt(word % public.n, 1), add, decrypt, public=[public.n])
