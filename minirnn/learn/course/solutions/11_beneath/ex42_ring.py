import numpy as np


def ring_all_reduce(parts, send, receive, sent):
    P, n = parts.shape
    pieces = np.array_split(np.arange(n), P)
    sums = parts.copy()
    # Each rank passes on the piece that it has just added to, until every piece has been at every rank.
    for s in range(P - 1):
        for r in range(P):
            send(r, sums[r, pieces[(r - s) % P]])
        for r in range(P):
            sums[r, pieces[(r - 1 - s) % P]] += receive(r)
    # Rank r has the complete sum of piece r + 1. Now the complete sums are passed on.
    for s in range(P - 1):
        for r in range(P):
            send(r, sums[r, pieces[(r + 1 - s) % P]])
        for r in range(P):
            sums[r, pieces[(r - s) % P]] = receive(r)
    return sums, sent()
