"""Names in manifests of ROS packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd.converter.urdf.files.packages import declared_name


@pytest.mark.parametrize(
    ("manifest", "name"),
    [
        ("<package><name> arm\n</name></package>", "arm"),
        ("<package><!-- <name>old</name> --><name>arm</name></package>", "arm"),
        ("<package><export><name>x</name></export><name>arm</name></package>", "arm"),
        ("<package><name a='1'>arm</name><name>hand</name></package>", "arm"),
        ("<package><name>a&amp;b</name></package>", "a&b"),
        ("<package><name/></package>", None),
        ("<package><name>arm</name>", None),
        ('<!DOCTYPE p [<!ENTITY e "arm">]><package><name>&e;</name></package>', None),
        ("", None),
    ],
)
def test_name_is_that_of_the_package_element(
    tmp_path: Path, manifest: str, name: str | None
) -> None:
    """Not one in a comment or in another element."""
    (tmp_path / "package.xml").write_text(manifest)

    assert declared_name(tmp_path) == name


def test_folder_without_manifest_has_no_declared_name(tmp_path: Path) -> None:
    """The name of the folder is used."""
    assert declared_name(tmp_path) is None
