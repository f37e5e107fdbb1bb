"""Hostile answers that read, write and load files. The system's locks hold without the audit hook.

Tests `minirnn/learn/sandbox/locks/landlock.py`, `minirnn/learn/sandbox/locks/namespaces.py` and
`minirnn/learn/sandbox/locks/limits.py`.
"""

import numpy as np
import pytest

from minirnn.learn.sandbox.locks import namespaces
from minirnn.learn.sandbox.system_locks import locks
from tests.learn.answers import COURSE
from tests.learn.sandbox.attacks.attack import EVERY_WAY, Attack, needs

BOTH = ["all", pytest.param("no namespaces", marks=pytest.mark.slow)]
LIBRARY = np._core._multiarray_umath.__file__ if hasattr(np, "_core") else np.core._multiarray_umath.__file__


@pytest.mark.parametrize("way", BOTH)
def test_nothing_outside_is_read_written_or_listed(tmp_path, way):
    needs("landlock")
    bob = tmp_path / "bob.py"
    bob.write_text("another's work")
    code = f"""
    for path in ({str(bob)!r}, {str(COURSE.folder / "course.toml")!r}, '/etc/passwd', '/etc/hosts'):
        deed(f'read {{path}}', lambda: os.open(path, os.O_RDONLY))
        deed(f'libc {{path}}', lambda: libc.open(path.encode(), 0))
    path = {str(bob)!r}
    deed('write', lambda: os.open(path, os.O_WRONLY | os.O_APPEND))
    deed('truncate', lambda: os.truncate(path, 0))
    deed('remove', lambda: os.remove(path))
    deed('rename', lambda: os.rename(path, path + '2'))
    deed('link', lambda: os.link(path, 'link'))
    deed('symlink', lambda: os.symlink(path, 'symlink'))
    deed('through it', lambda: open('symlink').read())
    import minirnn.nn.own.file
    for path in ({str(tmp_path)!r}, {str(COURSE.folder / "solutions")!r}, {str(COURSE.folder.parent)!r}, '/tmp',
                 '/root', '/proc', '/'):
        deed(f'list {{path}}', lambda: os.listdir(path))
        deed(f'make {{path}}', lambda: open(path + '/minirnn-attack', 'w'))
    deed('devices', lambda: os.mknod('device', 0o20600, os.makedev(1, 3)))
    """
    assert Attack(tmp_path / "tree", EVERY_WAY[way], code).held()
    assert bob.read_text() == "another's work"


@pytest.mark.parametrize("way", BOTH)
def test_no_library_is_loaded_from_where_an_answer_can_write(tmp_path, way):
    needs("landlock")
    code = f"""
    import shutil, importlib.machinery, importlib.util
    def written(folder):
        path = folder + '/native.so'
        with open({LIBRARY!r}, 'rb') as source, open(path, 'wb') as file:
            file.write(source.read()[:8 << 20])
        print('written', folder)
        return path
    def imported(path):
        loader = importlib.machinery.ExtensionFileLoader('native', path)
        return importlib.util.module_from_spec(importlib.util.spec_from_loader('native', loader))
    for folder in ('.', os.environ['TMPDIR'], '/tmp', '/dev/shm', '/var/tmp', '/run', {str(tmp_path)!r}):
        deed(f'load {{folder}}', lambda: ctypes.CDLL(written(folder)) and 0)
        deed(f'import {{folder}}', lambda: imported(written(folder)) and 0)
    deed('memfd', lambda: libc.memfd_create(b'native', 0))
    """
    attack = Attack(tmp_path / "tree", EVERY_WAY[way], code)
    assert attack.held()
    assert ("written ." in attack.result.prints) == (way == "all" and locks().scratch)


SPACE, FILES = namespaces.SCRATCH_BYTES, namespaces.SCRATCH_FILES


@pytest.mark.parametrize("way", BOTH)
def test_all_files_together_are_bounded(tmp_path, way):
    needs("landlock")
    code = f"""
    total = 0
    try:
        for k in range(400):
            with open(f'big{{k}}', 'wb', buffering=0) as file:
                total += file.write(bytes(1 << 20))
    except OSError:
        pass
    print('DONE' if total > {SPACE} else 'refused', total)
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


@pytest.mark.parametrize("way", BOTH)
def test_few_files_can_be_made(tmp_path, way):
    needs("landlock")
    code = f"""
    n = 0
    try:
        for k in range(20000):
            os.close(os.open(f'small{{k}}', os.O_CREAT | os.O_WRONLY))
            n += 1
    except OSError:
        pass
    print('DONE' if n > {FILES} else 'refused', n)
    try:
        for k in range(20000):
            os.mkdir(f'folder{{k}}')
            n += 1
    except OSError:
        pass
    print('DONE' if n > {FILES} else 'refused', n)
    deed('hard link', lambda: os.link('small0', 'link'))
    deed('symbolic link', lambda: os.symlink('/', 'link'))
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


@pytest.mark.parametrize("way", BOTH)
def test_a_hole_is_no_way_to_a_huge_file(tmp_path, way):
    needs("landlock")
    code = """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    def huge(size):
        with open('sparse', 'wb') as file:
            os.ftruncate(file.fileno(), size)
    for size in (1 << 31, 1 << 40, 1 << 60):
        deed(size, lambda: huge(size))
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


def test_where_nothing_bounds_it_nothing_is_written(tmp_path):
    needs("landlock")
    code = "deed('write', lambda: open('file', 'w'))\ndeed('temporary', lambda: __import__('tempfile').mkstemp())"
    assert Attack(tmp_path, EVERY_WAY["no namespaces"], code).held()


def test_a_file_of_one_session_is_gone_in_the_next(tmp_path):
    """Hidden cases run in a separate process with a separate scratch folder."""
    code = """
    print('DONE' if os.path.exists('kept') and not globals().get('here') else 'refused')
    globals()['here'] = True
    try: open('kept', 'w').close()
    except OSError: pass
    """
    assert Attack(tmp_path, EVERY_WAY["all"], code, hidden=True).held()
