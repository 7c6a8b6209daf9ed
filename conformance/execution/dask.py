"""Runs on the workers of a Dask cluster, whose machines share the files of the run."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from distributed import Client, as_completed
from distributed.comm.addressing import get_address_host_port

from urdf_usd.conformance.execution.folder import present_versions
from urdf_usd.conformance.execution.job import Examined, Job
from urdf_usd.conformance.execution.run import examine_in_workers
from urdf_usd.conformance.execution.worker import ClusterError, Workers
from urdf_usd.converter.diagnostics import ConversionError

# Time to wait for the scheduler and for the first worker [s].
_CONNECTION = 10.0
_PATIENCE = 60.0


def _examined_there(job: Job) -> Examined | ConversionError | None:
    """Examine a robot on a Dask worker; None if its files are not there."""
    if not (job.source.path.exists() and job.folder.is_dir()):
        return None
    # An idle process serves the next robot.
    with Workers(job.limits) as workers:
        ((_, result),) = examine_in_workers(workers, [job])
    return result


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect with a cluster whose workers have the versions of this machine.

    Raises:
        ClusterError: The cluster cannot be reached or used.
    """
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
        here = present_versions()
        for worker, there in versions.items():
            for name in sorted({*here, *there}):
                if here.get(name) != there.get(name):
                    raise ClusterError(
                        f"{worker} has {name} {there.get(name, 'not at all')}, and this machine "
                        f"{here.get(name, 'not')}: results would not be the same"
                    )
        yield client


def examined_on(
    address: str, jobs: Sequence[Job]
) -> Generator[tuple[Job, Examined | ConversionError]]:
    """Yield robots with their results, in the order in which they finish.

    The scheduler gives the robots of a lost worker to another one, and waits for workers.
    """
    with connected(address) as client:
        run = uuid.uuid4().hex
        futures = {
            client.submit(_examined_there, job, key=f"{job.place}-{run}", pure=False): job
            for job in jobs
        }
        try:
            for future in as_completed([*futures], loop=client.loop):
                job = futures.pop(future)
                if client.status != "running":
                    raise ClusterError("the connection to the scheduler is lost")
                if future.status != "finished":
                    reason = f"{future.status}: {future.exception()!r}"
                    raise ClusterError(f"{job.source.id}: {reason}")
                result: Examined | ConversionError | None = future.result()
                if result is None:
                    raise ClusterError(
                        f"{job.source.id}: its files, or the folder {job.folder}, are not there; "
                        "all machines need them under the same path"
                    )
                yield job, result
        finally:
            if client.status == "running":
                client.cancel([*futures], force=True)
