"""URDF engine: urdfdom, the parser of ROS, by its program ``urdf_to_graphviz``.

It states the tree of links and joints, and refuses the files that no program of ROS loads. The
distribution has no bindings for Python: the engine ``pinocchio`` states the limits and masses
that urdfdom reads.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from msgspec import Struct

from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.converter.ros import run_urdfdom, urdfdom_errors, urdfdom_version

_LINK = re.compile(r'^"(?P<name>.*)" \[label="(?P=name)"\];$', re.MULTILINE)
_PARENT = re.compile(r'^"(?P<parent>.*)" -> "(?P<joint>.*)" \[label="xyz: ', re.MULTILINE)
_CHILD = re.compile(r'^"(?P<joint>.*)" -> "(?P<child>.*)"$', re.MULTILINE)


class UrdfdomEngine(Struct, frozen=True):
    name: str = "urdfdom"
    side: protocol.Side = protocol.Side.URDF

    def availability(self) -> protocol.Availability:
        version = urdfdom_version()
        if version is None:
            return protocol.Unavailable(
                "cmeel-urdfdom is not installed", "pip install cmeel-urdfdom"
            )
        return protocol.Available(f"cmeel-urdfdom {version}")

    def observe(self, request: protocol.Request) -> obs.Observation:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder, "tree")
            ended = run_urdfdom("urdf_to_graphviz", request.path, str(output))
            graph_file = output.with_suffix(".gv")
            if ended is None or not graph_file.exists():
                errors = urdfdom_errors(ended[1]) if ended else ()
                raise protocol.UnsupportedError("; ".join(errors) or "urdfdom gives no answer")
            data = graph_file.read_bytes()
        try:
            graph = data.decode()
        except UnicodeDecodeError:
            # urdfdom copies the bytes of names, whatever the encoding of the file.
            graph = data.decode("latin-1")
        links = [match["name"] for match in _LINK.finditer(graph)]
        children = {match["joint"]: match["child"] for match in _CHILD.finditer(graph)}
        joints = tuple(
            # The type is not in the output, and not among the quantities stated.
            obs.JointObservation(joint, obs.JointType.FIXED, match["parent"], children[joint])
            for match in _PARENT.finditer(graph)
            if (joint := match["joint"]) in children
        )
        roots = set(links) - set(children.values())
        if len(roots) != 1:
            raise protocol.UnsupportedError(f"urdfdom finds {len(roots)} root links")
        return obs.Observation(
            engine=self.name,
            robot=None,
            root=roots.pop(),
            states=frozenset({obs.Quantity.LINKS, obs.Quantity.JOINTS}),
            links=tuple(map(obs.LinkObservation, links)),
            joints=joints,
        )
