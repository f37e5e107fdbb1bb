"""ex42  Adding up in a ring.

P ranks have n numbers each, parts[r], and every rank wants the sum of all: that is an all-reduce. They form a ring
and can only reach their right neighbor:

    send(r, values)     rank r sends an array to rank r + 1, the last rank to rank 0
    receive(r)          what rank r - 1 has sent to rank r, the oldest message first
    sent()              how many bytes each rank has sent so far, (P,); the network counts them

Cut the numbers into P pieces as equal as can be, the first n % P of them one longer (np.array_split does that). In
step s = 0 .. P-2 rank r sends its piece (r - s) % P, and adds what it receives to its own. Then it has the whole sum of
piece (r + 1) % P, and the whole sums go round: in step s it sends piece (r + 1 - s) % P, and keeps what it receives. So
each rank sends about 2 n (P-1) / P numbers, however many ranks there are. The network lets nobody send more.
"""

import numpy as np  # noqa: F401


def ring_all_reduce(parts, send, receive, sent):
    """parts is (P, n). Return the sums as each rank has them, (P, n), and what sent() says at the end."""
    raise NotImplementedError("ex42")
