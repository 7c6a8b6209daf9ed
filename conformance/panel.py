"""The witnesses of a run, and how one robot is put before them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from conformance import registry
from conformance.back_again import hear_back
from conformance.confinement import Completed
from conformance.labelling import label_robot
from conformance.naming import missing_names
from conformance.observation import Configurations
from conformance.tasks import (
    InstalledWitness,
    Reading,
    draw_robot,
    installed_witnesses,
    read_robot,
)
from conformance.verdict import REFERENCE, Judgement, judge
from conformance.witness import Available, Crashed, Observed, Request, Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from conformance.isolation import Isolation
    from conformance.journal import Steps
    from conformance.labelling import Labelled
    from conformance.observation import Base, Observation
    from conformance.round_trip import Back
    from conformance.witness import Outcome
    from converter.diagnostics import SourceError

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

    def hear(
        self,
        files: Mapping[Side, Path],
        packages: Mapping[str, str],
        configurations: Configurations = AT_REST,
        scratch: Path | None = None,
    ) -> Testimony:
        """Ask every witness that is available about its side, if there is a file.

        Engines that read the URDF are asked again about the one that is written back
        from the USD. Where a USD calls links or joints otherwise, its readers are asked
        again about one in which they are called as in the URDF.

        Args:
            files: File of each side.
            packages: Folder of each ROS package, by name.
            configurations: Where link frames are compared.
            scratch: Folder for what is written on the way; names stay as they are
                without one.
        """
        asked = tuple(witness for witness in self.witnesses if witness.side in files)
        outcomes = {
            witness.name: self.steps.ask(
                witness.name,
                Request(str(files[witness.side]), configurations, packages),
            )
            for witness in asked
            if isinstance(witness.availability, Available)
        }
        testimony = Testimony(asked, outcomes, configurations.count, files=files)
        testimony = self._by_their_names(testimony, packages, configurations, scratch)
        files = testimony.files
        engines = [
            witness.name
            for witness in asked
            if witness.side is Side.URDF
            and witness.name != REFERENCE
            and testimony.observation(witness.name)
        ]
        spec = testimony.observation(REFERENCE)
        if Side.USD not in files or not engines or spec is None:
            return testimony
        back = hear_back(
            self.steps,
            engines,
            files[Side.USD],
            links=tuple(link.name for link in spec.links),
            configurations=configurations,
        )
        return replace(testimony, back=back)

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
        again = {
            name: _relabelled(
                self.steps.ask(name, Request(str(file), configurations, packages)),
                labels,
            )
            for name in testimony.outcomes
            if self._reads_usd(name)
        }
        return replace(
            testimony,
            outcomes={**testimony.outcomes, **again},
            files={**testimony.files, Side.USD: file},
        )

    def _reads_usd(self, name: str) -> bool:
        return any(w.name == name and w.side is Side.USD for w in self.witnesses)

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

    def judge(self, testimony: Testimony, base: Base | None) -> Judgement | Crashed:
        """Have a testimony judged.

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
        task = partial(
            judge,
            urdf,
            usd,
            further_usd=further,
            back=testimony.back,
            expected_base=base,
        )
        ending = self.steps.call(task)
        return ending.value if isinstance(ending, Completed) else ending


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
        RuntimeError: The reference or the reader of USDs cannot work here.
    """
    require_installed(wanted)
    ending = isolation.call(installed_witnesses)
    match ending:
        case Crashed(reason):
            raise RuntimeError(f"the witnesses cannot be listed: {reason}")
    needed = {REFERENCE, USD_READER}
    for witness in ending.value:
        if witness.name in needed and not isinstance(witness.availability, Available):
            reason = f"{witness.availability.reason}; {witness.availability.remedy}"
            raise RuntimeError(f"witness {witness.name} cannot work here: {reason}")
    # An optional engine that is not installed is only missed where it is asked for.
    chosen = (
        {*wanted, *needed}
        if wanted
        else {w.name for w in ending.value if isinstance(w.availability, Available)}
    )
    return tuple(witness for witness in ending.value if witness.name in chosen)
