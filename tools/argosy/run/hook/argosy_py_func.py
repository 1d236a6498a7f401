"""Functions of this program that its graphs call by name (tf.py_func and its kin), called by the server of `argosy run`.

The server finds this process by what is added to the names: "pyfunc_3@4711" is pyfunc_3 of process 4711, which listens at the
socket calls_4711 in the folder of this file. The messages are those of argosy/tf/server/callbacks/py_func_connection.h. There is a
thread for each connection, that is for as many calls as come at once; all are daemons and end with the program.

Python 2.7 and 3, like sitecustomize.py beside it.
"""
import os
import socket
import struct
import sys
import threading
import traceback

_OUT_OF_RANGE, _UNKNOWN, _INVALID_ARGUMENT, _RESOURCE_EXHAUSTED, _UNIMPLEMENTED = 11, 2, 3, 8, 12


class Calls(object):
    def __init__(self, folder, script_ops):
        self._folder, self._script_ops = folder, script_ops
        self._lock = threading.Lock()
        self._process = None  # that listens: a fork has no threads

    def name(self, token):
        process = os.getpid()
        with self._lock:
            if self._process != process:
                self._listen(process)
        return "%s@%d" % (token, process)

    def _listen(self, process):
        path = os.path.join(self._folder, "calls_%d" % process)
        if os.path.exists(path):  # of an earlier process of that number
            os.remove(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(128)
        self._process = process
        _start(self._accept, listener)

    def _accept(self, listener):
        while True:
            _start(self._serve, listener.accept()[0])

    def _serve(self, connection):
        try:
            while True:
                token, arguments = _read_call(connection)
                try:
                    parts = [struct.pack("=I", 0)] + _tensor_parts(self._call(token, arguments))
                except BaseException as error:
                    parts = [struct.pack("=I", _code(error)), _text(_told(error))]
                for part in parts:
                    connection.sendall(part)
        except (EOFError, socket.error):
            pass  # the server has gone, or has given up
        finally:
            connection.close()

    def _call(self, token, arguments):
        registry = self._script_ops._py_funcs
        if isinstance(registry._funcs.get(token), getattr(self._script_ops, "EagerFunc", ())):
            from tensorflow.python.eager import context
            from tensorflow.python.framework import constant_op

            with context.eager_mode():
                given = registry(token, None, [constant_op.constant(a) for a in arguments])
                given = given if isinstance(given, (list, tuple)) else [] if given is None else [given]
                return [g.numpy() for g in given]
        # As TensorFlow gives them: what has no axes is no array.
        given = registry(token, None, [a[()] for a in arguments])
        if given is None or (getattr(given, "shape", 0) == () and given.dtype == object and given[()] is None):
            return []
        return given if isinstance(given, (list, tuple)) else [given]


def _start(function, argument):
    thread = threading.Thread(target=function, args=(argument,), name="argosy_calls")
    thread.daemon = True
    thread.start()


def _code(error):
    """As TensorFlow's own kernel tells them apart."""
    for kinds, code in (((ValueError, TypeError), _INVALID_ARGUMENT), (StopIteration, _OUT_OF_RANGE),
                        (MemoryError, _RESOURCE_EXHAUSTED), (NotImplementedError, _UNIMPLEMENTED)):
        if isinstance(error, kinds):
            return code
    return _UNKNOWN


def _told(error):
    if isinstance(error, StopIteration):
        return "StopIteration: "
    where = "".join(traceback.format_tb(sys.exc_info()[2]))
    told = "%s: %s\nTraceback (most recent call last):\n%s" % (type(error).__name__, error, where)
    return told if isinstance(told, bytes) else told.encode("utf8", "replace")


# --- messages ------------------------------------------------------------------------------------------------------------


def _read(connection, size):
    got = bytearray(size)
    view, at = memoryview(got), 0
    while at < size:
        n = connection.recv_into(view[at:])
        if n == 0:
            raise EOFError()
        at += n
    return got


def _read_number(connection, form):
    return struct.unpack(form, bytes(_read(connection, struct.calcsize(form))))[0]


def _read_text(connection):
    return bytes(_read(connection, _read_number(connection, "=Q")))


def _read_call(connection):
    token = _read_text(connection)
    token = token if isinstance(token, str) else token.decode()
    return token, [_read_tensor(connection) for _ in range(_read_number(connection, "=I"))]


def _read_tensor(connection):
    import numpy as np
    from tensorflow.python.framework import dtypes

    dtype, rank = _read_number(connection, "=I"), _read_number(connection, "=I")
    sizes = [_read_number(connection, "=q") for _ in range(rank)]
    data = _read(connection, _read_number(connection, "=Q"))
    if dtypes.as_dtype(dtype) != dtypes.string:
        return np.frombuffer(data, dtypes.as_dtype(dtype).as_numpy_dtype).reshape(sizes)  # may be written to
    texts, at = np.empty(sizes, object), 0
    for i in range(texts.size):
        length = struct.unpack_from("=Q", data, at)[0]
        texts.flat[i] = bytes(data[at + 8:at + 8 + length])
        at += 8 + length
    return texts


def _text(text):
    text = text if isinstance(text, bytes) else text.encode("utf8")
    return struct.pack("=Q", len(text)) + text


def _tensor_parts(arrays):
    import numpy as np
    from tensorflow.python.framework import dtypes

    parts = [struct.pack("=I", len(arrays))]
    for given in arrays:
        array = np.asarray(given)
        is_text = array.dtype.char in "OSU"
        dtype = dtypes.string if is_text else dtypes.as_dtype(array.dtype.type)
        parts.append(struct.pack("=II%dq" % array.ndim, dtype.as_datatype_enum, array.ndim, *array.shape))
        if is_text:
            texts = b"".join(_text(t) for t in array.ravel().tolist())
            parts += [struct.pack("=Q", len(texts)), texts]
        else:
            parts.append(struct.pack("=Q", array.nbytes))
            if array.nbytes:
                parts.append(memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8)))
    return parts
