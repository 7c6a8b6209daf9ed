"""The closed list of faults."""

from __future__ import annotations

from conformance.mutations.asset_faults import ASSET_FAULTS
from conformance.mutations.body_faults import BODY_FAULTS
from conformance.mutations.coupling_faults import COUPLING_FAULTS
from conformance.mutations.drive_faults import DRIVE_FAULTS
from conformance.mutations.joint_faults import JOINT_FAULTS
from conformance.mutations.limit_faults import LIMIT_FAULTS
from conformance.mutations.look_faults import LOOK_FAULTS
from conformance.mutations.mass_faults import MASS_FAULTS
from conformance.mutations.shape_faults import SHAPE_FAULTS
from conformance.mutations.topology_faults import TOPOLOGY_FAULTS

FAULTS = (
    *TOPOLOGY_FAULTS,
    *JOINT_FAULTS,
    *LIMIT_FAULTS,
    *COUPLING_FAULTS,
    *DRIVE_FAULTS,
    *BODY_FAULTS,
    *MASS_FAULTS,
    *ASSET_FAULTS,
    *SHAPE_FAULTS,
    *LOOK_FAULTS,
)
