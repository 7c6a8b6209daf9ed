"""Options of commands that run engines: limits, workers, converters, the gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from urdf_usd.cli.options.parameters import (
    fail_on_option,
    options_as,
)
from urdf_usd.cli.output.failures import CommandError
from urdf_usd.cli.output.files import require_outputs
from urdf_usd.conformance.execution.workers.limits import (
    DEFAULT_MEMORY,
    DEFAULT_TIMEOUT,
    Limits,
)

if TYPE_CHECKING:
    from urdf_usd.conformance.converters.candidates import Candidate
    from urdf_usd.reports.records.history import HistoryOptions

timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for each step on a robot: reading, converting, one engine.",
)
memory_option = click.option(
    "--memory",
    type=click.IntRange(min=0),
    default=DEFAULT_MEMORY,
    show_default=True,
    metavar="MIB",
    help=(
        "Memory limit of a process that works on a robot, and of each file that it "
        "writes; 0: unlimited. Linux only."
    ),
)


class Execution(Struct, frozen=True):
    """How the robots of a run are processed.

    Attributes:
        jobs: Number of robots processed in parallel; one per CPU if None.
        timeout: Time limit of a step [s].
        memory: Memory limit of a process [MiB]; 0 for none.
        resume: Whether results in the target folder are reused where still valid.
        retry: Whether those with a crash or a timeout are not reused.
        scheduler: Address of a Dask scheduler, if its workers process the robots.
        shared: Whether these workers see the same file system.
        timings: Whether to write the time that each robot takes.

    Raises:
        UsageError: An option is given without the one that it depends on.
    """

    jobs: int | None
    timeout: float
    memory: int
    resume: bool
    retry: bool
    scheduler: str | None
    shared: bool
    timings: bool

    def __post_init__(self) -> None:
        """Check dependencies between options."""
        if self.retry and not self.resume:
            raise click.UsageError("--retry needs --resume")
        if self.shared and not self.scheduler:
            raise click.UsageError("--shared needs --scheduler ADDRESS")

    @property
    def limits(self) -> Limits:
        """Limits of one robot."""
        return Limits(self.timeout, self.memory or None)


execution_options = options_as(
    Execution,
    "execution",
    (
        click.option(
            "--jobs",
            type=click.IntRange(min=1),
            help="Number of robots processed in parallel.  [default: one per CPU]",
        ),
        timeout_option,
        memory_option,
        click.option(
            "--resume",
            is_flag=True,
            help="Reuse results in OUT whose inputs, options and versions are the "
            "same and whose files were not changed.",
        ),
        click.option(
            "--retry",
            is_flag=True,
            help="With --resume, repeat robots that crashed or timed out.",
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="Process robots on the workers of this Dask scheduler, such as "
            "tcp://host:8786. Needs the extra 'cluster'.",
        ),
        click.option(
            "--shared",
            is_flag=True,
            help="With --scheduler: workers see the robots and OUT under the same "
            "paths, so no files are sent.",
        ),
        click.option(
            "--timings",
            is_flag=True,
            help="Write the time that each robot takes to timings/<id>.json.",
        ),
    ),
)


class Converters(Struct, frozen=True):
    """The converters under test.

    Attributes:
        candidates: Each converts every robot.
        gated: Name of the one that decides the exit status.
    """

    candidates: tuple[Candidate, ...]
    gated: str

    @property
    def only_ours(self) -> bool:
        """Whether this project's converter is the only one."""
        from urdf_usd.conformance.converters.candidates import OWN

        return self.candidates == (OWN,)


class ConverterChoices(Struct, frozen=True):
    """The converters under test as given on the command line.

    Attributes:
        converter_texts: Values of ``--converter``.
        converter_versions: Values of ``--converter-version``.
        gated: Value of ``--gate``.
    """

    converter_texts: tuple[str, ...]
    converter_versions: tuple[str, ...]
    gated: str | None

    def converters(self) -> Converters:
        """Parse the values.

        Raises:
            BadParameter: A value is malformed or names an unknown converter.
        """
        from urdf_usd.conformance.converters.candidates import (
            OURS,
            CandidateError,
            parse_candidates,
        )

        try:
            candidates = parse_candidates(
                self.converter_texts, dict(map(_version, self.converter_versions))
            )
        except CandidateError as error:
            raise click.BadParameter(str(error), param_hint="--converter") from error
        names = [candidate.name for candidate in candidates]
        gated = self.gated
        if gated is None:
            gated = OURS if OURS in names else names[0]
        elif gated not in names:
            raise click.BadParameter(
                f"{gated!r} is not a converter of this run; choose from {', '.join(names)}",
                param_hint="--gate",
            )
        return Converters(candidates, gated)


def _version(text: str) -> tuple[str, str]:
    name, equals, version = text.partition("=")
    if not (name and equals and version):
        raise click.BadParameter(f"{text!r} is not NAME=VERSION", param_hint="--converter-version")
    return name, version


converter_options = options_as(
    ConverterChoices,
    "converter_choices",
    (
        click.option(
            "--converter",
            "converter_texts",
            multiple=True,
            metavar="NAME[=HOW]",
            help="Converter to test; repeat to compare several. HOW is a command with "
            "{urdf} and {out}, such as 'other=urdf2usd {urdf} {out} [--package "
            "{name}={path}]', or folder:PATH with existing USDs; without it, NAME is "
            "an installed entry point.  [default: urdf-usd]",
        ),
        click.option(
            "--converter-version",
            "converter_versions",
            multiple=True,
            metavar="NAME=VERSION",
            help="Version of a converter for the report, where it cannot be detected.",
        ),
        click.option(
            "--gate",
            "gated",
            metavar="NAME",
            help="Converter that decides the exit status.  [default: urdf-usd, else the first]",
        ),
    ),
)


class GateOptions(Struct, frozen=True):
    """What makes a run fail.

    Attributes:
        fail_on: The mildest result that does not pass.
        strict: Whether robots that could not be read or fetched count.
        baseline_file: File of known failures.
        update_baseline: Whether to rewrite it.

    Raises:
        UsageError: A baseline is to be updated, but none is named.
        CommandError: The baseline does not exist.
    """

    fail_on: str
    strict: bool
    baseline_file: Path | None
    update_baseline: bool

    def __post_init__(self) -> None:
        """Check that a baseline that is to be read exists."""
        if self.baseline_file is None:
            if self.update_baseline:
                raise click.UsageError("--update-baseline needs --baseline FILE")
        elif not self.update_baseline and not self.baseline_file.exists():
            raise CommandError(f"{self.baseline_file}: No such file or directory")


gate_options = options_as(
    GateOptions,
    "gate",
    (
        fail_on_option,
        click.option(
            "--strict",
            is_flag=True,
            help="Fail also on robots that cannot be read or fetched.",
        ),
        click.option(
            "--baseline",
            "baseline_file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Fail only on results that are worse than FILE expects.",
        ),
        click.option(
            "--update-baseline",
            is_flag=True,
            help="Rewrite the baseline so that this run passes.",
        ),
    ),
)


class HistoryChoices(Struct, frozen=True):
    """The history of a run as given on the command line.

    Attributes:
        history_folder: Its folder.
        label: Name of this run.

    Raises:
        UsageError: There is a label, but no history.
    """

    history_folder: Path | None
    label: str | None

    def __post_init__(self) -> None:
        """Refuse a label without a history."""
        if self.label is not None and self.history_folder is None:
            raise click.UsageError("--label needs --history FOLDER")

    def require_valid(self, out: Path) -> None:
        """Read the history, so that a damaged one is reported before the run.

        Args:
            out: Folder of the run.

        Raises:
            CommandError: It is damaged, or its folder is that of the run.
        """
        require_outputs([(out, None), (self.history_folder, None)])
        if self.history_folder is None or not self.history_folder.exists():
            return
        from urdf_usd.reports.records.history import HistoryError, read_history

        try:
            read_history(self.history_folder)
        except HistoryError as error:
            raise CommandError(str(error)) from error

    def options(self) -> HistoryOptions | None:
        """Return where the run is added, if anywhere."""
        from urdf_usd.reports.records.history import HistoryOptions

        if self.history_folder is None:
            return None
        return HistoryOptions(self.history_folder, self.label or "")


history_options = options_as(
    HistoryChoices,
    "history_choices",
    (
        click.option(
            "--history",
            "history_folder",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="FOLDER",
            help="Add this run to the history in FOLDER, one file per run; the report "
            "shows the trend, and what changed when.",
        ),
        click.option(
            "--label",
            help="Name of this run in the history, such as a commit.  [default: its number]",
        ),
    ),
)
