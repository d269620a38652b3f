from flwr.common.secure_aggregation import ndarrays_arithmetic as sums
from flwr.common.secure_aggregation import quantization, secaggplus_utils

from secmix.wrap import MaskedSum


def hide(vector, plus, minus):
    hidden = quantization.quantize([vector], 1e4, 2**28)
    for seeds, join in ((plus, sums.parameters_addition), (minus, sums.parameters_subtraction)):
        for seed in seeds:
            hidden = join(hidden, secaggplus_utils.pseudo_rand_gen(seed.tobytes(), 2**32, [vector.shape]))
    return sums.parameters_mod(hidden, 2**32)[0]


def add_up(sent):
    shifted = (sum(sent) % 2**32).astype(int) - (len(sent) - 1) * 2**27
    return quantization.dequantize([shifted], 1e4, 2**28)[0]


PROTOCOL = MaskedSum(hide, add_up)
