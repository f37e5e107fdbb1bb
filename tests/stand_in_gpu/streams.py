"""The driver API: streams, events, waiting."""

import ctypes
import time
from collections.abc import Callable
from typing import Any

from tests.stand_in_gpu import machine as m
from tests.stand_in_gpu.machine import Failed, u32, write64
from tests.stand_in_gpu.queues import Event, Stream

NON_BLOCKING, NO_TIMING = 1, 2  # flags of streams, and of events
clock: Callable[[], float] = time.perf_counter
"""The time that events report. A test may set its own."""


def enqueue(handle: int, do: Callable[[], Any], memory: frozenset[int] = frozenset()) -> None:
    """Add work to a stream, or record it if the stream captures."""
    m.machine.need_context()
    stream = m.machine.stream(handle)
    if stream.captured is None:
        m.machine.queues.push(stream, do, memory)
    elif not stream.broken:
        stream.captured.append((do, memory))


def must_not_capture(handle: int) -> Stream:
    """Raises `Failed`, and breaks the capture, if the stream captures."""
    m.machine.need_context()
    stream = m.machine.stream(handle)
    if stream.captured is not None:
        stream.broken = True
        raise Failed(m.CAPTURE_UNSUPPORTED)
    return stream


def wait_for(handle: int) -> None:
    stream = must_not_capture(handle)
    if stream.last is not None:
        m.machine.queues.finish([stream.last])
    m.machine.need_no_fault()


def cuStreamCreate(result: int, flags: int) -> None:
    m.machine.need_context()
    write64(result, m.machine.handle(m.machine.queues.new(not u32(flags) & NON_BLOCKING)))


def cuStreamDestroy_v2(stream: int) -> None:
    m.machine.queues.drop(m.machine.drop(stream, Stream))


def cuStreamQuery(stream: int) -> None:
    last = must_not_capture(stream).last
    m.machine.queues.some(1)
    if last is not None and not last.done:
        raise Failed(m.NOT_READY)
    m.machine.need_no_fault()


def cuStreamSynchronize(stream: int) -> None:
    wait_for(stream)


def cuStreamWaitEvent(stream: int, event: int, flags: int) -> None:
    m.machine.need_context()
    waiting, mark = must_not_capture(stream), m.machine.get(event, Event)
    if mark.work is not None:
        m.machine.queues.push(waiting, lambda: None, after=[mark.work])


def cuEventCreate(result: int, flags: int) -> None:
    m.machine.need_context()
    event = Event()
    event.timed = not u32(flags) & NO_TIMING
    write64(result, m.machine.handle(event))


def cuEventRecord(event: int, stream: int) -> None:
    mark = m.machine.get(event, Event)
    source = must_not_capture(stream)  # captures of several streams by events are not supported here

    def reached() -> None:
        mark.at = clock()

    mark.work = m.machine.queues.push(source, reached)


def cuEventQuery(event: int) -> None:
    m.machine.need_context()
    mark = m.machine.get(event, Event)
    m.machine.queues.some(1)
    if mark.work is not None and not mark.work.done:
        raise Failed(m.NOT_READY)
    m.machine.need_no_fault()


def cuEventSynchronize(event: int) -> None:
    m.machine.need_context()
    mark = m.machine.get(event, Event)
    if mark.work is not None:
        m.machine.queues.finish([mark.work])
    m.machine.need_no_fault()


def cuEventElapsedTime_v2(result: int, begin: int, end: int) -> None:
    m.machine.need_context()
    first, second = m.machine.get(begin, Event), m.machine.get(end, Event)
    for mark in (first, second):
        if mark.work is None or not mark.timed:
            raise Failed(m.INVALID_HANDLE)
        if not mark.work.done:
            raise Failed(m.NOT_READY)
    ctypes.c_float.from_address(result).value = 1e3 * (second.at - first.at)


cuEventElapsedTime = cuEventElapsedTime_v2


def cuEventDestroy_v2(event: int) -> None:
    m.machine.drop(event, Event)
