"""Fast pickling of small values, which processes exchange by the thousand."""

from __future__ import annotations


class CompactPickle:
    """Base of dataclasses with slots that are pickled as constructor arguments.

    The default pickling of dataclasses with slots takes twice as long.
    """

    __slots__: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[type[CompactPickle], tuple[object, ...]]:
        """Return the class and the arguments of an equal value."""
        return type(self), tuple([getattr(self, name) for name in self.__slots__])
