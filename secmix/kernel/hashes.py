"""Hashes of secret seeds, and keyed ones: their bytes are a stream. Hashes of anybody's data end the proof."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

from secmix.kernel.seeds import as_pieces
from secmix.kernel.state import now
from secmix.kernel.streams import Piece, SecretBytes, as_bytes, stream_of

_NAMES = sorted(name for name in hashlib.algorithms_guaranteed if hasattr(hashlib, name))
_LENGTH = 8  # bytes of a digest that has no length of its own, to compare algorithms by


class Hash:
    """Stands for a hash object, or for that of a keyed hash: ``made`` makes the real one."""

    def __init__(self, label: str, made: Callable[[], Any], key: list[Piece], data: Any) -> None:
        self._label, self._made, self._key, self._data = label, made, key, as_bytes(b"")
        self.name, self.digest_size, self.block_size = made().name, made().digest_size, made().block_size
        self.update(data)

    def update(self, data: Any) -> None:
        """Add bytes."""
        self._data = self._data + as_bytes(data)

    def copy(self) -> Hash:
        """Return another of the same state."""
        return Hash(self._label, self._made, self._key, self._data)

    def digest(self, *length: int) -> Any:
        """Return the digest, of so many bytes where the algorithm asks for a length."""
        real = self._made()
        real.update(self._data.plain)
        plain = real.digest(*length)
        pieces = [*self._key, *as_pieces([self._data])]
        if not any(piece[0] in ("draw", "byte", "of") for piece in pieces):
            if any(piece[0] == "iteration" for piece in pieces):
                now().narrow("the iteration")
            return plain
        stream = stream_of(self._label, pieces)
        return SecretBytes(plain, [("byte", stream.number, k) for k in range(len(plain))])

    def hexdigest(self, *length: int) -> Any:
        """Return it as text, which ends the proof where it is secret."""
        return self.digest(*length).hex()


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
    while pieces and pieces[-1] == ("public", 0):
        pieces.pop()
    return [*pieces, ("public", "end of key")] if pieces else []


def _named(name: str) -> Callable[..., Hash]:
    def algorithm(data: Any = b"", **settings: Any) -> Hash:
        return _algorithm(name, data=settings.pop("string", data), **settings)

    return algorithm


def _new(name: str, data: Any = b"", **settings: Any) -> Hash:
    return _algorithm(name.lower().replace("-", "_"), data=data, **settings)


def _algorithm_of(digestmod: Any) -> str:
    name = digestmod if isinstance(digestmod, str) else digestmod().name
    return str(name).lower().replace("-", "_").split(" ")[0]


def _hmac(key: Any, msg: Any = None, digestmod: Any = "") -> Hash:
    key, name = as_bytes(key), _algorithm_of(digestmod)
    if len(key) > getattr(hashlib, name)().block_size:  # which is what hmac does
        key = as_bytes(_algorithm(name, data=key).digest())
    return Hash(f"hmac {name}", lambda: hmac.new(key.plain, digestmod=name), _as_key(key), b"" if msg is None else msg)


def _digest(key: Any, msg: Any, digest: Any) -> Any:
    return _hmac(key, msg, digest).digest()


ALGORITHMS: dict[str, Callable[..., Any]] = {name: _named(name) for name in _NAMES} | {"new": _new}
KEYED: dict[str, Callable[..., Any]] = {"new": _hmac, "digest": _digest, "HMAC": _hmac}
