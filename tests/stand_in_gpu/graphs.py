"""The driver API: captures and graphs."""

from tests.stand_in_gpu import machine as m
from tests.stand_in_gpu.machine import Failed, write64
from tests.stand_in_gpu.queues import Noted
from tests.stand_in_gpu.streams import enqueue


class Graph:
    """The captured work."""

    def __init__(self, work: list[Noted]) -> None:
        self.work = work


class Executable:
    """A graph that can be launched."""

    def __init__(self, work: list[Noted]) -> None:
        self.work = work


def cuStreamBeginCapture_v2(handle: int, mode: int) -> None:
    m.machine.need_context()
    stream = m.machine.stream(handle)
    if stream is m.machine.queues.default:
        raise Failed(m.CAPTURE_UNSUPPORTED)
    if stream.captured is not None:
        raise Failed(m.INVALID_VALUE)
    stream.captured, stream.broken = [], False


def cuStreamEndCapture(handle: int, result: int) -> None:
    m.machine.need_context()
    stream = m.machine.stream(handle)
    work, stream.captured = stream.captured, None
    if work is None:
        raise Failed(m.INVALID_VALUE)
    if stream.broken:
        stream.broken = False
        write64(result, 0)
        raise Failed(m.CAPTURE_INVALIDATED)
    write64(result, m.machine.handle(Graph(work)))


def cuGraphInstantiateWithFlags(result: int, graph: int, flags: int) -> None:
    m.machine.need_context()
    write64(result, m.machine.handle(Executable(list(m.machine.get(graph, Graph).work))))


def cuGraphDestroy(graph: int) -> None:
    m.machine.drop(graph, Graph)


def cuGraphExecDestroy(executable: int) -> None:
    m.machine.drop(executable, Executable)


def cuGraphLaunch(executable: int, stream: int) -> None:
    for do, memory in m.machine.get(executable, Executable).work:
        enqueue(stream, do, memory)
