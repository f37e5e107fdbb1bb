"""The exercises that minirnn knows, a module for each kind of subject."""

from minirnn.learn.catalog import (
    cells,
    cuda,
    gru,
    history,
    kernels,
    layers,
    losses,
    lstm,
    ranks,
    rnn,
    tape,
    tests,
    training,
    weights,
)
from minirnn.learn.catalog.capstone import CAPSTONE
from minirnn.learn.exercise import Exercise

MODULES = (tape, rnn, lstm, gru, training, cuda, tests, losses, layers, history, weights, kernels, ranks, cells)

EXERCISES: dict[str, Exercise] = {
    exercise.id: exercise
    for exercise in sorted([*(e for module in MODULES for e in module.EXERCISES), CAPSTONE], key=lambda e: e.number)
}
"""The exercises by id, in the order of their numbers; course.toml says in which order they are taught."""
