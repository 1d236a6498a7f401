"""Which TensorFlow a file of the user's finds by the name of `tensorflow`, on a wheel of 2.x.

| the file uses        | it gets                                                               |
|----------------------|-----------------------------------------------------------------------|
| a name only 1.x had  | 1.x, and 2.x behaviour is disabled for the program                    |
| a name only 2.x has  | 2.x                                                                   |
| names of both        | 1.x where a file of the program is of 1.x, else 2.x                   |

Files of the program are those that are loaded and those that they import while they are loaded themselves: at the top, in a
`try`, and of the program itself in `if __name__ == "__main__"`. Imports in functions are not looked at: nobody knows whether they happen.
"""
import ast
import os
import sys
import types

_HERE = os.path.dirname(os.path.abspath(__file__))
_MOST_FILES = 1000  # of a program that are looked at


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


def is_users(path):
    path = os.path.normcase(os.path.abspath(path))
    if os.sep + "site-packages" + os.sep in path or os.sep + "dist-packages" + os.sep in path:
        return False
    library = os.path.normcase(os.path.dirname(os.__file__)) + os.sep
    return not path.startswith(library) and os.path.dirname(path) != _HERE


# --- what a file says ----------------------------------------------------------------------------------------------------


_files = {}  # path of a user's file -> the names of tensorflow that it uses, and the modules that it imports


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
        elif isinstance(node, ast.ImportFrom) and node.module == "tensorflow" and not node.level:
            wanted += [[n.name] for n in node.names]
    wanted += [c[1:] for c in (_chain(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute)) if c and c[0] in aliases]
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    for node in _executed(tree.body, main is not None and os.path.abspath(main) == os.path.abspath(path)):
        if isinstance(node, ast.Import):
            modules += [(0, n.name) for n in node.names]
        elif isinstance(node, ast.ImportFrom):
            level, name = node.level or 0, node.module or ""
            modules += [(level, name)] + [(level, (name + "." if name else "") + n.name) for n in node.names]
    return wanted, modules


def _executed(body, main):
    """The statements that run when the file is loaded, as far as that is plain; `main`: it is the program itself."""
    for node in body:
        yield node
        kind = type(node).__name__
        inner = []
        if kind in ("Try", "TryStar", "TryExcept", "TryFinally"):  # Python 2 has the last two
            inner = node.body + getattr(node, "orelse", []) + getattr(node, "finalbody", [])
        elif kind == "With" or (kind == "If" and main and _asks_for_main(node.test)):
            inner = node.body
        for statement in _executed(inner, main):
            yield statement


def _asks_for_main(test):
    """Is it __name__ == "__main__"?"""
    return isinstance(test, ast.Compare) and any(getattr(n, "id", "") == "__name__" for n in [test.left] + test.comparators)


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


def _only_1(names, real):
    """The first name among them that only TensorFlow 1.x had: "train.AdamOptimizer"."""
    return next((".".join(n) for n in names if not _has(real, n) and _has(real.compat.v1, n)), None)


def _uses_only_2(names, real):
    both = [n for n in names if n[0] != "compat" and not n[0].startswith("__")]  # what 1.x takes from 2.x as well
    return any(_has(real, n) and not _has(real.compat.v1, n) for n in both)


# --- the files of a program ----------------------------------------------------------------------------------------------


_known = {}       # name of a module that is loaded -> its file
_walked = set()   # files that are not of 1.x, and whose imports were followed
_roots = {}       # (sys.path, name of a module) -> the folder of sys.path that has it


def _loaded_files():
    """The user's files among the modules, those that are being imported included."""
    found = []
    for name, module in list(sys.modules.items()):
        if name not in _known:
            values = getattr(module, "__dict__", None)  # asking a lazy module for its file would load it
            path = values.get("__file__") if isinstance(values, dict) else None
            if not isinstance(path, str):
                continue
            _known[name] = os.path.abspath(path) if is_users(path) else None
        if _known[name]:
            found.append(_known[name])
    return found


def _is_module(base):
    return os.path.isfile(base + ".py") or os.path.isfile(os.path.join(base, "__init__.py"))


def _root_of(name, beside):
    """The folder that `import name` takes it from. None: nobody's, or built in."""
    if name in sys.builtin_module_names:
        return None
    places = [os.path.abspath(p or ".") for p in ([beside] if sys.version_info[0] < 3 else []) + sys.path]
    key = (tuple(places), name)
    if key not in _roots:
        regular = (p for p in places if _is_module(os.path.join(p, name)))
        namespace = (p for p in places if os.path.isdir(os.path.join(p, name)))
        _roots[key] = next(regular, None) or next(namespace, None)
    return _roots[key]


def _imported_files(path, modules):
    here, found = os.path.dirname(path), []
    for level, name in modules:
        parts = name.split(".") if name else []
        if level:
            root = os.path.normpath(os.path.join(here, *[os.pardir] * (level - 1)))
        else:
            root = _root_of(parts[0], here) if parts and parts[0] != "tensorflow" else None
        if root is None or not is_users(os.path.join(root, "x.py")):
            continue
        for depth in range(1, len(parts) + 1):  # packages above a module are loaded, too
            base = os.path.join(root, *parts[:depth])
            found += [f for f in (base + ".py", os.path.join(base, "__init__.py")) if os.path.isfile(f) and is_users(f)]
    return found


def _file_of_1(real):
    """(path, name that only 1.x had) of some file of the program, also of one that comes later; or None."""
    waiting = _loaded_files()
    while waiting and len(_walked) < _MOST_FILES:
        path = waiting.pop()
        if path in _walked:
            continue
        names, modules = _look_at(path)
        old = _only_1(names, real)
        if old:
            return path, old
        _walked.add(path)
        waiting += _imported_files(path, modules)
    return None


# --- which one -----------------------------------------------------------------------------------------------------------


_asked = {}     # path of a user's file -> is it given 1.x
_version1 = []  # what is given, once


def _is_1(path, real):
    names, _ = _look_at(path)
    if _only_1(names, real):
        return True
    if _uses_only_2(names, real):
        return False
    if _version1:
        return True
    other = _file_of_1(real)
    if other:
        sys.stderr.write("argosy run: %s uses tf.%s, which only TensorFlow 1.x had: tensorflow is 1.x in this program\n" % other)
    return bool(other)


def tensorflow_for(path, real):
    """What `import tensorflow` in the file gives; `real` is the wheel's."""
    if path not in _asked:
        if not hasattr(real, "compat") or not hasattr(real.compat, "v1"):
            return real  # half imported, or older than compat
        wheel_is_1 = getattr(real, "__version__", "").startswith("1.")  # asking for its names would make it warn
        _asked[path] = not wheel_is_1 and _is_1(path, real)
        if _asked[path] and not _version1:
            real.compat.v1.disable_v2_behavior()
            _version1.append(_Version1(real))
    return _version1[0] if _asked[path] else real
