#!/usr/bin/env python3
"""A checkpoint saved under any strategy goes on under any other, with the bits of one device that never stopped; and
TensorFlow's Saver restores it. Usage: strategy_checkpoints.py ARGOSY"""
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
ARGOSY = ""
HALF, WHOLE = 3, 6  # steps
LAYOUTS = [(1, "dp"), (4, "dp"), (2, "dp,zero=1"), (3, "dp"), (2, "dp,accumulate=2"), (4, "dp,zero=1,accumulate=2")]
MODELS = {
    "mlp": ["--image-size", "16", "--width", "24"],
    "lenet": ["--image-size", "16"],
    "autoencoder": ["--image-size", "16", "--depth", "2", "--width", "8"],
}


def train(model, layout, folder, steps, *more):
    devices, strategy = layout
    words = [ARGOSY, "train", model, *MODELS[model], "--dropout", "0.3", "--batch", "32", "--optimizer", "adam", "--lr",
             "0.001", "--schedule", "constant", "--reproducible", "--shards", "24", "--emulate", str(devices),
             "--strategy", strategy, "--steps", str(steps), "--checkpoint-dir", folder, "--no-verdict", *more]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}\n{done.stderr}")


def values(folder):
    """All that the newest checkpoint holds, as a Saver of TensorFlow restores it."""
    path = tf.train.latest_checkpoint(folder)
    reader = tf.train.load_checkpoint(path)
    with tf.Graph().as_default(), tf.Session() as session:
        variables = {name: tf.get_variable(name, shape, dtype=reader.get_variable_to_dtype_map()[name], use_resource=True)
                     for name, shape in reader.get_variable_to_shape_map().items()}
        tf.train.Saver(variables).restore(session, path)
        return session.run(variables)


class Checkpoints(unittest.TestCase):
    def equal_under_all(self, model):
        with tempfile.TemporaryDirectory() as root:
            train(model, LAYOUTS[0], f"{root}/whole", WHOLE)
            wanted = values(f"{root}/whole")
            self.assertGreater(len(wanted), 8)  # variables with two slots each, and counters
            for number, saved in enumerate(LAYOUTS):
                train(model, saved, f"{root}/{number}", HALF)
                half = values(f"{root}/{number}")
                self.assertEqual(set(half), set(wanted))
                self.assertTrue(any(half[name].tobytes() != wanted[name].tobytes() for name in wanted))
            for (number, saved), then in itertools.product(enumerate(LAYOUTS), LAYOUTS):
                with self.subTest(saved=saved, then=then):
                    folder = f"{root}/{number}_then"
                    shutil.rmtree(folder, ignore_errors=True)
                    shutil.copytree(f"{root}/{number}", folder)
                    train(model, then, folder, WHOLE, "--resume")
                    got = values(folder)
                    self.assertEqual(set(got), set(wanted))
                    for name, value in got.items():
                        self.assertEqual(np.asarray(value).tobytes(), wanted[name].tobytes(), name)

    def test_mlp(self):
        self.equal_under_all("mlp")

    def test_lenet(self):
        self.equal_under_all("lenet")

    def test_autoencoder(self):
        self.equal_under_all("autoencoder")


if __name__ == "__main__":
    ARGOSY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
