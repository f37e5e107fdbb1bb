"""The fixtures of tests that run ``minirnn train``."""

from tests.train.runs import no_pictures, text, train, unrendered

__all__ = ["no_pictures", "text", "train", "unrendered"]
