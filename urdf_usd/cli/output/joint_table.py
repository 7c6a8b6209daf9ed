"""Order of joints per engine, and index maps between engines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from urdf_usd.reports.summary import JointOrders
from urdf_usd.reports.text import one_line

# Names of joints in the order in which an engine numbers them, by engine.
Orders: TypeAlias = Mapping[str, Sequence[str]]

_LONGEST = 60
_ABSENT = -1


def joint_table(orders: JointOrders) -> Table:
    """Return a table with a row per joint and a column per engine.

    Indices that differ from the first engine's are yellow.
    """
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("joint")
    for engine in orders.engines:
        table.add_column(engine, justify="right")
    for name, indices in orders.rows:
        cells = (
            Text(
                "-" if index is None else str(index),
                style="" if index == indices[0] else "yellow",
            )
            for index in indices
        )
        table.add_row(one_line(name, _LONGEST), *cells)
    return table


def index_maps(orders: Orders) -> dict[str, NDArray[np.int64]]:
    """Return an index map for every ordered pair of engines.

    Returns:
        By ``<from>_to_<to>`` the (n,) indices with which ``q_to = q_from[map]``, where
        q has one entry per joint in the order of an engine. An entry is -1 where the
        first engine lacks the joint.
    """
    maps = {}
    for source, names in orders.items():
        place = {name: index for index, name in enumerate(names)}
        for target, other_order in orders.items():
            if source != target:
                maps[f"{source}_to_{target}"] = np.array(
                    [place.get(name, _ABSENT) for name in other_order], dtype=np.int64
                )
    return maps


def joints_json(robot: str, orders: Orders) -> str:
    """Return the orders and index maps as JSON."""
    document = {
        "robot": robot,
        "joints": {engine: list(names) for engine, names in orders.items()},
        "maps": {name: values.tolist() for name, values in index_maps(orders).items()},
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
