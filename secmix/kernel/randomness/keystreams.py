"""What a hash or a cipher makes of a secret key: bytes of a stream.

A cipher is followed where it adds a stream to what it is given: AES in counter mode, ChaCha20. Its counter says where
the stream begins, so two that overlap are one stream, of which the same bytes are read twice.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from secmix.kernel.randomness.agreement import X25519, PrivateKey, PublicKey
from secmix.kernel.randomness.secret_bytes import Piece, SecretBytes, as_bytes, as_pieces
from secmix.kernel.randomness.streams import END_OF_KEY, Stream, bits_of, is_of_secrets, stream_of
from secmix.kernel.values.current_trace import INF, now

_NAMES = sorted(name for name in hashlib.algorithms_guaranteed if hasattr(hashlib, name))
_LENGTH = 8  # bytes of a digest that has no length of its own, to compare algorithms by


class Hash:
    """Stands for a hash object, or for that of a keyed hash: ``made`` makes the real one."""

    def __init__(self, label: str, made: Callable[[], Any], key: list[Piece], data: Any) -> None:
        self._label, self._made, self._key, self._data = label, made, key, as_bytes(b"")
        self.name, self.digest_size, self.block_size = made().name, made().digest_size, made().block_size
        self.update(data)

    def update(self, data: Any) -> None:
        self._data = self._data + as_bytes(data)

    def copy(self) -> Hash:
        return Hash(self._label, self._made, self._key, self._data)

    def digest(self, *length: int) -> Any:
        """Return the digest, of so many bytes where the algorithm asks for a length."""
        real = self._made()
        real.update(self._data.plain)
        plain = real.digest(*length)
        stream = _stream(self._label, [*self._key, *as_pieces([self._data])])
        return plain if stream is None else stream.octets(plain)

    def hexdigest(self, *length: int) -> Any:
        """Return it as text, which ends the proof where it is secret."""
        return self.digest(*length).hex()


def _stream(label: str, pieces: Sequence[Piece], most_bits: float = INF) -> Stream | None:
    """Return the stream of a key; None if the key is public."""
    return stream_of(label, pieces, most_bits=most_bits) if is_of_secrets(pieces) else None


def _algorithm(name: str, **settings: Any) -> Hash:
    data, key = settings.pop("data", b""), as_bytes(settings.pop("key", b""))
    settings.pop("usedforsecurity", None)
    more = {"key": key.plain} if key.plain else {}
    plain = getattr(hashlib, name)(**settings)
    # By what it makes of nothing: settings that are written down in two ways are the same.
    pieces = [("public", plain.digest(*[_LENGTH] * (not plain.digest_size))), *_as_key(key)]
    return Hash(name, lambda: getattr(hashlib, name)(**settings, **more), pieces, data)


def _as_key(key: SecretBytes) -> list[Piece]:
    """Return a key with its end marked; zeros at its end are as good as none."""
    pieces = as_pieces([key])
    if pieces and pieces[-1][0] == "iteration" and 0 < pieces[-1][1] == pieces[-1][2] - 1:
        now().leave("an iteration that ends a key with zeros, which are as good as none (use the order 'big'),")
    while pieces and pieces[-1] == ("public", 0):
        pieces.pop()
    return [*pieces, END_OF_KEY] if pieces else []


def _named(name: str) -> Callable[..., Hash]:
    def algorithm(data: Any = b"", **settings: Any) -> Hash:
        return _algorithm(name, data=settings.pop("string", data), **settings)

    return algorithm


def _new(name: str, data: Any = b"", **settings: Any) -> Hash:
    return _algorithm(name.lower().replace("-", "_"), data=data, **settings)


def _algorithm_of(digestmod: Any) -> str:
    name = digestmod if isinstance(digestmod, str) else digestmod().name
    return str(name).lower().replace("-", "_").split(" ")[0]


def _within_a_block(key: SecretBytes, name: str) -> SecretBytes:
    """Hash a key that is longer than a block of the hash, as HMAC does."""
    is_long = len(key) > getattr(hashlib, name)().block_size
    return as_bytes(_algorithm(name, data=key).digest()) if is_long else key


def _hmac(key: Any, msg: Any = None, digestmod: Any = "") -> Hash:
    name = _algorithm_of(digestmod)
    key = _within_a_block(as_bytes(key), name)
    return Hash(f"hmac {name}", lambda: hmac.new(key.plain, digestmod=name), _as_key(key), b"" if msg is None else msg)


def _digest(key: Any, msg: Any, digest: Any) -> Any:
    return _hmac(key, msg, digest).digest()


def _pbkdf2(hash_name: Any, password: Any, salt: Any, iterations: int, dklen: Any = None) -> Any:
    """Stand for PBKDF2 (RFC 8018), which is keyed by a password; fewer of its bytes are the first of more."""
    if iterations < 2:
        now().leave("PBKDF2 of one iteration, which is HMAC (use hmac, or more iterations)")
    name, salt = _algorithm_of(hash_name), as_bytes(salt)
    key = _within_a_block(as_bytes(password), name)
    plain = hashlib.pbkdf2_hmac(name, key.plain, salt.plain, iterations, dklen)
    stream = _stream(f"hmac {name} ({iterations} times)", [*_as_key(key), *as_pieces([salt])])
    return plain if stream is None else stream.octets(plain)


@dataclass
class Digest:
    """Stands for a hash, keyed or not, of the package ``cryptography``."""

    of: Hash
    length: tuple[int, ...] = ()

    def update(self, data: Any) -> None:
        self.of.update(data)

    def copy(self) -> Digest:
        return Digest(self.of.copy(), self.length)

    def finalize(self) -> Any:
        """Return the digest."""
        return self.of.digest(*self.length)


def _hash_of_package(algorithm: Any, backend: Any = None) -> Digest:
    name = _algorithm_of(algorithm.name).replace("shake", "shake_")
    return Digest(_algorithm(name), (algorithm.digest_size,) if name.startswith("shake") else ())


def _hmac_of_package(key: Any, algorithm: Any, backend: Any = None) -> Digest:
    return Digest(_hmac(key, digestmod=algorithm.name))


ALGORITHMS: dict[str, Callable[..., Any]] = {name: _named(name) for name in _NAMES}
ALGORITHMS |= {"new": _new, "pbkdf2_hmac": _pbkdf2}
KEYED: dict[str, Callable[..., Any]] = {"new": _hmac, "digest": _digest, "HMAC": _hmac}


_COUNTERS: dict[str, tuple[int, Any, int]] = {"AES CTR": (16, "big", 12), "ChaCha20": (64, "little", 0)}
"""Of ciphers that are streams: bytes of a block; order and place of the 4 bytes of a nonce that count blocks."""
_CIPHERS, _HKDF, _HASHES, _HMAC = (
    f"cryptography.hazmat.primitives.{each}" for each in ("ciphers", "kdf.hkdf", "hashes", "hmac")
)


@dataclass
class KeyedCipher:
    """Stands for a cipher with a key or a nonce that is not public."""

    real: Any
    stream: Stream
    first: int  # byte of the stream
    last: int

    def encryptor(self) -> Keystream:
        """Return what encrypts from the beginning."""
        return Keystream(self.real.encryptor(), self, self.first)

    decryptor = encryptor  # which adds the same


@dataclass
class Keystream:
    """Stands for what encrypts: of zeros that is the stream itself."""

    real: Any
    of: KeyedCipher
    at: int

    def update(self, data: Any) -> SecretBytes:
        """Return the next bytes of the stream."""
        octets = as_bytes(data)
        if any(octets.pieces) or any(octets.plain):
            now().leave("a cipher of what is not zero: for a mask encrypt zeros, else send with sealed_for=;")
        begin, self.at = self.at, self.at + len(octets)
        if self.at > self.of.last:
            now().leave("a cipher whose counter overflows")
        return self.of.stream.octets(self.real.update(octets.plain), begin)

    def finalize(self) -> bytes:
        """Return what is left, which is nothing."""
        return b""


def _parts_of(kind: Any, *fields: str) -> Callable[..., Any]:
    """Make what stands for an algorithm or a mode: a secret in it is kept as what it is made of."""

    def make(*args: Any, **kw: Any) -> Any:
        given = dict(zip(fields, args, strict=False)) | kw
        parts = {name: as_bytes(each) for name, each in given.items()}
        real = kind(**{name: each.plain for name, each in parts.items()})
        has_secret = any(any(each.pieces) for each in parts.values())
        return SimpleNamespace(real=real, name=real.name, **parts) if has_secret else real

    return make


def _cipher(original: Any) -> Callable[..., Any]:
    def make(algorithm: Any, mode: Any, backend: Any = None) -> Any:
        real = original(*(getattr(each, "real", each) for each in (algorithm, mode)))
        if not any(isinstance(each, SimpleNamespace) for each in (algorithm, mode)):
            return real
        name = f"{algorithm.name} {mode.name if mode else ''}".strip()
        if name not in _COUNTERS:
            now().leave(f"{name} with a secret key, which is no stream")
            return real
        block, order, at = _COUNTERS[name]
        nonce = as_bytes(mode.nonce if mode else algorithm.nonce)
        if any(nonce[at : at + 4].pieces):  # the iteration is noted, and taken as it is: streams of several may overlap
            if is_of_secrets(as_pieces([nonce])):
                now().leave(f"a secret nonce of {name}, of which bytes {at} to {at + 3} count blocks")
            nonce = as_bytes(nonce.plain)
        counter, label = nonce[at : at + 4], nonce[:at] + nonce[at + 4 :]
        key = as_bytes(algorithm.key)
        # Of a public key nothing hides the nonce: whoever reads a block decrypts it.
        most_bits = bits_of(as_pieces([key]))
        stream = _stream(f"{algorithm.name} with a counter", as_pieces([key, label]), most_bits)
        begin = block * int.from_bytes(counter.plain, order)
        return real if stream is None else KeyedCipher(real, stream, begin, block * 2**32)

    return make


class KeyDerivation:
    """Stands for HKDF, or for its second half: the hashes that it consists of (RFC 5869)."""

    def __init__(self, algorithm: Any, length: int, info: Any, salt: Any = None, *, extracts: bool) -> None:
        self._name, self._length, self._info = algorithm.name, length, as_bytes(info or b"")
        self._salt, self._extracts = b"" if salt is None else salt, extracts

    def derive(self, key_material: Any) -> Any:
        """Return bytes that follow from a key: as many as were asked for."""
        key = _hmac(self._salt, key_material, self._name).digest() if self._extracts else key_material
        derived, last, block = as_bytes(b""), as_bytes(b""), 0
        while len(derived) < self._length:
            block += 1
            last = as_bytes(_hmac(key, last + self._info + bytes([block]), self._name).digest())
            derived = derived + last
        derived = derived[: self._length]
        return derived if any(derived.pieces) else derived.plain


def _extract_and_expand(algorithm: Any, length: int, salt: Any, info: Any, backend: Any = None) -> KeyDerivation:
    return KeyDerivation(algorithm, length, info, salt, extracts=True)


def _expand(algorithm: Any, length: int, info: Any, backend: Any = None) -> KeyDerivation:
    return KeyDerivation(algorithm, length, info, extracts=False)


OF_CIPHERS = (_CIPHERS, _HKDF, _HASHES, _HMAC, X25519)
"""Modules of ciphers, and of hashes beside them."""


@functools.cache
def ciphers(loaded: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return what stands for members of the modules of ciphers that are loaded, by module, inner ones first."""
    by_module: dict[str, dict[str, Any]] = {}
    if _CIPHERS in loaded:
        package, algorithms, modes = (sys.modules[_CIPHERS + each] for each in ("", ".algorithms", ".modes"))
        keyed = {name: _parts_of(getattr(algorithms, name), "key") for name in ("AES", "AES128", "AES256")}
        keyed["ChaCha20"] = _parts_of(algorithms.ChaCha20, "key", "nonce")
        by_module = {f"{_CIPHERS}.algorithms": keyed, f"{_CIPHERS}.modes": {"CTR": _parts_of(modes.CTR, "nonce")}}
        by_module[_CIPHERS] = {"Cipher": _cipher(package.Cipher)}
    others: dict[str, dict[str, Any]] = {
        _HKDF: {"HKDF": _extract_and_expand, "HKDFExpand": _expand},
        _HASHES: {"Hash": _hash_of_package},
        _HMAC: {"HMAC": _hmac_of_package},
        X25519: {"X25519PrivateKey": PrivateKey, "X25519PublicKey": PublicKey},
    }
    by_module |= {name: members for name, members in others.items() if name in loaded}
    above = {part for name in loaded for part in itertools.accumulate(name.split("."), "{}.{}".format)} - {*loaded}
    return by_module | {name: {} for name in sorted(above, key=len, reverse=True)}  # by whose names these are reached
