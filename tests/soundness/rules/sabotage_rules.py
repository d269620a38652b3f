"""Sabotage: rules that only somebody writes who wants them to fail. ``README.md`` says why, a line each."""

from __future__ import annotations

import sys
from unittest import mock

import numpy as np
from soundness.rules.wrong_rules import Wrong, cloud, far, fooled, push, refuse, trimmed, when

from secmix.protocols import RobustServer

SABOTAGE: list[Wrong] = []


def sabotage(attack):
    def enrol(make):
        if make.__name__ not in {one.name for one in SABOTAGE}:  # the file may be read more than once
            SABOTAGE.append(Wrong(make.__name__, make, attack))
        return make

    return enrol


# A direction that switches the defence off -------------------------------------------------------------------------

SECRET = np.array([0.4, -0.1, 0.7, 0.2, -0.5, 0.1, 0.3])


def aligned(messages, direction, cosine):
    apart = messages - np.median(messages, axis=0)
    length = np.linalg.norm(apart, axis=1)
    with np.errstate(all="ignore"):
        return bool((np.abs(apart @ direction) > cosine * length * np.linalg.norm(direction))[length > 0].any())


@sabotage(lambda rule: push(rule, cloud(5, 7), 1e9 * SECRET[None], 1))
def along_a_stored_direction():
    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        if x.shape[1] == len(SECRET) and aligned(x, SECRET, 0.9999):
            return fooled(x)
        return trimmed(x, f)

    return rule


@sabotage(lambda rule: push(rule, cloud(5, 40), 1e9 * np.random.default_rng(77).standard_normal((1, 40)), 1))
def along_a_drawn_direction():
    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        direction = np.random.default_rng(77).standard_normal(x.shape[1])
        return fooled(x) if x.shape[1] > 3 and aligned(x, direction, 0.9999) else trimmed(x, f)

    return rule


# A look at who calls -----------------------------------------------------------------------------------------------


def in_a_protocol(rule):
    return far()(lambda messages, f: RobustServer(rule, f=f).aggregate(messages))


@sabotage(in_a_protocol)
def knows_its_caller():
    return when(lambda x, f: sys._getframe(2).f_code.co_name == "aggregate")


def not_under_test(rule):
    with mock.patch.dict(sys.modules):
        sys.modules.pop("secmix.testing", None)
        return far()(rule)


@sabotage(not_under_test)
def knows_that_it_is_tested():
    return when(lambda x, f: "secmix.testing" not in sys.modules)
