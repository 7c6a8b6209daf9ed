"""Validators of OpenUSD and NVIDIA, applied to one asset."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Registers the schemas of newton:* attributes, as OpenUSD's own tools require.
import newton_usd_schemas  # noqa: F401
from pxr import Tf, Usd, UsdValidation

from tests.tools.validation.waivers import Waiver
from urdf_usd.converter.usd.writer.asset import COLLIDERS_SET, NONE, PHYSICS_SET

# Default variants; no physics; no colliders.
_CHOICES: tuple[dict[str, str], ...] = (
    {},
    {PHYSICS_SET: NONE},
    {COLLIDERS_SET: NONE},
)


@dataclass(frozen=True)
class Issue:
    """An issue that a validator reports.

    Attributes:
        rule: Name of the validator's rule.
        message: Its message.
    """

    rule: str
    message: str


def openusd_issues(asset: Path) -> Iterator[Issue]:
    """Run all validators of OpenUSD, also usdchecker's, for each variant selection.

    Warnings of OpenUSD while the stage is opened count as well.
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
    """The rules of usd-validation-nvidia, in all its default categories.

    Needs the dependency group ``validation``.
    """

    def __init__(self, left_out: tuple[Waiver, ...]) -> None:
        """Prepare the rules except those that are left out."""
        logging.getLogger("usd_validation_nvidia").setLevel(logging.WARNING)
        import usd_validation_nvidia as nvidia

        # It validates every variant of the default prim.
        self._engine = nvidia.ValidationEngine(variants=True)
        for waiver in left_out:
            self._engine.disable_rule(getattr(nvidia, waiver.rule))

    def issues(self, asset: Path) -> Iterator[Issue]:
        """Return the issues of one asset."""
        for issue in self._engine.validate(str(asset)).issues():
            rule = issue.rule.__name__ if issue.rule else "none"
            yield Issue(rule, str(issue.message))
