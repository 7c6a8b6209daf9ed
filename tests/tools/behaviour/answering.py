"""The loop of a process that answers lines of JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.tools.consumers.output import captured_output


def answer_requests(
    answer: Callable[[dict[str, Any]], dict[str, Any]], configure: Callable[[], None]
) -> None:
    """Answer requests until the input ends.

    An exception is an answer with its text, ``error``. All answers have ``seconds`` and
    ``messages``, the lines that were printed.

    Args:
        answer: Returns the answer to a request.
        configure: Is called before the first request.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with captured_output([]):
        configure()
    for line in sys.stdin:
        printed: list[str] = []
        start = time.perf_counter()
        with captured_output(printed):
            try:
                found = answer(json.loads(line))
            except Exception as error:  # noqa: BLE001  its text is the answer
                found = {"error": f"{type(error).__name__}: {error}"}
        found["seconds"] = time.perf_counter() - start
        found["messages"] = printed
        answers.write(json.dumps(found) + "\n")
        answers.flush()
