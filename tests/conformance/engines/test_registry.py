"""Engines are found by name through entry points."""

from __future__ import annotations

import pytest

from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.engines.protocol import Available, Unavailable


def test_every_engine_of_the_project_is_registered() -> None:
    found = protocol.engines()

    assert [engine.name for engine in found] == list(protocol.names())
    required = {"mujoco", "pybullet", "reference", "openusd"}
    here = {w.name for w in found if isinstance(w.availability(), Available)}

    assert required <= here


def test_engines_are_present_unless_their_library_is_missing() -> None:
    """Those that are not present would state that they are not available."""
    present = protocol.present()
    absent = {*protocol.names()} - {*present}

    assert {"mujoco", "pybullet", "reference", "openusd"} <= {*present}
    for name in absent:
        assert isinstance(protocol.engine(name).availability(), Unavailable)
    for name in present:
        assert isinstance(protocol.engine(name).availability(), Available)


def test_unknown_name_lists_the_valid_ones() -> None:
    """The message is shown on the command line."""
    with pytest.raises(protocol.UnknownEngineError, match="mujocco") as error:
        protocol.engine("mujocco")

    assert "mujoco, " in str(error.value)
    assert "pybullet, reference" in str(error.value)
