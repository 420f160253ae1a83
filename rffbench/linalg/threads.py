"""Work spread over threads: plain ones, as many as numba has, with BLAS held to one thread meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from itertools import pairwise
from threading import Thread, current_thread, local, main_thread
from typing import TypeVar

import scipy.linalg  # noqa: F401  its BLAS is a library of its own, to be held to one thread too
from threadpoolctl import ThreadpoolController

PARTS_PER_THREAD = 4
Result = TypeVar("Result")
_nested = local()  # whether this thread is one of several that work side by side


def thread_count() -> int:
    """How many threads the caller may use: numba's number (``numba.set_num_threads``, ``NUMBA_NUM_THREADS``), or 1
    inside one of several threads."""
    if getattr(_nested, "inside", False):
        return 1
    import numba  # a third of a second: not of a command that computes nothing

    return numba.get_num_threads()


def side_by_side(tasks: Sequence[Callable[[], object]], threads: int | None = None) -> None:
    """Call every task once; each of ``threads`` (None: all there are) takes the next when done with its last.

    BLAS has one thread meanwhile: two threads with a product each are faster than one product in two threads,
    and leave no BLAS thread behind that waits for more work in a busy loop, on a processor that others need.
    A task that computes much must release the GIL. Plain threads rather than numba's own parallel loops: those
    abort in a process that was forked. Where a task raises, no further one is begun; after Ctrl-C those that other
    threads are at are not waited for.
    """
    threads = min(thread_count(), len(tasks), threads or len(tasks))
    waiting = deque(tasks)
    if getattr(_nested, "inside", False):
        _work_off(waiting)
        return
    with _blas().limit(limits=1):
        if threads <= 1:
            _work_off(waiting)
            return
        pool = ThreadPoolExecutor(threads - 1)
        interrupted = False
        try:
            others = [pool.submit(_work_off, waiting) for _ in range(threads - 1)]
            _work_off(waiting)
            for other in others:
                other.result()
        except KeyboardInterrupt:
            interrupted = True
            raise
        finally:
            waiting.clear()
            pool.shutdown(wait=not interrupted, cancel_futures=True)


SMALL_PRODUCT = 1e8  # multiply-adds


def blas_for(multiply_adds: float) -> AbstractContextManager[object]:
    """In the block BLAS has one thread, if its products, of this number of multiply-adds, are small: threads that wait
    for each other make such products hardly faster, and 20 times slower where another process has one of their
    processors."""
    return _blas().limit(limits=1) if multiply_adds < SMALL_PRODUCT else nullcontext()


def _work_off(waiting: deque[Callable[[], object]]) -> None:
    before, _nested.inside = getattr(_nested, "inside", False), True
    try:
        while True:
            try:
                task = waiting.popleft()
            except IndexError:
                return
            task()
    except BaseException:
        waiting.clear()
        raise
    finally:
        _nested.inside = before


LONG = 1e9  # multiply-adds: some tenths of a second


def interruptibly(work: Callable[[], Result], multiply_adds: float = LONG) -> Result:
    """What ``work`` returns, one call of a library that takes ``multiply_adds``: Ctrl-C does not wait for it.

    Python sees Ctrl-C in the main thread, between two of its own steps. There a long call is made by another thread,
    which goes on by itself after Ctrl-C; its result is dropped. The call must release the GIL.
    """
    if multiply_adds < LONG or current_thread() is not main_thread():
        return work()
    found: list[Result] = []
    failed: list[BaseException] = []

    def do() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = Thread(target=do, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)  # a signal that another thread has received does not end it
    if failed:
        raise failed[0]
    return found[0]


def in_threads(work: Callable[[int, int], object], count: int, *, worthwhile: bool = True) -> None:
    """Call ``work(first, last)`` on contiguous parts of range(count), ``side_by_side`` where that is worthwhile.

    There are more parts than threads, so that one that is held up does fewer.
    """
    threads = thread_count() if worthwhile else 1
    parts = min(count, PARTS_PER_THREAD * threads) if threads > 1 else 1
    if parts <= 1:
        work(0, count)
        return
    bounds = [count * part // parts for part in range(parts + 1)]
    side_by_side([partial(work, *part) for part in pairwise(bounds)])


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
