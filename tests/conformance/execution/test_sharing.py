"""What records take in memory."""

from __future__ import annotations

import msgspec
from msgspec import structs

from tests.reports import records
from urdf_usd.conformance.execution.sharing import with_shared_texts
from urdf_usd.conformance.records.record import Grade, RobotRecord, Verdict
from urdf_usd.conformance.records.results import decode_record, record_json


def _read(name: str) -> RobotRecord:
    """Read a record as a run does."""
    written = records.robot(
        Verdict.FAILS, checks=(records.position(Grade.FAILS), records.mass(Grade.EXACT))
    )
    return decode_record(record_json(structs.replace(written, id=name)))


def test_records_hold_what_they_have_in_common_once() -> None:
    """A title that each decodes for itself is one text afterwards."""
    read = [_read("left arm"), _read("right arm")]
    shared = [with_shared_texts(record) for record in read]

    assert shared == read
    assert read[0].checks[0].title is not read[1].checks[0].title
    assert shared[0].checks[0].title is shared[1].checks[0].title
    assert shared[0].source.reference is shared[1].source.reference
    assert [record.id for record in shared] == ["left arm", "right arm"]
    assert msgspec.json.encode(shared[0]) == msgspec.json.encode(read[0])
