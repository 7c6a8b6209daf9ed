"""Expansion of xacro files by the package ``xacro``, with locations.

xacro is a programming language. What limits its time and memory are the limits of the
process: a run examines each robot in a worker. Functions of xacro are replaced during an
expansion, which also makes it usable without ROS:

* ``parse``, to record the location of each element, to refuse entities, and not to depend on the
  locale's encoding; ``open`` likewise for YAML files;
* ``safe_eval`` and ``_eval``, to refuse access to attributes of Python objects in format strings,
  and all of Python in ``$(eval)``;
* ``env`` and ``optenv``, to read only variables of ROS and those that the user allows;
* ``find``, to find the same packages as ``package://``.
"""

from __future__ import annotations

import ast
import contextlib
import io
import math
import os
import re
import shlex
import threading
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any
from xml.dom import minidom
from xml.parsers import expat

import xacro
from msgspec import Struct
from xacro import substitution_args

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError, truncate
from urdf_usd.converter.file_content import read_file
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xml import LARGEST_FILE

SUFFIX = ".xacro"
# Variables of a ROS workspace, which xacro files may read: folders and versions.
ROS_VARIABLES = (
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "ROS_DISTRO",
    "ROS_ETC_DIR",
    "ROS_PACKAGE_PATH",
    "ROS_PYTHON_VERSION",
    "ROS_ROOT",
    "ROS_VERSION",
)
_WITHOUT_LINKS = frozenset({"robot-empty", "root-element", "xacro-part"})
_NOT_EXPANDED = frozenset({"xacro-error", "xacro-file-missing"})


class Expansion(Struct, frozen=True):
    """An expanded xacro file."""

    text: str  # the URDF, without an XML declaration
    origins: tuple[Location, ...]  # of all elements in the xacro files, in document order
    diagnostics: tuple[Diagnostic, ...]  # warnings
    files: tuple[str, ...] = ()  # that were included, or read as YAML


def allowed_environment(
    names: Iterable[str] = (), environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment variables that a xacro file may read, sorted by name.

    An expansion depends on no others than those of ROS and those that the user names.
    """
    allowed = sorted({*ROS_VARIABLES, *names})
    return {name: environment[name] for name in allowed if name in environment}


def is_xacro(file: str) -> bool:
    """Return whether the name of a file ends in ``.xacro``."""
    return file.lower().endswith(SUFFIX)


def is_part(refusals: Iterable[str], *, included: bool) -> bool:
    """Return whether a xacro file that is not a robot is only a part of one.

    A part has no links, or does not expand without the definitions of the files that
    include it. ``refusals`` are the rules of its errors.
    """
    refused = frozenset(refusals)
    return bool(refused & _WITHOUT_LINKS) or (included and bool(refused & _NOT_EXPANDED))


class _RefusalError(Exception):
    """The file does something that is not allowed."""

    def __init__(
        self, message: str, rule: str = "xacro-error", location: Location | None = None
    ) -> None:
        super().__init__(message)
        self.rule, self.location = rule, location


class _Arguments(dict[str, str]):
    """Substitution arguments, with a record of those that were read."""

    used: set[object]

    def __contains__(self, name: object) -> bool:
        self.used.add(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.used.add(name)
        return super().__getitem__(name)


class _ReadFiles(list[str]):
    """Replaces ``xacro.all_includes``; records the element that names each file."""

    places: dict[str, Location | None]

    def append(self, file: str) -> None:
        super().append(file)
        self.places.setdefault(file, _current_place())


class _Messages(io.TextIOBase):
    """Replaces stderr; records xacro's warnings, each once, with the element."""

    places: dict[str, Location | None]

    def write(self, text: str) -> int:
        kind, _, message = text[:1000].strip().partition(": ")
        if kind in {"warning", "error"}:
            self.places.setdefault(message, _current_place())
        return len(text)


# xacro keeps its state in module globals.
_XACRO = threading.Lock()


def expand(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    *,
    environment: Collection[str] = (),
) -> Expansion:
    """Expand a xacro file.

    ``$(find NAME)`` looks packages up as ``package://NAME`` does. A package that is not
    found becomes ``package://NAME``, because it may only be used as text.

    Args:
        file: Its path, named in locations as given.
        packages: Folders of ROS packages, by name.
        arguments: Values of ``<xacro:arg>`` by name.
        environment: Names of environment variables that the file may read, besides
            those of ROS.

    Raises:
        SourceError: It cannot be expanded.
    """
    resolver = FileResolver(Path(file), packages, os.environ)
    values = allowed_environment(environment)
    folders: dict[str, str] = {}
    withheld: dict[str, Location | None] = {}
    notes: list[Diagnostic] = []
    read, files, messages = _Arguments(arguments), _ReadFiles(), _Messages()
    read.used, files.places, messages.places = set(), {}, {}

    def note(rule: str, message: str, place: Location | None) -> None:
        notes.append(Diagnostic(rule, message, place or Location(file, 1, 1)))

    def find(name: str) -> str:
        if name not in folders:
            folder = resolver.package(name)
            folders[name] = str(folder) if folder else f"{_MISSING}{name}"
            if folder is None:
                message = f"package {truncate(repr(name))} is not found"
                note("package-missing", message, _current_place())
        return folders[name]

    def env(name: str) -> str:
        if name not in values and name not in environment:
            raise _RefusalError(_withheld(name), "xacro-environment")
        if name not in values:
            message = f"environment variable {name!r} is not set"
            raise substitution_args.SubstitutionException(message)
        return values[name]

    def optenv(name: str, default: str = "") -> str:
        if name not in values and name not in environment:
            withheld.setdefault(name, _current_place())
        return values.get(name, default)

    def evaluate(text: str, context: Mapping[str, Any]) -> str:
        """Evaluate ``$(eval ...)``, in which arguments are variables."""
        given = {
            name: substitution_args.convert_value(value, "auto")
            for name, value in context.get("arg", {}).items()
        }
        own = {"env": env, "optenv": optenv, "find": find, **given, "arg": given.__getitem__}
        return str(_evaluate(text, {**_FUNCTIONS, **own}))

    functions = {"parse": _parse, "open": _open, "safe_eval": _evaluate, "all_includes": files}
    substitutions = {
        "_eval": evaluate,
        "_eval_find": find,
        "_eval_env": env,
        "_eval_optenv": optenv,
    }
    with (
        _XACRO,
        _replaced(xacro, functions),
        _replaced(substitution_args, substitutions),
        contextlib.redirect_stderr(messages),
    ):
        xacro.init_stacks(file)
        try:
            document: Any = _parse(None)
            xacro.process_doc(document, mappings=read)
            text = document.documentElement.toxml()
        # Expressions can raise anything; every error is reported with its location.
        except Exception as error:  # noqa: BLE001
            cause = _cause(error)
            rule, place = "xacro-error", None
            match cause:
                case _RefusalError():
                    rule, place = cause.rule, cause.location
                case expat.ExpatError(lineno=line, offset=offset):
                    place = Location(xacro.filestack[-1], line, offset + 1)
                case FileNotFoundError():
                    rule = "xacro-file-missing"
            note(rule, _message(error), place or _current_place(error))
            raise SourceError(tuple(notes)) from None
    for path, place in files.places.items():
        if not resolver.owns(Path(path), folders):
            note("file-outside", f"{path!r} is outside the robot's own folders", place)
    for message, place in messages.places.items():
        note("xacro-warning", message, place)
    for name, place in withheld.items():
        if name in os.environ:
            note("xacro-environment-default", f"{_withheld(name)}; its default is used", place)
    for name in arguments:
        if name not in read.used:
            message = f"argument {truncate(repr(name))} is not used by {Path(file).name}"
            note("xacro-argument-unused", message, None)
    origins = (element.getUserData(_PLACE) for element in document.getElementsByTagName("*"))
    return Expansion(text, tuple(origins), tuple(notes), tuple(files.places))


# Prefix used instead of the folder of a package that is not found.
_MISSING = "package://"
# Names available in ``$(eval ...)``: as in ROS, and a few more builtins.
_FUNCTIONS: Mapping[str, object] = {
    **{one.__name__: one for one in (abs, bool, dict, float, int, len, list, map)},
    **{one.__name__: one for one in (max, min, round, str, sum)},
    **{name: value for name, value in vars(math).items() if name[0] != "_"},
    "true": True,
    "false": False,
}


@contextlib.contextmanager
def _replaced(module: ModuleType, values: Mapping[str, object]) -> Iterator[None]:
    names = vars(module)
    former = {name: names[name] for name in values if name in names}
    names.update(values)
    try:
        yield
    finally:
        for name in values:
            del names[name]
        names.update(former)


def _withheld(name: str) -> str:
    remedy = f"--env {shlex.quote(truncate(name))}"
    return f"environment variable {name!r} may not be read without {remedy}"


# Files and locations

_PLACE = "place"
# Local variables in which xacro's functions hold the element being processed.
_ELEMENT_NAMES = ("elt", "node", "tag")


def _parse(_: object, filename: str | None = None) -> minidom.Document:
    """Read a file; record the location of each element, also in its clones."""
    file = filename or xacro.filestack[-1]
    try:
        data = read_file(Path(xacro.root_dir, file), LARGEST_FILE)
    except OSError as error:
        if filename is not None:
            # As in xacro: the error is in the including file.
            xacro.filestack.pop()
        raise xacro.XacroException(f"{error.strerror}: {file}", exc=error) from error
    places = _places(data, file)
    document = minidom.parseString(data)  # noqa: S318  entities are refused above
    for element, place in zip(document.getElementsByTagName("*"), places, strict=True):
        element.setUserData(_PLACE, place, _Cloning())
    return document


class _NamedContent(io.BytesIO):
    # YAML has it in its messages.
    name: str


def _open(file: str) -> _NamedContent:
    content = _NamedContent(read_file(Path(file), LARGEST_FILE))
    content.name = file
    return content


class _Cloning:
    """Copies the location of an element to its clone (DOM UserDataHandler)."""

    def handle(self, _: int, key: str, place: object, __: object, clone: minidom.Node) -> None:
        clone.setUserData(key, place, self)


def _places(data: bytes, file: str) -> list[Location]:
    """Return the location of each start tag."""
    places: list[Location] = []
    parser = expat.ParserCreate()

    def here() -> Location:
        return Location(file, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    def declare_entity(name: str, *_: object) -> None:
        raise _RefusalError(f"entity {name!r} is declared", location=here())

    parser.StartElementHandler = lambda *_: places.append(here())
    parser.EntityDeclHandler = declare_entity
    parser.Parse(data, True)
    return places


def _current_place(error: BaseException | None = None) -> Location | None:
    """Return the location of the innermost element that xacro is processing, or was.

    Args:
        error: Raised by it; None for the calling function.
    """
    frames: Iterable[FrameType] = (frame for frame, _ in traceback.walk_stack(None))
    if error is not None:
        frames = reversed([frame for frame, _ in traceback.walk_tb(error.__traceback__)])
    for frame in frames:
        of_xacro = frame.f_globals.get("__name__") == xacro.__name__
        for name in _ELEMENT_NAMES if of_xacro else ():
            element = frame.f_locals.get(name)
            if isinstance(element, minidom.Element):
                place = element.getUserData(_PLACE)
                if isinstance(place, Location):
                    return place
    return None


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
            # A path has one of the two slashes left.
            _, scheme, rest = re.sub("package:/+", _MISSING, file).partition(_MISSING)
            needed = f"{scheme}{rest} is needed, and the package is not found"
            return needed if scheme else f"{file}: {reason}"
    return " ".join(str(error).split()) or type(cause).__name__


# Expressions

_GUARD = "__format__"
_FORMATTING = frozenset({"format", "format_map"})
# A field such as ``{value.attribute}``, also in the format of another; not ``{:.3f}``.
_OF_ATTRIBUTE = re.compile(r"\{[^{}]*\.[^\W\d]")


def _evaluate(
    text: str, symbols: dict[str, object], inner: Mapping[str, object] | None = None
) -> object:
    """Evaluate an expression, without names that lead to the internals of Python."""
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        # xacro checks only the outermost names, not those in lambdas.
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                if name.startswith("__"):
                    raise _RefusalError(f"expressions may not use {name!r}")
    guarded = ast.fix_missing_locations(_FormatGuard().visit(tree))
    symbols.update(__builtins__={_GUARD: _formatting})
    return eval(compile(guarded, "<expression>", "eval"), symbols, inner)  # noqa: S307


class _FormatGuard(ast.NodeTransformer):
    """Replaces ``text.format`` by ``_formatting(text, "format")``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr not in _FORMATTING:
            return node
        arguments = [node.value, ast.Constant(node.attr)]
        return ast.copy_location(
            ast.Call(ast.Name(_GUARD, ast.Load()), arguments, []),
            node,
        )


def _formatting(value: object, name: str) -> Callable[..., object]:
    method: Callable[..., object] = getattr(value, name)

    def formatted(*arguments: object, **named: object) -> object:
        for text in (value, *arguments[:1]):
            if isinstance(text, str) and (field := _OF_ATTRIBUTE.search(text)):
                message = f"expressions may not use attributes in a format string: {field[0]!r}"
                raise _RefusalError(message)
        return method(*arguments, **named)

    return formatted
