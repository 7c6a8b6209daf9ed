"""SRDF, read by expat: pairs of links and named poses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat


@dataclass(slots=True)
class SrdfContent:
    """Elements of an SRDF.

    Attributes:
        disabled: Pairs of ``disable_collisions``.
        muted: Links of ``disable_default_collisions``.
        enabled: Pairs of ``enable_collisions``.
        states: Positions by joint, by group and name of a pose.
    """

    disabled: list[frozenset[str]] = field(default_factory=list)
    muted: list[str] = field(default_factory=list)
    enabled: list[frozenset[str]] = field(default_factory=list)
    states: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)

    def filtered(self, links: frozenset[str]) -> set[frozenset[str]]:
        """Return the pairs of a robot's links that do not collide."""
        pairs = set(self.disabled)
        pairs |= {frozenset((one, other)) for one in self.muted for other in links}
        pairs -= set(self.enabled)
        return {pair for pair in pairs if len(pair) > 1 and pair <= links}

    def positions(self, state: str) -> Mapping[str, float]:
        """Return the positions of a pose, by its name or ``group/name``."""
        (found,) = (
            positions
            for (group, name), positions in self.states.items()
            if state in {name, f"{group}/{name}"}
        )
        return found


def read_srdf_content(data: bytes) -> SrdfContent:
    """Read an SRDF, which the converter has accepted."""
    content = SrdfContent()
    opened: list[str] = []
    state: list[dict[str, float]] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        pair = frozenset((attributes.get("link1", ""), attributes.get("link2", "")))
        inside = opened[-1] if opened else ""
        opened.append(tag)
        match tag:
            case "disable_collisions":
                content.disabled.append(pair)
            case "enable_collisions":
                content.enabled.append(pair)
            case "disable_default_collisions":
                content.muted.append(attributes.get("link", ""))
            case "group_state":
                name = attributes.get("group", ""), attributes.get("name", "")
                state.append(content.states.setdefault(name, {}))
            case "joint" if inside == "group_state":
                numbers = attributes.get("value", "").split()
                if len(numbers) == 1:
                    state[-1][attributes.get("name", "")] = float(numbers[0])
            case _:
                pass

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: opened.pop()
    parser.Parse(data, True)  # the last part
    return content
