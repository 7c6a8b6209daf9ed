"""TOML files that people write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from urdf_usd.corpus.toml_tables import Field, Kind, TableError, read_tables

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = (
    Field("name", required=True),
    Field("values", Kind.VALUES),
    Field("base", choices=("fixed", "floating")),
)


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "list.toml"
    path.write_bytes(text.encode())
    return path


def test_tables_are_read_with_their_places(tmp_path: Path) -> None:
    """Whatever looks like a header inside strings and comments is none."""
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

    tables = read_tables(path, "things", FIELDS)

    assert [table.line for table in tables] == [2, 7, 13]
    assert tables[1].mappings == {
        "values": (("a", "x # y"), ("b", "true"), ("c", "1.5"))
    }
    assert tables[1].place("values") == f"{path}:9"
    assert tables[2].place("name") == f"{path}:15"
    assert tables[2].place() == f"{path}:13"


def test_no_tables_are_none(tmp_path: Path) -> None:
    """Whether that is a mistake is for the reader to say."""
    assert read_tables(_write(tmp_path, "# nothing\n"), "things", FIELDS) == ()


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("[[things]]\nname = 3\n", ["2: 'name' is not text that is not empty"]),
        ("[[things]]\nname = ' '\n", ["2: 'name' is not text that is not empty"]),
        ("\n[[things]]\n", ["2: 'name' is missing"]),
        (
            "[[things]]\nnam = 'x'\nname = 'x'\nbase = 'welded'\n",
            [
                "2: 'nam' is not known here; did you mean 'name'?",
                "4: 'base' is 'welded', not 'fixed' or 'floating'",
            ],
        ),
        (
            "[[things]]\nname = 'x'\nvalues = [1]\n",
            ["3: 'values' is not a table of texts, numbers, true or false"],
        ),
        (
            "[[things]]\nname = 'x'\nvalues = { a = [1] }\n",
            ["3: 'values' is not a table of texts, numbers, true or false"],
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
def test_all_that_is_wrong_is_said_with_its_line(
    tmp_path: Path, text: str, messages: list[str]
) -> None:
    """As ``file:line: what``."""
    path = _write(tmp_path, text)

    with pytest.raises(TableError) as refusal:
        read_tables(path, "things", FIELDS)

    lines = str(refusal.value).splitlines()
    assert len(lines) == len(messages)
    for line, message in zip(lines, messages, strict=True):
        assert line.startswith(f"{path}:{message}")


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    """With the line of the first byte that is none, or the reason of the system."""
    path = tmp_path / "list.toml"
    path.write_bytes(b"# a\n# \xff\n")
    with pytest.raises(TableError, match=r"list\.toml:2: it is not UTF-8"):
        read_tables(path, "things", FIELDS)
    with pytest.raises(TableError, match="nowhere: No such file"):
        read_tables(tmp_path / "nowhere", "things", FIELDS)
