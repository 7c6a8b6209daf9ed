"""Hand-written TOML files with one list of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from urdf_usd.corpus.toml_tables import TableError, Text, read_tables


class _Row(msgspec.Struct):
    name: Text
    values: dict[str, bool | int | float | str] = {}
    base: Literal["fixed", "floating"] | None = None


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "list.toml"
    path.write_bytes(text.encode())
    return path


def test_tables_have_the_lines_of_headers_and_keys(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        "\ufeff# [[things]]\n"
        "[[things]]\n"
        'name = """\n'
        "[[things]]\n"
        'name = \\"x\\""""\n'
        "\n"
        "  [[ things ]]  # [[things]]\n"
        "name = '''[[things]]'''\n"
        "[things.values]\n"
        'a = "x # y"\n'
        "b = true\n"
        "c = 1.50\n"
        "[[things]]\n"
        "values = { d = 7 }\n"
        'name = "z"\n',
    )

    tables = read_tables(path, "things", _Row)

    assert [table.line for table in tables] == [2, 7, 13]
    assert tables[1].values.values == {"a": "x # y", "b": True, "c": 1.5}
    assert tables[1].location("values") == f"{path}:9"
    assert tables[2].location("name") == f"{path}:15"
    assert tables[2].location() == f"{path}:13"


def test_file_without_tables_is_valid(tmp_path: Path) -> None:
    assert read_tables(_write(tmp_path, "# nothing\n"), "things", _Row) == ()


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("[[things]]\nname = 3\n", ["2: 'name' is invalid: Expected `str`, got `int`"]),
        ("[[things]]\nname = ' '\n", ["2: 'name' is invalid: Expected `str` matching"]),
        ("\n[[things]]\n", ["2: 'name' is missing"]),
        (
            "[[things]]\nnam = 'x'\nname = 'x'\nbase = 'welded'\n",
            [
                "2: 'nam' is not known here; did you mean 'name'?",
                "4: 'base' is invalid: Invalid enum value 'welded'",
            ],
        ),
        (
            "[[things]]\nname = 'x'\nvalues = [1]\n",
            ["3: 'values' is invalid: Expected `object`, got `array`"],
        ),
        (
            "[[things]]\nname = 'x'\nvalues = { a = [1] }\n",
            ["3: 'values' is invalid: Expected `bool | int | float | str`"],
        ),
        ("things = 3\n", ["1: 'things' is not a list of [[things]] tables"]),
        ("[things]\n", ["1: 'things' is not a list of [[things]] tables"]),
        (
            "[[thing]]\nname = 'x'\n",
            ["1: 'thing' is not known here; did you mean 'things'?"],
        ),
        ("title = 'x'\n", ["1: 'title' is not known here; known are things"]),
        ("[[things]]\nname = x\n", ["2:8: invalid value"]),
        ("[[things]]\nname = 'x", ['2:1: expected "\'"']),
        ("things = [{ nam = 'x' }]\n", ["1: 'nam' is not known", "1: 'name' is miss"]),
    ],
)
def test_all_problems_are_reported_with_their_lines(
    tmp_path: Path, text: str, messages: list[str]
) -> None:
    path = _write(tmp_path, text)

    with pytest.raises(TableError) as refusal:
        read_tables(path, "things", _Row)

    lines = str(refusal.value).splitlines()
    assert len(lines) == len(messages)
    for line, message in zip(lines, messages, strict=True):
        assert line.startswith(f"{path}:{message}")


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    """With the line of the first byte that is not UTF-8, or the system's reason."""
    path = tmp_path / "list.toml"
    path.write_bytes(b"# a\n# \xff\n")
    with pytest.raises(TableError, match=r"list\.toml:2: it is not UTF-8"):
        read_tables(path, "things", _Row)
    with pytest.raises(TableError, match="nowhere: No such file"):
        read_tables(tmp_path / "nowhere", "things", _Row)
