"""Seed faults into the USD of one robot in one profile, and judge the changed USDs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct, structs
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from tests.faults.fault import PARTS_MISSING, REFUSED, ROBOTS, Fault, Place, ProfileName, Robot
from tests.faults.schema_faults import STAGE, SchemaFault, schema_faults
from tests.faults.shape_faults import VISUAL_FAULTS
from tests.faults.structure_faults import STRUCTURE_FAULTS
from tests.faults.value_faults import VALUE_FAULTS, description_of
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.settings import harmless_reason
from urdf_usd.conformance.engines.protocol import AbstentionError, Observed, Request
from urdf_usd.conformance.engines.reference import ReferenceEngine, structure
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.requested_settings import requested_settings
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.conversion import with_description
from urdf_usd.converter.simulation.description import load_description
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import resolve_robot
from urdf_usd.reports.records.record import Grade

FAULTS: tuple[Fault, ...] = (*STRUCTURE_FAULTS, *VALUE_FAULTS, *VISUAL_FAULTS)

# Profiles in which properties of schemas are seeded, and whether those of registered ones.
SCHEMA_PROFILES: dict[ProfileName, bool] = {"generic": True, "physx": False, "mujoco": False}
CAUGHT, MISSED, EQUIVALENT = "caught", "missed", "equivalent"
# Sizes of faults, relative to the largest one that may pass. Our own robots have the smaller
# one as well, which shows that a fault is not caught far above its tolerance alone.
_SIZES, _SHARP = (2.0,), (2.0, 1.1)
# Largest number of places that are tried until a USD is not equivalent.
_TRIES = 12


class Trial(Struct, frozen=True):
    """One fault in one place of one robot."""

    fault: str  # its id; for a generated one its schema
    robot: str
    subject: str
    failed: tuple[str, ...]  # checks
    outcome: str
    title: str = ""  # of a generated change
    properties: tuple[str, ...] = ()  # that it changes
    reason: str = ""  # why it is equivalent


class Trials:
    """A good USD of a robot, and its changed USDs."""

    def __init__(
        self, robot: str, profile: ProfileName, folder: Path, *, flattened: bool = False
    ) -> None:
        path = resolve_robot(robot).path if ":" in robot else ROBOTS / f"{robot}.urdf"
        urdf = str(path)
        self.name, self.profile, self._folder = robot, profile, folder
        # Repairable text is accepted, as by `convert`.
        self._configurations = configurations(structure(parse(urdf).robot))
        self._spec = ReferenceEngine().observe(Request(urdf, self._configurations))
        self._requested: SimulationObservation | None = None
        options = ConvertOptions()
        if profile == "described":
            text = description_of(self._spec)
            file = folder / "robot.toml"
            file.write_text(text, encoding="utf-8")
            description = load_description(file)
            options = with_description(options, description)
            self._requested = requested_settings(description, urdf, self._spec)
        elif profile == "mujoco":
            options = ConvertOptions(physics_variants=True)
        else:
            options = ConvertOptions(profile=Profile(profile))
        self._asset = str(convert(urdf, folder / "good", options).root_layer)
        if profile == "mujoco":
            layer = Sdf.Layer.FindOrOpen(self._asset)
            layer.GetPrimAtPath(f"/{layer.defaultPrim}").variantSelections["Physics"] = profile
            layer.Save()
        if flattened:
            asset, self._asset = self._asset, str(folder / "flat.usda")
            Usd.Stage.Open(asset).Export(self._asset)
        # It keeps the layers of the asset open.
        self.stage = Usd.Stage.Open(self._asset)
        unchanged = self._overlay()
        self._clean = unchanged.GetRootLayer().ExportToString()
        good = self._observe(unchanged)
        assert good is not None, f"{robot}: the good USD is refused"
        self._good = good
        named = zip(self._configurations.joints, self._configurations.positions, strict=True)
        positions = {name: given[:, 0] for name, given in named if given.shape[1] == 1}
        self.robot = Robot.of(self.stage, self._spec, good.base, positions)
        self.raised = self.failed(good)
        self._results = self._judged(good)

    def _overlay(self) -> Usd.Stage:
        """Return a new stage that references the good one."""
        stage = Usd.Stage.CreateInMemory("overlay.usda")
        UsdGeom.SetStageMetersPerUnit(stage, UsdGeom.GetStageMetersPerUnit(self.stage))
        UsdGeom.SetStageUpAxis(stage, UsdGeom.GetStageUpAxis(self.stage))
        UsdPhysics.SetStageKilogramsPerUnit(stage, UsdPhysics.GetStageKilogramsPerUnit(self.stage))
        default = stage.DefinePrim(self.stage.GetDefaultPrim().GetPath())
        default.GetReferences().AddReference(self._asset)
        stage.SetDefaultPrim(default)
        return stage

    def _observe(self, stage: Usd.Stage) -> Observation | None:
        """Observe a stage; None if the engine refuses it."""
        path = str(self._folder / "changed.usda")
        stage.GetRootLayer().Export(path)
        # MuJoCo, which computes the equations of motion, warns of invalid values.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                request = Request(path, self._configurations)
                return OpenusdEngine().observe(request)
            except AbstentionError:
                return None
            finally:
                Path(path).unlink()

    def _judge(self, observation: Observation) -> Judgement:
        # Other URDF engines only affect values on which they contradict the reference.
        return judge(
            {"reference": Observed(self._spec)},
            Observed(observation),
            expected_base=self._spec.base or self._good.base,
            requested=self._requested,
        )

    def failed(self, observation: Observation | None) -> tuple[str, ...]:
        """Return the checks that fail."""
        if observation is None:
            return (REFUSED,)
        judgement = self._judge(observation)
        failed = [check.id for check in judgement.checks if check.grade is Grade.FAILS]
        return (*failed, *([PARTS_MISSING] if observation.missing else ()))

    def has(self, fault: Fault) -> bool:
        """Whether the robot has a place for a fault."""
        size = _SIZES[0] * (fault.tolerance or 0.0)
        return next(self._changed(fault, fault.places(self.robot), size), None) is not None

    def seed(self, fault: Fault, *, every: bool = False) -> Iterator[Trial]:
        """Seed a fault at one place, or at every place, in each of its sizes."""
        places = list(fault.places(self.robot))
        places = places if every else places[len(places) // 2 :] + places[: len(places) // 2]
        for size in _SHARP if (ROBOTS / f"{self.name}.urdf").exists() else _SIZES:
            changed = self._changed(fault, places, size * (fault.tolerance or 0.0))
            for tried, (place, stage) in enumerate(changed, 1):
                trial = self._trial(fault, place, self._observe(stage))
                yield trial
                done = trial.outcome != EQUIVALENT or tried == _TRIES
                if done and not every:
                    break
            if not fault.tolerance:
                break

    def _changed(
        self, fault: Fault, places: Iterable[Place], size: float
    ) -> Iterator[tuple[Place, Usd.Stage]]:
        """Yield the places at which a fault authors something, and the changed stages."""
        stage = self._overlay()
        for place in places:
            prim = stage.GetPrimAtPath(place.path)
            fault.edit(structs.replace(place, prim=prim, size=size))
            if stage.GetRootLayer().ExportToString() != self._clean:
                yield place, stage
                stage = self._overlay()

    def _trial(self, fault: Fault, place: Place, changed: Observation | None) -> Trial:
        failed = self.failed(changed)
        outcome = CAUGHT if {*fault.detected_by} & {*failed} else MISSED
        if not fault.detected_by:
            outcome = MISSED if failed else CAUGHT
        elif outcome == MISSED and fault.equivalent and not failed and self._is_same(changed):
            outcome = EQUIVALENT
        return Trial(fault.id, self.name, place.path, failed, outcome)

    def schema_faults(self) -> tuple[SchemaFault, ...]:
        registered = SCHEMA_PROFILES.get(self.profile)
        if registered is None:
            return ()
        return schema_faults(self.stage, registered=registered)

    def seed_schemas(self, keys: Collection[str]) -> Iterator[Trial]:
        """Change the USD as schemas generate it."""
        for fault in self.schema_faults():
            if fault.key not in keys:
                continue
            stage = self._overlay()
            fault.apply(stage)
            changed = self._observe(stage)
            failed = self.failed(changed)
            reason = "" if failed else self._reason(fault, changed)
            yield Trial(
                fault.schema,
                self.name,
                fault.path,
                failed,
                CAUGHT if failed else EQUIVALENT if reason else MISSED,
                fault.title,
                tuple(name for name, value in fault.values if not harmless_reason(name, value)),
                reason,
            )

    def _reason(self, fault: SchemaFault, changed: Observation | None) -> str:
        reasons = [harmless_reason(name, value) for name, value in fault.values]
        if reasons and all(reasons):
            return str(reasons[0])
        same = fault.schema != STAGE and self._is_same(changed)
        return "no check sees a difference" if same else ""

    def _judged(self, observation: Observation) -> dict[str, tuple[int, float]]:
        """Return how many values each check compares, and their largest difference."""
        return {
            check.id: (check.compared, check.worst or 0.0)
            for check in self._judge(observation).checks
            # A USD need not keep the words of shapes.
            if check.id != "structure.words"
        }

    def _is_same(self, changed: Observation | None) -> bool:
        """Whether the checks see no difference to the good USD."""
        results = self._judged(changed) if changed else {}
        return results.keys() == self._results.keys() and all(
            results[check][0] == compared
            and math.isclose(results[check][1], worst, rel_tol=5e-4, abs_tol=1e-5)
            for check, (compared, worst) in self._results.items()
        )
