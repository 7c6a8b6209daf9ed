"""The engines of a run, and how one robot is put before them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import (
    Available,
    Crashed,
    Observed,
    Request,
    Side,
)
from urdf_usd.conformance.execution.tasks import (
    InstalledEngine,
    Reading,
    draw_robot,
    installed_engines,
    lint_robot,
    read_robot,
)
from urdf_usd.conformance.execution.workers.confinement import OUT_OF_MEMORY, Completed
from urdf_usd.conformance.execution.workers.inquiry import Inquiry, inquire
from urdf_usd.conformance.execution.written_back import run_round_trip
from urdf_usd.conformance.matching.labelling import label_robot
from urdf_usd.conformance.matching.naming import missing_names
from urdf_usd.conformance.observation.robot import Configurations
from urdf_usd.conformance.verdict.judgement import REFERENCE, Judgement, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from urdf_usd.conformance.engines.protocol import Outcome
    from urdf_usd.conformance.execution.workers.isolation import Isolation
    from urdf_usd.conformance.execution.workers.journal import Step, Steps
    from urdf_usd.conformance.matching.labelling import Labelled
    from urdf_usd.conformance.observation.robot import Base, Observation
    from urdf_usd.conformance.verdict.round_trip import RoundTripOutcomes
    from urdf_usd.converter.diagnostics import SourceError
    from urdf_usd.converter.lint import Finding

# The reader of USDs whose word is judged; others are compared with it.
USD_READER = "usdphysics"
AT_REST = Configurations((), (), ("zero",))


@dataclass(frozen=True, slots=True, eq=False)
class EngineResults:
    """What every engine of one robot said.

    Attributes:
        engines: All that should have been asked.
        outcomes: By name, of those that are available.
        configurations: Number of configurations at which they were asked.
        back: What became of the URDF written back from the USD, if both were there.
        files: What they read.
    """

    engines: tuple[InstalledEngine, ...]
    outcomes: Mapping[str, Outcome]
    configurations: int
    back: RoundTripOutcomes | None = None
    files: Mapping[Side, Path] = field(default_factory=dict)

    def observation(self, name: str) -> Observation | None:
        """Return what an engine observed, if it did."""
        outcome = self.outcomes.get(name)
        return outcome.observation if isinstance(outcome, Observed) else None

    @property
    def heard(self) -> tuple[str, ...]:
        """Names of those that read their file."""
        return tuple(name for name in self.outcomes if self.observation(name))


@dataclass(frozen=True, slots=True, eq=False)
class EngineSet:
    """Engines, and where one robot is put before them.

    Attributes:
        steps: Where everything is done.
        engines: Those that are asked about every robot.
    """

    steps: Steps
    engines: tuple[InstalledEngine, ...]

    def read(
        self, urdf: Path, packages: Mapping[str, str], arguments: Mapping[str, str]
    ) -> Reading | SourceError | Crashed:
        """Read a URDF as far as the engines' questions need it."""
        ending = self.steps.call(read_robot, str(urdf), packages, arguments)
        return ending.value if isinstance(ending, Completed) else ending

    def lint(
        self, urdf: Path, packages: Mapping[str, str], arguments: Mapping[str, str]
    ) -> Step[tuple[Finding, ...]]:
        """Plan to find out what is likely wrong with a URDF that was read."""
        return self.steps.plan(lint_robot, str(urdf), packages, arguments)

    def inquire(
        self,
        side: Side,
        file: Path,
        packages: Mapping[str, str],
        configurations: Configurations = AT_REST,
    ) -> Inquiry:
        """Plan to ask every engine of a side that is available.

        Args:
            side: Kind of the file.
            file: What they read.
            packages: Folder of each ROS package, by name.
            configurations: Where link frames are compared.
        """
        request = Request(str(file), configurations, packages)
        steps = {
            engine.name: inquire(self.steps, engine.name, request)
            for engine in self.engines
            if engine.side is side and isinstance(engine.availability, Available)
        }
        return Inquiry(side, file, steps)

    def begin(self, *inquiries: Inquiry) -> None:
        """Have engines asked: the reference here, the others beside it.

        What the reference reads of meshes is there when the robot is drawn.
        """
        for inquiry in inquiries:
            others = [step for name, step in inquiry.steps.items() if name != REFERENCE]
            self.steps.begin(*others)
        for inquiry in inquiries:
            if REFERENCE in inquiry.steps:
                inquiry.steps[REFERENCE].ending()

    def observe(
        self,
        inquiries: Sequence[Inquiry],
        packages: Mapping[str, str],
        configurations: Configurations = AT_REST,
        scratch: Path | None = None,
    ) -> EngineResults:
        """Hear what engines say, of one side or of both.

        Engines that read the URDF are asked again about the one that is written back
        from the USD. Where a USD calls links or joints otherwise, its readers are asked
        again about one in which they are called as in the URDF.

        Args:
            inquiries: What they were asked.
            packages: Folder of each ROS package, by name.
            configurations: Where link frames are compared.
            scratch: Folder for what is written on the way; names stay as they are
                without one.
        """
        files = {inquiry.side: inquiry.file for inquiry in inquiries}
        asked = tuple(engine for engine in self.engines if engine.side in files)
        outcomes = {
            name: outcome
            for inquiry in inquiries
            if inquiry.side is Side.URDF
            for name, outcome in inquiry.outcomes().items()
        }
        # Those who read the USD may be at it meanwhile.
        back = self._back(outcomes, files.get(Side.USD), configurations)
        for inquiry in inquiries:
            outcomes |= inquiry.outcomes()
        results = EngineResults(asked, outcomes, configurations.count, back, files)
        named = self._by_their_names(results, packages, configurations, scratch)
        if named is results:
            return results
        usd = named.files[Side.USD]
        return replace(named, back=self._back(named.outcomes, usd, configurations))

    def _back(
        self,
        outcomes: Mapping[str, Outcome],
        usd: Path | None,
        configurations: Configurations,
    ) -> RoundTripOutcomes | None:
        """Have the URDF written back, if there is a USD, and who could compare it."""
        spec = outcomes.get(REFERENCE)
        engines = [
            engine.name
            for engine in self.engines
            if engine.side is Side.URDF
            and engine.name != REFERENCE
            and isinstance(outcomes.get(engine.name), Observed)
        ]
        if usd is None or not engines or not isinstance(spec, Observed):
            return None
        return run_round_trip(
            self.steps,
            engines,
            usd,
            links=tuple(link.name for link in spec.observation.links),
            configurations=configurations,
        )

    def _by_their_names(
        self,
        results: EngineResults,
        packages: Mapping[str, str],
        configurations: Configurations,
        scratch: Path | None,
    ) -> EngineResults:
        """Ask the readers of a USD again if it has links or joints by other names."""
        spec = results.observation(REFERENCE)
        usd = results.observation(USD_READER)
        if scratch is None or spec is None or usd is None:
            return results
        if not missing_names(spec, usd):
            return results
        path = str(results.files[Side.USD].absolute())
        ending = self.steps.call(label_robot, path, _at_rest(spec))
        if isinstance(ending, Crashed) or ending.value is None:
            return results
        labels = ending.value
        file = scratch / "labelled.usda"
        file.write_text(labels.text, encoding="utf-8")
        asked = self.inquire(Side.USD, file, packages, configurations)
        again = {
            name: _relabelled(outcome, labels)
            for name, outcome in asked.outcomes().items()
        }
        return replace(
            results,
            outcomes={**results.outcomes, **again},
            files={**results.files, Side.USD: file},
        )

    def draw(
        self,
        packages: Mapping[str, str],
        results: EngineResults,
        configurations: Configurations,
        target: Path,
    ) -> None:
        """Have a robot drawn; where that fails, there is no drawing.

        Args:
            packages: Folder of each ROS package, by name.
            results: What was said, and of which files.
            configurations: Where link frames were compared.
            target: File of the scene.
        """
        sides = {Side.URDF.value: REFERENCE, Side.USD.value: USD_READER}
        readings = {
            side: reading
            for side, name in sides.items()
            if (reading := results.observation(name))
        }
        frames = {
            engine.name: reading.frames
            for engine in results.engines
            if (reading := results.observation(engine.name)) and reading.frames
        }
        files = results.files
        target.unlink(missing_ok=True)
        if Side.URDF.value in readings:
            self.steps.call(
                draw_robot,
                str(files[Side.URDF]),
                packages,
                str(files[Side.USD]),
                readings,
                frames,
                configurations,
                str(target),
            )

    def judge(self, results: EngineResults, base: Base | None) -> Step[Judgement]:
        """Plan to have a results judged.

        Args:
            results: With the word of the reference and of the reader of USDs.
            base: How the base has to be held; None if the URDF alone decides.
        """
        urdf = {
            engine.name: results.outcomes[engine.name]
            for engine in results.engines
            if engine.side is Side.URDF and engine.name in results.outcomes
        }
        usd = results.outcomes[USD_READER]
        further = tuple(
            results.outcomes[engine.name]
            for engine in results.engines
            if engine.side is Side.USD
            and engine.name != USD_READER
            and engine.name in results.outcomes
        )
        return self.steps.plan(
            partial(
                judge,
                urdf,
                usd,
                further_usd=further,
                back=results.back,
                expected_base=base,
            )
        )


def _at_rest(reading: Observation) -> Observation:
    """Leave of a reading what is needed to tell links and joints by their places."""
    frames = reading.frames
    return replace(
        reading,
        frames=frames
        and replace(
            frames,
            positions=frames.positions[:1],
            rotations=frames.rotations[:1],
            labels=frames.labels[:1],
        ),
        dynamics=None,
        rollout=None,
        shapes=tuple(
            replace(shape, surface=None, appearances=()) for shape in reading.shapes
        ),
    )


def _relabelled(outcome: Outcome, labels: Labelled) -> Outcome:
    """Say in an observation what is called otherwise in the file."""
    if not isinstance(outcome, Observed):
        return outcome
    notes = [f"{what} is called {name!r}" for what, name in labels.spelled]
    notes += (
        f"{what} is {name!r}, or another that is alike: the order of the file decides"
        for what, name in labels.alike
    )
    observation = replace(
        outcome.observation,
        renamed=labels.found,
        notes=(*outcome.observation.notes, *notes),
    )
    return Observed(observation)


def require_installed(wanted: Sequence[str]) -> None:
    """Refuse names that are not those of engines; none is loaded.

    Raises:
        UnknownEngineError: An engine of that name is not installed.
    """
    installed = registry.names()
    for name in wanted:
        if name not in installed:
            raise registry.UnknownEngineError(
                f"no engine is called {name!r}; there are {', '.join(installed)}"
            )


def select_engines(
    isolation: Isolation, wanted: Sequence[str] = ()
) -> tuple[InstalledEngine, ...]:
    """Choose the engines: those wanted, and the two that every verdict needs.

    Args:
        isolation: Where it is found out which can be asked.
        wanted: Names; all engines whose engines are installed if empty.

    Raises:
        UnknownEngineError: A name is not that of an installed engine.
        MissingEngineError: The reference or the reader of USDs cannot work here.
    """
    require_installed(wanted)
    ending = isolation.call(installed_engines)
    match ending:
        case Crashed(reason) if reason == OUT_OF_MEMORY:
            raise registry.MissingEngineError(
                f"engines and libraries alone take more than {isolation.memory} MiB "
                "of memory: allow more, see --memory"
            )
        case Crashed(reason):
            raise registry.MissingEngineError(f"the engines cannot be listed: {reason}")
    needed = {REFERENCE, USD_READER}
    for engine in ending.value:
        if engine.name in needed and not isinstance(engine.availability, Available):
            reason = f"{engine.availability.reason}; {engine.availability.remedy}"
            raise registry.MissingEngineError(
                f"engine {engine.name} cannot work here: {reason}"
            )
    # An optional engine that is not installed is only missed where it is asked for.
    chosen = (
        {*wanted, *needed}
        if wanted
        else {w.name for w in ending.value if isinstance(w.availability, Available)}
    )
    return tuple(engine for engine in ending.value if engine.name in chosen)
