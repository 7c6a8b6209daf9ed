"""Sending of robots to the workers of a Dask cluster, and of records back.

Every Dask worker has a pool of worker processes, and examines robots as a local run
does. Robots are sent packed, or as paths if the Dask workers have the same files. The
scheduler gives the robots of a lost worker to another one; a robot that cannot be
examined on the cluster is examined locally. Few robots are sent ahead, to limit memory.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor
from concurrent.futures import Future as LocalFuture
from contextlib import contextmanager
from multiprocessing import current_process
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from distributed import Client, Future, Worker, get_worker
from distributed.comm.addressing import get_address_host_port
from distributed.diagnostics.plugin import WorkerPlugin

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.cluster.packing import (
    PackedResult,
    PackedRobot,
    examine_packed,
    pack,
    unpack_result,
)
from urdf_usd.conformance.execution.errors import ClusterError
from urdf_usd.conformance.execution.examination.assignment import Assignment, Unchanged
from urdf_usd.conformance.execution.examination.robot import examine_isolated
from urdf_usd.conformance.execution.fingerprint import present_versions
from urdf_usd.conformance.execution.interruption import DeferredInterrupts
from urdf_usd.conformance.execution.workers.pool import WorkerPool
from urdf_usd.reports.records.record import RobotRecord

_OUTPOST = "urdf-usd-outpost"
# Time to wait for the scheduler, for workers, and between checks for workers [s].
_CONNECTION = 10.0
_PATIENCE = 60.0
_LOOK = 5.0

_Result: TypeAlias = "tuple[Assignment, RobotRecord | Unchanged]"


class _PoolPlugin(WorkerPlugin):
    """The pool of a Dask worker.

    Args:
        memory: Most memory for one robot, in MiB; no limit if None.
    """

    def __init__(self, memory: int | None) -> None:
        self.memory = memory
        self.pool: WorkerPool | None = None

    def setup(self, worker: Worker) -> None:
        """Start a pool."""
        del worker
        # Dask's workers are daemons, and Python does not let daemons have children.
        # Ours end by themselves when the worker does.
        current_process().daemon = False
        self.pool = WorkerPool(self.memory)

    def teardown(self, worker: Worker) -> None:
        """Close the pool."""
        del worker
        if self.pool is not None:
            self.pool.close()


def _pool() -> WorkerPool:
    outpost = get_worker().plugins[_OUTPOST]
    if not isinstance(outpost, _PoolPlugin) or outpost.pool is None:
        raise ClusterError("the worker was not set up")
    return outpost.pool


def _examine_packed(packed: PackedRobot) -> PackedResult | None:
    return examine_packed(_pool(), packed)


def _examine_shared(assignment: Assignment) -> PackedResult | None:
    if not (assignment.source.path.exists() and assignment.out.is_dir()):
        return None
    return PackedResult(examine_isolated(_pool(), assignment, {}))


def examined_on(
    address: str,
    assignments: Iterable[Assignment],
    *,
    pool: WorkerPool,
    threads: Executor,
    interrupts: DeferredInterrupts,
    jobs: int,
    shared: bool,
    announce: Callable[[str], None],
) -> Generator[_Result]:
    """Yield the result of each robot, in the order in which they are finished.

    Args:
        address: Of the scheduler, such as ``tcp://host:8786``.
        assignments: The robots.
        pool: Packs robots here, and examines those that the cluster could not.
        threads: Wait for the pool.
        interrupts: Let signals through while this waits.
        jobs: Number of these threads.
        shared: Whether workers have the same files under the same paths.
        announce: Called with a line of text if something unexpected happens.

    Raises:
        ClusterError: The cluster cannot be used, or is gone.
    """
    with _connected(address) as client, _install_pools(client, pool.memory):
        dispatch = _Dispatch(client, pool, threads, interrupts, announce, jobs=jobs, shared=shared)
        try:
            yield from dispatch.results(iter(assignments))
        finally:
            dispatch.cancel()


def require_cluster(address: str) -> None:
    """Check that a cluster can be used; it is not changed.

    Raises:
        ClusterError: It cannot.
    """
    with _connected(address):
        pass


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    try:
        # A client takes a minute to refuse an invalid address.
        get_address_host_port(address)
        client = Client(address, timeout=_CONNECTION, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"there is no scheduler at {address}: {error}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
            versions = client.run(present_versions)
        except TimeoutError as error:
            raise ClusterError(f"the scheduler at {address} has no workers") from error
        except ImportError as error:
            raise ClusterError(
                f"the workers of {address} cannot load what they need: {error}"
            ) from error
        for worker, found in versions.items():
            _require_same_versions(worker, found)
        yield client


@contextmanager
def _install_pools(client: Client, memory: int | None) -> Iterator[None]:
    """Set pools up on all Dask workers, also on those that join later."""
    client.register_plugin(_PoolPlugin(memory), name=_OUTPOST)
    try:
        yield
    finally:
        if client.status == "running":
            client.unregister_worker_plugin(_OUTPOST)


def _require_same_versions(worker: str, versions: dict[str, str]) -> None:
    here = present_versions()
    for name in sorted({*here, *versions}):
        if here.get(name) != versions.get(name):
            raise ClusterError(
                f"{worker} has {name} {versions.get(name, 'not at all')}, and this "
                f"machine {here.get(name, 'not')}: results would not be the same"
            )


class _Dispatch:
    """Sends robots to the cluster, and receives results."""

    def __init__(
        self,
        client: Client,
        pool: WorkerPool,
        threads: Executor,
        interrupts: DeferredInterrupts,
        announce: Callable[[str], None],
        *,
        jobs: int,
        shared: bool,
    ) -> None:
        self._client = client
        self._pool = pool
        self._jobs = jobs
        self._threads = threads
        self._interrupts = interrupts
        self._announce = announce
        self._shared = shared
        self._run = uuid.uuid4().hex
        self._here: dict[LocalFuture[Any], Assignment] = {}
        self._there: dict[Future[Any], Assignment] = {}
        self._done: SimpleQueue[LocalFuture[Any] | Future[Any]] = SimpleQueue()
        self._versions = present_versions()

    def results(self, waiting: Iterator[Assignment]) -> Generator[_Result]:
        """Yield the result of each robot."""
        idle_since: float | None = None
        while True:
            # A Dask worker has its next robot before it has finished the last one.
            room = 2 * self._capacity() + self._jobs
            while len(self._here) + len(self._there) < room:
                assignment = next(waiting, None)
                if assignment is None:
                    break
                self._begin(assignment)
            if not (self._here or self._there):
                return
            try:
                future = self._interrupts.get(self._done, _LOOK)
            except Empty:
                idle_since = self._since_without_workers(idle_since)
                continue
            result = self._end(future)
            if result is not None:
                yield result

    def cancel(self) -> None:
        """Cancel what has been sent."""
        if self._there and self._client.status == "running":
            self._client.cancel(list(self._there), force=True)

    def _capacity(self) -> int:
        """Count the robots that the cluster examines at the same time."""
        return sum(self._client.nthreads().values())

    def _since_without_workers(self, since: float | None) -> float | None:
        """Return since when there have been no workers; raise after a while.

        Raises:
            ClusterError: The cluster is gone.
        """
        if self._client.status != "running":
            raise ClusterError("the connection to the scheduler is lost")
        if self._here or self._capacity():
            return None
        now = time.monotonic()
        if since is not None and now - since > _PATIENCE:
            raise ClusterError("the cluster has no workers any more")
        return since or now

    def _begin(self, assignment: Assignment) -> None:
        if self._shared:
            self._send(_examine_shared, assignment, assignment)
        else:
            self._do_here(assignment, self._packed, assignment)

    def _packed(self, assignment: Assignment) -> PackedRobot | None:
        limit = assignment.limits.time
        ending = self._pool.call(pack, assignment, timeout=limit)
        return None if isinstance(ending, Crashed) else ending.value

    def _examined(self, assignment: Assignment) -> RobotRecord | Unchanged:
        return examine_isolated(self._pool, assignment, {})

    def _do_here(
        self,
        assignment: Assignment,
        function: Callable[..., object],
        *arguments: object,
    ) -> None:
        future = self._threads.submit(function, *arguments)
        self._here[future] = assignment
        future.add_done_callback(self._done.put)

    def _send(
        self,
        function: Callable[..., PackedResult | None],
        content: PackedRobot | Assignment,
        assignment: Assignment,
    ) -> None:
        with warnings.catch_warnings():
            # Dask warns of large data in tasks.
            warnings.filterwarnings("ignore", "Sending large graph")
            future = self._client.submit(
                function, content, key=f"{assignment.place}-{self._run}", pure=False
            )
        self._there[future] = assignment
        future.add_done_callback(self._done.put)

    def _end(self, future: LocalFuture[Any] | Future[Any]) -> _Result | None:
        """Handle a future that is done; return a result unless the robot goes on."""
        if isinstance(future, Future):
            return self._arrived(future)
        assignment = self._here.pop(future)
        match future.result():
            case PackedRobot() as packed:
                self._send(_examine_packed, packed, assignment)
            case None:
                self._do_here(assignment, self._examined, assignment)
            case result:
                return assignment, result
        return None

    def _arrived(self, future: Future[Any]) -> _Result | None:
        assignment = self._there.pop(future)
        packed_result, reason = None, "its files are not available there"
        if future.status == "finished":
            packed_result = future.result()
            if packed_result is not None and packed_result.versions != self._versions:
                packed_result, reason = None, "it was done by other versions"
        elif self._client.status != "running":
            raise ClusterError("the connection to the scheduler is lost")
        else:
            reason = f"{future.status}: {future.exception()!r}"
        future.release()
        if packed_result is None:
            self._announce(f"{assignment.source.id} is examined locally: {reason}")
            self._do_here(assignment, self._examined, assignment)
            return None
        unpack_result(packed_result, assignment.out, assignment.place)
        return assignment, packed_result.result
