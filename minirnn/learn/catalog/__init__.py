"""The exercises that minirnn knows, one module a chapter."""

from minirnn.learn.catalog import cuda, gru, lstm, rnn, tape, tests, training
from minirnn.learn.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    exercise.id: exercise for chapter in (tape, rnn, lstm, gru, training, cuda, tests) for exercise in chapter.EXERCISES
}
"""By id, in the order of the course."""
