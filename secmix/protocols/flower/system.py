"""The system's random generator, while a party of a Flower app speaks: a stream of that party's own.

SecAgg+ (Bell et al. 2020) draws its keys, seeds and shares from the operating system. Runs could not be repeated then,
and an audit that runs a protocol twice would take each key for something that passed outside the channel. Drawn here
are numbers of the same length from the stream of who speaks. That keys of the real system cannot be guessed is
therefore taken for granted, not tested.

Replaced are ``os.urandom``, the copies of it that PyCryptodome keeps, elliptic curve keys of ``cryptography``, which
OpenSSL draws, and the time that its Fernet writes into a message. Draws in any other way stay unrepeatable, and the
audit finds that. Threads that Flower starts to split secrets would draw in any order: one after the other instead.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np

from secmix.protocols.flower.names import modules_of_secagg

MASK_BITS = 32
"""Of the modulus that SecAgg+ takes where an app names no other."""
_WHEN = 1_700_000_000
"""What Fernet takes for the time, in seconds."""


@contextlib.contextmanager
def drawing_from(own: random.Random) -> Iterator[None]:
    """Replace the system's generator by ``own`` meanwhile."""
    draws = own.randbytes
    replaced: list[tuple[str, str, Any]] = [
        ("os", "urandom", draws),
        ("Crypto.Random", "get_random_bytes", draws),
        ("Crypto.Random", "urandom", draws),
        ("Crypto.Protocol.SecretSharing", "rng", draws),
        ("cryptography.hazmat.primitives.asymmetric.ec", "generate_private_key", _keys_of(own)),
        ("cryptography.fernet", "time", SimpleNamespace(time=lambda: _WHEN)),
    ]
    before = []
    for name, attribute, value in replaced:
        module = sys.modules.get(name)
        if module is not None and hasattr(module, attribute):
            before.append((module, attribute, getattr(module, attribute)))
            setattr(module, attribute, value)
    for module in modules_of_secagg("ThreadPoolExecutor"):
        before.append((module, "ThreadPoolExecutor", module.ThreadPoolExecutor))
        module.ThreadPoolExecutor = _one_thread
    try:
        yield
    finally:
        for module, attribute, value in before:
            setattr(module, attribute, value)


def bits_of_mask_seeds() -> int | None:
    """Measure how many bits of its seed a mask of SecAgg+ depends on, on the function that runs.

    A seed of 32 bytes is folded to words of 4, 8 or 16 bytes where two seeds that fold to the same give the same mask.
    None where no app has loaded SecAgg+, or it folds to no such word.
    """
    expand = _mask_generator()
    if expand is None:
        return None
    for size in (4, 8, 16):
        seeds = [bytes(size * at) + b"\1" + bytes(31 - size * at) for at in (0, 1)]
        masks = [expand(seed, 1 << 22, [(8,)])[0].tolist() for seed in seeds]
        if masks[0] == masks[1]:
            return 8 * size
    return None


def bits_of_masks() -> int | None:
    """Measure how many bits the masks of SecAgg+ span, on the function that runs: 0 where all are the same.

    None where they span the range that is asked for, as 128 uniform numbers do but for one time in 2¹²⁰; or where no
    app has loaded SecAgg+.
    """
    expand = _mask_generator()
    if expand is None:
        return None
    drawn = np.concatenate([expand(bytes([seed]) * 32, 1 << MASK_BITS, [(64,)])[0] for seed in (1, 2)])
    spread = int(drawn.max()) - int(drawn.min())
    return None if spread >= 1 << (MASK_BITS - 1) else spread.bit_length()


def _mask_generator() -> Callable[..., Any] | None:
    return next((module.pseudo_rand_gen for module in modules_of_secagg("pseudo_rand_gen")), None)


def _one_thread(max_workers: int | None = None) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1)


def _keys_of(own: random.Random) -> Callable[..., Any]:
    """Make a stand-in for ``ec.generate_private_key`` that takes its numbers from ``own``."""

    def generate_private_key(curve: Any, backend: Any = None) -> Any:
        from cryptography.hazmat.primitives.asymmetric import ec

        # Below the order of each curve that there is: half of all keys.
        return ec.derive_private_key(1 + own.getrandbits(curve.key_size - 1) % (2 ** (curve.key_size - 1) - 1), curve)

    return generate_private_key
