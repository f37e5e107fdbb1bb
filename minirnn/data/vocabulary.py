"""Characters as numbers, and the entropy that a network has to beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown

UNKNOWN = "\ufffd"  # REPLACEMENT CHARACTER, Unicode's own sign for "a character that can't be shown"


class CharVocabulary:
    """A sorted set of characters; the id of a character is its index.

    Parameters
    ----------
    characters : iterable of str
        The characters, in any order; duplicates count once.
    unknown : str, optional
        A character that represents all others. It is added to the vocabulary. None (default) means that there is no
        such character. A character outside the vocabulary is then an error, so no text is changed silently.

    Attributes
    ----------
    characters : str
        All characters, sorted by code point: ``characters[id]`` is the character of an id.
    unknown : str or None

    Examples
    --------
    >>> vocabulary = CharVocabulary.from_text("hello")
    >>> vocabulary.characters, len(vocabulary)
    ('ehlo', 4)
    >>> vocabulary.encode("hole")
    array([1, 3, 2, 0])
    >>> vocabulary.decode([1, 3, 2, 0])
    'hole'
    """

    def __init__(self, characters: Iterable[str], *, unknown: str | None = None) -> None:
        if not isinstance(characters, Iterable):
            raise TypeError(f"CharVocabulary: got a {type(characters).__name__}\n  expected text, or single characters")
        chosen = set(characters) | ({unknown} if unknown is not None else set())
        if not chosen:
            raise ValueError("CharVocabulary: no characters\n  expected at least one\n  an empty text?")
        for character in chosen:
            if not isinstance(character, str) or len(character) != 1:
                raise ValueError(f"CharVocabulary: {shown(character)} in characters\n  expected single characters")
        self.characters = "".join(sorted(chosen))
        self.unknown = unknown
        self._code_points = _code_points(self.characters)  # (V,), ascending, since Python sorts by code point

    @classmethod
    def from_text(cls, text: str, *, min_count: int = 1) -> CharVocabulary:
        """Collect the characters of a text.

        Parameters
        ----------
        text : str
        min_count : int
            Characters that occur less often share one id, that of U+FFFD (shown as a question mark in a diamond): a
            network can't learn from two examples, and each id costs a row of weights. The default, 1, keeps every
            character. `rare_characters` lists what a threshold would replace.
        """
        _check_text("CharVocabulary.from_text", text)
        if check.integer("CharVocabulary.from_text", "min_count", min_count) <= 1:
            return cls(text)
        rare = rare_characters(text, min_count)
        return cls(set(text) - set(rare), unknown=UNKNOWN)

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of the characters of `text`, (N,) int64.

        Raises ValueError for a character outside the vocabulary, unless there is an `unknown` character.
        """
        _check_text("CharVocabulary.encode", text)
        wanted = _code_points(text)
        ids = np.searchsorted(self._code_points, wanted)
        ids[ids == len(self)] = 0  # after the last one; the comparison below detects it
        outside = self._code_points[ids] != wanted
        if outside.any():
            if self.unknown is None:
                where = int(outside.argmax())
                raise ValueError(
                    f"CharVocabulary.encode: {text[where]!r} (U+{ord(text[where]):04X}) at position {where}\n"
                    f"  expected one of the {len(self)} characters of the vocabulary\n"
                    "  it does not occur in the text that the vocabulary was made from"
                )
            ids[outside] = self.characters.index(self.unknown)
        return ids

    def decode(self, ids: Any) -> str:
        """Return the characters of `ids`, whole numbers 0 .. V-1 in one axis, as a string."""
        numbers = check_ids("CharVocabulary.decode", ids, len(self))
        return "".join([self.characters[number] for number in numbers.tolist()])

    def to_json(self) -> dict[str, Any]:
        """Return plain strings for a checkpoint's metadata; `from_json` makes an equal vocabulary from them."""
        return {"characters": self.characters, "unknown": self.unknown}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> CharVocabulary:
        """Rebuild a vocabulary from what `to_json` returned."""
        try:
            characters, unknown = saved["characters"], saved["unknown"]
        except (KeyError, TypeError):
            characters, unknown = None, None
        if not isinstance(characters, str) or not isinstance(unknown, str | None):
            raise ValueError(
                f"CharVocabulary.from_json: got {str(saved)[:80]}\n"
                '  expected {"characters": str, "unknown": str or None}, as to_json writes it'
            )
        return cls(characters, unknown=unknown)

    def __len__(self) -> int:
        return len(self.characters)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CharVocabulary):
            return NotImplemented
        return self.characters == other.characters and self.unknown == other.unknown

    def __hash__(self) -> int:
        return hash((self.characters, self.unknown))

    def __repr__(self) -> str:
        return f"CharVocabulary({self.characters!r}, unknown={self.unknown!r})"


def rare_characters(text: str, min_count: int) -> dict[str, int]:
    """Return the characters that occur less than `min_count` times, with their counts, in sorted order."""
    return {character: count for character, count in sorted(Counter(text).items()) if count < min_count}


def unigram_entropy(ids: Any, V: int) -> float:
    """Return the entropy of the characters taken one by one, in nats per character.

        H = - sum_v p_v log(p_v)        p_v = share of id v among all ids

    It is the cross entropy of the best model that sees no other character and knows only how frequent each one is. A
    network whose loss stays there has learned the alphabet. The entropy is at most log(V), the loss of a network that
    knows nothing; divided by log(2) it is in bits. Raises ValueError if there are no ids, or ids outside 0 .. V-1.

    Parameters
    ----------
    ids : array_like of int
        (N,), values 0 .. V-1, N at least 1.
    V : int
        Size of the vocabulary.
    """
    numbers = check_ids("unigram_entropy", ids, V)
    if not numbers.size:
        raise ValueError("unigram_entropy: no ids\n  expected (N,) with N at least 1")
    p = np.bincount(numbers, minlength=V) / numbers.size
    p = p[p > 0]  # p log(p) -> 0 as p -> 0
    return float(-(p * np.log(p)).sum()) + 0.0  # + 0.0, so that the entropy of a single character is 0 and not -0


def check_ids(function: str, ids: Any, V: int | None = None) -> np.ndarray:
    """Return `ids` as an integer array (N,), or raise ValueError if they are not ids of a vocabulary of size V."""
    try:
        numbers = np.asarray(ids)
    except ValueError:
        raise ValueError(f"{function}: ids is a ragged list\n  expected whole numbers, (N,)") from None
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(
            f"{function}: ids has shape {numbers.shape} and dtype {numbers.dtype}\n"
            "  expected whole numbers, (N,): character after character"
        )
    numbers = numbers.astype(np.int64, copy=False)
    if V is not None and numbers.size and not 0 <= numbers.min() <= numbers.max() < V:
        where = int(((numbers < 0) | (numbers >= V)).argmax())
        raise ValueError(
            f"{function}: ids[{where}] is {numbers[where]}\n"
            f"  expected 0 .. {V - 1}, from a vocabulary of {V} characters\n"
            "  ids from another vocabulary?"
        )
    return numbers


def _check_text(function: str, text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{function}: got a {type(text).__name__}\n  expected text, a str")


def _code_points(text: str) -> np.ndarray:
    # One 4-byte number per character: the encoding does the loop over the text.
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
