"""The options of the machine: the architecture for nvcc, the seed, the weakness of memory."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PtxOptions:
    """Options of the machine.

    Attributes
    ----------
    arch : str
        The architecture that nvcc compiles for.
    seed : int
        Determines the order of threads, the delays of stores and loads, and which blocks are starved.
    weak : bool
        Whether memory is as weak as PTX allows. Otherwise each access takes effect at once.
    delay : int
        The largest number of rounds for which a store may be invisible.
    resident : int
        The number of blocks on the device at once.
    shared_limit : int
        Bytes of shared memory that a block may use.
    edits : tuple of (str, str)
        Changes of the PTX text, each a regular expression and its replacement: planted mistakes.
    """

    arch: str = "sm_90"
    seed: int = 1
    weak: bool = True
    delay: int = 40
    resident: int = 132
    shared_limit: int = 227 << 10
    edits: tuple[tuple[str, str], ...] = ()
