"""Updates of reference variables beside a backward pass that still reads them: the numbers of gated gradients.

    gated_updates.py ARGOSY

TensorFlow 1.x updates a reference variable in place. With `GATE_NONE` an optimizer may do so while gradients are still
computed from the variable, and the program's numbers then change from run to run. Here such a program has the numbers
of the same program with `GATE_GRAPH`, in every digit, in every run.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ARGOSY = ""
PYTHON = os.environ.get("ARGOSY_TF1_PYTHON", sys.executable)
QUIET = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

HEAD = """
import sys
import numpy as np
import tensorflow as tf

gate = getattr(tf.train.Optimizer, sys.argv[1])

def weights(name, shape):
    start = data.standard_normal(shape).astype('f') * 0.4
    return tf.get_variable(name, initializer=start, use_resource=False)

for make in (lambda: tf.train.GradientDescentOptimizer(0.05), lambda: tf.train.MomentumOptimizer(0.05, 0.9),
             lambda: tf.train.AdamOptimizer(0.01), lambda: tf.train.AdagradOptimizer(0.05),
             lambda: tf.train.RMSPropOptimizer(0.01)):
    tf.reset_default_graph()
    data = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 12])
    y = tf.placeholder(tf.float32, [None, 3])
"""

# Every variable is read again on the way back: by the gradient of the layer's input, of a second use, of a norm.
MODELS = {
    "layers": """
h = x
for i in range(5):
    h = tf.tanh(tf.matmul(h, weights('w%d' % i, [12, 12])) + weights('b%d' % i, [12]))
out = tf.matmul(h, weights('last', [12, 3]))
loss = tf.reduce_mean(tf.square(out - y))
""",
    "tied": """
w = weights('w', [12, 12])
h = x
for i in range(4):
    h = tf.tanh(tf.matmul(h, w, transpose_b=i % 2 == 1))
out = tf.matmul(h, weights('last', [12, 3]))
loss = tf.reduce_mean(tf.square(out - y)) + 0.01 * tf.nn.l2_loss(w) / tf.norm(w)
""",
    "products": """
a, b = weights('a', [12]), weights('b', [12])
h = tf.tanh(x * a) * b + a * b * tf.reduce_sum(a * a)
out = tf.matmul(h * b, weights('last', [12, 3]))
loss = tf.reduce_mean(tf.square(out - y))
""",
    "images": """
f, g = weights('f', [3, 3, 1, 4]), weights('g', [3, 3, 4, 4])
h = tf.nn.relu(tf.nn.conv2d(tf.reshape(x, [-1, 4, 3, 1]), f, [1, 1, 1, 1], 'SAME'))
h = tf.nn.relu(tf.nn.conv2d(h, g, [1, 1, 1, 1], 'SAME'))
out = tf.matmul(tf.reshape(h, [-1, 48]), weights('last', [48, 3]))
loss = tf.reduce_mean(tf.square(out - y))
""",
    "rows": """
table = weights('table', [7, 12])
ids = tf.cast(tf.floor(tf.abs(x) * 7), tf.int32) % 7
h = tf.reduce_sum(tf.nn.embedding_lookup(table, ids) * tf.reduce_sum(table), 1)
out = tf.matmul(tf.tanh(h), weights('last', [12, 3]))
loss = tf.reduce_mean(tf.square(out - y))
""",
}

TAIL = """
train = make().minimize(loss, gate_gradients=gate)
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(8):
        feeds = {x: data.standard_normal([16, 12]), y: data.standard_normal([16, 3])}
        print(repr(float(sess.run([loss, train], feeds)[0])))
    for v in tf.trainable_variables():
        print(' '.join(repr(float(value)) for value in np.ravel(sess.run(v))))
"""


class GatedUpdates(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name) / "script.py"

    def numbers(self, text, gate, *before):
        self.path.write_text("from __future__ import print_function\n" + text)
        done = subprocess.run([*before, PYTHON, str(self.path), gate], capture_output=True, text=True, timeout=120, env=QUIET)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_updates_beside_the_backward_pass_change_no_digit(self):
        for name, model in MODELS.items():
            text = HEAD + textwrap.indent(model + TAIL, "    ")
            plain = text.replace("import tensorflow as tf", "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()")
            wanted = self.numbers(plain, "GATE_GRAPH").split()
            with self.subTest(name):
                for flags in ([], ["--emulate", "1"]):
                    ours = [ARGOSY, "run", *flags, "--"]
                    gated = self.numbers(text, "GATE_GRAPH", *ours)
                    self.assertEqual(self.numbers(text, "GATE_NONE", *ours), gated)
                    self.assertEqual(self.numbers(text, "GATE_OP", *ours), gated)
                    self.assertEqual(len(gated.split()), len(wanted))
                    self.assertGreater(len(wanted), 200)
                    for mine, theirs in zip(gated.split(), wanted):
                        self.assertAlmostEqual(float(mine), float(theirs), delta=2e-3 * max(1, abs(float(theirs))))


if __name__ == "__main__":
    ARGOSY = sys.argv.pop(1)
    unittest.main()
