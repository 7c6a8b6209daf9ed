"""Messages of diagnostics."""

from __future__ import annotations

from urdf_usd.converter.diagnostics import Diagnostic, group_alike


def test_hundred_diagnostics_of_a_rule_are_kept_and_the_others_counted() -> None:
    found = [Diagnostic("element-unknown", str(index)) for index in range(12_445)]
    found.insert(50, Diagnostic("robot-unnamed", "one"))

    grouped = group_alike(found)

    assert [alike.one for alike in grouped[:101]] == found[:101]
    assert {alike.count for alike in grouped[:101]} == {1}
    (last,) = grouped[101:]
    assert last.one.message == "12444"
    assert last.count == 12_345
    assert last.described("it is so") == "12,345 more, the last of them: it is so"


def test_few_diagnostics_are_kept() -> None:
    found = [Diagnostic("element-unknown", str(index)) for index in range(100)]

    grouped = group_alike(found)

    assert [alike.one for alike in grouped] == found
    assert grouped[-1].described("it is so") == "it is so"
