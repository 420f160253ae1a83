"""Work spread over threads ends where a part of it fails, and at once where it is interrupted."""

import os
import signal
import threading
import time

import numba
import pytest

from rffbench.linalg.threads import LONG, interruptibly, side_by_side


def in_steps(over, done):
    """Wait in steps for ``over``: a signal that comes as a wait begins, or to another thread, does not end the wait."""
    for _ in range(6000):
        if over.wait(0.01):
            break
    done.append(over.is_set())


needs_two = pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one thread alone")


@needs_two
def test_after_a_task_that_raises_no_further_one_is_begun():
    begun = []

    def task(number):
        begun.append(number)
        if number == 0:
            raise ValueError("the first")
        time.sleep(0.05)

    with pytest.raises(ValueError, match="the first"):
        side_by_side([lambda number=number: task(number) for number in range(50)])
    assert len(begun) < 10


@needs_two
def test_ctrl_c_does_not_wait_for_the_tasks_of_other_threads():
    both, over, done = threading.Barrier(2), threading.Event(), []

    def task():
        both.wait(60)
        if threading.current_thread() is threading.main_thread():
            in_steps(over, done)
        else:
            os.kill(os.getpid(), signal.SIGINT)
            done.append(over.wait(60))

    with pytest.raises(KeyboardInterrupt):
        side_by_side([task] * 2)
    assert not done
    over.set()


@needs_two
def test_ctrl_c_is_heard_while_the_main_thread_waits_for_another_one_s_task():
    both, over, done = threading.Barrier(2), threading.Event(), []

    def task():
        both.wait(60)
        if threading.current_thread() is threading.main_thread():
            return
        time.sleep(0.3)  # by now the main thread has nothing left to do
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        done.append(over.wait(60))

    with pytest.raises(KeyboardInterrupt):
        side_by_side([task] * 2)
    assert not done
    over.set()


def test_a_long_call_gives_what_it_gives_and_raises_what_it_raises():
    assert interruptibly(lambda: 7) == interruptibly(lambda: 7, LONG / 2) == 7
    with pytest.raises(ZeroDivisionError):
        interruptibly(lambda: 1 / 0)
    where = []
    interruptibly(lambda: where.append(threading.current_thread()), LONG / 2)
    assert where == [threading.main_thread()]


def test_ctrl_c_does_not_wait_for_a_long_call():
    over, done = threading.Event(), []

    def call():
        os.kill(os.getpid(), signal.SIGINT)
        done.append(over.wait(60))

    with pytest.raises(KeyboardInterrupt):
        interruptibly(call)
    assert not done
    over.set()
