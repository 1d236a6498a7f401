"""What `argosy run` puts in front of a Python program, through PYTHONPATH: sessions of TensorFlow open on its server.

* A session without a target of its own (tf.Session, InteractiveSession, MonitoredTrainingSession, Supervisor, Keras in
  graph mode: all end in BaseSession) gets $ARGOSY_TARGET, and its state is its own, as it is in TensorFlow's process.
* Large feeds go there through shared memory (argosy_feeds.py).
* Functions that a graph calls (tf.py_func, tf.py_function, Dataset.from_generator) are called here, by the server.
* tf.train.Server is a server of Argosy's (argosy_server.py).
* device_lib.list_local_devices() names the server's devices, and MirroredStrategy() mirrors on its GPUs.
* A program that ends because TensorFlow no longer has tf.layers and its kin is told what brings them back.
* A program that was written for TensorFlow 1.x finds it by the name of tensorflow (argosy_versions.py).

Python 2.7 and 3: wheels of TensorFlow 1.x were made for both. Nothing is imported that the program does not import, no
file is written outside of this folder, and the user's own sitecustomize is run as well.
"""
import os
import sys
import types

try:
    import builtins
except ImportError:  # Python 2
    import __builtin__ as builtins

_TARGET = os.environ.get("ARGOSY_TARGET", "")
_HERE = os.path.dirname(os.path.abspath(__file__))


# --- sessions ------------------------------------------------------------------------------------------------------------


class _Folder(object):
    """Tells a program that works in another folder than the server: file names in graphs are the server's."""

    def __init__(self):
        try:
            with open(os.path.join(_HERE, "folder")) as file:
                self._server = file.read()
        except IOError:  # not told: nothing to compare with
            self._server = ""
        self._opened = self._told = False
        self._chdir, os.chdir = os.chdir, self._change

    def _change(self, path):
        self._chdir(path)
        self._look()

    def session_opened(self):
        self._opened = True
        self._look()

    def _look(self):
        if not self._opened or self._told or not self._server or os.path.realpath(os.getcwd()) == os.path.realpath(self._server):
            return
        self._told = True
        sys.stderr.write("argosy run: the program works in %s. Relative file names in its graphs (checkpoints, records) are those of %s\n"
                         "  try    cd %s before argosy run, or absolute names\n" % (os.getcwd(), self._server, os.getcwd()))


def _patch_session(module):
    base = module.BaseSession
    plain = base.__init__

    def __init__(self, target="", graph=None, config=None):
        if not target:
            from tensorflow.core.protobuf import config_pb2

            own = config_pb2.ConfigProto()
            if config is not None:
                own.CopyFrom(config)
            else:
                own.MergeFrom(_default_config())
            own.isolate_session_state = True
            for pools in ("use_per_session_threads", "session_inter_op_thread_pool"):  # sessions on servers have none
                own.ClearField(pools)
            target, config = _TARGET, own
            _folder.session_opened()
        argosy_server.check_target(target, _TARGET)
        plain(self, target, graph, argosy_server.with_servers_config(target, config))

    base.__init__ = __init__
    argosy_feeds.patch(base, _HERE, lambda target: argosy_server.serves(target, _TARGET))


def _default_config():
    """What BaseSession takes when it is given none."""
    try:
        from tensorflow.python.eager import context

        return context.context().config
    except Exception:  # TensorFlow 1.x has no such thing
        from tensorflow.core.protobuf import config_pb2

        return config_pb2.ConfigProto()


def _patch_device_lib(module):
    def list_local_devices(session_config=None):
        from tensorflow.core.framework import device_attributes_pb2
        from tensorflow.python.client import session
        from tensorflow.python.framework import ops

        with session.Session(_TARGET, graph=ops.Graph(), config=session_config) as here:
            found = here.list_devices()
        return [device_attributes_pb2.DeviceAttributes(name=d.name, device_type=d.device_type, incarnation=d.incarnation % 2**64,
                                                       memory_limit=d.memory_limit_bytes) for d in found]

    module.list_local_devices = list_local_devices


def _patch_mirrored(module):
    plain = module.all_local_devices

    def all_local_devices(num_gpus=None):
        from tensorflow.python.client import device_lib
        from tensorflow.python.eager import context

        if context.executing_eagerly():  # not on the server
            return plain(num_gpus)
        count = sum(d.device_type == "GPU" for d in device_lib.list_local_devices())
        count = count if num_gpus is None else min(count, num_gpus)
        names = ["/device:GPU:%d" % i for i in range(count)]
        if not names:
            return plain(num_gpus)
        if all(isinstance(d, str) for d in plain(0)):  # TensorFlow 1.x
            return tuple(names)
        return [context.LogicalDevice(name, "GPU") for name in names]

    module.all_local_devices = all_local_devices


def _patch_context(module):
    plain = module.Context.enable_collective_ops

    def enable_collective_ops(self, server_def):
        tasks = sum(len(job.tasks) for job in server_def.cluster.job) if server_def else 0
        if tasks > 1:
            raise RuntimeError(
                "argosy run: MultiWorkerMirroredStrategy in eager mode makes this process a TensorFlow worker itself, which computes "
                "without Argosy\n  try    tf.compat.v1.disable_v2_behavior() and a session before the strategy is made; or run it "
                "without argosy run")
        plain(self, server_def)

    module.Context.enable_collective_ops = enable_collective_ops


def _patch_script_ops(module):
    """Functions of the program that graphs call by name (tf.py_func): the server calls them here."""
    registry = module.FuncRegistry
    plain = registry._next_unique_token
    calls = argosy_py_func.Calls(_HERE, module)
    registry._next_unique_token = lambda self: calls.name(plain(self))


def _patch_server_lib(module):
    argosy_server.patch(module, _TARGET)


_PATCHES = {"tensorflow.python.client.session": _patch_session,
            "tensorflow.python.training.server_lib": _patch_server_lib,
            "tensorflow.python.ops.script_ops": _patch_script_ops,
            "tensorflow.python.eager.context": _patch_context,
            "tensorflow.python.distribute.mirrored_strategy": _patch_mirrored,
            "tensorflow.python.client.device_lib": _patch_device_lib}


class _Finder(object):
    """Finds what the others find, and patches it once it is loaded."""

    def find_spec(self, name, path=None, target=None):
        patch = _PATCHES.get(name)
        if patch is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, patch)
                return spec
        return None

    def find_module(self, name, path=None):  # Python 2
        if name not in _PATCHES:
            return None
        import imp

        try:
            return _Loader2(imp.find_module(name.rpartition(".")[2], path), _PATCHES[name])
        except ImportError:
            return None


class _Loader(object):
    def __init__(self, loader, patch):
        self._loader, self._patch = loader, patch

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._patch(module)


class _Loader2(object):
    def __init__(self, found, patch):
        self._found, self._patch = found, patch

    def load_module(self, name):
        import imp

        file = self._found[0]
        try:
            module = imp.load_module(name, *self._found)
        finally:
            if file is not None:
                file.close()
        self._patch(module)
        return module


# --- TensorFlow 1.x by the name of tensorflow ----------------------------------------------------------------------------


def _patch_import():
    plain = builtins.__import__
    absolute = 0 if sys.version_info[0] > 2 else -1  # of Python 2: or relative, whichever is found

    def __import__(name, globals=None, locals=None, fromlist=(), level=absolute):
        module = plain(name, globals, locals, fromlist, level)
        top = name == "tensorflow" or (name.startswith("tensorflow.") and not fromlist)
        if level <= 0 and top and globals and globals.get("__file__") and argosy_versions.is_users(globals["__file__"]):
            return argosy_versions.tensorflow_for(globals["__file__"], module)
        return module

    builtins.__import__ = __import__


# --- what TensorFlow has left out ----------------------------------------------------------------------------------------


def _hint(error):
    """From TensorFlow 2.16 on tf.layers, rnn_cell and Keras in graph mode are those of another package."""
    text = str(error)
    if not isinstance(error, (AttributeError, ImportError)):
        return ""
    asked = os.environ.get("TF_USE_LEGACY_KERAS", "") in ("1", "true", "True")
    if "not available with Keras 3" not in text and not (asked and "Keras cannot be imported" in text):
        return ""
    try:
        import tf_keras  # noqa: F401

        install = ""
    except Exception:
        install = "pip install tf_keras, then "
    return ("argosy run: tf.layers, tf.nn.rnn_cell and tf.compat.v1.keras are Keras 2, which TensorFlow from 2.16 on leaves to a "
            "package of its own\n  try    %sTF_USE_LEGACY_KERAS=1 argosy run ... -- %s" % (install, " ".join(["python"] + sys.argv)))


def _patch_excepthook():
    plain = sys.excepthook

    def excepthook(kind, error, trace):
        plain(kind, error, trace)
        hint = _hint(error)
        if hint:
            sys.stderr.write(hint + "\n")

    sys.excepthook = excepthook


# --- the user's own ------------------------------------------------------------------------------------------------------


def _run_users_sitecustomize():
    mine = sys.modules.pop("sitecustomize", None)
    _Finder.module = mine  # Python 2 empties a module that nobody holds
    hidden = [p for p in sys.path if os.path.abspath(p or ".") == _HERE]
    sys.path[:] = [p for p in sys.path if p not in hidden]
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if mine is not None:
            sys.modules["sitecustomize"] = mine


if _TARGET:
    import argosy_feeds  # while their folder is on the path
    import argosy_py_func
    import argosy_server
    import argosy_versions

    _folder = _Folder()
    sys.meta_path.insert(0, _Finder())
    _patch_import()
    _patch_excepthook()
_run_users_sitecustomize()
