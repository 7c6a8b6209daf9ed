"""Commands that install optional parts."""

from __future__ import annotations

from importlib import metadata

import pytest

from urdf_usd.installation import distribution_of, install_command


def test_distribution_of_a_module_may_have_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name != "part-fork":
            raise metadata.PackageNotFoundError(name)
        return "1.3"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"part": ["part-fork"]})

    found = map(distribution_of.__wrapped__, ("part-fork", "part", "other"))

    assert list(found) == [("part-fork", "1.3"), ("part-fork", "1.3"), None]


def test_command_names_the_requirements_of_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Markers besides the extra are omitted; a package without metadata is named itself."""
    physx = "pip install 'ovphysx>=0.7' 'physx-usd-schemas>=0.7'"
    assert install_command("physx") == physx
    one = "one>=1; (python_version < '3.13') and extra == 'fast'"
    stated = ["numpy>=2.0", one, 'two; extra == "slow"']
    monkeypatch.setattr(metadata, "requires", lambda _: stated)
    assert install_command("fast") == "pip install 'one>=1'"

    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert install_command("fast") == "pip install 'urdf-usd-conformance[fast]'"
