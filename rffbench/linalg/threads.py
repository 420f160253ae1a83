"""Work in several threads, as many as numba's setting allows, while BLAS has one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from itertools import pairwise
from threading import Thread, current_thread, local, main_thread
from typing import TypeVar

import scipy.linalg  # noqa: F401  loads scipy's own BLAS, so that it is limited too
from threadpoolctl import ThreadpoolController

PARTS_PER_THREAD = 4
STEP = 0.1  # seconds; the main thread waits in such steps, because a signal that another thread gets does not wake it
Result = TypeVar("Result")
_nested = local()  # whether this thread is one of several in `side_by_side`


def thread_count() -> int:
    """The number of threads that the caller may use: numba's (``numba.set_num_threads``, ``NUMBA_NUM_THREADS``), or 1
    inside a task of `side_by_side`."""
    if getattr(_nested, "inside", False):
        return 1
    import numba  # takes a third of a second, which commands that compute nothing save

    return numba.get_num_threads()


def side_by_side(tasks: Sequence[Callable[[], object]], threads: int | None = None) -> None:
    """Call every task once, in ``threads`` threads (None: all). A thread that finishes a task takes the next.

    BLAS has one thread meanwhile: two threads with a product each are faster than one product in two threads, and no
    idle BLAS thread spins on a processor that others need. Long tasks must release the GIL. These are plain threads,
    because numba's parallel loops abort in a forked process. If a task raises, no other task starts. Ctrl-C does not
    wait for tasks in other threads.
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
            while wait(others, STEP).not_done:
                pass
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
    """In the block, BLAS has one thread if its products are small (``multiply_adds``). Several threads make these
    hardly faster, and 20 times slower if another process uses one of the processors."""
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
    """The result of ``work``, one library call of about ``multiply_adds``. Ctrl-C does not wait for it.

    Python handles Ctrl-C in the main thread, between two bytecodes. So another thread makes a long call; after Ctrl-C
    it finishes alone, and its result is dropped. The call must release the GIL.
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
        thread.join(STEP)
    if failed:
        raise failed[0]
    return found[0]


def in_threads(work: Callable[[int, int], object], count: int, *, worthwhile: bool = True) -> None:
    """Call ``work(first, last)`` on contiguous parts of range(count), `side_by_side` if that is ``worthwhile``.

    There are more parts than threads, so that a slow thread takes fewer.
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
