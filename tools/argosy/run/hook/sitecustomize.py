"""What `argosy run` puts in front of a Python program, through PYTHONPATH: sessions of TensorFlow open on its server.

* A session without a target of its own (tf.Session, InteractiveSession, MonitoredTrainingSession, Supervisor, Keras in
  graph mode: all end in BaseSession) gets $ARGOSY_TARGET, and its state is its own, as it is in TensorFlow's process.
* Functions that a graph calls (tf.py_func, tf.py_function, Dataset.from_generator) are called here, by the server.
* tf.train.Server is a server of Argosy's (argosy_server.py).
* device_lib.list_local_devices() names the server's devices, and MirroredStrategy() mirrors on its GPUs.
* A program that ends because TensorFlow no longer has tf.layers and its kin is told what brings them back.
* Where a file of the user's says `import tensorflow as tf` and uses names that only TensorFlow 1.x had, `tf` is 1.x. So it
  is then in all other files of the program, but for those that use names that only 2.x has.

Python 2.7 and 3: wheels of TensorFlow 1.x were made for both. Nothing is imported that the program does not import, no
file is written outside of this folder, and the user's own sitecustomize is run as well.
"""
import ast
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


class _Version1(types.ModuleType):
    """The names of tensorflow.compat.v1, and behind them those of tensorflow."""

    def __init__(self, real):
        super(_Version1, self).__init__("tensorflow", real.__doc__)
        self.__dict__.update(_real=real, __file__=real.__file__, __path__=real.__path__, __spec__=real.__spec__)

    def __getattr__(self, name):
        real = self.__dict__["_real"]
        v1 = real.compat.v1
        if name != "compat" and not name.startswith("__") and hasattr(v1, name):
            return getattr(v1, name)
        return getattr(real, name)

    def __dir__(self):
        return sorted(set(dir(self._real.compat.v1)) | set(dir(self._real)))


def _is_users(path):
    path = os.path.normcase(os.path.abspath(path))
    if os.sep + "site-packages" + os.sep in path or os.sep + "dist-packages" + os.sep in path:
        return False
    library = os.path.normcase(os.path.dirname(os.__file__)) + os.sep
    return not path.startswith(library) and os.path.dirname(path) != _HERE


def _chain(node):
    """["tf", "train", "AdamOptimizer"] of tf.train.AdamOptimizer; nothing of any other expression."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id] + names[::-1] if isinstance(node, ast.Name) else []


def _has(module, names):
    for name in names:
        try:
            module = getattr(module, name)
        except Exception:
            return False
    return True


_files = {}    # path of a user's file -> the names of tensorflow that it uses, and the modules that it imports
_asked = {}    # path of a user's file -> is it given 1.x
_version1 = []
_MOST_FILES = 1000  # of a program that are looked at


def _look_at(path):
    path = path[:-1] if path.endswith((".pyc", ".pyo")) else path  # Python 2
    if path not in _files:
        _files[path] = _names_and_imports(path)
    return _files[path]


def _names_and_imports(path):
    """By the plain name of tensorflow: [["train", "AdamOptimizer"], ...]; (level, name) of modules."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, IOError, SyntaxError, ValueError, TypeError):
        return [], []
    aliases, wanted, modules = set(), [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases.update(n.asname or n.name for n in node.names if n.name == "tensorflow")
            modules += [(0, n.name) for n in node.names]
        elif isinstance(node, ast.ImportFrom):
            level, name = node.level or 0, node.module or ""
            if name == "tensorflow" and level == 0:
                wanted += [[n.name] for n in node.names]
            modules += [(level, name)] + [(level, (name + "." if name else "") + n.name) for n in node.names]
    wanted += [c[1:] for c in (_chain(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute)) if c and c[0] in aliases]
    return wanted, modules


def _uses_only_1(names, real):
    """Are there names among them that only TensorFlow 1.x had?"""
    return any(not _has(real, n) and _has(real.compat.v1, n) for n in names)


def _uses_only_2(names, real):
    both = [n for n in names if n[0] != "compat" and not n[0].startswith("__")]  # what 1.x takes from 2.x as well
    return any(_has(real, n) and not _has(real.compat.v1, n) for n in both)


def _loaded_files():
    """The user's files among the modules, those that are being imported included."""
    found = []
    for module in list(sys.modules.values()):
        values = getattr(module, "__dict__", None)  # asking a lazy module for its file would load it
        path = values.get("__file__") if isinstance(values, dict) else None
        if isinstance(path, str) and _is_users(path):
            found.append(os.path.abspath(path))
    return found


def _imported_files(path, modules):
    here, found = os.path.dirname(path), []
    anywhere = [here] + [os.path.abspath(p or ".") for p in sys.path if _is_users(os.path.join(p or ".", "x.py"))]
    for level, name in modules:
        parts = name.split(".") if name else []
        if level == 0 and parts[:1] == ["tensorflow"]:
            continue
        above = os.path.normpath(os.path.join(here, *[os.pardir] * (level - 1)))
        for root in [above] if level else anywhere:
            base = os.path.join(root, *parts)
            found += [f for f in (base + ".py", os.path.join(base, "__init__.py")) if os.path.isfile(f) and _is_users(f)]
    return found


def _program_is_1(real):
    """Is some file of the program written for 1.x? As far as imports show: it may be one that comes later."""
    if _version1:
        return True
    waiting, seen = _loaded_files(), set()
    while waiting and len(seen) < _MOST_FILES:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        names, modules = _look_at(path)
        if _uses_only_1(names, real):
            return True
        waiting += _imported_files(path, modules)
    return False


def _gets_1(path, real):
    names, _ = _look_at(path)
    return _uses_only_1(names, real) or (not _uses_only_2(names, real) and _program_is_1(real))


def _tensorflow_for(path, real):
    if path not in _asked:
        if not hasattr(real, "compat") or not hasattr(real.compat, "v1"):
            return real  # half imported, or older than compat
        is_1 = getattr(real, "__version__", "").startswith("1.")  # asking for its names would make it warn
        _asked[path] = not is_1 and _gets_1(path, real)
        if _asked[path] and not _version1:
            real.compat.v1.disable_v2_behavior()
            _version1.append(_Version1(real))
    return _version1[0] if _asked[path] else real


def _patch_import():
    plain = builtins.__import__
    absolute = 0 if sys.version_info[0] > 2 else -1  # of Python 2: or relative, whichever is found

    def __import__(name, globals=None, locals=None, fromlist=(), level=absolute):
        module = plain(name, globals, locals, fromlist, level)
        top = name == "tensorflow" or (name.startswith("tensorflow.") and not fromlist)
        if level <= 0 and top and globals and globals.get("__file__") and _is_users(globals["__file__"]):
            return _tensorflow_for(globals["__file__"], module)
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
    import argosy_py_func  # while their folder is on the path
    import argosy_server

    _folder = _Folder()
    sys.meta_path.insert(0, _Finder())
    _patch_import()
    _patch_excepthook()
_run_users_sitecustomize()
