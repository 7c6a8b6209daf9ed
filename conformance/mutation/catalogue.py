"""The closed list of faults."""

from __future__ import annotations

from urdf_usd.conformance.mutation.asset_faults import ASSET_FAULTS
from urdf_usd.conformance.mutation.authored_faults import AUTHORED_FAULTS
from urdf_usd.conformance.mutation.body_faults import BODY_FAULTS
from urdf_usd.conformance.mutation.joints.coupling_faults import COUPLING_FAULTS
from urdf_usd.conformance.mutation.joints.drive_faults import DRIVE_FAULTS
from urdf_usd.conformance.mutation.joints.joint_faults import JOINT_FAULTS
from urdf_usd.conformance.mutation.joints.limit_faults import LIMIT_FAULTS
from urdf_usd.conformance.mutation.mass_faults import MASS_FAULTS
from urdf_usd.conformance.mutation.robot_schema_faults import ROBOT_SCHEMA_FAULTS
from urdf_usd.conformance.mutation.setting_faults import SETTING_FAULTS
from urdf_usd.conformance.mutation.shapes.appearance_faults import APPEARANCE_FAULTS
from urdf_usd.conformance.mutation.shapes.mesh_faults import MESH_FAULTS
from urdf_usd.conformance.mutation.shapes.shape_faults import SHAPE_FAULTS
from urdf_usd.conformance.mutation.simulation_faults import SIMULATION_FAULTS
from urdf_usd.conformance.mutation.topology_faults import TOPOLOGY_FAULTS

FAULTS = (
    *TOPOLOGY_FAULTS,
    *JOINT_FAULTS,
    *LIMIT_FAULTS,
    *COUPLING_FAULTS,
    *DRIVE_FAULTS,
    *BODY_FAULTS,
    *MASS_FAULTS,
    *ASSET_FAULTS,
    *SETTING_FAULTS,
    *SHAPE_FAULTS,
    *APPEARANCE_FAULTS,
    *MESH_FAULTS,
    *AUTHORED_FAULTS,
    *ROBOT_SCHEMA_FAULTS,
    *SIMULATION_FAULTS,
)
