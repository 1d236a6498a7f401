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
_ELEMENTS_AT = 4096
_UNUSABLE = "a lent feed cannot be used"  # what the server says then
_MAY_GO_ON = (1, 2, 4, 10, 14)  # codes of calls that the server may still read: cancelled, unknown, too late, aborted, gone
_CLOSE_ON_EXEC, _ALLOW_SEALING, _ADD_SEALS, _SEAL_SHRINK = 1, 2, 1033, 2  # of memfd_create(2) and fcntl(2)


def _libc():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.memfd_create.argtypes = [ctypes.c_char_p, ctypes.c_uint]
    libc.posix_fallocate64.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return libc


class _Block(object):
    def __init__(self, libc, size):
        self.name = "argosy-" + "".join("%02x" % b for b in bytearray(os.urandom(16)))
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
        self.in_call = True

    def write(self, array):
        import numpy as np

        np.copyto(np.ndarray(array.shape, array.dtype, self.memory, _ELEMENTS_AT), array)

    def is_free(self):
        return not self.in_call and struct.unpack("=i", self.memory[:4])[0] == 0

    def close(self):
        os.close(self.file)  # the memory goes with its last user


class Lender(object):
    def __init__(self, folder):
        self._folder, self._numbers = folder, {}
        self._begin(os.getpid())

    def _begin(self, process):
        self._process, self._lock, self._blocks = process, threading.Lock(), []
        try:
            self._libc = None if os.environ.get("ARGOSY_LENT_FEEDS") == "0" else _libc()
        except Exception:  # an old C library
            self._libc = None

    def off(self):
        self._libc = None

    def lend(self, array):
        """(token, block) of an array in shared memory; None: it is to be sent."""
        import numpy as np

        if self._libc is None or not isinstance(array, np.ndarray) or not _LEAST <= array.nbytes <= _MOST or \
                array.dtype.kind not in "iufc" or not array.dtype.isnative:
            return None
        if self._process != os.getpid():  # a fork: the blocks are its parent's
            self._begin(os.getpid())
        number = self._number(array.dtype)
        block = None if number is None else self._take(array.nbytes)
        if block is None:
            return None
        block.write(array)
        words = [self._process, block.file, block.name, number]
        return "%s/feed %s" % (self._folder, " ".join(str(w) for w in words + list(array.shape))), block

    def _number(self, dtype):
        """TensorFlow's number of a dtype; None: it has none."""
        if dtype not in self._numbers:
            from tensorflow.python.framework import dtypes

            try:
                self._numbers[dtype] = dtypes.as_dtype(dtype).as_datatype_enum
            except TypeError:
                self._numbers[dtype] = None
        return self._numbers[dtype]

    def _take(self, size):
        with self._lock:
            fitting = [b for b in self._blocks if b.size >= size and b.is_free()]
            if fitting:
                block = min(fitting, key=lambda b: b.size)
                block.in_call = True
                return block
            room = _LEAST
            while room < size:
                room *= 2
            if len(self._blocks) >= _MOST_BLOCKS or sum(b.size for b in self._blocks) + room > _MOST_IN_ALL:
                for block in [b for b in self._blocks if b.is_free()]:
                    self._forget(block)
                if len(self._blocks) >= _MOST_BLOCKS or sum(b.size for b in self._blocks) + room > _MOST_IN_ALL:
                    return None
            try:
                self._blocks.append(_Block(self._libc, room))
            except (OSError, IOError, ValueError, OverflowError, MemoryError):
                return None
            return self._blocks[-1]

    def _forget(self, block):
        self._blocks.remove(block)
        block.close()

    def ended(self, blocks, may_be_read=False):
        """A call is over. What the server may still read is not written to again."""
        with self._lock:
            for block in blocks:
                if not may_be_read:
                    block.in_call = False
                elif block in self._blocks:
                    self._forget(block)


def _call(lender, feeds, call):
    """call(feeds), the large ones of which are lent. `feeds`: a dict or a list."""
    import numpy as np

    blocks, lent = [], None
    try:
        for key in feeds if isinstance(feeds, dict) else range(len(feeds)):
            found = lender.lend(feeds[key])
            if found is not None:
                if lent is None:
                    lent = dict(feeds) if isinstance(feeds, dict) else list(feeds)
                lent[key] = np.array(found[0].encode(), dtype=object)
                blocks.append(found[1])
        given = call(feeds if lent is None else lent)
    except BaseException as error:
        lender.ended(blocks, getattr(error, "error_code", 2) in _MAY_GO_ON)
        if _UNUSABLE not in str(error):
            raise
        lender.off()
    else:
        lender.ended(blocks)
        return given
    return call(feeds)  # nothing of the step ran


def patch(session, folder, is_served):
    """`session`: BaseSession. is_served(target): that server knows the folder."""
    lender = Lender(folder)
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
