"""Wrong calls of data: texts, vocabularies, batches, tasks; what makes batches of samples."""

import numpy as np

from minirnn import data
from tests.hostile.calls_files import HERE, MISSING, NPZ, THIS  # noqa: F401, the table names them
from tests.hostile.table import rows
from tests.hostile.wrong_call import array

T, B = 7, 2
RNG = np.random.default_rng(0)
VOCABULARY = data.CharVocabulary("abc")
BATCHES = data.CharBatches(np.arange(50) % 3, T, B)
NEXT = BATCHES.state()
DATA = data.TensorDataset(array(5, 2), array(5))
GENERATOR = np.random.default_rng(0)

ROWS = rows(
    globals(),
    r"""
data.CharVocabulary("") -> no characters
data.CharVocabulary(["ab", "c"]) -> 'ab' & single characters
data.CharVocabulary([1, 2]) -> 1 & single characters
data.CharVocabulary(None) -> NoneType & characters
data.CharVocabulary("abc", unknown="<unk>") -> '<unk>' & single characters
data.CharVocabulary.from_text(5) -> int & text
data.CharVocabulary.from_text("abc", min_count=1.5) -> min_count is 1.5
VOCABULARY.encode("adb") -> 'd' & position 1 & 3 characters
VOCABULARY.encode(b"abc") -> bytes & str
VOCABULARY.decode([0, 3]) -> ids[1] is 3 & 0 .. 2
VOCABULARY.decode([-1]) -> ids[0] is -1
VOCABULARY.decode([[0], [0, 1]]) -> ragged & (N,)
data.CharVocabulary.from_json([]) -> from_json & characters
data.CharVocabulary.from_json({"characters": 3, "unknown": None}) -> from_json & characters
data.unigram_entropy([], 3) -> no ids & N at least 1
data.unigram_entropy([5], 3) -> ids[0] is 5 & 0 .. 2
data.train_validation_split([1, 2, 3], 1.0) -> fraction is 1.0
data.train_validation_split([1, 2, 3], NAN) -> fraction is nan
data.train_validation_split([1, 2, 3], 0.1) -> 3 ids & at least 2
data.train_validation_split(["abc"]) -> <U3 & whole numbers
data.CharBatches(np.arange(50), 0, B) -> T is 0 & 1 or more
data.CharBatches(np.arange(50), T, 2.0) -> B is 2.0 & integer
data.CharBatches(np.arange(10), T, B) -> 10 characters & B T + 1 = 15 & T=7, B=2
data.CharBatches("abcdefgh", T, B) -> whole numbers
BATCHES.batch(3) -> raises IndexError: k is 3 & 0 .. 2
BATCHES.batch(-1) -> raises IndexError: k is -1
BATCHES.batch("0") -> k is '0' & integer
BATCHES.restore([]) -> [] & ints named
BATCHES.restore({**NEXT, "T": 9}) -> saved with T = 9 & T = 7
BATCHES.restore({**NEXT, "batch": 77}) -> batch 77
data.adding_problem(0, T, B) -> rng is 0 & default_rng(seed)
data.adding_problem(RNG, 1, B) -> T is 1 & 2 or more & half
data.adding_problem(RNG, T, 0) -> B is 0
data.copy_memory(RNG, 0, B) -> T is 0 & 21 or more
data.copy_memory(RNG, T, B, length=0) -> length is 0
data.copy_memory(RNG, T, B, symbols=0) -> symbols is 0
data.read_text(MISSING) -> missing.safetensors & no such file
data.read_text(HERE) -> this is a folder
data.read_text(NPZ) -> NUL & binary file
data.read_text(THIS, minimum=10_000_000) -> at least 10000000
data.read_text(3) -> int & PathLike

# datasets, samplers, loaders, collate functions, padding
data.Dataset().__getitem__(0) -> raises NotImplementedError: __getitem__
data.TensorDataset() -> got nothing & (N, ..)
data.TensorDataset(array(5, 2), array(4)) -> argument 1 & (4,) & (5, 2)
data.TensorDataset([1, 2]) -> argument 0 & [1, 2] & array
data.Subset(DATA, 3) -> indices is 3
data.Subset(iter([1]), [0]) -> likely an iterator
data.random_split(DATA, [2, 2]) -> add up to 4 & add up to 5
data.random_split(DATA, [1.0, 0.5]) -> add up to 1.5
data.random_split(DATA, [6, -1]) -> 0 or more
data.random_split(DATA, [5], 0) -> generator is 0 & seed=
data.random_split(DATA, [float("nan")]) -> lengths[0] is nan
data.SequentialSampler(3) -> data_source is 3
data.RandomSampler(DATA, num_samples=0) -> num_samples is 0
data.RandomSampler(DATA, seed="x") -> seed is 'x'
data.BatchSampler([1, 2], 0, False) -> batch_size is 0
data.BatchSampler(3, 2, False) -> sampler is 3 & iterable
data.DataLoader({"a": 1}) -> dataset is a dict
data.DataLoader(DATA, 0) -> batch_size is 0 & 1 or more
data.DataLoader(DATA, num_workers=4) -> num_workers is 4 & expected 0 & worker processes
data.DataLoader(DATA, 2, True, [0]) -> sampler and shuffle
data.DataLoader(DATA, generator=GENERATOR, seed=1) -> generator and seed
data.DataLoader(DATA, collate_fn="pad") -> collate_fn is 'pad'
data.DataLoader(DATA, None, drop_last=True) -> batch_size=None
data.default_collate([]) -> batch is empty
data.default_collate([None]) -> batch[0] is None
data.default_collate([array(2), array(3)]) -> batch[1] & (3,) & (2,) & pad_collate
data.default_collate([array(2), array(2, dtype="f8")]) -> batch[1] & float64
data.pad_collate([]) -> batch is empty
data.pad_collate([1, 2]) -> batch[0] is 1 & sequence
data.pad_collate([array(3, 2), array(3, 1)]) -> sequences[1] & (3, 1) & (T_b, 2)
data.pad_collate([array(2)], padding_value=(0, 1)) -> padding_value & expected 1
rnn_utils.pad_sequence([]) -> empty list
rnn_utils.pad_sequence(3) -> sequences is 3
rnn_utils.pad_sequence([tensor(2, 3), tensor(2, 4)]) -> sequences[1] & (2, 4) & (T_b, 3)
rnn_utils.pad_sequence([tensor(2), tensor(2, dtype=np.int64)]) -> sequences[1] & int64
rnn_utils.pad_sequence([tensor(2), tensor(2, device="cpu-composed")]) -> cpu-composed & cpu
rnn_utils.pad_sequence([tensor(2)], padding_side="up") -> 'up' & 'left'
rnn_utils.pack_padded_sequence(array(3, 2), [1, 3]) -> lengths & [1, 3] & longest first & enforce_sorted=False
rnn_utils.pack_padded_sequence(array(3, 2), [4, 1]) -> lengths[0] is 4 & 1 .. 3
rnn_utils.pack_padded_sequence(array(3, 2), [1, 1, 1]) -> lengths & (3,) & (B,) = (2,)
rnn_utils.pack_padded_sequence(array(3), [3]) -> (3,) & (T, B, ..)
rnn_utils.pad_packed_sequence(array(3, 2)) -> pad_packed_sequence & PackedSequence
rnn_utils.pad_packed_sequence(rnn_utils.PackedSequence(tensor(4, 2), tensor(2))) -> batch_sizes & float & integers
rnn_utils.pad_packed_sequence(rnn_utils.PackedSequence(tensor(4, 2), [1, 3])) -> batch_sizes & [1, 3] & never increase
rnn_utils.pad_packed_sequence(rnn_utils.pack_sequence([tensor(3)]), total_length=2) -> total_length & 2
rnn_utils.pack_sequence([]) -> pack_sequence & empty list
rnn_utils.pack_sequence([tensor(2), tensor(3)]) -> lengths & longest first
""",
)
