"""Event files in both directions between argosy and TensorBoard. Usage: events.py EVENT_TOOL"""

import glob
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

tool = sys.argv[1]
tf1 = tf.compat.v1


def expected_histogram(step):
    """What TensorFlow's own histogram op makes of the same values."""
    values = np.sin(np.arange(10_000, dtype=np.float32)) * np.float32(step)
    with tf.Graph().as_default(), tf1.Session() as session:
        text = session.run(tf1.summary.histogram("h", tf.constant(values)))
    return tf1.Summary.FromString(text).value[0].histo


def expected_images():
    images = (np.arange(2 * 8 * 12 * 3) % 29 - 3).astype(np.float32).reshape(2, 8, 12, 3)
    with tf.Graph().as_default(), tf1.Session() as session:
        summary = tf1.Summary.FromString(session.run(tf1.summary.image("samples", images, max_outputs=2)))
    return [(v.tag, tf.io.decode_png(v.image.encoded_image_string).numpy()) for v in summary.value]


def ours_in_tensorboard(folder):
    subprocess.run([tool, "write", folder], check=True)
    run = EventAccumulator(folder, size_guidance={"histograms": 0, "scalars": 0, "images": 0})
    run.Reload()
    tags = run.Tags()
    scalars = run.Scalars("loss")
    assert [s.step for s in scalars] == list(range(50)), tags
    assert all(abs(s.value - 1 / (1 + s.step)) < 1e-7 for s in scalars)
    for step in (0, 1, 49):
        ours = run.Histograms("weights")[step].histogram_value
        theirs = expected_histogram(step)
        assert ours.num == 10_000 and ours.min == theirs.min and ours.max == theirs.max, (ours, theirs)
        assert list(ours.bucket) == list(theirs.bucket), step
        np.testing.assert_allclose(ours.bucket_limit, theirs.bucket_limit, rtol=1e-12)
    for tag, theirs in expected_images():
        ours = tf.io.decode_png(run.Images(tag)[0].encoded_image_string).numpy()
        np.testing.assert_array_equal(ours, theirs)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(tf1.GraphDef.FromString(run.Graph().SerializeToString()), name="")
        minus = graph.get_operation_by_name("minus_x")
        assert minus.device == "/device:GPU:1" and minus.inputs[0].shape.as_list() == [None, 3], minus
    assert run.Tensors("notes")[0].tensor_proto.string_val[0] == b"a *note*"
    content = run.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
    assert start.hparams["lr"].number_value == 0.125 and start.hparams["adam"].bool_value, start
    assert start.hparams["model"].string_value == "mlp" and start.group_name == "group"
    print("TensorBoard reads ours:", {k: v for k, v in tags.items() if v})


def theirs_here(folder):
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="c")
        writer = tf1.summary.FileWriter(os.path.join(folder, "v1"), graph)
        value = tf1.Summary(value=[tf1.Summary.Value(tag="loss", simple_value=0.25)])
        writer.add_summary(value, 3)
        writer.close()
    with tf.summary.create_file_writer(os.path.join(folder, "v2")).as_default():
        tf.summary.scalar("loss2", 0.5, step=4)
        tf.summary.text("words", "hello", step=4)
        tf.summary.histogram("h", [1.0, 2.0], step=4)
        tf.summary.image("i", np.zeros((1, 3, 5, 3), np.float32), step=4)
    text = ""
    for path in sorted(glob.glob(os.path.join(folder, "v*", "*"))):
        text += subprocess.run([tool, "dump", path], check=True, capture_output=True, text=True).stdout
    for line in ("loss 3 scalar 0.25", "loss2 4 tensor scalars float[] {0.5}", "words 4 tensor text strings",
                 "i 4 tensor images strings", "graph "):
        assert line in text, (line, text)
    print("we read TensorFlow's:", len(text.splitlines()), "values")


with tempfile.TemporaryDirectory() as folder:
    ours_in_tensorboard(os.path.join(folder, "ours"))
    theirs_here(folder)
print("ok: events agree with TensorBoard")
