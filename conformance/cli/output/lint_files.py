"""What was found in files, as lint's output formats see it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from urdf_usd.converter.diagnostics.rules import Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from urdf_usd.converter.lint import Finding


@dataclass(frozen=True, slots=True)
class LintedFile:
    """One file that was examined.

    Attributes:
        reference: What the user writes to get it.
        path: The file.
        is_urdf: Whether it is the markup of a robot at all.
        findings: What was found, in the order of the file.
    """

    reference: str
    path: Path
    is_urdf: bool
    findings: tuple[Finding, ...]

    def narrowed(self, rules: Collection[str]) -> LintedFile:
        """Keep the findings of some rules, by identifier."""
        kept = tuple(finding for finding in self.findings if finding.rule.id in rules)
        return replace(self, findings=kept)


def counts(files: Iterable[LintedFile]) -> dict[Severity, int]:
    """Count the findings of each severity."""
    found = Counter(f.rule.severity for file in files for f in file.findings)
    return {severity: found[severity] for severity in Severity}


def shown_path(file: str) -> str:
    """Return a path relative to the working folder if it lies in there."""
    path = Path(file).absolute()
    folder = Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else file


def uri(file: str) -> str:
    """Return a URI: relative to the working folder if the file lies in there."""
    shown = Path(shown_path(file))
    return shown.absolute().as_uri() if shown.is_absolute() else quote(shown.as_posix())
