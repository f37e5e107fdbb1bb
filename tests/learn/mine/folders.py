"""Course folders for tests: answers that are right and have passed, and others."""

from pathlib import Path

from minirnn.learn.course import Tree, load, new_tree

COURSE = load()


def tree_with(root: Path, *ids: str, **changed: str) -> Tree:
    """A course folder in which the answers `ids` are right and passed. Those in `changed` have other texts."""
    tree = new_tree(root, COURSE)
    for id in {*ids, *changed}:
        entry = COURSE.entry(id)
        tree.file(entry).write_text(changed.get(id) or COURSE.solution(entry))
        tree.note_passed(entry, True)
    return tree
