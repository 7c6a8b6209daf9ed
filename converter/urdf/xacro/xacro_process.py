"""Expands one xacro file; a program of its own, started by ``expansion``.

xacro keeps its state in modules, prints to stderr and evaluates Python expressions of
the file. So it runs in a process that does nothing else, that can neither write files
nor start programs, and whose memory is limited. The request is JSON on stdin, the
answer JSON on stdout. Nothing of the converter is imported here.

xacrodoc brings xacro to where no ROS is. What is replaced in it, and why:

* parsing, so that every element remembers its place, entities are refused, and an
  encoding does not depend on the locale;
* evaluation, so that expressions cannot reach Python's internals;
* the search for packages, which answers for ``package://`` as well and must agree;
* the repetition until nothing changes: ROS expands once, so ``$${x}`` stays ``${x}``.
"""

from __future__ import annotations

import ast
import builtins
import io
import json
import os
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from xml.dom import minidom
from xml.parsers import expat

import xacro
from xacro import substitution_args
from xacrodoc import XacroDoc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

_PLACE = "place"
# What stands for the folder of a package that is not found.
_MISSING = "package://"
# Locals under which xacro's functions hold the element that they work on.
_ELEMENT_NAMES = ("elt", "node", "tag")


class RefusalError(Exception):
    """The file asks for what is not done here; ``place`` is where, if it is known."""

    def __init__(
        self, message: str, place: tuple[object, int, int] | None = None
    ) -> None:
        super().__init__(message)
        self.place = place


class MissingPackageError(Exception):
    """A package is needed whose folder was not given; the name is the message."""


class Arguments(dict[str, str]):
    """Substitution arguments that know which of them were asked for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.given = tuple(given)
        self.asked: set[object] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)

    @property
    def unused(self) -> tuple[str, ...]:
        """Names that were given and never asked for."""
        return tuple(name for name in self.given if name not in self.asked)


class ReadFiles(list[str]):
    """Takes the place of xacro's list of files, and keeps who asked for each."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, dict[str, object]] = {}

    def append(self, file: str) -> None:
        """Keep a file that is included, or read as YAML."""
        super().append(file)
        place = _place_of(_callers(sys._getframe()))  # noqa: SLF001  as below
        self.found.setdefault(file, {"path": file, **place})


class MessageStream(io.TextIOBase):
    """Takes the place of stderr, and keeps what xacro warns of, each once."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, object]] = {}

    def write(self, text: str) -> int:
        """Keep a warning with the place that is worked on; drop everything else."""
        kind, _, message = text.strip().partition(": ")
        if kind in {"warning", "error"} and message not in self.found:
            self.found[message] = {
                "message": message,
                **_place_of(_callers(sys._getframe())),  # noqa: SLF001  the only way to ask who writes
            }
        return len(text)


def expand(request: Mapping[str, Any]) -> dict[str, object]:
    """Expand a file.

    Args:
        request: ``path``; ``arguments`` and ``packages`` by name; ``most_elements``.

    Returns:
        ``text`` and, per element of it in document order, ``places`` (file, line,
        column); ``files`` that were read, ``warnings``, ``unused`` arguments. Or
        ``missing``, a package. Or ``error`` with ``file``, ``line`` and ``column``, as
        far as they are known, and ``absent``, whether a file is not there.
    """
    arguments = Arguments(request["arguments"])
    warnings = MessageStream()
    sys.stderr = warnings
    files = xacro.all_includes = ReadFiles()
    _prepare(request["packages"])
    xacro.init_stacks(request["path"])
    try:
        document = XacroDoc.from_string(
            None, subargs=arguments, resolve_packages=False
        ).dom
        elements = document.getElementsByTagName("*")
        _limit(len(elements), request["most_elements"])
        text = document.documentElement.toxml()
    except MissingPackageError as missing:
        return {"missing": str(missing), **_place_of(_raisers(missing))}
    # Whatever xacro or an expression raises is said of the file, with its place.
    except Exception as error:  # noqa: BLE001
        cause = _cause(error)
        if isinstance(cause, MissingPackageError):
            return {"missing": str(cause), **_place_of(_raisers(error))}
        absent = isinstance(cause, FileNotFoundError)
        said = {"error": _message(error), "absent": absent}
        return {**said, **_failed_place(error)}
    return {
        "text": text,
        "places": [element.getUserData(_PLACE) for element in elements],
        "files": list(files.found.values()),
        "warnings": list(warnings.found.values()),
        "unused": arguments.unused,
    }


def _limit(elements: int, most: int) -> None:
    if elements > most:
        raise RefusalError(f"the expansion has more than {most} elements")


def _prepare(packages: Mapping[str, str]) -> None:
    def find(name: str) -> str:
        if name not in packages:
            raise MissingPackageError(name)
        return packages[name]

    def once(document: minidom.Document, **options: object) -> None:
        if not done:
            done.append(document)
            process(document, **options)

    done: list[minidom.Document] = []
    process: Callable[..., None] = xacro.process_doc
    xacro.process_doc = once
    xacro.parse = _parse
    xacro.safe_eval = _evaluate
    substitution_args._eval = _evaluate_substitution  # noqa: SLF001  as xacrodoc does
    substitution_args._eval_find = find  # noqa: SLF001  as xacrodoc does
    substitution_args._eval_dict["find"] = find  # noqa: SLF001  likewise


def _parse(_: object, filename: str | None = None) -> minidom.Document:
    """Read a file; every element remembers its place, and so do its clones."""
    file = filename or xacro.filestack[-1]
    try:
        with open(os.path.join(xacro.root_dir, file), "rb") as source:  # noqa: PTH118, PTH123  as xacro does
            data = source.read()
    except OSError as error:
        if filename is not None:
            # xacro expects it: the file that cannot be read is not the one at fault
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
    """Hands the place of an element to its clone."""

    def handle(
        self,
        operation: int,  # noqa: ARG002  the DOM's signature
        key: str,
        data: object,
        src: minidom.Node,  # noqa: ARG002  likewise
        dst: minidom.Node,
    ) -> None:
        """Called by the document when an element is cloned."""
        dst.setUserData(key, data, self)


def _places(data: bytes, file: object) -> list[tuple[int, int]]:
    """List line and column of every start tag."""
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
    """Evaluate an expression that keeps off Python's internals."""
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        # xacro looks at the outermost names alone, not into lambdas.
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                if name.startswith("__") or name in _INTERNAL:
                    raise RefusalError(f"expressions may not use {name!r}")
    symbols.update(__builtins__={})
    return eval(compile(tree, "<expression>", "eval"), symbols, inner)  # noqa: S307


# Ways from a value to the frames and functions of the interpreter.
_INTERNAL = frozenset(
    {"ag_code", "ag_frame", "cr_code", "cr_frame", "gi_code", "gi_frame", "mro"}
    | {"f_back", "f_builtins", "f_code", "f_globals", "f_locals", "tb_frame"}
)
_PLAIN = frozenset(
    {"abs", "bool", "dict", "float", "int", "len", "list", "map", "max", "min"}
    | {"round", "str", "sum"}
)


def _evaluate_substitution(text: str, context: dict[str, Any]) -> str:
    """Evaluate what stands in ``$(eval ...)``, where arguments are variables."""
    convert = substitution_args.convert_value
    arguments = {
        name: convert(value, "auto") for name, value in context.get("arg", {}).items()
    }
    functions = {
        name: value
        for name, value in substitution_args._eval_dict.items()  # noqa: SLF001
        if name != "__builtins__"
    }
    plain = {name: getattr(builtins, name) for name in _PLAIN}
    symbols = {**plain, **functions, **arguments, "arg": arguments.__getitem__}
    return str(_evaluate(text, symbols))


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame:
        yield frame
        frame = frame.f_back


def _raisers(error: BaseException) -> list[FrameType]:
    """Frames through which an error passed, the innermost first."""
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)][::-1]


def _place_of(frames: Iterator[FrameType] | list[FrameType]) -> dict[str, object]:
    """Name the innermost element that xacro's functions are working on."""
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


def _failed_place(error: BaseException) -> dict[str, object]:
    match _cause(error):
        case expat.ExpatError(lineno=line, offset=offset):
            return _named((xacro.filestack[-1], line, offset + 1))
        case RefusalError(place=(_, _, _) as place):
            return _named(place)
    return _place_of(_raisers(error))


def _named(place: tuple[object, int, int]) -> dict[str, object]:
    return dict(zip(("file", "line", "column"), place, strict=True))


def _cause(error: BaseException) -> BaseException:
    """Return what lies behind xacro's wrappings."""
    while isinstance(inner := getattr(error, "exc", None), BaseException):
        error = inner
    return error


def _message(error: BaseException) -> str:
    cause = _cause(error)
    match cause:
        case RecursionError():
            return "macros or properties are nested without end"
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
    """Give up, for good, what an expansion does not need.

    Python's own hook is no wall against one who corrupts memory; it stops expressions.
    """
    with suppress(ImportError):
        import resource  # noqa: PLC0415  there is none on Windows

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
    """Answer one request."""
    request = json.load(sys.stdin)
    output = sys.stdout
    sys.stdout = io.StringIO()
    confine(request["memory"])
    answer = expand(request)
    json.dump(answer, output)


if __name__ == "__main__":
    main()
