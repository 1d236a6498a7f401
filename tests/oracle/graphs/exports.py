#!/usr/bin/env python3
"""What we write, TensorFlow loads and runs: exports.py EXPORT_TOOL

The tool builds graphs with our own functions (branches, loops, calls, gradients, variables), runs them, and writes each
as a GraphDef with what was fed and fetched beside it. TensorFlow imports the GraphDef and must give the same values.
Exit code 1 when one differs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def run(path, case):
    def_ = tf.GraphDef()
    def_.ParseFromString(path.read_bytes())
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(def_, name="")
    with tf.Session(graph=graph, config=tf.ConfigProto(allow_soft_placement=True)) as session:
        for target in case["first"]:
            session.run(target)
        return session.run(case["fetches"], {name: np.array(value, graph.get_tensor_by_name(name).dtype.as_numpy_dtype)
                                             for name, value in case["feeds"].items()})


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        cases = json.loads(subprocess.run([sys.argv[1], scratch], check=True, capture_output=True, text=True,
                                          timeout=120).stdout)
        for case in cases:
            try:
                theirs = run(pathlib.Path(scratch) / (case["name"] + ".pb"), case)
                for ours, value in zip(case["values"], theirs):
                    if not np.allclose(ours, np.ravel(value), rtol=1e-5, atol=1e-6, equal_nan=True):
                        raise ValueError(f"{ours[:6]}, TensorFlow {np.ravel(value)[:6]}")
            except Exception as error:  # whatever it is, it belongs to this graph
                wrong += 1
                print(f"{case['name']}: {type(error).__name__}: {error}")
    print(f"{len(cases) - wrong} of {len(cases)} graphs of ours give in TensorFlow what they give here")
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
