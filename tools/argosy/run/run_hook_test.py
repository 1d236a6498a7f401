#!/usr/bin/env python3
"""What run/hook/sitecustomize.py does to a Python program, shown on a small package that has TensorFlow's folders (ctest
"cli_run_hook"); tests/oracle/scripts/run_scripts.py has the real one.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HOOK = pathlib.Path(__file__).resolve().parent / "hook"

TENSORFLOW = {
    "tensorflow/__init__.py": "from tensorflow import compat\nfrom tensorflow.python.client import session\n"
                              "def constant(v): return 'v2', v\nclass train: Checkpoint = 2\n",
    "tensorflow/compat/__init__.py": "from tensorflow.compat import v1\n",
    "tensorflow/compat/v1.py": "from tensorflow.python.client.session import Session\nstate = []\n"
                               "def disable_v2_behavior(): state.append('off')\n"
                               "def constant(v): return 'v1', v\ndef placeholder(): pass\nclass train: Saver = 1\n",
    "tensorflow/python/__init__.py": "",
    "tensorflow/python/client/__init__.py": "",
    "tensorflow/python/client/session.py":
        "class BaseSession:\n"
        "    def __init__(self, target='', graph=None, config=None): self.found = (target, graph, config)\n"
        "class Session(BaseSession):\n"
        "    def __init__(self, target='', graph=None, config=None): super().__init__(target, graph, config)\n",
    "tensorflow/core/__init__.py": "",
    "tensorflow/core/protobuf/__init__.py": "",
    "tensorflow/core/protobuf/config_pb2.py":
        "class ConfigProto:\n"
        "    def __init__(self, **fields): self.__dict__.update({'isolate_session_state': False, **fields})\n"
        "    def CopyFrom(self, other): self.__dict__.update(other.__dict__)\n"
        "    MergeFrom = CopyFrom\n",
}


class Hook(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.write({f"site-packages/{path}": text for path, text in TENSORFLOW.items()})

    def write(self, files):
        for path, text in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def python(self, script, target="grpc://127.0.0.1:7", files=None, path=(), hook=HOOK, fails=False):
        self.write({"user/script.py": script, **(files or {})})
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, [hook, self.folder / "site-packages", *path])))
        environment.pop("ARGOSY_TARGET", None)
        if target:
            environment["ARGOSY_TARGET"] = target
        ended = subprocess.run([sys.executable, "-B", str(self.folder / "user/script.py")], env=environment,
                               capture_output=True, text=True, timeout=60)
        if fails:
            self.assertEqual(ended.returncode, 1, ended.stderr)
            return ended.stderr
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.strip()

    def test_sessions_open_on_the_server(self):
        script = "import tensorflow as tf\ns = tf.compat.v1.Session().found\nprint(s[0], s[2].isolate_session_state)"
        self.assertEqual(self.python(script), "grpc://127.0.0.1:7 True")

    def test_a_target_of_the_users_stays(self):
        script = "import tensorflow as tf\nprint(tf.compat.v1.Session('grpc://a:1').found)"
        self.assertEqual(self.python(script), "('grpc://a:1', None, None)")

    def test_the_users_config_is_kept_and_not_changed(self):
        script = ("import tensorflow as tf\nfrom tensorflow.core.protobuf import config_pb2\n"
                  "mine = config_pb2.ConfigProto(threads=3)\nours = tf.compat.v1.Session(config=mine).found[2]\n"
                  "print(ours.threads, ours.isolate_session_state, mine.isolate_session_state)")
        self.assertEqual(self.python(script), "3 True False")

    def test_without_a_target_nothing_is_done(self):
        script = "import tensorflow as tf\nprint(tf.compat.v1.Session().found, hasattr(tf, 'Session'))"
        self.assertEqual(self.python(script, target=""), "('', None, None) False")

    def test_tensorflow_is_1_where_the_file_is_written_so(self):
        script = "import tensorflow as tf\nprint(tf.Session().found[0], tf.constant(1), tf.compat.v1.state, tf.train.Saver)"
        self.assertEqual(self.python(script), "grpc://127.0.0.1:7 ('v1', 1) ['off'] 1")

    def test_a_member_of_a_member_tells_too(self):
        self.assertEqual(self.python("import tensorflow as tf\nprint(tf.train.Saver, tf.constant(1))"), "1 ('v1', 1)")

    def test_tensorflow_2_stays_2(self):
        script = "import tensorflow as tf\nprint(tf.constant(1), tf.train.Checkpoint, tf.compat.v1.state)"
        self.assertEqual(self.python(script), "('v2', 1) 2 []")

    def test_every_file_is_asked_for_itself(self):
        files = {"user/old.py": "from tensorflow import placeholder, constant\nimport tensorflow.compat\nvalue = constant(2)\n"}
        script = "import old\nimport tensorflow as tf\nprint(old.value, tf.constant(3))"
        self.assertEqual(self.python(script, files=files), "('v1', 2) ('v2', 3)")

    def test_a_program_in_another_folder_than_the_server_is_told(self):
        here = self.folder / "hook"
        shutil.copytree(HOOK, here)
        (here / "folder").write_text(os.getcwd())
        script = ("import os\nimport tensorflow as tf\nos.chdir('/')\nopened = tf.compat.v1.Session()\nos.chdir(%r)\n"
                  "os.chdir('/')\nraise SystemExit(1)" % os.getcwd())
        told = self.python(script, hook=here, fails=True)
        self.assertIn(f"the program works in /. Relative file names in its graphs (checkpoints, records) are those of {os.getcwd()}", told)
        self.assertEqual(told.count("argosy run:"), 1)
        script = "import os\nimport tensorflow as tf\nos.chdir('/')\nos.chdir(%r)\ntf.compat.v1.Session()\nraise SystemExit(1)" % os.getcwd()
        self.assertNotIn("argosy run:", self.python(script, hook=here, fails=True))

    def test_functions_that_graphs_call_are_listened_for(self):
        files = {"site-packages/tensorflow/python/ops/__init__.py": "",
                 "site-packages/tensorflow/python/ops/script_ops.py":
                     "class FuncRegistry:\n    def _next_unique_token(self): return 'pyfunc_0'\n"}
        here = self.folder / "hook"
        shutil.copytree(HOOK, here)  # sockets lie beside it
        script = ("import os, socket\nfrom tensorflow.python.ops import script_ops\n"
                  "token = script_ops.FuncRegistry()._next_unique_token()\nassert token == 'pyfunc_0@%d' % os.getpid(), token\n"
                  f"socket.socket(socket.AF_UNIX).connect('{here}/calls_%d' % os.getpid())\nprint('heard')")
        self.assertEqual(self.python(script, files=files, hook=here), "heard")

    def test_a_program_that_needs_keras_2_is_told(self):
        ended = "raise AttributeError('`dense` is not available with Keras 3.')"
        told = self.python(ended, fails=True)
        self.assertIn("`dense` is not available", told)  # Python's own report stays
        self.assertIn("try    pip install tf_keras, then TF_USE_LEGACY_KERAS=1 argosy run", told)
        there = self.python(ended, files={"site-packages/tf_keras.py": ""}, fails=True)
        self.assertNotIn("pip install", there)
        self.assertIn("try    TF_USE_LEGACY_KERAS=1 argosy run", there)
        self.assertNotIn("tf_keras", self.python("raise AttributeError('no such thing')", fails=True))
        self.assertNotIn("tf_keras", self.python(ended, target="", fails=True))

    def test_the_users_own_sitecustomize_runs(self):
        files = {"theirs/sitecustomize.py": "import sys\nsys.marked = 'theirs'\n"}
        script = "import sys\nprint(getattr(sys, 'marked', None))"
        self.assertEqual(self.python(script, files=files, path=[self.folder / "theirs"]), "theirs")


if __name__ == "__main__":
    unittest.main()
