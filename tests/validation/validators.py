"""OpenUSD's and NVIDIA's validators, asked about one asset."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

# Registers the schemas of newton:* attributes, as OpenUSD's readers have to.
import newton_usd_schemas  # noqa: F401
from pxr import Tf, Usd, UsdValidation

from urdf_usd.converter.usd.writer.interface import COLLIDERS_SET, NONE, PHYSICS_SET

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.validation.waivers import Waiver

# Default variants; no physics; no colliders.
_CHOICES: tuple[dict[str, str], ...] = (
    {},
    {PHYSICS_SET: NONE},
    {COLLIDERS_SET: NONE},
)


@dataclass(frozen=True)
class Issue:
    """What a validator said.

    Attributes:
        rule: Name of the validator's rule.
        message: What it said.
    """

    rule: str
    message: str


def openusd_issues(asset: Path) -> Iterator[Issue]:
    """Ask all validators of OpenUSD, those of usdchecker among them, about each choice.

    What OpenUSD itself warns of while the stage is opened counts as well.
    """
    registry = UsdValidation.ValidationRegistry()
    context = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators())
    with Tf.DiagnosticTrap() as trap:
        stage = Usd.Stage.Open(str(asset))
        sets = stage.GetDefaultPrim().GetVariantSets()
        for choice in _CHOICES:
            stage.GetSessionLayer().Clear()
            with Usd.EditContext(stage, stage.GetSessionLayer()):
                for name, variant in choice.items():
                    sets.SetSelection(name, variant)
            for error in context.Validate(stage):
                yield Issue(error.GetName(), error.GetMessage())
        for warning in trap.GetWarnings():
            yield Issue("warning", warning.commentary)
        trap.Clear()


class NvidiaValidator:
    """The rules of omniverse-asset-validator, in all its default categories.

    It comes with a dependency group of its own.
    """

    def __init__(self, left_out: tuple[Waiver, ...]) -> None:
        """Prepare the rules, but those that are left out."""
        logging.getLogger("omni").setLevel(logging.WARNING)
        import omni.asset_validator as nvidia  # noqa: PLC0415  it is loud when loaded

        # It asks about every variant of the default prim.
        self._engine = nvidia.ValidationEngine(variants=True)
        for waiver in left_out:
            self._engine.disable_rule(getattr(nvidia, waiver.rule))

    def issues(self, asset: Path) -> Iterator[Issue]:
        """Ask about one asset."""
        for issue in self._engine.validate(str(asset)).issues():
            rule = issue.rule.__name__ if issue.rule else "none"
            yield Issue(rule, str(issue.message))
