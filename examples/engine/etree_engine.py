"""An engine that reads names of links with the XML parser of the standard library."""

from dataclasses import dataclass
from xml.etree import ElementTree as ET

from urdf_usd.conformance.engines.protocol import Available, Side, UnsupportedError
from urdf_usd.conformance.observation.robot import (
    LinkObservation,
    Observation,
    Quantity,
)


@dataclass(frozen=True)
class EtreeEngine:
    """States the names of the links of a URDF."""

    name: str = "etree"
    side: Side = Side.URDF

    def availability(self):
        """Return the version, or why it cannot be used."""
        return Available(ET.VERSION)

    def observe(self, request):
        """Read one URDF."""
        try:
            robot = ET.parse(request.path).getroot()
        except ET.ParseError as error:
            raise UnsupportedError(f"not XML: {error}") from error
        links = [link.get("name") for link in robot.iterfind("link")]
        children = {child.get("link") for child in robot.iterfind("joint/child")}
        return Observation(
            engine=self.name,
            robot=robot.get("name"),
            root=next(link for link in links if link not in children),
            states=frozenset({Quantity.LINKS}),
            links=tuple(LinkObservation(link) for link in links),
            joints=(),
        )
