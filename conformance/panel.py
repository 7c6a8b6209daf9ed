"""The witnesses of a run, and how one robot is put before them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from urdf_usd.conformance import registry
from urdf_usd.conformance.back_again import hear_back
from urdf_usd.conformance.confinement import OUT_OF_MEMORY, Completed
from urdf_usd.conformance.inquiry import Inquiry, inquire
from urdf_usd.conformance.labelling import label_robot
from urdf_usd.conformance.naming import missing_names
from urdf_usd.conformance.observation import Configurations
from urdf_usd.conformance.tasks import (
    InstalledWitness,
    Reading,
    draw_robot,
    installed_witnesses,
    lint_robot,
    read_robot,
)
from urdf_usd.conformance.verdict import REFERENCE, Judgement, judge
from urdf_usd.conformance.witness import Available, Crashed, Observed, Request, Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from urdf_usd.conformance.isolation import Isolation
    from urdf_usd.conformance.journal import Step, Steps
    from urdf_usd.conformance.labelling import Labelled
    from urdf_usd.conformance.observation import Base, Observation
    from urdf_usd.conformance.round_trip import Back
    from urdf_usd.conformance.witness import Outcome
    from urdf_usd.converter.diagnostics import SourceError
    from urdf_usd.converter.lint import Finding

# The reader of USDs whose word is judged; others are compared with it.
USD_READER = "usdphysics"
AT_REST = Configurations((), (), ("zero",))


@dataclass(frozen=True, slots=True, eq=False)
class Testimony:
    """What every witness of one robot said.

    Attributes:
        witnesses: All that should have been asked.
        outcomes: By name, of those that are available.
        configurations: Number of configurations at which they were asked.
        back: What became of the URDF written back from the USD, if both were there.
        files: What they read.
    """

    witnesses: tuple[InstalledWitness, ...]
    outcomes: Mapping[str, Outcome]
    configurations: int
    back: Back | None = None
    files: Mapping[Side, Path] = field(default_factory=dict)

    def observation(self, name: str) -> Observation | None:
        """Return what a witness observed, if it did."""
        outcome = self.outcomes.get(name)
        return outcome.observation if isinstance(outcome, Observed) else None

    @property
    def heard(self) -> tuple[str, ...]:
        """Names of those that read their file."""
        return tuple(name for name in self.outcomes if self.observation(name))


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Witnesses, and where one robot is put before them.

    Attributes:
        steps: Where everything is done.
        witnesses: Those that are asked about every robot.
    """

    steps: Steps
    witnesses: tuple[InstalledWitness, ...]

    def read(
        self, urdf: Path, packages: Mapping[str, str], arguments: Mapping[str, str]
    ) -> Reading | SourceError | Crashed:
        """Read a URDF as far as the witnesses' questions need it."""
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
        """Plan to ask every witness of a side that is available.

        Args:
            side: Kind of the file.
            file: What they read.
            packages: Folder of each ROS package, by name.
            configurations: Where link frames are compared.
        """
        request = Request(str(file), configurations, packages)
        steps = {
            witness.name: inquire(self.steps, witness.name, request)
            for witness in self.witnesses
            if witness.side is side and isinstance(witness.availability, Available)
        }
        return Inquiry(side, file, steps)

    def begin(self, *inquiries: Inquiry) -> None:
        """Have witnesses asked: the reference here, the others beside it.

        What the reference reads of meshes is there when the robot is drawn.
        """
        for inquiry in inquiries:
            others = [step for name, step in inquiry.steps.items() if name != REFERENCE]
            self.steps.begin(*others)
        for inquiry in inquiries:
            if REFERENCE in inquiry.steps:
                inquiry.steps[REFERENCE].ending()

    def hear(
        self,
        inquiries: Sequence[Inquiry],
        packages: Mapping[str, str],
        configurations: Configurations = AT_REST,
        scratch: Path | None = None,
    ) -> Testimony:
        """Hear what witnesses say, of one side or of both.

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
        asked = tuple(witness for witness in self.witnesses if witness.side in files)
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
        testimony = Testimony(asked, outcomes, configurations.count, back, files)
        named = self._by_their_names(testimony, packages, configurations, scratch)
        if named is testimony:
            return testimony
        usd = named.files[Side.USD]
        return replace(named, back=self._back(named.outcomes, usd, configurations))

    def _back(
        self,
        outcomes: Mapping[str, Outcome],
        usd: Path | None,
        configurations: Configurations,
    ) -> Back | None:
        """Have the URDF written back, if there is a USD, and who could compare it."""
        spec = outcomes.get(REFERENCE)
        engines = [
            witness.name
            for witness in self.witnesses
            if witness.side is Side.URDF
            and witness.name != REFERENCE
            and isinstance(outcomes.get(witness.name), Observed)
        ]
        if usd is None or not engines or not isinstance(spec, Observed):
            return None
        return hear_back(
            self.steps,
            engines,
            usd,
            links=tuple(link.name for link in spec.observation.links),
            configurations=configurations,
        )

    def _by_their_names(
        self,
        testimony: Testimony,
        packages: Mapping[str, str],
        configurations: Configurations,
        scratch: Path | None,
    ) -> Testimony:
        """Ask the readers of a USD again if it has links or joints by other names."""
        spec = testimony.observation(REFERENCE)
        usd = testimony.observation(USD_READER)
        if scratch is None or spec is None or usd is None:
            return testimony
        if not missing_names(spec, usd):
            return testimony
        path = str(testimony.files[Side.USD].absolute())
        ending = self.steps.call(label_robot, path, _at_rest(spec))
        if isinstance(ending, Crashed) or ending.value is None:
            return testimony
        labels = ending.value
        file = scratch / "labelled.usda"
        file.write_text(labels.text, encoding="utf-8")
        asked = self.inquire(Side.USD, file, packages, configurations)
        again = {
            name: _relabelled(outcome, labels)
            for name, outcome in asked.outcomes().items()
        }
        return replace(
            testimony,
            outcomes={**testimony.outcomes, **again},
            files={**testimony.files, Side.USD: file},
        )

    def draw(
        self,
        packages: Mapping[str, str],
        testimony: Testimony,
        configurations: Configurations,
        target: Path,
    ) -> None:
        """Have a robot drawn; where that fails, there is no drawing.

        Args:
            packages: Folder of each ROS package, by name.
            testimony: What was said, and of which files.
            configurations: Where link frames were compared.
            target: File of the scene.
        """
        sides = {Side.URDF.value: REFERENCE, Side.USD.value: USD_READER}
        readings = {
            side: reading
            for side, name in sides.items()
            if (reading := testimony.observation(name))
        }
        frames = {
            witness.name: reading.frames
            for witness in testimony.witnesses
            if (reading := testimony.observation(witness.name)) and reading.frames
        }
        files = testimony.files
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

    def judge(self, testimony: Testimony, base: Base | None) -> Step[Judgement]:
        """Plan to have a testimony judged.

        Args:
            testimony: With the word of the reference and of the reader of USDs.
            base: How the base has to be held; None if the URDF alone decides.
        """
        urdf = {
            witness.name: testimony.outcomes[witness.name]
            for witness in testimony.witnesses
            if witness.side is Side.URDF and witness.name in testimony.outcomes
        }
        usd = testimony.outcomes[USD_READER]
        further = tuple(
            testimony.outcomes[witness.name]
            for witness in testimony.witnesses
            if witness.side is Side.USD
            and witness.name != USD_READER
            and witness.name in testimony.outcomes
        )
        return self.steps.plan(
            partial(
                judge,
                urdf,
                usd,
                further_usd=further,
                back=testimony.back,
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
            replace(shape, surface=None, looks=()) for shape in reading.shapes
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
    """Refuse names that are not those of witnesses; none is loaded.

    Raises:
        UnknownWitnessError: A witness of that name is not installed.
    """
    installed = registry.names()
    for name in wanted:
        if name not in installed:
            raise registry.UnknownWitnessError(
                f"no witness is called {name!r}; there are {', '.join(installed)}"
            )


def convene(
    isolation: Isolation, wanted: Sequence[str] = ()
) -> tuple[InstalledWitness, ...]:
    """Choose the witnesses: those wanted, and the two that every verdict needs.

    Args:
        isolation: Where it is found out which can be asked.
        wanted: Names; all witnesses whose engines are installed if empty.

    Raises:
        UnknownWitnessError: A name is not that of an installed witness.
        MissingWitnessError: The reference or the reader of USDs cannot work here.
    """
    require_installed(wanted)
    ending = isolation.call(installed_witnesses)
    match ending:
        case Crashed(reason) if reason == OUT_OF_MEMORY:
            raise registry.MissingWitnessError(
                f"engines and libraries alone take more than {isolation.memory} MiB "
                "of memory: allow more, see --memory"
            )
        case Crashed(reason):
            raise registry.MissingWitnessError(
                f"the witnesses cannot be listed: {reason}"
            )
    needed = {REFERENCE, USD_READER}
    for witness in ending.value:
        if witness.name in needed and not isinstance(witness.availability, Available):
            reason = f"{witness.availability.reason}; {witness.availability.remedy}"
            raise registry.MissingWitnessError(
                f"witness {witness.name} cannot work here: {reason}"
            )
    # An optional engine that is not installed is only missed where it is asked for.
    chosen = (
        {*wanted, *needed}
        if wanted
        else {w.name for w in ending.value if isinstance(w.availability, Available)}
    )
    return tuple(witness for witness in ending.value if witness.name in chosen)
