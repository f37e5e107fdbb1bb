"""Tasks that need memory, characters of real text, and batches of any dataset, to train networks on."""

from minirnn.data.dataset import (
    BatchSampler,
    Dataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
    random_split,
)
from minirnn.data.loader import DataLoader, default_collate, pad_collate
from minirnn.data.tasks import Task, adding_problem, copy_memory
from minirnn.data.text import CharBatches, python_source_text, read_text, train_validation_split
from minirnn.data.vocabulary import CharVocabulary, unigram_entropy
from minirnn.lookup.later import imported_later

__getattr__, __dir__ = imported_later(__name__, {})  # these give the names in minirnn of torch's other names

__all__ = ["BatchSampler", "CharBatches", "CharVocabulary", "DataLoader", "Dataset", "RandomSampler"]
__all__ += ["SequentialSampler", "Subset", "Task", "TensorDataset", "adding_problem", "copy_memory", "default_collate"]
__all__ += ["pad_collate", "python_source_text", "random_split", "read_text", "train_validation_split"]
__all__ += ["unigram_entropy"]
