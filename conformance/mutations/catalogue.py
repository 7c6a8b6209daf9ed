"""The closed list of faults."""

from __future__ import annotations

from urdf_usd.conformance.mutations.asset_faults import ASSET_FAULTS
from urdf_usd.conformance.mutations.body_faults import BODY_FAULTS
from urdf_usd.conformance.mutations.coupling_faults import COUPLING_FAULTS
from urdf_usd.conformance.mutations.drive_faults import DRIVE_FAULTS
from urdf_usd.conformance.mutations.joint_faults import JOINT_FAULTS
from urdf_usd.conformance.mutations.limit_faults import LIMIT_FAULTS
from urdf_usd.conformance.mutations.look_faults import LOOK_FAULTS
from urdf_usd.conformance.mutations.mass_faults import MASS_FAULTS
from urdf_usd.conformance.mutations.shape_faults import SHAPE_FAULTS
from urdf_usd.conformance.mutations.topology_faults import TOPOLOGY_FAULTS

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
