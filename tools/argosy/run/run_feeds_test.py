#!/usr/bin/env python3
"""What run/hook/argosy_feeds.py lends, and when it writes to the same memory again, with stand-ins for numpy and
TensorFlow (ctest "cli_run_feeds"). tests/oracle/scripts/run_scripts.py has the real ones.
"""
import importlib.util
import mmap
import os
import pathlib
import struct
import sys
import tempfile
import threading
import types
import unittest

HOOK = pathlib.Path(__file__).resolve().parent / "hook"


class DType:
    def __init__(self, kind, size, number, isnative=True):
        self.kind, self.size, self.number, self.isnative = kind, size, number, isnative


FLOAT, BOOL, SWAPPED, ODD = DType("f", 4, 1), DType("b", 1, 10), DType("f", 4, 1, False), DType("f", 16, None)


class NdArray:
    def __init__(self, shape, dtype, memory=None, at=0):
        self.shape, self.dtype, self.at = shape, dtype, at
        self.nbytes = dtype.size
        for size in shape:
            self.nbytes *= size
        self.memory = bytearray(self.nbytes) if memory is None else memory


def filled(byte, elements, dtype=FLOAT):
    array = NdArray((elements,), dtype)
    array.memory[:] = bytes([byte]) * array.nbytes
    return array


def numpy():
    module = types.ModuleType("numpy")

    def copyto(to, array):
        to.memory[to.at:to.at + array.nbytes] = bytes(array.memory)

    def asarray(array):
        if getattr(array, "refuses", False):
            raise TypeError("this array is of a kind of its own")
        return array

    module.ndarray, module.copyto, module.asarray = NdArray, copyto, asarray
    module.array = lambda value, dtype: value
    return module


def dtypes():
    module = types.ModuleType("tensorflow.python.framework.dtypes")

    def as_dtype(dtype):
        if dtype.number is None:
            raise TypeError("no such type")
        return types.SimpleNamespace(as_datatype_enum=dtype.number)

    module.as_dtype = as_dtype
    return module


class Failed(Exception):
    def __init__(self, error_code, text=""):
        super().__init__(text)
        self.error_code, self.message = error_code, text


class Server:
    """Reads tokens as the server does, and keeps what it is told to."""

    def __init__(self):
        self.tokens, self.fails, self.keeps = [], None, False

    def run(self, session, options, feeds, *more):
        seen = {}
        for key, value in feeds.items():
            if isinstance(value, bytes):
                self.tokens.append(value.decode())
                word, secret, pid, file, name, number, *sizes = value.decode().split()
                assert (word, secret) == ("argosy-feed", "s3cret"), value
                assert int(pid) == os.getpid() and number == "1", value
                assert os.readlink("/proc/%s/fd/%s" % (pid, file)) == "/memfd:%s (deleted)" % name
                memory = mmap.mmap(int(file), 0)
                if self.keeps:
                    memory[:4] = struct.pack("=i", 1)
                seen[key] = memory[4096:4096 + 4 * int(sizes[0])]
                memory.close()
            else:
                seen[key] = value
        if self.fails is not None:
            raise self.fails
        return seen

    def names(self):
        return [token.split()[4] for token in self.tokens]


class Feeds(unittest.TestCase):
    def setUp(self):
        sys.modules.update({"numpy": numpy(), "tensorflow": types.ModuleType("tensorflow"),
                            "tensorflow.python": types.ModuleType("tensorflow.python"),
                            "tensorflow.python.framework": types.ModuleType("tensorflow.python.framework")})
        sys.modules["tensorflow.python.framework"].dtypes = dtypes()
        self.addCleanup(lambda: [sys.modules.pop(n) for n in list(sys.modules) if n.split(".")[0] in ("numpy", "tensorflow")])
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        pathlib.Path(self.folder.name, "secret").write_text("s3cret")
        self.made()

    def made(self, target=b"grpc://here:1"):
        spec = importlib.util.spec_from_file_location("argosy_feeds", HOOK / "argosy_feeds.py")
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.server = server = Server()

        class Callable:
            def __init__(self, session):
                self._session = session

            def __call__(self, *args, **kwargs):
                return server.run(None, None, dict(enumerate(args))), kwargs

        class Session:
            _target = target
            _Callable = Callable

            def _call_tf_sessionrun(self, options, feed_dict, fetches):
                return server.run(self, options, feed_dict, fetches)

        self.module.patch(Session, self.folder.name, lambda t: t == b"grpc://here:1")
        self.session, self.callable = Session(), Callable(Session())

    def run_step(self, **feeds):
        return self.session._call_tf_sessionrun(None, feeds, [])

    def test_a_large_feed_is_lent_and_a_small_one_is_sent(self):
        small, swapped, odd = filled(1, 16), filled(2, 1 << 16, SWAPPED), filled(3, 1 << 16, ODD)
        flags = filled(1, 1 << 20, BOOL)
        seen = self.run_step(large=filled(7, 1 << 16), small=small, swapped=swapped, odd=odd, flags=flags, text="t")
        self.assertEqual(seen["large"], b"\7" * (4 << 16))
        self.assertIs(seen["small"], small)
        self.assertIs(seen["swapped"], swapped)
        self.assertIs(seen["odd"], odd)
        self.assertIs(seen["flags"], flags)
        self.assertEqual(seen["text"], "t")
        self.assertEqual(len(self.server.tokens), 1)

    def test_the_users_feeds_are_not_changed(self):
        feeds = {"x": filled(7, 1 << 16)}
        array = feeds["x"]
        self.session._call_tf_sessionrun(None, feeds, [])
        self.assertIs(feeds["x"], array)

    def test_a_session_of_another_server_sends(self):
        self.made(target=b"grpc://elsewhere:1")
        array = filled(7, 1 << 16)
        self.assertIs(self.run_step(x=array)["x"], array)

    def test_a_callable_lends_too(self):
        seen, more = self.callable(filled(7, 1 << 16), "t", run_metadata=None)
        self.assertEqual(seen[0], b"\7" * (4 << 16))
        self.assertEqual((seen[1], more), ("t", {"run_metadata": None}))

    def test_memory_is_used_again_once_nobody_has_it(self):
        for _ in range(3):
            self.run_step(x=filled(7, 1 << 16))
        self.assertEqual(len(set(self.server.names())), 1)
        self.server.keeps = True
        self.run_step(x=filled(7, 1 << 16))  # a variable has it now
        self.server.keeps = False
        self.run_step(x=filled(7, 1 << 16))
        self.run_step(x=filled(7, 1 << 16))
        names = self.server.names()
        self.assertEqual(names[:4], names[:1] * 4)
        self.assertNotEqual(names[4], names[0])
        self.assertEqual(names[5], names[4])

    def test_two_feeds_of_a_call_have_memory_of_their_own(self):
        seen = self.run_step(x=filled(7, 1 << 16), y=filled(8, 1 << 16))
        self.assertEqual((seen["x"][:1], seen["y"][:1]), (b"\7", b"\x08"))

    def test_what_a_lost_call_may_still_read_is_not_written_again(self):
        self.run_step(x=filled(7, 1 << 16))
        self.server.fails = Failed(3, "InvalidArgument")
        with self.assertRaises(Failed):
            self.run_step(x=filled(7, 1 << 16))
        self.server.fails = Failed(4, "DeadlineExceeded")
        with self.assertRaises(Failed):
            self.run_step(x=filled(7, 1 << 16))
        self.server.fails = KeyboardInterrupt()
        with self.assertRaises(KeyboardInterrupt):
            self.run_step(x=filled(7, 1 << 16))
        self.server.fails = None
        self.run_step(x=filled(7, 1 << 16))
        names = self.server.names()
        self.assertEqual(names[:3], names[:1] * 3)
        self.assertEqual(len(set(names[2:])), 3)

    def test_a_server_that_cannot_use_the_memory_gets_the_elements(self):
        array, tries = filled(7, 1 << 16), []
        plain = self.server.run

        def run(session, options, feeds, *more):
            tries.append(feeds["x"])
            if isinstance(feeds["x"], bytes):
                raise Failed(9, "a lent feed cannot be used: it is gone (feed x:0)")
            return plain(session, options, feeds, *more)

        self.server.run = run
        self.assertIs(self.run_step(x=array)["x"], array)
        self.assertIs(self.run_step(x=array)["x"], array)
        self.assertEqual([isinstance(t, bytes) for t in tries], [True, False, False])

    def test_memory_has_a_limit_and_what_is_free_makes_room(self):
        self.module._MOST_IN_ALL = 3 << 20
        self.run_step(x=filled(7, 1 << 18))  # 1 MiB
        self.run_step(x=filled(7, 1 << 19))  # 2 MiB
        self.run_step(x=filled(7, 3 << 17))  # 1.5 MiB: the second one again
        seen = self.run_step(x=filled(7, 1 << 18), y=filled(8, 1 << 18), z=filled(9, 1 << 18))
        self.assertEqual(sum(isinstance(v, bytes) for v in seen.values()), 2)  # and one is sent
        self.assertEqual(len(set(self.server.names())), 2)
        self.run_step(x=filled(7, 3 << 18))  # 3 MiB: the free ones are given up
        self.assertEqual(len(set(self.server.names())), 3)
        self.assertEqual(self.run_step(x=filled(7, 1 << 18))["x"][:1], b"\7")

    def test_a_block_is_little_larger_than_its_feed_and_not_used_for_much_smaller_ones(self):
        sizes = lambda: sorted(b.size for b in self.lender()._blocks._all)
        self.run_step(x=filled(7, (520 << 20) // 4 // 64))
        self.assertEqual(sizes(), [9 << 20])
        self.run_step(x=filled(7, 1 << 16))
        self.assertEqual(sizes(), [1 << 18, 9 << 20])

    def lender(self):
        return self.session._call_tf_sessionrun.__func__.__closure__[1].cell_contents

    def test_a_block_that_is_not_used_any_more_is_given_up(self):
        self.run_step(x=filled(7, 1 << 19))
        for _ in range(1400):
            self.run_step(x=filled(7, 1 << 14))
        self.assertEqual([b.size for b in self.lender()._blocks._all], [1 << 16])

    def test_an_array_that_cannot_be_copied_is_sent_and_its_block_is_free(self):
        array = filled(7, 1 << 16)
        array.refuses = True
        self.assertIs(self.run_step(x=array)["x"], array)
        self.run_step(x=filled(7, 1 << 16))
        self.assertEqual(len(self.lender()._blocks._all), 1)

    def test_threads_go_on_when_one_of_them_turns_it_off(self):
        plain, failed = self.server.run, []

        def run(session, options, feeds, *more):
            if isinstance(feeds["x"], bytes):
                raise Failed(9, "a lent feed cannot be used: it is gone (feed x:0)")
            return plain(session, options, feeds, *more)

        self.server.run = run

        def work():
            try:
                for _ in range(20):
                    self.run_step(x=filled(7, 1 << 16))
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(self.lender()._blocks._all, [])

    def test_a_fork_has_memory_of_its_own(self):
        self.run_step(x=filled(7, 1 << 16))
        child = os.fork()
        if child == 0:
            try:
                self.run_step(x=filled(9, 1 << 16))
                names = self.server.names()
                files = [os.readlink("/proc/self/fd/" + f) for f in os.listdir("/proc/self/fd")
                         if os.path.lexists("/proc/self/fd/" + f)]
                os._exit(0 if names[0] != names[1] and len({f for f in files if "memfd:argosy-feed" in f}) == 1 else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.run_step(x=filled(7, 1 << 16))
        self.assertEqual(len(set(self.server.names())), 1)

    def test_it_can_be_turned_off(self):
        os.environ["ARGOSY_LENT_FEEDS"] = "0"
        self.addCleanup(os.environ.pop, "ARGOSY_LENT_FEEDS")
        self.made()
        array = filled(7, 1 << 16)
        self.assertIs(self.run_step(x=array)["x"], array)


if __name__ == "__main__":
    unittest.main()
