"""Large feeds of this program go to the server of `argosy run` through shared memory: a message has their token alone.

argosy/tf/server/feeds/lent_feeds.h has the layout of the memory and of a token. A block of memory is used again when its
call has ended and the server's count of tensors in it is zero. What cannot be lent is sent as TensorFlow sends it.

Python 2.7 and 3, like sitecustomize.py beside it.
"""
import ctypes
import fcntl
import mmap
import os
import struct
import threading

_LEAST = 1 << 16  # bytes; what is smaller is sent sooner than lent
_MOST = 1 << 30  # bytes of one feed
_MOST_IN_ALL = 4 << 30
_MOST_BLOCKS = 32
_KEPT_FOR = 1000  # feeds: a block that none of them used is given up
_ELEMENTS_AT = 4096
_UNUSABLE, _FAILED_PRECONDITION = "a lent feed cannot be used", 9  # what the server says then
# Codes of calls that the server may still read: cancelled, unknown, too late, exhausted, aborted, internal, gone.
_MAY_GO_ON = (1, 2, 4, 8, 10, 13, 14)
_CLOSE_ON_EXEC, _ALLOW_SEALING, _ADD_SEALS, _SEAL_SHRINK = 1, 2, 1033, 2  # of memfd_create(2) and fcntl(2)


def _libc():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.memfd_create.argtypes = [ctypes.c_char_p, ctypes.c_uint]
    libc.posix_fallocate64.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return libc


class _Block(object):
    def __init__(self, libc, size):
        self.name = "argosy-feed-" + "".join("%02x" % b for b in bytearray(os.urandom(16)))
        self.file = libc.memfd_create(self.name.encode(), _CLOSE_ON_EXEC | _ALLOW_SEALING)
        if self.file < 0:
            raise OSError(ctypes.get_errno(), "memfd_create")
        try:
            whole = _ELEMENTS_AT + size
            if libc.posix_fallocate64(self.file, 0, whole) != 0:  # or writing could end this process
                raise OSError("no memory to share")
            fcntl.fcntl(self.file, _ADD_SEALS, _SEAL_SHRINK)
            self.memory = mmap.mmap(self.file, whole)
        except BaseException:
            os.close(self.file)
            raise
        self.size = size
        self.in_call, self.last_use = True, 0

    def write(self, array):
        import numpy as np

        np.copyto(np.ndarray(array.shape, array.dtype, self.memory, _ELEMENTS_AT), np.asarray(array))

    def is_free(self):
        return not self.in_call and struct.unpack("=i", self.memory[:4])[0] == 0

    def close(self):
        os.close(self.file)  # the memory goes with its last user


class _Blocks(object):
    """Of one process."""

    def __init__(self):
        self.process, self._lock, self._all, self._uses = os.getpid(), threading.Lock(), [], 0

    def take(self, libc, size):
        """A block that nobody uses; None: there is no room for one more."""
        with self._lock:
            self._uses += 1
            if self._uses % 256 == 0:
                self._forget(lambda b: b.is_free() and b.last_use < self._uses - _KEPT_FOR)
            fitting = [b for b in self._all if size <= b.size <= 4 * max(size, _LEAST) and b.is_free()]
            block = min(fitting, key=lambda b: b.size) if fitting else self._made(libc, size)
            if block is not None:
                block.in_call, block.last_use = True, self._uses
            return block

    def _made(self, libc, size):
        part = _LEAST
        while 16 * part < size:
            part *= 2
        room = -(-size // part) * part
        if not self._has_room(room):
            self._forget(_Block.is_free)
            if not self._has_room(room):
                return None
        try:
            self._all.append(_Block(libc, room))
        except (EnvironmentError, ValueError, OverflowError, MemoryError):  # no memory: the feed is sent
            return None
        return self._all[-1]

    def _has_room(self, room):
        return len(self._all) < _MOST_BLOCKS and sum(b.size for b in self._all) + room <= _MOST_IN_ALL

    def _forget(self, which):
        for block in [b for b in self._all if which(b)]:
            self._all.remove(block)
            block.close()

    def ended(self, blocks, may_be_read=False):
        """A call is over. What the server may still read is not written to again."""
        with self._lock:
            for block in blocks:
                block.in_call = False
            if may_be_read:
                self._forget(lambda b: b in blocks)

    def forget_free(self):
        with self._lock:
            self._forget(_Block.is_free)

    def leave(self):
        """In a fork: they are the parent's."""
        for block in self._all:
            block.close()


class Lender(object):
    def __init__(self, secret):
        self._secret, self._numbers, self._blocks = secret, {}, _Blocks()
        try:
            self._libc = _libc() if secret and os.environ.get("ARGOSY_LENT_FEEDS") != "0" else None
        except Exception:  # an old C library
            self._libc = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.blocks)

    def blocks(self):
        """Those of this process."""
        blocks = self._blocks
        if blocks.process != os.getpid():
            self._blocks, parents = _Blocks(), blocks
            parents.leave()
        return self._blocks

    def off(self):
        self._libc = None
        self.blocks().forget_free()

    def _number(self, dtype):
        """TensorFlow's number of a dtype; None: it has none."""
        if dtype not in self._numbers:
            from tensorflow.python.framework import dtypes

            try:
                self._numbers[dtype] = dtypes.as_dtype(dtype).as_datatype_enum
            except TypeError:
                self._numbers[dtype] = None
        return self._numbers[dtype]

    def lend(self, array, blocks):
        """(token, block) of an array in shared memory; None: it is to be sent."""
        import numpy as np

        libc = self._libc  # another thread may turn it off
        if libc is None or not isinstance(array, np.ndarray) or not _LEAST <= array.nbytes <= _MOST or \
                array.dtype.kind not in "iufc" or not array.dtype.isnative:
            return None
        number = self._number(array.dtype)
        block = None if number is None else blocks.take(libc, array.nbytes)
        if block is None:
            return None
        try:
            block.write(array)
        except BaseException as error:
            blocks.ended([block])
            if isinstance(error, Exception):  # an array of a kind of its own
                return None
            raise
        words = ["argosy-feed", self._secret, blocks.process, block.file, block.name, number]
        return " ".join(str(w) for w in words + list(array.shape)), block


def _call(lender, feeds, call):
    """call(feeds), the large ones of which are lent. `feeds`: a dict or a list."""
    import numpy as np

    blocks, taken, lent = lender.blocks(), [], None
    try:
        for key in feeds if isinstance(feeds, dict) else range(len(feeds)):
            found = lender.lend(feeds[key], blocks)
            if found is not None:
                taken.append(found[1])
                if lent is None:
                    lent = dict(feeds) if isinstance(feeds, dict) else list(feeds)
                lent[key] = np.array(found[0].encode(), dtype=object)
        given = call(feeds if lent is None else lent)
    except BaseException as error:
        code = getattr(error, "error_code", 2)
        if taken:
            blocks.ended(taken, may_be_read=code in _MAY_GO_ON)
        if not taken or code != _FAILED_PRECONDITION or _UNUSABLE not in (getattr(error, "message", None) or ""):
            raise
        lender.off()
    else:
        if taken:
            blocks.ended(taken)
        return given
    return call(feeds)  # nothing of the step ran


def _secret(folder):
    try:
        with open(os.path.join(folder, "secret")) as file:
            return file.read()
    except (IOError, OSError):
        return ""


def patch(session, folder, is_served):
    """`session`: BaseSession. is_served(target): that server knows the folder."""
    lender = Lender(_secret(folder))
    run = getattr(session, "_call_tf_sessionrun", None)
    if run is not None:

        def _call_tf_sessionrun(self, options, feed_dict, *more):
            if not feed_dict or not is_served(self._target):
                return run(self, options, feed_dict, *more)
            return _call(lender, feed_dict, lambda feeds: run(self, options, feeds, *more))

        session._call_tf_sessionrun = _call_tf_sessionrun
    made = getattr(session, "_Callable", None)
    if made is not None:
        plain = made.__call__

        def __call__(self, *args, **kwargs):
            if not args or not is_served(self._session._target):
                return plain(self, *args, **kwargs)
            return _call(lender, list(args), lambda feeds: plain(self, *feeds, **kwargs))

        made.__call__ = __call__
