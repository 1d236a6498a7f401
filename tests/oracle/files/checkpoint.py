"""Checkpoints in both directions between argosy and TensorFlow. Usage: checkpoint.py CKPT_TOOL"""

import os
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

tool = sys.argv[1]
tf1 = tf.compat.v1


def dump(prefix):
    """Our reading of a checkpoint: name -> (dtype, shape, bytes or list of bytes, None for variants)."""
    text = subprocess.run([tool, "dump", prefix], check=True, capture_output=True, text=True).stdout
    tensors = {}
    for line in text.splitlines():
        name, dtype, sizes, data = line.split("\t")
        shape = tuple(int(s) for s in sizes.split(",") if s)
        if data == "-":
            value = None
        elif dtype == "string":
            value = [bytes.fromhex(s) for s in data.split(",")[:-1]]
        else:
            value = bytes.fromhex(data)
        tensors[name] = (dtype, shape, value)
    return tensors


def expect_equal(name, ours, theirs):
    dtype, shape, value = ours
    theirs = np.asarray(theirs)
    assert shape == theirs.shape, (name, shape, theirs.shape)
    if dtype == "string":
        assert value == [s if isinstance(s, bytes) else s.encode() for s in theirs.ravel().tolist()], name
    else:
        assert value == theirs.tobytes(), (name, dtype, theirs.dtype)


def ours_in_tensorflow(folder):
    for shards in (1, 3):
        prefix = os.path.join(folder, f"ours-{shards}")
        # Twice: the second replaces the first, under other data file names.
        for _ in range(2):
            subprocess.run([tool, "write", prefix, str(shards)], check=True)
            reader = tf.train.load_checkpoint(prefix)
            ours = dump(prefix)
            names = reader.get_variable_to_shape_map()
            assert set(names) == set(ours), set(names) ^ set(ours)
            for name, value in ours.items():
                expect_equal(name, value, reader.get_tensor(name))
            assert reader.get_tensor("global_step") == 1234567890123
            assert reader.get_tensor("float/matrix")[5, 3] == (5 * 31 + 3) % 100
            assert reader.get_tensor("string/scalar") == b"s0"
        with tf.Graph().as_default(), tf1.Session() as session:
            matrix = tf1.get_variable("float/matrix", [17, 31])
            tf1.train.Saver().restore(session, prefix)
            assert session.run(matrix)[1, 0] == 31
    print("ours opens in TensorFlow:", len(ours), "tensors")


def theirs_here(folder):
    prefix = os.path.join(folder, "theirs")
    random = np.random.default_rng(0)
    with tf.Graph().as_default(), tf1.Session() as session:
        for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int32, tf.int64, tf.uint8, tf.bool,
                      tf.complex64, tf.complex128):
            value = tf.cast(tf.constant(random.integers(0, 2, (3, 5))), dtype)
            tf1.get_variable("v_" + dtype.name, initializer=value, use_resource=dtype != tf.float64)
        tf1.get_variable("words", initializer=tf.constant(["a", "", "b" * 300]), use_resource=True)
        tf1.get_variable("rows", [10, 6], initializer=tf1.random_normal_initializer(),
                         partitioner=tf1.fixed_size_partitioner(3))
        tf1.get_variable("columns", [300, 200], initializer=tf1.random_normal_initializer(),
                         partitioner=tf1.fixed_size_partitioner(4, axis=1))
        session.run(tf1.global_variables_initializer())
        path = tf1.train.Saver(sharded=False).save(session, prefix, global_step=7)
        sharded = tf1.train.Saver(sharded=True).save(session, prefix + "_sharded", global_step=7)
    for p in (path, sharded):
        reader = tf.train.load_checkpoint(p)
        ours = dump(p)
        assert set(ours) == set(reader.get_variable_to_shape_map())
        for name, value in ours.items():
            expect_equal(name, value, reader.get_tensor(name))
    print("TensorFlow's opens here:", len(ours), "tensors, partitioned ones among them")


def object_based_here(folder):
    """tf.train.Checkpoint with a dataset iterator, whose state is a variant."""
    prefix = os.path.join(folder, "objects")
    iterator = iter(tf.data.Dataset.range(100).shuffle(10).batch(3))
    next(iterator)
    path = tf.train.Checkpoint(w=tf.Variable([1.0, 2.0]), iterator=iterator).save(prefix)
    ours = dump(path)
    expect_equal("w", ours["w/.ATTRIBUTES/VARIABLE_VALUE"], [np.float32(1), np.float32(2)])
    variants = [name for name, (dtype, _, _) in ours.items() if dtype == "variant"]
    print("object-based checkpoint verified:", len(ours), "entries, variants:", variants)


with tempfile.TemporaryDirectory() as folder:
    ours_in_tensorflow(folder)
    theirs_here(folder)
    object_based_here(folder)
print("ok: checkpoints agree with TensorFlow", tf.__version__)
