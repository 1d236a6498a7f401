#!/usr/bin/env python3
"""`argosy plan` of graphs that TensorFlow saved: MetaGraph, GraphDef, SavedModel; what trains is found, all is told."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
ARGOSY = ""


def classifier():
    """Adam on two layers, with dropout, an accuracy and a Saver: its variables are 784 x 64 and 64 x 10."""
    x, y = tf.placeholder(tf.float32, [None, 784], name="x"), tf.placeholder(tf.int32, [None], name="y")
    keep = tf.placeholder(tf.float32, [], name="keep")
    w, v = tf.get_variable("w", [784, 64]), tf.get_variable("v", [64, 10])
    logits = tf.matmul(tf.nn.dropout(tf.nn.relu(tf.matmul(x, w)), rate=1. - keep, seed=3), v)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss")
    tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), y), tf.float32), name="accuracy")
    return tf.train.AdamOptimizer(1e-3).minimize(loss, name="train")


def contrastive():
    x = tf.placeholder(tf.float32, [None, 16], name="x")
    rows = tf.nn.l2_normalize(tf.matmul(x, tf.get_variable("w", [16, 8])), 1)
    loss = tf.reduce_mean(tf.square(tf.matmul(rows, rows, transpose_b=True)), name="loss")
    return tf.train.GradientDescentOptimizer(.1).minimize(loss, name="train")


def sentences():
    """Lengths that the graph leaves open, and labels as numbers of rows."""
    x = tf.placeholder(tf.int32, [None, None], name="words")
    rows = tf.nn.embedding_lookup(tf.get_variable("table", [100, 12]), x)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(rows, 1)), name="loss")
    return tf.train.AdagradOptimizer(.1).minimize(loss, name="train")


SCRIPT = """
import sys
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
tf.train.import_meta_graph(sys.argv[1])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    n = int(sys.argv[2])
    session.run(["train", "loss:0"], {"x:0": np.ones((n, 784)), "y:0": np.zeros(n), "keep:0": 1.})
"""


class Plans(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def program(self, *words, code=0):
        done = subprocess.run([ARGOSY, "plan", *words], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done

    def plan(self, *words):
        return json.loads(self.program(*words, "--json").stdout)

    def saved(self, build, name):
        build()
        if name.endswith(".meta"):
            tf.train.Saver()
            tf.train.export_meta_graph(self.path(name))
        elif name.endswith(".pb"):
            tf.io.write_graph(tf.get_default_graph(), self.folder.name, name, as_text=False)
        else:
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                tensor = tf.get_default_graph().get_tensor_by_name
                tf.saved_model.simple_save(session, self.path(name), {"x": tensor("x:0")}, {"loss": tensor("loss:0")})
        return self.path(name)

    def test_a_graph_of_each_kind_has_the_same_plan(self):
        for name in ("train.meta", "train.pb", "model"):
            tf.reset_default_graph()
            told = self.plan(self.saved(classifier, name), "--emulate", "2", "--strategy", "dp", "--batch", "32")
            self.assertEqual((told["strategy"], told["devices"]), ("dp=2", 2), name)
            self.assertEqual((told["graph"]["targets"], told["graph"]["losses"]), (["train"], ["loss"]), name)
            self.assertEqual({f["name"]: (f["shape"], f["batch_axis"]) for f in told["graph"]["feeds"]},
                             {"x:0": ([32, 784], 0), "y:0": ([32], 0), "keep:0": ([], None)}, name)
            self.assertEqual(sum(c["bytes"] for c in told["collectives"]), 4 * (784 * 64 + 64 * 10), name)
            self.assertGreater(told["predicted"]["step_seconds"], 0)
            self.assertEqual(told["whole"], [])
            self.assertIn("dp=1", [a["strategy"] for a in told["alternatives"]])
            self.assertGreater(told["memory"]["gpu:0"], 3 * 4 * 784 * 64)

    def test_zero_and_why(self):
        path = self.saved(classifier, "train.meta")
        told = self.plan(path, "--emulate", "2", "--strategy", "dp,zero=1", "--why", "w", "--why", "x")
        self.assertEqual([c["op"] for c in told["collectives"]], ["all-reduce", "reduce-scatter", "all-gather"])
        self.assertEqual(told["why"][0]["copies"], "one on each of 2 devices, all equal")
        words = self.program(path, "--emulate", "2", "--strategy", "dp,zero=1").stdout
        self.assertIn("step        train trains by the gradient of loss; fed ", words)
        self.assertIn("argosy run --emulate 2 --devices gpu:0,gpu:1 --replicate --strategy dp=2,zero=1 -- python", words)
        self.assertIn("ARG-SHARD-005", self.program(path, "--emulate", "2", "--why", "wx", code=3).stderr)

    def run_with(self, plan, batch, code=0, devices="2", flags=()):
        """What `argosy run --json` prints of a script that trains the saved graph once in batches of this size."""
        with open(self.path("script.py"), "w") as script:
            script.write(SCRIPT)
        script = [sys.executable, self.path("script.py"), self.path("train.meta"), str(batch)]
        done = subprocess.run([ARGOSY, "run", "--json", "--emulate", devices, "--strategy", "@" + plan, *flags, "--", *script],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout.splitlines()[-1]) if code == 0 else {}, done.stderr

    def test_a_saved_plan_replays_and_says_where_a_step_is_another(self):
        path, plan = self.saved(classifier, "train.meta"), self.path("train.plan")
        two = ["--emulate", "2", "--batch", "32"]
        told = self.program(path, *two, "--strategy", "dp,zero=1", "--save", plan).stderr
        self.assertIn("argosy run --strategy @" + plan, told)
        self.assertEqual(self.plan(path, *two, "--strategy", "@" + plan)["strategy"], "dp=2,zero=1")
        other = self.program(path, "--emulate", "2", "--batch", "64", "--strategy", "@" + plan, code=2).stderr
        self.assertIn("is for a batch of 32, this step has 64", other)

        ran, told = self.run_with(plan, 32)
        self.assertEqual(ran["replicated_steps"], 1, ran)
        self.assertNotIn("is for", ran["replicas"])
        self.assertIn("2 devices", ran["replicas"])
        self.assertIn(f"strategy    dp=2,zero=1 on gpu:0,gpu:1, of {plan}: planned for train with a batch of 32", told)
        ran, _ = self.run_with(plan, 48)
        self.assertIn("is for a batch of 32, this step has 48", ran["replicas"])
        self.assertIn("ARG-SHARD-003", self.run_with(plan, 32, code=2, devices="gpu@0.5,gpu")[1])

        with open(plan) as saved:
            document = json.load(saved)
        document["for"]["targets"] = ["another"]
        with open(plan, "w") as saved:
            json.dump(document, saved)
        ran, _ = self.run_with(plan, 32)
        self.assertIn("is for a step that runs another, this one does not", ran["replicas"])

    def test_a_plan_of_one_device_replicates_nothing(self):
        path, plan = self.saved(classifier, "train.meta"), self.path("one.plan")
        self.program(path, "--emulate", "2", "--devices", "gpu:1", "--batch", "32", "--save", plan)
        ran, told = self.run_with(plan, 32)
        self.assertFalse(ran["replicate"])
        self.assertEqual([d["name"] for d in ran["devices"] if "gpu" in d["name"]], ["gpu:0"])  # the first of its devices
        self.assertIn("dp=1 on gpu:1", told)
        self.program(path, "--emulate", "2", "--devices", "gpu:1", "--batch", "32", "--sync-batch-norm", "--save", plan)
        self.assertFalse(self.run_with(plan, 32, flags=("--sync-batch-norm", "--check"))[0]["replicate"])
        self.run_with(plan, 32, code=2)  # without --sync-batch-norm it is another plan

    def test_plans_of_models_and_of_graphs_are_not_taken_for_each_other(self):
        path, plan = self.saved(classifier, "train.meta"), self.path("graph.plan")
        self.program(path, "--emulate", "2", "--strategy", "dp", "--save", plan)
        done = subprocess.run([ARGOSY, "train", "mlp", "--emulate", "2", "--steps", "1", "--strategy", "@" + plan],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is for the graph " + path, done.stderr)
        self.program("mlp", "--emulate", "2", "--strategy", "dp", "--save", plan)
        self.assertIn("is for the model mlp of argosy train", self.run_with(plan, 32, code=2)[1])

    def test_gathers_are_told(self):
        told = self.plan(self.saved(contrastive, "pairs.meta"), "--emulate", "2", "--strategy", "dp")
        self.assertIn("all-gather", [c["op"] for c in told["collectives"]])

    def test_open_sizes_are_asked_for(self):
        path = self.saved(sentences, "sentences.meta")
        asked = self.program(path, "--emulate", "2", code=2).stderr
        self.assertIn("ARG-PLAN-043", asked)
        self.assertIn("--shape words=SIZES", asked)
        self.assertEqual(self.plan(path, "--emulate", "2", "--shape", "words=20,7")["graph"]["feeds"][0]["shape"], [20, 7])
        batch = self.path("batch.npy")
        np.save(batch, np.arange(60, dtype="int32").reshape(12, 5))
        self.assertEqual(self.plan(path, "--emulate", "2", "--feed", "words=" + batch)["graph"]["feeds"][0]["shape"], [12, 5])

    def test_two_training_steps_are_told_apart(self):
        x = tf.placeholder(tf.float32, [None, 8], name="x")
        for name in ("one", "two"):
            w = tf.get_variable(name + "_w", [8, 4])
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w)), name=name + "_loss")
            tf.train.GradientDescentOptimizer(.1).minimize(loss, var_list=[w], name=name)
        tf.get_collection_ref("train_op").clear()
        tf.train.export_meta_graph(self.path("two.meta"))
        self.assertIn("ARG-PLAN-041", self.program(self.path("two.meta"), "--emulate", "2", code=2).stderr)
        told = self.plan(self.path("two.meta"), "--emulate", "2", "--target", "two")
        self.assertEqual(told["graph"]["losses"], ["two_loss"])


if __name__ == "__main__":
    ARGOSY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
