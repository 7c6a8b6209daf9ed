"""Commands that install optional parts."""

from __future__ import annotations

from importlib import metadata

import pytest

from urdf_usd.installation import distribution_of, install_command


@pytest.mark.parametrize(
    ("installed", "distributions", "found"),
    [
        ({"part": "1.2"}, {"part": ["part"]}, ("part", "1.2")),
        ({"part-fork": "1.3"}, {"part": ["part-fork"]}, ("part-fork", "1.3")),
        ({}, {}, None),
    ],
)
def test_distribution_of_a_module_may_have_another_name(
    monkeypatch: pytest.MonkeyPatch,
    installed: dict[str, str],
    distributions: dict[str, list[str]],
    found: tuple[str, str] | None,
) -> None:
    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "packages_distributions", lambda: distributions)

    assert distribution_of.__wrapped__("part") == found


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("physx", "pip install 'ovphysx>=0.7' 'physx-usd-schemas>=0.7'"),
        ("newton", "pip install 'newton>=1.8'"),
    ],
)
def test_command_names_the_requirements_of_an_extra(extra: str, command: str) -> None:
    assert install_command(extra) == command


def test_markers_besides_the_extra_are_omitted(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = [
        "numpy>=2.0",
        "one>=1; (python_version < '3.13') and extra == 'fast'",
        'two; extra == "slow"',
    ]
    monkeypatch.setattr(metadata, "requires", lambda _: stated)

    assert install_command("fast") == "pip install 'one>=1'"


def test_package_without_metadata_is_named_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)

    assert install_command("fast") == "pip install 'urdf-usd-conformance[fast]'"
