"""Program that expands one xacro file, started by ``expansion``.

xacro keeps state in module globals, prints to stderr and evaluates Python expressions
from the file. It therefore runs in a separate process, which can neither write files
nor start programs, has limited time and memory, and ends with its parent. It has only
those environment variables that the file may read. The request is JSON on stdin, the
response JSON on stdout. This module imports nothing from the converter.

Functions of xacro are replaced, which also makes it usable without ROS:

* ``xacro.parse``, to record the position of each element, refuse entities, and not
  depend on the locale's encoding;
* ``open`` in xacro, to read only regular files of limited size;
* ``xacro.safe_eval`` and ``xacro.eval_extension``, to keep expressions away from the
  internals of Python (see ``_evaluate``);
* ``env`` and ``optenv``, to diagnose variables that the file may not read;
* ``find``, to find the same packages as for ``package://``.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import datetime as dt
import faulthandler
import io
import json
import math
import os
import re
import resource
import signal
import stat
import string
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any
from xml.dom import minidom
from xml.parsers import expat

import xacro
from xacro import substitution_args

_PLACE = "place"
# Prefix used instead of the folder of a package that is not found.
_MISSING = "package://"
# Bounds of an included file, of the expansion, and of xacro's warnings.
_LARGEST_FILE = 64 << 20
_LONGEST_TEXT = 64 << 20
_MOST_WARNINGS = 1000
_LONGEST_WARNING = 1000
# File systems of the kernel, which describe the machine and its processes.
_KERNEL = ("/dev/", "/proc/", "/sys/")
# Local variables in which xacro's functions hold the element being processed.
_ELEMENT_NAMES = ("elt", "node", "tag")


class RefusalError(Exception):
    """The file does something that is not allowed; ``place`` is where, if known."""

    def __init__(self, message: str, place: tuple[object, int, int] | None = None) -> None:
        super().__init__(message)
        self.place = place


class MissingPackageError(Exception):
    """A package whose folder is not in the request; the message is its name."""


class ForbiddenVariableError(Exception):
    """A variable that the file may not read; the message is its name."""


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
        kind, _, message = text[:_LONGEST_WARNING].strip().partition(": ")
        if (
            kind in {"warning", "error"}
            and message not in self.found
            and len(self.found) < _MOST_WARNINGS
        ):
            self.found[message] = {"message": message, **_place_of(_callers())}
        return len(text)


class Environment:
    """The environment variables that the file may read.

    Args:
        values: Those that are set.
        allowed: Names of all.
    """

    def __init__(self, values: Mapping[str, str], allowed: list[str]) -> None:
        self._values = values
        self._allowed = {*values, *allowed}
        self.withheld: dict[str, dict[str, object]] = {}

    def env(self, name: str) -> str:
        """Return the value of a variable, for ``$(env NAME)``."""
        if name in self._values:
            return self._values[name]
        if name in self._allowed:
            message = f"environment variable {name!r} is not set"
            raise substitution_args.SubstitutionException(message)
        raise ForbiddenVariableError(name)

    def optenv(self, name: str, default: str = "") -> str:
        """Return the value or a default; record names that are not allowed."""
        if name not in self._allowed:
            self.withheld.setdefault(name, {"name": name, **_place_of(_callers())})
        return self._values.get(name, default)


def expand(request: Mapping[str, Any]) -> dict[str, object]:
    """Expand a file.

    Args:
        request: ``path``; ``arguments``, ``packages`` and ``environment`` by name;
            ``allowed``, names of variables; ``most_elements``.

    Returns:
        ``text`` with the ``places`` (index of the file in ``place_files``, line,
        column) of its elements in document order, ``files`` that were read,
        ``warnings``, ``unused`` arguments, and variables that were ``withheld``. Or
        ``missing``, the name of a package. Or ``forbidden``, the name of a variable.
        Or ``error`` with ``file``, ``line`` and ``column`` if known, and ``absent``,
        whether a file does not exist.
    """
    arguments = Arguments(request["arguments"])
    environment = Environment(request["environment"], request["allowed"])
    warnings = MessageStream()
    sys.stderr = warnings
    files = xacro.all_includes = ReadFiles()
    _replace_functions(request["packages"], environment)
    xacro.init_stacks(request["path"])
    try:
        document: Any = _parse(None)
        xacro.process_doc(document, mappings=arguments)
        elements = document.getElementsByTagName("*")
        most = request["most_elements"]
        if len(elements) > most:
            message = f"the expansion has more than {most} elements"
            raise RefusalError(message)
        text = document.documentElement.toxml()
        if len(text) > _LONGEST_TEXT:
            message = f"the expansion is longer than {_LONGEST_TEXT >> 20} Mi characters"
            raise RefusalError(message)
    # Expressions can raise anything; every error is reported with its position.
    except Exception as error:  # noqa: BLE001
        cause = _cause(error)
        if isinstance(cause, MissingPackageError):
            return {"missing": str(cause), **_place_of(_raisers(error))}
        if isinstance(cause, ForbiddenVariableError):
            return {"forbidden": str(cause), **_place_of(_raisers(error))}
        absent = isinstance(cause, FileNotFoundError)
        failure = {"error": _message(error), "absent": absent}
        return {**failure, **_place_of_error(error)}
    # Paths can be long, and are the same for most elements.
    numbers: dict[str, int] = {}
    places = [
        (numbers.setdefault(file, len(numbers)), line, column)
        for file, line, column in (one.getUserData(_PLACE) for one in elements)
    ]
    return {
        "text": text,
        "places": places,
        "place_files": list(numbers),
        "files": list(files.found.values()),
        "warnings": list(warnings.found.values()),
        "unused": arguments.unused,
        "withheld": list(environment.withheld.values()),
    }


def _replace_functions(packages: Mapping[str, str], environment: Environment) -> None:
    def find(name: str) -> str:
        if name not in packages:
            raise MissingPackageError(name)
        return packages[name]

    def eval_extension(text: str) -> str:
        prefix, suffix = "$(eval ", ")"
        if not (text.startswith(prefix) and text.endswith(suffix)):
            return eval_substitution(text)
        expression = text.removeprefix(prefix).removesuffix(suffix)
        try:
            return _evaluate_substitution(expression, find, environment)
        except Exception as error:
            raise xacro.XacroException(f"{type(error)}: {error}", exc=error) from error

    eval_substitution: Callable[[str], str] = xacro.eval_extension
    xacro.parse = _parse
    # Found before the builtin by functions of the module.
    xacro.open = _open
    xacro.safe_eval = _evaluate
    xacro.eval_extension = eval_extension
    substitution_args._eval_find = find
    substitution_args._eval_env = environment.env
    substitution_args._eval_optenv = environment.optenv
    python = xacro._global_symbols["python"]
    python.update(type=_type_of, vars=_refuse_vars)


def _parse(_: object, filename: str | None = None) -> minidom.Document:
    """Read a file; record the position of each element, also in its clones."""
    file = filename or xacro.filestack[-1]
    try:
        data = _read(os.path.join(xacro.root_dir, file))  # noqa: PTH118  as xacro does
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


class _Content(io.BytesIO):
    """Content of a file, whose name YAML has in its messages."""

    def __init__(self, file: str) -> None:
        super().__init__(_read(file))
        self.name = file


def _open(file: str) -> _Content:
    """Replaces ``open`` in ``xacro.load_yaml``."""
    return _Content(file)


def _read(file: str) -> bytes:
    """Read a regular file of limited size.

    Raises:
        OSError: It cannot be read.
        RefusalError: It is something else, or larger.
    """
    # Before it is opened, because opening a pipe blocks.
    if not stat.S_ISREG(os.stat(file).st_mode):  # noqa: PTH116  as `open`
        raise RefusalError(f"{file} is not a regular file")
    if os.path.realpath(file).startswith(_KERNEL):
        raise RefusalError(f"{file} is a file of the operating system's kernel")
    with open(file, "rb") as source:  # noqa: PTH123  as xacro does
        data = source.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        raise RefusalError(f"{file} is larger than {_LARGEST_FILE >> 20} MiB")
    return data


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
    """Evaluate an expression that cannot reach the internals of Python.

    Names with two leading underscores are refused, and every access to an attribute
    becomes a call of ``_attribute``.
    """
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        # xacro checks only the outermost names, not those in lambdas.
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                if name.startswith("__"):
                    raise RefusalError(f"expressions may not use {name!r}")
    guarded = ast.fix_missing_locations(_Guard().visit(tree))
    symbols.update(__builtins__={_GUARD: _attribute})
    return eval(compile(guarded, "<expression>", "eval"), symbols, inner)  # noqa: S307


_GUARD = "__attribute__"


class _Guard(ast.NodeTransformer):
    """Replaces ``value.name`` by ``__attribute__(value, "name")``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.Call:
        """Replace one access, and those in its value."""
        function = ast.Name(_GUARD, ast.Load())
        arguments = [self.visit(node.value), ast.Constant(node.attr)]
        return ast.copy_location(ast.Call(function, arguments, []), node)


# Types whose attributes are values, or methods that have no access to anything else.
# Functions, generators and elements of the document are not among them.
_PLAIN = (
    *(bool, bytes, complex, dict, float, frozenset, int, list, range, set, str, tuple),
    *(dt.date, dt.datetime, dt.timedelta, type(None)),
    *(xacro.NameSpace, xacro.Table, xacro.YamlDictWrapper, xacro.YamlListWrapper),
)
_FORMATTING = frozenset({"format", "format_map"})


def _attribute(value: object, name: str) -> object:
    """Return an attribute of a value, for an expression.

    Raises:
        RefusalError: It could lead to the internals of Python.
    """
    kind = value if isinstance(value, type) else type(value)
    if kind not in _PLAIN or (kind is value and name == "mro"):
        described = "a class" if kind is value else f"values of type {kind.__name__!r}"
        raise RefusalError(f"expressions may not use {name!r} of {described}")
    found = getattr(value, name)
    if kind is not str or name not in _FORMATTING:
        return found

    def formatted(*arguments: object, **named: object) -> object:
        text = value if isinstance(value, str) else arguments[0]
        if isinstance(text, str):
            _require_plain_fields(text)
        return found(*arguments, **named)

    return formatted


def _require_plain_fields(text: str) -> None:
    """Refuse a format string with ``{value.attribute}``, also in nested fields."""
    for _, name, specification, _ in string.Formatter().parse(text):
        if name is not None and "." in re.sub(r"\[[^\]]*\]", "", name):
            message = f"expressions may not use attributes in a format string: {name!r}"
            raise RefusalError(message)
        if specification:
            _require_plain_fields(specification)


def _type_of(value: object) -> type:
    """Replaces ``type``, which can also make classes and return its own class."""
    kind = type(value)
    if kind not in _PLAIN:
        raise RefusalError(f"expressions may not use the type {kind.__name__!r}")
    return kind


def _refuse_vars(*_: object) -> object:
    """Replaces ``vars``, which has the attributes of functions and classes."""
    raise RefusalError("expressions may not use 'vars'")


# Names available in ``$(eval ...)``: as in ROS, and a few more builtins.
_FUNCTIONS = {
    **{one.__name__: one for one in (abs, bool, dict, float, int, len, list, map)},
    **{one.__name__: one for one in (max, min, round, str, sum)},
    **{name: value for name, value in vars(math).items() if name[0] != "_"},
    "true": True,
    "false": False,
}


def _evaluate_substitution(text: str, find: Callable[[str], str], environment: Environment) -> str:
    """Evaluate the expression of ``$(eval ...)``, with arguments as variables."""
    given = xacro.substitution_args_context.get("arg", {})
    arguments = {
        name: substitution_args.convert_value(value, "auto") for name, value in given.items()
    }
    functions = {"env": environment.env, "optenv": environment.optenv, "find": find}
    own = {"arg": arguments.__getitem__}
    return str(_evaluate(text, {**_FUNCTIONS, **functions, **arguments, **own}))


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
    with contextlib.suppress(ImportError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    def audit(event: str, details: tuple[object, ...]) -> None:
        if event == "open":
            allowed = details[1] in _READING or (details[1] is None and not _writes(details[2]))
        else:
            allowed = event.startswith(_HARMLESS)
        if not allowed:
            raise RefusalError(f"a xacro file may not do this: {event}")

    sys.addaudithook(audit)


def _writes(flags: object) -> bool:
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    return not isinstance(flags, int) or bool(flags & writing)


# PR_SET_PDEATHSIG of Linux.
_SIGNAL_OF_PARENT = 1


def end_with(parent: int, seconds: float) -> None:
    """End this process some time from now, and on Linux also when its parent ends.

    Both take effect in the middle of an operation that holds Python's lock, such as
    ``10**10**10``: the time is kept by a native thread, the signal sent by the kernel.

    Args:
        parent: Process id of the parent.
        seconds: Time limit [s].
    """
    faulthandler.dump_traceback_later(seconds, exit=True)
    if sys.platform == "linux":
        with contextlib.suppress(ImportError, OSError):
            ctypes.CDLL(None).prctl(_SIGNAL_OF_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the parent has ended")


def main() -> None:
    """Process one request."""
    request = json.load(sys.stdin)
    end_with(request["parent"], request["time"])
    output = sys.stdout
    sys.stdout = io.StringIO()
    # Those that only Python needs are not the file's.
    os.environ.clear()
    os.environ.update(request["environment"])
    confine(request["memory"])
    answer = expand(request)
    json.dump(answer, output)


if __name__ == "__main__":
    main()
