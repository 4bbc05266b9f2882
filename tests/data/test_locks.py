import builtins
import errno
import importlib
import sys
import threading
import types

import pytest

from curriculum_labeling.data import locks


class Windows(types.ModuleType):
    """Windows' byte locks as its manual has them: a byte that another handle holds is refused with EACCES."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self):
        super().__init__("msvcrt")
        self.holder = None

    def locking(self, handle, mode, size):
        assert size == 1
        if mode == self.LK_UNLCK:
            assert self.holder == handle
            self.holder = None
        elif self.holder is None:
            self.holder = handle
        else:
            raise PermissionError(errno.EACCES, "Permission denied")


@pytest.fixture
def windows(monkeypatch):
    """The locks as they are imported where there is no fcntl."""
    real, found = builtins.__import__, Windows()

    def without_fcntl(name, *rest):
        if name == "fcntl":
            raise ImportError("No module named 'fcntl'")
        return real(name, *rest)

    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "msvcrt", found)
        patch.setattr(builtins, "__import__", without_fcntl)
        importlib.reload(locks)
    assert locks.fcntl is None
    yield found
    importlib.reload(locks)
    assert locks.fcntl is not None


def enter_twice(path):
    """What happens when a second thread wants the lock that the first holds."""
    told, waiting = [], threading.Event()

    def second():
        waiting.set()
        with locks.exclusive(path):
            told.append("second")

    thread = threading.Thread(target=second)
    with locks.exclusive(path):
        thread.start()
        waiting.wait()
        thread.join(0.3)
        told.append("first")
    thread.join(10)
    return told


def test_a_second_writer_waits_for_the_first(tmp_path):
    assert enter_twice(tmp_path / "a.lock") == ["first", "second"]


def test_a_second_writer_waits_for_the_first_on_windows(tmp_path, windows):
    assert enter_twice(tmp_path / "a.lock") == ["first", "second"]
    assert windows.holder is None


def test_a_lock_is_free_again_after_an_error(tmp_path, windows):
    with pytest.raises(KeyError), locks.exclusive(tmp_path / "a.lock"):
        raise KeyError("fault")
    assert windows.holder is None


def test_an_attempt_never_waits(tmp_path):
    with locks.attempt(tmp_path / "lock") as first:
        with locks.attempt(tmp_path / "lock") as second:
            assert (first, second) == (True, False)
        # A failed attempt lets go of nothing.
        with locks.attempt(tmp_path / "lock") as third:
            assert not third
    with locks.attempt(tmp_path / "lock") as free:
        assert free


def test_an_attempt_never_waits_on_windows_either(tmp_path, windows):
    with locks.attempt(tmp_path / "lock") as first, locks.attempt(tmp_path / "lock") as second:
        assert (first, second) == (True, False)
    assert windows.holder is None
