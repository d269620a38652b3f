"""Agreement on keys by X25519: what two nodes compute, each of its own private key and of the other's public one.

Public keys are public, whoever has them. What a pair agrees on is a stream of both private keys: whoever knows one of
them knows it. It is no uniform word: keys are derived of it before they hide anything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from secmix.kernel.randomness.secret_bytes import Piece, SecretBytes, as_bytes, as_pieces, byte_of_stream
from secmix.kernel.randomness.streams import (
    AGREED,
    PUBLIC,
    bits_of,
    is_of_secrets,
    is_secret_piece,
    stream_of,
    system_bytes,
)
from secmix.kernel.values.current_trace import now

X25519 = "cryptography.hazmat.primitives.asymmetric.x25519"
_LENGTH = 32


def _real(kind: str) -> Any:
    return getattr(sys.modules[X25519], kind)


def _require_raw(*names: Any) -> None:
    if any(str(name).rsplit(".", 1)[-1] != "Raw" for name in names):
        now().leave("a key in another encoding than Raw")


class PrivateKey:
    """Stands for ``X25519PrivateKey``."""

    def __init__(self, octets: SecretBytes) -> None:
        self._octets = octets

    @classmethod
    def generate(cls) -> PrivateKey:
        """Draw a key, which the system does."""
        return cls(as_bytes(system_bytes(_LENGTH)))

    @classmethod
    def from_private_bytes(cls, data: Any) -> PrivateKey:
        """Take bytes for a key: all are secret, or all public, since keys of different bytes may be the same."""
        octets = as_bytes(data)
        if len({*map(is_secret_piece, as_pieces([octets]))}) > 1:
            now().leave("a private key of which some bytes are public")
        return cls(octets)

    @property
    def _plain(self) -> Any:
        return _real("X25519PrivateKey").from_private_bytes(self._octets.plain)

    def private_bytes_raw(self) -> Any:
        """Return the bytes of the key."""
        return self._octets if any(self._octets.pieces) else self._octets.plain

    def private_bytes(self, encoding: Any, format: Any, encryption_algorithm: Any) -> Any:
        """Return the bytes of the key, in no other encoding."""
        _require_raw(encoding, format)
        return self.private_bytes_raw()

    def public_key(self) -> PublicKey:
        """Return what all others are told."""
        return PublicKey(self._plain.public_key().public_bytes_raw(), as_pieces([self._octets]))

    def exchange(self, peer_public_key: PublicKey) -> Any:
        """Return what both ends agree on; it is public where one of the private keys is."""
        if not isinstance(peer_public_key, PublicKey):
            now().leave("a public key that was made before the call")
        plain = self._plain.exchange(_real("X25519PublicKey").from_public_bytes(peer_public_key.plain))
        ends = [as_pieces([self._octets]), peer_public_key.private]
        if not all(map(is_of_secrets, ends)):
            return plain
        a, b = sorted(ends, key=repr)  # the same from either end
        return stream_of(AGREED, (*a, *b), most_bits=min(map(bits_of, ends)), ends=ends).octets(plain)


class PublicKey:
    """Stands for ``X25519PublicKey``; ``private`` are the pieces of the private key."""

    def __init__(self, plain: bytes, private: list[Piece]) -> None:
        self.plain, self.private = plain, private

    @classmethod
    def from_public_bytes(cls, data: Any) -> PublicKey:
        """Take bytes for a key: those that a private key of this trace has made, and all of them."""
        octets = as_bytes(data)
        places = [byte_of_stream(piece) if piece else (-1, 0) for piece in octets.pieces]
        number = places[0][0] if places else -1
        if number < 0 or now().streams[number].key[0] != PUBLIC or places != [(number, k) for k in range(_LENGTH)]:
            now().leave("a public key of which no private key is followed")
            return cls(octets.plain, [])
        return cls(octets.plain, list(now().streams[number].key[1:]))

    def public_bytes_raw(self) -> Any:
        """Return the bytes of the key."""
        return stream_of(PUBLIC, self.private).octets(self.plain) if is_of_secrets(self.private) else self.plain

    def public_bytes(self, encoding: Any, format: Any) -> Any:
        """Return the bytes of the key, in no other encoding."""
        _require_raw(encoding, format)
        return self.public_bytes_raw()


def drawn_by(octets: Callable[[int], bytes]) -> dict[int, Any]:
    """Return what draws private keys by ``octets``, by the identity of the original; nothing is followed."""
    module: Any = sys.modules.get(X25519)
    real = getattr(module, "X25519PrivateKey", None)

    class Drawn:
        from_private_bytes = getattr(real, "from_private_bytes", None)

        @classmethod
        def generate(cls) -> Any:
            return _real("X25519PrivateKey").from_private_bytes(octets(_LENGTH))

    public = getattr(module, "X25519PublicKey", None)
    again = {id(real): Drawn, id(module): SimpleNamespace(X25519PrivateKey=Drawn, X25519PublicKey=public)}
    return again if module is not None else {}
