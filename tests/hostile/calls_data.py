"""Wrong calls of data: texts, vocabularies, batches, tasks."""

from __future__ import annotations

import numpy as np

from minirnn import data
from tests.hostile.calls_files import HERE, MISSING, NPZ, THIS  # noqa: F401, the table names them
from tests.hostile.table import rows

T, B = 7, 2
RNG = np.random.default_rng(0)
VOCABULARY = data.CharVocabulary("abc")
BATCHES = data.CharBatches(np.arange(50) % 3, T, B)
NEXT = BATCHES.state()

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
""",
)
