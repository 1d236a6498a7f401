"""Unmodified TensorFlow 1.x scripts under `argosy run`: the same results, signals and exit codes as without it.

    run_scripts.py ARGOSY
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ARGOSY = ""
QUIET = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

# As somebody wrote it for TensorFlow 1: no tf.compat, no target, no word of us.
SOFTMAX = """
import sys
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 20])
y = tf.placeholder(tf.int64, [None])
with tf.device('/gpu:0'):
    w = tf.Variable(tf.truncated_normal([20, 5], seed=1))
    b = tf.Variable(tf.zeros([5]))
    logits = tf.matmul(x, w) + b
with tf.device('/gpu:1'):
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
data = np.random.RandomState(0)
xs, ys = data.rand(64, 20), data.randint(0, 5, 64)
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(30):
        value, _ = sess.run([loss, train], feed_dict={x: xs, y: ys})
    print('loss %.5f' % value)
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as other:
    try:
        other.run(w)
    except tf.errors.FailedPreconditionError:
        print('a session of its own')
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""

DEVICES = """
import tensorflow as tf
from tensorflow.python.client import device_lib
print(sorted(d.device_type for d in device_lib.list_local_devices()), tf.test.is_gpu_available())
"""

# Two replicas share the rows of each batch.
MIRRORED = """
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
strategy = tf.distribute.MirroredStrategy()
data = np.random.RandomState(0)
xs, ys = data.rand(48, 4).astype('f'), data.rand(48, 1).astype('f')
with strategy.scope():
    batches = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices((xs, ys)).repeat().batch(8))

    def step(batch):
        x, y = batch
        w = tf.get_variable('w', initializer=np.zeros([4, 1], 'f'))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.1).minimize(loss)]):
            return tf.identity(loss)

    losses = strategy.run(step, args=(batches.get_next(),))
    loss = strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)
with tf.Session() as session:
    session.run(batches.initializer)
    session.run(tf.global_variables_initializer())
    for _ in range(20):
        value = session.run(loss)
print(strategy.num_replicas_in_sync, 'loss %.5f' % value)
"""

KERAS_ERA = """
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
twice = tf.get_variable('v', initializer=3.0) * 2
with tf.train.MonitoredTrainingSession() as session:
    print(session.run(twice))
"""

SLEEPS = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print('ready', flush=True)
time.sleep(60)
"""


class RunTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def script(self, text):
        path = self.folder / "script.py"
        path.write_text(text)
        return [sys.executable, str(path)]

    def run_argosy(self, text, *arguments, flags=("--emulate", "2")):
        return subprocess.run([ARGOSY, "run", *flags, "--", *self.script(text), *arguments], capture_output=True, text=True,
                              timeout=120, env=QUIET)

    def test_a_script_gives_what_it_gives_in_tensorflow(self):
        ours = self.run_argosy(SOFTMAX)
        self.assertEqual(ours.returncode, 0, ours.stderr)
        plain = SOFTMAX.replace("import tensorflow as tf", "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()")
        theirs = subprocess.run(self.script(plain), capture_output=True, text=True, timeout=120, env=QUIET)
        self.assertEqual(ours.stdout, theirs.stdout, ours.stderr)
        self.assertIn("loss", ours.stdout)
        self.assertRegex(ours.stderr, r"ran  2 sessions, 31 steps, 1 that failed")
        self.assertRegex(ours.stderr, r"gpu:0 \d+ %")

    def test_the_exit_code_is_the_programs(self):
        self.assertEqual(self.run_argosy(SOFTMAX, "5").returncode, 5)

    def test_the_devices_are_ours(self):
        ended = self.run_argosy(DEVICES)
        self.assertIn("['CPU', 'GPU', 'GPU'] True", ended.stdout, ended.stderr)

    def test_strategies_mirror_on_the_servers_devices(self):
        ours = self.run_argosy(MIRRORED)
        self.assertEqual(ours.returncode, 0, ours.stderr)
        two_cpus = MIRRORED.replace("MirroredStrategy()", "MirroredStrategy(['/cpu:0', '/cpu:1'])").replace(
            "tf.Session()", "tf.Session(config=tf.ConfigProto(device_count={'CPU': 2}))")
        theirs = subprocess.run(self.script(two_cpus), capture_output=True, text=True, timeout=120, env=QUIET)
        self.assertEqual(ours.stdout, theirs.stdout, theirs.stderr)
        self.assertIn("2 loss", ours.stdout)
        self.assertRegex(ours.stderr, r"gpu:1 \d+ %")

    def test_monitored_sessions_come_too(self):
        ended = self.run_argosy(KERAS_ERA)
        self.assertIn("6.0", ended.stdout, ended.stderr)
        self.assertIn("ran  ", ended.stderr)

    def test_a_signal_reaches_the_program(self):
        command = [ARGOSY, "run", "--emulate", "1", "--", *self.script(SLEEPS)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=QUIET)
        self.assertEqual(process.stdout.readline().strip(), "ready")
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 7, told)
        self.assertIn("no TensorFlow session came here", told)

    def test_a_killed_program_is_told(self):
        ended = self.run_argosy("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(ended.returncode, 128 + 9)

    def test_nothing_is_left_behind(self):
        before = {p.name for p in pathlib.Path(tempfile.gettempdir()).glob("argosy_run_*")}
        self.run_argosy("pass")
        time.sleep(0.1)
        self.assertEqual({p.name for p in pathlib.Path(tempfile.gettempdir()).glob("argosy_run_*")} - before, set())


if __name__ == "__main__":
    ARGOSY = sys.argv.pop(1)
    unittest.main()
