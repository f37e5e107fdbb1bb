"""Wrong calls of data: texts, vocabularies, batches, tasks."""

from __future__ import annotations

import os

import numpy as np

from minirnn import data
from tests.hostile.calls_files import HERE, MISSING, NPZ, THIS
from tests.hostile.wrong_call import Wrong, wrong

T, B = 7, 2
NAN = float("nan")

RNG = np.random.default_rng(0)
VOCABULARY = data.CharVocabulary("abc")
BATCHES = data.CharBatches(np.arange(50) % 3, T, B)
NEXT = BATCHES.state()

DATA: list[Wrong] = [
    wrong("CharVocabulary: nothing", "no characters", data.CharVocabulary, ""),
    wrong("CharVocabulary: words", "'ab' & single characters", data.CharVocabulary, ["ab", "c"]),
    wrong("CharVocabulary: numbers", "1 & single characters", data.CharVocabulary, [1, 2]),
    wrong("CharVocabulary: None", "NoneType & characters", data.CharVocabulary, None),
    wrong(
        "CharVocabulary: a long unknown sign",
        "'<unk>' & single characters",
        data.CharVocabulary,
        "abc",
        unknown="<unk>",
    ),
    wrong("CharVocabulary.from_text: a number", "int & text", data.CharVocabulary.from_text, 5),
    wrong(
        "CharVocabulary.from_text: a float count",
        "min_count is 1.5",
        data.CharVocabulary.from_text,
        "abc",
        min_count=1.5,
    ),
    wrong("CharVocabulary.encode: another character", "'d' & position 1 & 3 characters", VOCABULARY.encode, "adb"),
    wrong("CharVocabulary.encode: bytes", "bytes & str", VOCABULARY.encode, b"abc"),
    wrong("CharVocabulary.encode: None", "NoneType & str", VOCABULARY.encode, None),
    wrong("CharVocabulary.encode: ids", "list & str", VOCABULARY.encode, [0, 1]),
    wrong("CharVocabulary.decode: an id too large", "ids[1] is 3 & 0 .. 2", VOCABULARY.decode, [0, 3]),
    wrong("CharVocabulary.decode: a negative id", "ids[0] is -1", VOCABULARY.decode, [-1]),
    wrong("CharVocabulary.decode: floats", "float64 & whole numbers", VOCABULARY.decode, [0.5]),
    wrong("CharVocabulary.decode: text", "<U1 & whole numbers", VOCABULARY.decode, ["a"]),
    wrong("CharVocabulary.decode: a matrix", "(1, 2) & (N,)", VOCABULARY.decode, [[0, 1]]),
    wrong("CharVocabulary.decode: ragged lists", "ragged & (N,)", VOCABULARY.decode, [[0], [0, 1]]),
    wrong("CharVocabulary.from_json: a list", "from_json & characters", data.CharVocabulary.from_json, []),
    wrong(
        "CharVocabulary.from_json: a number inside",
        "from_json & characters",
        data.CharVocabulary.from_json,
        {"characters": 3, "unknown": None},
    ),
    wrong("unigram_entropy: nothing", "no ids & N at least 1", data.unigram_entropy, [], 3),
    wrong("unigram_entropy: an id too large", "ids[0] is 5 & 0 .. 2", data.unigram_entropy, [5], 3),
    wrong("train_validation_split: all of it", "fraction is 1.0", data.train_validation_split, [1, 2, 3], 1.0),
    wrong("train_validation_split: NaN", "fraction is nan", data.train_validation_split, [1, 2, 3], NAN),
    wrong(
        "train_validation_split: text as fraction", "fraction is '0.1'", data.train_validation_split, [1, 2, 3], "0.1"
    ),
    wrong("train_validation_split: too little", "3 ids & at least 2", data.train_validation_split, [1, 2, 3], 0.1),
    wrong("train_validation_split: the text itself", "<U3 & whole numbers", data.train_validation_split, ["abc"]),
    wrong("CharBatches: T 0", "T is 0 & at least 1", data.CharBatches, np.arange(50), 0, B),
    wrong("CharBatches: a float B", "B is 2.0 & whole number", data.CharBatches, np.arange(50), T, 2.0),
    wrong(
        "CharBatches: too little text", "10 characters & B T + 1 = 15 & T=7, B=2", data.CharBatches, np.arange(10), T, B
    ),
    wrong("CharBatches: the text itself", "whole numbers", data.CharBatches, "abcdefgh", T, B),
    wrong("CharBatches: floats", "float64", data.CharBatches, np.linspace(0, 1, 50), T, B),
    wrong("CharBatches.batch: beyond the end", "k is 3 & 0 .. 2", BATCHES.batch, 3).raises(IndexError),
    wrong("CharBatches.batch: negative", "k is -1", BATCHES.batch, -1).raises(IndexError),
    wrong("CharBatches.batch: a float", "k is 0.5 & integer", BATCHES.batch, 0.5),
    wrong("CharBatches.batch: text", "k is '0' & integer", BATCHES.batch, "0"),
    wrong("CharBatches.restore: a list", "[] & ints named", BATCHES.restore, []),
    wrong("CharBatches.restore: incomplete", "ints named pass, batch, T, B, N", BATCHES.restore, {"pass": 0}),
    wrong("CharBatches.restore: another T", "saved with T = 9 & T = 7", BATCHES.restore, {**NEXT, "T": 9}),
    wrong("CharBatches.restore: another text", "saved with N = 99", BATCHES.restore, {**NEXT, "N": 99}),
    wrong("CharBatches.restore: beyond the end", "batch 77", BATCHES.restore, {**NEXT, "batch": 77}),
    wrong("CharBatches.restore: floats", "ints named", BATCHES.restore, {**NEXT, "batch": 1.0}),
    wrong("adding_problem: a seed", "rng is 0 & default_rng(seed)", data.adding_problem, 0, T, B),
    wrong("adding_problem: T 1", "T is 1 & at least 2 & half", data.adding_problem, RNG, 1, B),
    wrong("adding_problem: B 0", "B is 0", data.adding_problem, RNG, T, 0),
    wrong(
        "adding_problem: an old RandomState",
        "RandomState & Generator",
        data.adding_problem,
        np.random.RandomState(0),
        T,
        B,
    ),
    wrong("copy_memory: T 0", "T is 0 & at least", data.copy_memory, RNG, 0, B),
    wrong("copy_memory: a length of 0", "length is 0", data.copy_memory, RNG, T, B, length=0),
    wrong("copy_memory: no symbols", "symbols is 0", data.copy_memory, RNG, T, B, symbols=0),
    wrong("sine_wave: a float T", "T is 7.0 & whole number", data.sine_wave, RNG, 7.0, B),
    wrong("sine_wave: one period", "periods is 10.0 & (shortest, longest)", data.sine_wave, RNG, T, B, periods=10.0),
    wrong(
        "sine_wave: periods exchanged", "(30, 10) & shortest <= longest", data.sine_wave, RNG, T, B, periods=(30, 10)
    ),
    wrong("sine_wave: too fast", "(1, 10) & 2 < shortest", data.sine_wave, RNG, T, B, periods=(1, 10)),
    wrong("sine_wave: NaN", "nan", data.sine_wave, RNG, T, B, periods=(NAN, 10)),
    wrong("sine_wave: ahead 0", "ahead is 0", data.sine_wave, RNG, T, B, ahead=0),
    wrong("read_text: no such file", "missing.safetensors & no such file", data.read_text, MISSING),
    wrong("read_text: a folder", "this is a folder", data.read_text, HERE),
    wrong("read_text: a device", "no regular file", data.read_text, os.devnull),
    wrong("read_text: an archive", "NUL & binary file", data.read_text, NPZ),
    wrong("read_text: too short", "at least 10000000", data.read_text, THIS, minimum=10_000_000),
    wrong("read_text: NUL in the name", "no such file", data.read_text, "a\0b"),
    wrong("read_text: a number", "int & PathLike", data.read_text, 3),
    wrong("read_text: None", "NoneType & PathLike", data.read_text, None),
]

ROWS = DATA
