"""Authoring of joints in a profile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from pxr import Usd

from tests.converter.usd.authored import author
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.model import Joint

AuthorJoints: TypeAlias = Callable[..., Usd.Prim]


@pytest.fixture
def author_joints(tmp_path: Path, request: pytest.FixtureRequest) -> AuthorJoints:
    """Write joints in the profile of the module; return the prim of the last one."""
    profile: Profile = request.module.PROFILE
    stages: list[Usd.Stage] = []

    def author_all(*joints: Joint) -> Usd.Prim:
        stages.append(author(tmp_path, *joints, profile=profile))
        return stages[-1].GetPrimAtPath(f"/r/Physics/{joints[-1].name}")

    return author_all
