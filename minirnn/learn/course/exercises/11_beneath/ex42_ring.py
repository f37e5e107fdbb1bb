"""ex42  Adding up in a ring.

Each of P ranks has n numbers, parts[r], and needs the sum over all ranks. This is called an all-reduce. The ranks form
a ring, and each can only reach its right neighbor:

    send(r, values)     rank r sends an array to rank r + 1, the last rank to rank 0
    receive(r)          what rank r - 1 has sent to rank r, the oldest message first
    sent()              how many bytes each rank has sent so far, (P,); the network counts them

Cut the numbers into P pieces of nearly equal length, the first n % P of them one longer (np.array_split does that).
In step s = 0 .. P-2 rank r sends its piece (r - s) % P, and adds what it receives to its own. Then it has the
complete sum of piece (r + 1) % P. In a second round these sums are passed on: in step s, rank r sends piece
(r + 1 - s) % P, and replaces its own piece by what it receives. So each rank sends about 2 n (P-1) / P numbers,
however many ranks there are. The network does not let a rank send more.
"""

import numpy as np  # noqa: F401


def ring_all_reduce(parts, send, receive, sent):
    """parts is (P, n). Return the sums as each rank has them, (P, n), and what sent() says at the end."""
    raise NotImplementedError("ex42")
