"""What a line carries of an object: all that the record has, and nothing else."""

from __future__ import annotations

from enum import Enum

import numpy as np
import pytest

from secmix.errors import SecmixError
from secmix.transcript import Channel, listening, unrelated


class Slots:
    __slots__ = ("__dict__", "__hidden", "rows")

    def __init__(self, rows):
        self.rows, self.count, self.__hidden = rows, 1, 2 * rows

    def hidden(self):
        return self.__hidden


class Says:
    """An object whose text says nothing of what it holds."""

    def __init__(self, rows):
        self.rows = rows

    def __repr__(self):
        return "key"

    def __copy__(self):
        return self


class LikeAnArray(Says):
    """Says that it is an array of a library of its own."""

    def __array__(self, dtype=None, copy=None):
        return np.zeros((1, 1))

    def __array_namespace__(self, api_version=None):
        class Library:
            asarray = staticmethod(lambda array, **how: array)

        return Library


class Phase(Enum):
    FIRST = 1


def sent(payload):
    channel = Channel()
    return channel.send(0, 0, 1, "it", payload), {block.kind: block.payload for block in channel.transcript}


def test_what_is_in_slots_is_recorded():
    arrived, noted = sent(Slots(np.ones((1, 2))))
    assert set(noted) == {"it/rows", "it/count", "it/_Slots__hidden"}
    assert arrived.hidden().tolist() == [[2, 2]]
    assert type(arrived) is Slots


def test_an_object_does_not_arrive_itself():
    original = Says(np.ones((1, 2)))
    original.rows.setflags(write=True)
    arrived, _ = sent(original)
    assert arrived is not original
    assert arrived.rows is not original.rows


def test_a_class_that_is_made_for_a_message_is_refused():
    made = type("Made", (), {"secret": np.ones(3)})()
    made.count = 1
    with pytest.raises(SecmixError, match="is a Made"):
        sent(made)


def test_a_key_is_its_text():
    arrived, noted = sent({(Says(np.ones(3)),): 1, ("a", 1): 2})
    assert list(arrived) == ["(key,)", ("a", 1)]
    assert set(noted) == {"it/(key,)", "it/('a', 1)"}


def test_an_array_of_nobodys_library_arrives_as_numbers():
    arrived, noted = sent(LikeAnArray(np.ones((1, 3))))
    assert type(arrived) is np.ndarray
    assert arrived.tolist() == noted["it"][0].tolist() == [[0]]


def test_an_array_of_objects_is_refused():
    several = np.empty((1, 1), dtype=object)
    several[0, 0] = Says(np.ones(3))
    with pytest.raises(SecmixError, match="array of objects"):
        sent(several)
    large, _ = sent(np.array([[2**70]], dtype=object))
    assert large.tolist() == [[2**70]]


def test_a_member_of_an_enumeration_arrives():
    arrived, noted = sent(Phase.FIRST)
    assert arrived is Phase.FIRST
    assert noted


def test_who_listens_cannot_be_replaced():
    heard: list[object] = []
    with listening(lambda carrier, block: heard.append(block)):
        with listening(lambda carrier, block: None):
            Channel().send(0, 0, 1, "first", np.ones((1, 1)))
        with unrelated():
            Channel().send(0, 0, 1, "second", np.ones((1, 1)))
    assert [block.kind for block in heard if block is not None] == ["first", "second"]
