#!/usr/bin/env python3
"""What run/hook/sitecustomize.py does to a Python program, shown on a small package that has TensorFlow's folders (ctest
"cli_run_hook"); tests/oracle/scripts/run_scripts.py has the real one.
"""
import importlib.util
import json
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
        "    MergeFrom = CopyFrom\n"
        "    def ClearField(self, name): self.__dict__.pop(name, None)\n",
}


def server_module():
    spec = importlib.util.spec_from_file_location("argosy_server", HOOK / "argosy_server.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Config:
    """A message of protobuf's, as far as configs are merged."""

    def __init__(self, **fields):
        self.fields = fields

    def ListFields(self):
        return list(self.fields.items())

    def MergeFrom(self, other):
        self.fields = {**self.fields, **other.fields}

    CopyFrom = MergeFrom


class Server(unittest.TestCase):
    def ends_after(self, *looks):
        """How many looks at the two workers join() takes; each look: who is there, a second after the one before."""
        module, at = server_module(), [-1]
        module._is_there = lambda address: address in looks[min(at[0], len(looks) - 1)]
        module.time = type("Clock", (), {"time": staticmethod(lambda: at[0]), "sleep": staticmethod(lambda _: step())})

        def step():
            at[0] += 1
            if at[0] > 50:
                raise TimeoutError

        step()
        try:
            module.wait_for_the_end({"ps": {"0": "p"}, "worker": {"0": "a", "1": "b"}}, "ps")
        except TimeoutError:
            return None
        return at[0]

    def test_join_ends_when_all_were_there_and_are_gone(self):
        self.assertEqual(self.ends_after("ab", "ab", ""), 4)
        self.assertEqual(self.ends_after("a", "a", "b", ""), 5)
        self.assertIsNone(self.ends_after("a", "a", ""))  # b never came
        self.assertIsNone(self.ends_after("ab", "b"))

    def test_join_waits_while_one_is_there_and_looks_at_the_others_take_long(self):
        module, now, looks = server_module(), [0.0], [0]

        def is_there(address):  # four hosts are switched off after the first round: each look at one takes a second
            looks[0] += 1
            if looks[0] > 100:
                raise TimeoutError
            if looks[0] <= 5 or address == "a":
                return True
            now[0] += 1
            return False

        def sleep(seconds):
            now[0] += seconds

        module._is_there = is_there
        module.time = type("Clock", (), {"time": staticmethod(lambda: now[0]), "sleep": staticmethod(sleep)})
        with self.assertRaises(TimeoutError):
            module.wait_for_the_end({"ps": {"0": "p"}, "worker": dict(zip("01234", "abcde"))}, "ps")

    def test_join_waits_for_a_task_that_comes_back_late(self):
        gone = ["b"] * 10
        self.assertEqual(self.ends_after("ab", *gone, "ab", "a", "a", "a", "a", ""), 18)

    def test_the_servers_config_lies_under_the_sessions(self):
        module = server_module()
        module._configs["t"] = Config(timeout=500, soft=True)
        self.assertEqual(module.with_servers_config("t", None).fields, {"timeout": 500, "soft": True})
        self.assertEqual(module.with_servers_config("t", Config(timeout=1)).fields, {"timeout": 1, "soft": True})
        own = Config(timeout=1)
        self.assertIs(module.with_servers_config("other", own), own)


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

    def python(self, script, target="grpc://127.0.0.1:7", files=None, path=(), hook=HOOK, fails=False, variables=None):
        self.write({"user/script.py": script, **(files or {})})
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, [hook, self.folder / "site-packages", *path])))
        environment.pop("ARGOSY_TARGET", None)
        if target:
            environment["ARGOSY_TARGET"] = target
        environment.update(variables or {})
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

    def test_thread_pools_of_a_session_are_left_out(self):
        script = ("import tensorflow as tf\nfrom tensorflow.core.protobuf import config_pb2\n"
                  "mine = config_pb2.ConfigProto(use_per_session_threads=True, session_inter_op_thread_pool=[1], threads=3)\n"
                  "ours = tf.compat.v1.Session(config=mine).found[2]\n"
                  "theirs = tf.compat.v1.Session('grpc://a:1', config=mine).found[2]\n"
                  "print(sorted(vars(ours)), len(vars(mine)), theirs is mine)")
        self.assertEqual(self.python(script), "['isolate_session_state', 'threads'] 4 True")

    OLD = "from tensorflow import placeholder, constant\nimport tensorflow.compat\nvalue = constant(2)\n"
    EITHER = "import tensorflow as tf\nvalue = tf.constant(4)\n"

    def test_one_file_of_1_makes_all_of_them_1(self):
        script = "import old\nimport tensorflow as tf\nprint(old.value, tf.constant(3))"
        self.assertEqual(self.python(script, files={"user/old.py": self.OLD}), "('v1', 2) ('v1', 3)")

    def test_a_file_of_2_stays_2_beside_files_of_1(self):
        script = "import old\nimport tensorflow as tf\nprint(old.value, tf.constant(3), tf.train.Checkpoint)"
        self.assertEqual(self.python(script, files={"user/old.py": self.OLD}), "('v1', 2) ('v2', 3) 2")

    def test_a_file_is_1_for_one_that_comes_later(self):
        files = {"user/either.py": self.EITHER, "user/old.py": self.OLD}
        self.assertEqual(self.python("import either\nimport old\nprint(either.value)", files=files), "('v1', 4)")
        self.assertEqual(self.python("import either\nimport tensorflow as tf\nprint(either.value, tf.Session.__name__)", files=files),
                         "('v1', 4) Session")
        self.assertEqual(self.python("import either\nprint(either.value)", files=files), "('v2', 4)")
        files = {"user/net/__init__.py": "", "user/net/either.py": self.EITHER, "user/net/part/__init__.py": "from .. import old\n",
                 "user/net/old.py": self.OLD}
        self.assertEqual(self.python("import net.either\nfrom net import part\nprint(net.either.value)", files=files), "('v1', 4)")

    def test_only_imports_that_happen_when_a_file_is_loaded_tell(self):
        files = {"user/either.py": self.EITHER, "user/old.py": self.OLD}
        for imports, version in (("def convert():\n    import old\n", "v2"), ("if False:\n    import old\n", "v2"),
                                 ("try:\n    import old\nexcept ImportError:\n    pass\n", "v1"),
                                 ("if __name__ == '__main__':\n    import old\n", "v1")):
            self.assertEqual(self.python("import either\n%sprint(either.value)" % imports, files=files), "('%s', 4)" % version, imports)
        files["user/more.py"] = "if __name__ == '__main__':\n    import old\n"
        self.assertEqual(self.python("import either, more\nprint(either.value)", files=files), "('v2', 4)")

    def test_modules_are_looked_for_where_python_looks(self):
        files = {"user/net/__init__.py": "", "user/net/either.py": "import random, sys, old\n" + self.EITHER, "user/net/random.py": self.OLD,
                 "user/net/sys.py": self.OLD, "user/net/old.py": self.OLD, "user/old.py": ""}
        script = "import net.either\nprint(net.either.value)"
        self.assertEqual(self.python(script, files=files), "('v2', 4)")
        files["user/net/either.py"] = "from . import random\n" + self.EITHER
        self.assertEqual(self.python(script, files=files), "('v1', 4)")
        # What a package is made of is loaded with its parts.
        files = {"user/either.py": self.EITHER, "user/lib/__init__.py": self.OLD, "user/lib/part.py": ""}
        self.assertEqual(self.python("import either, lib.part\nprint(either.value)", files=files), "('v1', 4)")

    def test_the_file_that_makes_a_program_1_is_named(self):
        files = {"user/either.py": self.EITHER, "user/old.py": self.OLD}
        told = self.python("import either\nimport old\nraise SystemExit(1)", files=files, fails=True)
        self.assertIn("old.py uses tf.placeholder, which only TensorFlow 1.x had: tensorflow is 1.x in this program", told)
        self.assertEqual(told.count("argosy run:"), 1)
        told = self.python("import old\nimport either\nraise SystemExit(1)", files=files, fails=True)
        self.assertEqual(told, "")

    def test_a_program_of_many_files_is_walked_once(self):
        count = 60
        files = {f"user/part{i}.py": "".join(f"import part{j}\n" for j in range(i + 1, count)) + self.EITHER for i in range(count)}
        looks = ("import sys, os\ncalls = []\nplain = os.path.isfile\n"
                 "os.path.isfile = lambda p: calls.append(p) or plain(p)\nimport part0\n"
                 "print(len([c for c in calls if c.endswith('part59.py')]), part0.value)")
        looked, value = self.python(looks, files=files).split(" ", 1)
        self.assertEqual(value, "('v2', 4)")
        self.assertLess(int(looked), 4 * count)

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

    SERVER = {"site-packages/tensorflow/python/training/__init__.py": "",
              "site-packages/tensorflow/python/training/server_lib.py":
                  "class Server: pass\n"
                  "class Of:\n    def __init__(self, **fields): self.__dict__.update(fields)\n"
                  "def _make_server_def(spec, job, task, protocol, config):\n"
                  "    jobs = [Of(name=n, tasks=dict(enumerate(t))) for n, t in spec.items()]\n"
                  "    return Of(cluster=Of(job=jobs), job_name=job, task_index=task, default_session_config=None)\n"}
    SERVES = json.dumps([sys.executable, "-c", "print('serving grpc://a:2222 (cpu:0)')"])

    def served(self, script, **more):
        here = self.folder / "hook"
        shutil.copytree(HOOK, here, dirs_exist_ok=True)
        text = ("import tensorflow as tf\nfrom tensorflow.python.training import server_lib\n"
                "server = server_lib.Server({'ps': ['a:2222'], 'worker': ['b:2222']}, 'ps', 0)\n" + script)
        return self.python(text, hook=here, files=self.SERVER, **more), here / "served"

    def test_servers_of_the_program_are_told_to_the_run(self):
        printed, told = self.served("print(tf.compat.v1.Session(server.target).found[0])",
                                    variables={"ARGOSY_SERVE": self.SERVES})
        self.assertEqual(printed, "grpc://a:2222")
        self.assertEqual(told.read_text(), "/job:ps/task:0 at a:2222\n")

    # Says its address, and leaves its arguments behind, in the folder of calls. The first: so often the port is taken.
    ANYWHERE = ("import json, os, sys\n"
                "words = sys.argv[2:]\nspec = json.loads(words[words.index('--cluster') + 1])\n"
                "log = os.path.join(os.environ['ARGOSY_PY_FUNC_FOLDER'], 'log')\n"
                "tries = len(open(log).readlines()) if os.path.exists(log) else 0\n"
                "open(log, 'a').write(json.dumps(words) + '\\n')\n"
                "if tries < int(sys.argv[1]): sys.exit(3)\n"
                "print('serving grpc://' + list(spec['local'].values())[0])\n")

    def test_create_local_server_is_the_runs_own(self):
        script = "print(server_lib.Server({'localhost': ['localhost:0']}, 'localhost', 0).target)"
        printed, _ = self.served(script, variables={"ARGOSY_SERVE": self.SERVES})
        self.assertEqual(printed, "grpc://127.0.0.1:7")
        own = json.dumps({"cluster": {"worker": ["a:1"]}, "job": "worker", "task": 0})  # its devices have other names
        printed, _ = self.served(script, variables={"ARGOSY_SERVE": self.SERVES, "ARGOSY_CLUSTER_TASK": own})
        self.assertEqual(printed, "grpc://a:2222")

    def test_a_server_at_port_0_is_at_a_free_port(self):
        script = ("local = server_lib.Server({'local': ['localhost:0']}, 'local', 0)\n"
                  "local.start()\nprint(local.target, tf.compat.v1.Session(local.target).found[0])")
        def serves(fails):
            return json.dumps([sys.executable, "-c", self.ANYWHERE, str(fails), "--emulate", "2", "--tls-cert", "c.pem", "--check", "1"])

        here = self.folder / "hook"
        for fails, tries in ((0, 1), (2, 3)):
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(HOOK, here)
            text = "import tensorflow as tf\nfrom tensorflow.python.training import server_lib\n" + script
            variables = {"ARGOSY_SERVE": serves(fails)}
            target, opened = self.python(text, hook=here, files=self.SERVER, variables=variables).split()
            self.assertEqual(target, opened)
            self.assertRegex(target, r"^grpc://localhost:[1-9]\d+$")
            calls = [json.loads(line) for line in (here / "log").read_text().splitlines()]
            self.assertEqual(len(calls), tries)
            self.assertEqual(calls[-1], ["--emulate", "2", "--check", "1", "--cluster",
                                         json.dumps({"local": {"0": target[len("grpc://"):]}}), "--job", "local", "--task", "0"])
            self.assertEqual((here / "served").read_text(), f"/job:local/task:0 at {target[len('grpc://'):]}\n")
        shutil.rmtree(here)
        shutil.copytree(HOOK, here)
        told = self.python(text, hook=here, files=self.SERVER, variables={"ARGOSY_SERVE": serves(9)}, fails=True)
        self.assertIn("argosy serve for /job:local/task:0 did not start", told)
        self.assertEqual(len((here / "log").read_text().splitlines()), 3)

    def test_a_server_outlives_the_thread_that_started_it(self):
        lasting = "import time; print('serving grpc://a:2222 (cpu:0)', flush=True); time.sleep(50)"
        script = ("import importlib, threading, time\nours = importlib.import_module('argosy_server')\n"
                  "made, plain = [], ours._started\n"
                  "def started(command): made.append(plain(command)); return made[-1]\n"
                  "ours._started = started\n"
                  "thread = threading.Thread(target=server_lib.Server, args=({'worker': ['b:2']}, 'worker', 0))\n"
                  "thread.start(); thread.join(); time.sleep(0.3)\nprint(made[0].poll())\n")
        printed, _ = self.served(script, variables={"ARGOSY_SERVE": json.dumps([sys.executable, "-c", lasting])})
        self.assertEqual(printed, "None")

    def test_a_session_that_would_need_a_certificate_is_refused(self):
        with_certificate = json.dumps(json.loads(self.SERVES) + ["--tls-cert", "c.pem"])
        printed, _ = self.served("tf.compat.v1.Session(server.target)", variables={"ARGOSY_SERVE": with_certificate}, fails=True)
        self.assertIn("the server at grpc://a:2222 wants a certificate", printed)
        self.assertIn("--insecure-cluster", printed)
        printed, _ = self.served("print(tf.compat.v1.Session().found[0])", variables={"ARGOSY_SERVE": with_certificate})
        self.assertEqual(printed, "grpc://127.0.0.1:7")  # on loopback, for the program alone
        own = json.dumps({"cluster": {"ps": ["a:2222"], "worker": ["b:2222"]}, "job": "ps", "task": 0})
        printed, _ = self.served("tf.compat.v1.Session()", fails=True,
                                 variables={"ARGOSY_SERVE": with_certificate, "ARGOSY_CLUSTER_TASK": own})
        self.assertIn("the server at grpc://127.0.0.1:7 wants a certificate", printed)

    def test_the_users_own_sitecustomize_runs(self):
        files = {"theirs/sitecustomize.py": "import sys\nsys.marked = 'theirs'\n"}
        script = "import sys\nprint(getattr(sys, 'marked', None))"
        self.assertEqual(self.python(script, files=files, path=[self.folder / "theirs"]), "theirs")


if __name__ == "__main__":
    unittest.main()
