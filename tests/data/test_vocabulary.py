import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirnn.data import CharVocabulary, unigram_entropy
from minirnn.data.vocabulary import UNKNOWN, rare_characters
from tests.examples import CHARACTERS


@given(st.text(CHARACTERS, min_size=1))
def test_encode_is_the_place_among_the_sorted_characters_and_decode_its_inverse(text):
    vocabulary = CharVocabulary.from_text(text)
    order = sorted(set(text))
    ids = vocabulary.encode(text)
    assert ids.dtype == np.int64
    assert ids.tolist() == [order.index(character) for character in text]
    assert vocabulary.decode(ids) == text


@given(st.text(CHARACTERS, min_size=1), st.integers(1, 4))
def test_a_vocabulary_survives_json(text, min_count):
    vocabulary = CharVocabulary.from_text(text, min_count=min_count)
    again = CharVocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))
    assert again == vocabulary
    assert again.encode(text).tolist() == vocabulary.encode(text).tolist()


def test_rare_characters_share_the_unknown_id():
    text = "aaabbb\u20acc\U0001f600bb"
    assert rare_characters(text, 2) == {"c": 1, "\u20ac": 1, "\U0001f600": 1}
    vocabulary = CharVocabulary.from_text(text, min_count=2)
    assert vocabulary.characters == "ab" + UNKNOWN
    assert vocabulary.decode(vocabulary.encode(text)) == f"aaabbb{UNKNOWN * 3}bb"
    assert vocabulary.encode("\0zb").tolist() == [2, 2, 1]


@pytest.mark.parametrize(
    ("min_count", "kept"), [(-1, "abcd"), (0, "abcd"), (1, "abcd"), (2, "bcd"), (3, "cd"), (5, "")]
)
def test_a_character_that_occurs_min_count_times_is_kept(min_count, kept):
    text = "a" + "bb" + "ccc" + "dddd"
    vocabulary = CharVocabulary.from_text(text, min_count=min_count)
    assert vocabulary.characters == kept + UNKNOWN * (min_count > 1)
    assert vocabulary.unknown == (UNKNOWN if min_count > 1 else None)
    assert set(rare_characters(text, min_count)) == set("abcd") - set(kept)


def test_without_an_unknown_a_foreign_character_is_an_error_with_its_position():
    vocabulary = CharVocabulary("abd")
    for foreign in ("c", "\0", "\u20ac"):  # between, before and after the characters of the vocabulary
        with pytest.raises(ValueError, match=rf"\(U\+{ord(foreign):04X}\) at position 3\n.*3 characters"):
            vocabulary.encode("abd" + foreign + "a")


def test_an_empty_text_encodes_to_no_ids():
    ids = CharVocabulary("ab").encode("")
    assert ids.shape == (0,)
    assert ids.dtype == np.int64
    assert CharVocabulary("ab").decode([]) == ""


def test_vocabularies_compare_by_what_they_hold():
    assert CharVocabulary("ba") == CharVocabulary("ab")
    assert hash(CharVocabulary("ba")) == hash(CharVocabulary("ab"))
    assert CharVocabulary("ab") != CharVocabulary("abc")
    assert CharVocabulary("abc", unknown="c") != CharVocabulary("abc")
    assert CharVocabulary("ab") != "ab"
    assert eval(repr(CharVocabulary("ab", unknown="?"))) == CharVocabulary("ab", unknown="?")


@pytest.mark.parametrize("ids", [[0, 2], [-1], [[0, 1]], [0.0, 1.0]])
def test_ids_outside_the_vocabulary_are_refused(ids):
    with pytest.raises(ValueError, match="CharVocabulary.decode: ids"):
        CharVocabulary("ab").decode(ids)
    with pytest.raises(ValueError, match="unigram_entropy: ids"):
        unigram_entropy(ids, 2)


def test_the_unigram_entropy_is_that_of_the_counts():
    text = "entropy of characters, one by one"
    vocabulary = CharVocabulary.from_text(text + "XYZ")  # some characters never occur
    counts = Counter(text).values()
    expected = sum(count / len(text) * math.log(len(text) / count) for count in counts)
    assert math.isclose(unigram_entropy(vocabulary.encode(text), len(vocabulary)), expected, rel_tol=1e-14)


def test_the_unigram_entropy_lies_between_zero_and_log_v():
    assert math.isclose(unigram_entropy(np.arange(7), 7), math.log(7))
    one = unigram_entropy([3, 3, 3], 5)
    assert one == 0
    assert math.copysign(1, one) == 1


def test_a_vocabulary_of_one_character_knows_all_others_as_foreign():
    one = CharVocabulary("a")
    assert one.encode("aa").tolist() == [0, 0]
    for foreign in ("b", "\0"):
        with pytest.raises(ValueError, match="at position 1\n  expected one of the 1 characters"):
            one.encode("a" + foreign)
    assert CharVocabulary("", unknown="?").encode("?z!").tolist() == [0, 0, 0]
