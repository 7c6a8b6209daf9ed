"""Errors of a run that the command line explains, without slow imports."""


class ClusterError(Exception):
    """A cluster cannot be used; the message says why."""


class RunFolderError(Exception):
    """A folder cannot be used for a run; the message says why."""
