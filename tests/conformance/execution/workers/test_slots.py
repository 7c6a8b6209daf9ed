"""No more processes than there are slots, and none is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from urdf_usd.conformance.execution.workers.slots import Slots

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only there processes are copied"
)

_HOLDER = """
import sys
from urdf_usd.conformance.execution.workers.slots import Slots
assert Slots(sys.argv[1], 1).take() is not None
print("taken", flush=True)
sys.stdin.read()
"""


def test_a_slot_is_taken_once(tmp_path: Path) -> None:
    """And can be taken again when it was given back."""
    slots = Slots(str(tmp_path), 2)

    first, second = slots.take(), slots.take()

    assert first is not None
    assert second is not None
    assert slots.take() is None
    os.close(first)
    again = slots.take()
    assert again is not None
    assert slots.take() is None
    os.close(second)
    os.close(again)


def test_a_slot_is_held_for_a_block(tmp_path: Path) -> None:
    """Where there is none, the block runs all the same."""
    slots = Slots(str(tmp_path), 1)

    with slots.taken():
        assert slots.take() is None
        with slots.taken():
            assert slots.take() is None
        assert slots.take() is None

    with slots.taken():
        assert slots.take() is None


def test_a_process_that_is_killed_gives_its_slot_back(tmp_path: Path) -> None:
    """The system sees to that."""
    slots = Slots(str(tmp_path), 1)
    with subprocess.Popen(  # noqa: S603  the program above
        [sys.executable, "-c", _HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"taken\n"
        assert slots.take() is None

        holder.kill()
        holder.wait()

        free = slots.take()
        assert free is not None
        os.close(free)
