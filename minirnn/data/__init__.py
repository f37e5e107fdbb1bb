"""Tasks that need memory, and characters of real text: what the networks are trained on."""

from minirnn.data.adding import adding_problem
from minirnn.data.batches import CharBatches, train_validation_split
from minirnn.data.copying import copy_memory
from minirnn.data.sine import sine_wave
from minirnn.data.task import Task
from minirnn.data.text import python_source_text, read_text
from minirnn.data.vocabulary import CharVocabulary, unigram_entropy

__all__ = [
    "CharBatches",
    "CharVocabulary",
    "Task",
    "adding_problem",
    "copy_memory",
    "python_source_text",
    "read_text",
    "sine_wave",
    "train_validation_split",
    "unigram_entropy",
]
