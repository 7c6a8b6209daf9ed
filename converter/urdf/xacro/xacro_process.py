"""Program that expands one xacro file, started by ``expansion``.

xacro keeps state in module globals, prints to stderr and evaluates Python expressions
from the file. It therefore runs in a process of its own, which can neither write files
nor start programs and has limited memory. The request is JSON on stdin, the response
JSON on stdout. This module imports nothing from the converter.

xacrodoc makes xacro usable without ROS. Functions of both are replaced:

* ``xacro.parse``, to record the position of each element, refuse entities, and not
  depend on the locale's encoding;
* ``xacro.safe_eval`` and ``xacro.eval_extension``, to keep expressions away from the
  internals of Python;
* ``xacrodoc.packages.get_path``, to find the same packages as for ``package://``;
* ``xacro.process_doc``, which xacrodoc repeats until nothing changes: ROS expands once,
  so that ``$${x}`` becomes ``${x}``.
"""

from __future__ import annotations

import ast
import io
import json
import math
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any
from xml.dom import minidom
from xml.parsers import expat

import xacro
from xacro import substitution_args
from xacrodoc import XacroDoc
from xacrodoc import packages as xacrodoc_packages

_PLACE = "place"
# Prefix used instead of the folder of a package that is not found.
_MISSING = "package://"
# Local variables in which xacro's functions hold the element being processed.
_ELEMENT_NAMES = ("elt", "node", "tag")


class RefusalError(Exception):
    """The file does something that is not allowed; ``place`` is where, if known."""

    def __init__(
        self, message: str, place: tuple[object, int, int] | None = None
    ) -> None:
        super().__init__(message)
        self.place = place


class MissingPackageError(Exception):
    """A package whose folder is not in the request; the message is its name."""


class Arguments(dict[str, str]):
    """Substitution arguments, with a record of those that were read."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.given = tuple(given)
        self.used: set[object] = set()

    def __contains__(self, name: object) -> bool:
        self.used.add(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.used.add(name)
        return super().__getitem__(name)

    @property
    def unused(self) -> tuple[str, ...]:
        """Names that were given but never read."""
        return tuple(name for name in self.given if name not in self.used)


class ReadFiles(list[str]):
    """Replaces ``xacro.all_includes``; records the element that names each file."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, dict[str, object]] = {}

    def append(self, file: str) -> None:
        """Record a file that is included, or read as YAML."""
        super().append(file)
        self.found.setdefault(file, {"path": file, **_place_of(_callers())})


class MessageStream(io.TextIOBase):
    """Replaces stderr; records xacro's warnings, each once, with the element."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, object]] = {}

    def write(self, text: str) -> int:
        """Record a warning; drop all other text."""
        kind, _, message = text.strip().partition(": ")
        if kind in {"warning", "error"} and message not in self.found:
            self.found[message] = {"message": message, **_place_of(_callers())}
        return len(text)


def expand(request: Mapping[str, Any]) -> dict[str, object]:
    """Expand a file.

    Args:
        request: ``path``; ``arguments`` and ``packages`` by name; ``most_elements``.

    Returns:
        ``text`` with the ``places`` (file, line, column) of its elements in document
        order, ``files`` that were read, ``warnings``, and ``unused`` arguments. Or
        ``missing``, the name of a package. Or ``error`` with ``file``, ``line`` and
        ``column`` if known, and ``absent``, whether a file does not exist.
    """
    arguments = Arguments(request["arguments"])
    warnings = MessageStream()
    sys.stderr = warnings
    files = xacro.all_includes = ReadFiles()
    _replace_functions(request["packages"])
    xacro.init_stacks(request["path"])
    try:
        document = XacroDoc.from_string(
            None, subargs=arguments, resolve_packages=False
        ).dom
        elements = document.getElementsByTagName("*")
        most = request["most_elements"]
        if len(elements) > most:
            message = f"the expansion has more than {most} elements"
            raise RefusalError(message)  # noqa: TRY301  reported as all other errors
        text = document.documentElement.toxml()
    # Expressions can raise anything; every error is reported with its position.
    except Exception as error:  # noqa: BLE001
        cause = _cause(error)
        if isinstance(cause, MissingPackageError):
            return {"missing": str(cause), **_place_of(_raisers(error))}
        absent = isinstance(cause, FileNotFoundError)
        failure = {"error": _message(error), "absent": absent}
        return {**failure, **_place_of_error(error)}
    return {
        "text": text,
        "places": [element.getUserData(_PLACE) for element in elements],
        "files": list(files.found.values()),
        "warnings": list(warnings.found.values()),
        "unused": arguments.unused,
    }


def _replace_functions(packages: Mapping[str, str]) -> None:
    def find(name: str) -> str:
        if name not in packages:
            raise MissingPackageError(name)
        return packages[name]

    def process_once(document: minidom.Document, **options: object) -> None:
        if not done:
            done.append(document)
            process(document, **options)

    def eval_extension(text: str) -> str:
        prefix, suffix = "$(eval ", ")"
        if not (text.startswith(prefix) and text.endswith(suffix)):
            return eval_substitution(text)
        expression = text.removeprefix(prefix).removesuffix(suffix)
        try:
            return _evaluate_substitution(expression, find)
        except Exception as error:
            raise xacro.XacroException(f"{type(error)}: {error}", exc=error) from error

    done: list[minidom.Document] = []
    process: Callable[..., None] = xacro.process_doc
    eval_substitution: Callable[[str], str] = xacro.eval_extension
    xacro.process_doc = process_once
    xacro.parse = _parse
    xacro.safe_eval = _evaluate
    xacro.eval_extension = eval_extension
    xacrodoc_packages.get_path = find


def _parse(_: object, filename: str | None = None) -> minidom.Document:
    """Read a file; record the position of each element, also in its clones."""
    file = filename or xacro.filestack[-1]
    try:
        with open(os.path.join(xacro.root_dir, file), "rb") as source:  # noqa: PTH118, PTH123  as xacro does
            data = source.read()
    except OSError as error:
        if filename is not None:
            # As in xacro: the error is in the including file.
            xacro.filestack.pop()
        message = f"{error.strerror}: {file}"
        raise xacro.XacroException(message, exc=error) from error
    places = _places(data, file)
    document = minidom.parseString(data)  # noqa: S318  entities are refused above
    elements = document.getElementsByTagName("*")
    for element, (line, column) in zip(elements, places, strict=True):
        element.setUserData(_PLACE, (file, line, column), _Cloning())
    return document


class _Cloning:
    """Copies the position of an element to its clone."""

    def handle(
        self,
        operation: int,  # noqa: ARG002  the DOM's signature
        key: str,
        data: object,
        src: minidom.Node,  # noqa: ARG002  likewise
        dst: minidom.Node,
    ) -> None:
        """Handle the cloning of an element (DOM UserDataHandler)."""
        dst.setUserData(key, data, self)


def _places(data: bytes, file: object) -> list[tuple[int, int]]:
    """Return line and column of each start tag."""
    places: list[tuple[int, int]] = []
    parser = expat.ParserCreate()

    def start_element(_name: str, _attributes: dict[str, str]) -> None:
        places.append((parser.CurrentLineNumber, parser.CurrentColumnNumber + 1))

    def declare_entity(name: str, *_: object) -> None:
        place = (file, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
        raise RefusalError(f"entity {name!r} is declared", place)

    parser.StartElementHandler = start_element
    parser.EntityDeclHandler = declare_entity
    parser.Parse(data, True)
    return places


def _evaluate(
    text: str, symbols: dict[str, object], inner: Mapping[str, object] | None = None
) -> object:
    """Evaluate an expression that does not use internals of Python."""
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        # xacro checks only the outermost names, not those in lambdas.
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                if name.startswith("__") or name in _INTERNAL:
                    raise RefusalError(f"expressions may not use {name!r}")
    symbols.update(__builtins__={})
    return eval(compile(tree, "<expression>", "eval"), symbols, inner)  # noqa: S307


# Attributes that lead from a value to frames and functions of the interpreter.
_INTERNAL = frozenset(
    {"ag_code", "ag_frame", "cr_code", "cr_frame", "gi_code", "gi_frame", "mro"}
    | {"f_back", "f_builtins", "f_code", "f_globals", "f_locals", "tb_frame"}
)
# Names available in ``$(eval ...)``: as in ROS, and a few more builtins.
_FUNCTIONS = {
    **{one.__name__: one for one in (abs, bool, dict, float, int, len, list, map)},
    **{one.__name__: one for one in (max, min, round, str, sum)},
    **{name: value for name, value in vars(math).items() if name[0] != "_"},
    "true": True,
    "false": False,
    "env": os.environ.__getitem__,
    "optenv": lambda name, default="": os.environ.get(name, default),
}


def _evaluate_substitution(text: str, find: Callable[[str], str]) -> str:
    """Evaluate the expression of ``$(eval ...)``, with arguments as variables."""
    given = xacro.substitution_args_context.get("arg", {})
    arguments = {
        name: substitution_args.convert_value(value, "auto")
        for name, value in given.items()
    }
    symbols = {**_FUNCTIONS, "find": find, **arguments, "arg": arguments.__getitem__}
    return str(_evaluate(text, symbols))


def _callers() -> Iterator[FrameType]:
    """Frames of the callers, the innermost first."""
    return (frame for frame, _ in traceback.walk_stack(None))


def _raisers(error: BaseException) -> Iterator[FrameType]:
    """Frames in which an error was raised, the innermost first."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return reversed(frames)


def _place_of(frames: Iterator[FrameType]) -> dict[str, object]:
    """Return the position of the innermost element that xacro is processing."""
    for frame in frames:
        if frame.f_globals.get("__name__") != xacro.__name__:
            continue
        for name in _ELEMENT_NAMES:
            element = frame.f_locals.get(name)
            if isinstance(element, minidom.Element):
                place = element.getUserData(_PLACE)
                if place:
                    return _named(place)
    return {}


def _place_of_error(error: BaseException) -> dict[str, object]:
    match _cause(error):
        case expat.ExpatError(lineno=line, offset=offset):
            return _named((xacro.filestack[-1], line, offset + 1))
        case RefusalError(place=(_, _, _) as place):
            return _named(place)
    return _place_of(_raisers(error))


def _named(place: tuple[object, int, int]) -> dict[str, object]:
    return dict(zip(("file", "line", "column"), place, strict=True))


def _cause(error: BaseException) -> BaseException:
    """Return the error that xacro's exceptions wrap."""
    while isinstance(inner := getattr(error, "exc", None), BaseException):
        error = inner
    return error


def _message(error: BaseException) -> str:
    cause = _cause(error)
    match cause:
        case RecursionError():
            return "macros or properties are nested infinitely"
        case MemoryError():
            return "the expansion needs too much memory"
        case expat.ExpatError():
            return f"not well-formed: {expat.ErrorString(cause.code)}"
        case substitution_args.ArgException():
            return f"argument {str(cause)!r} is needed and was not given"
        case OSError(filename=str(file), strerror=reason):
            _, scheme, rest = file.partition(_MISSING)
            needed = f"{scheme}{rest} is needed, and the package is not found"
            return needed if scheme else f"{file}: {reason}"
    message = " ".join(str(error).split())
    return message or type(cause).__name__


_READING = frozenset({"r", "rb", "rt", "br", "tr"})
_HARMLESS = (
    *("builtins.id", "code.", "compile", "cpython.", "exec", "glob.", "import"),
    *("marshal.", "object.", "os.listdir", "os.scandir", "sys."),
)


def confine(memory: int) -> None:
    """Limit memory, and forbid writing files and starting programs.

    The audit hook stops expressions; it is no protection against memory corruption.
    """
    with suppress(ImportError):
        import resource  # noqa: PLC0415  not available on Windows

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    def audit(event: str, details: tuple[object, ...]) -> None:
        if event == "open":
            allowed = details[1] in _READING or (
                details[1] is None and not _writes(details[2])
            )
        else:
            allowed = event.startswith(_HARMLESS)
        if not allowed:
            raise RefusalError(f"a xacro file may not do this: {event}")

    sys.addaudithook(audit)


def _writes(flags: object) -> bool:
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    return not isinstance(flags, int) or bool(flags & writing)


def main() -> None:
    """Process one request."""
    request = json.load(sys.stdin)
    output = sys.stdout
    sys.stdout = io.StringIO()
    confine(request["memory"])
    answer = expand(request)
    json.dump(answer, output)


if __name__ == "__main__":
    main()
