"""The fixtures of tests that run ``minirnn train``."""

from tests.train.runs import brief, no_pictures, text, train, unrendered

__all__ = ["brief", "no_pictures", "text", "train", "unrendered"]
