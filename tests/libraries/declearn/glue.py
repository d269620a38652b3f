from declearn.secagg.masking import MaskingDecrypter, MaskingEncrypter

from secmix.wrap import MaskedSum


def hide(vector, plus, minus):
    return [*map(MaskingEncrypter(plus, minus, bitsize=52, clipval=1e4).encrypt_float, vector)]


def add_up(sent):
    decrypter = MaskingDecrypter(len(sent), bitsize=52, clipval=1e4)
    return [decrypter.decrypt_float(decrypter.sum_encrypted(words)) for words in zip(*sent, strict=True)]


def hide_words(vector, plus, minus):
    return [*map(MaskingEncrypter(plus, minus).encrypt_uint, [round(x * 2**16) % 2**64 for x in vector])]


PROTOCOL = MaskedSum(hide, add_up)
RING = MaskedSum(hide, add_up, ring=True)
INTEGERS = MaskedSum(hide_words, lambda sent: sum(sent).view("int64") / 2**16)
