#!/usr/bin/env python3
"""Pictures of TensorBoard showing a run that was made through the session server; somebody has to look at them.

    tensorboard_pictures.py PROGRAM FOLDER      (a Python with tensorflow and tensorboard; chromium)

A small network is trained by `argosy serve`, its summaries are written; what the event file holds is checked, then TensorBoard is
started on it, and a headless browser leaves scalars.png, images.png, histograms.png and graphs.png in FOLDER.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow.compat.v1 as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

STEPS = 60


def train(target, logs):
    """Tells in which corner of a picture the bright spot is; some pictures and all weights are watched."""
    tf.disable_v2_behavior()
    random = np.random.RandomState(0)

    def batch(n=32):
        corner = random.randint(0, 4, n)
        pictures = random.rand(n, 12, 12, 1).astype("f") * 0.4
        for picture, c in zip(pictures, corner):
            row, column = 6 * (c // 2), 6 * (c % 2)
            picture[row + 1:row + 5, column + 1:column + 5] += 0.6
        return pictures, corner

    with tf.name_scope("input"):
        x, y = tf.placeholder(tf.float32, [None, 12, 12, 1], "x"), tf.placeholder(tf.int64, [None], "y")
    with tf.name_scope("hidden"):
        w = tf.Variable(tf.random_normal([144, 16], stddev=0.1, seed=1), name="weights")
        h = tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 144]), w) + tf.Variable(tf.zeros([16]), name="biases"))
    with tf.name_scope("output"):
        logits = tf.matmul(h, tf.Variable(tf.random_normal([16, 4], stddev=0.1, seed=2), name="weights"))
    with tf.name_scope("error"):
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    step = tf.train.AdamOptimizer(0.01).minimize(loss)
    tf.summary.scalar("loss", loss)
    tf.summary.scalar("accuracy", right)
    tf.summary.histogram("weights", w)
    tf.summary.image("pictures", x, max_outputs=3)
    merged = tf.summary.merge_all()
    losses = []
    with tf.Session(target) as session, tf.summary.FileWriter(logs, session.graph) as writer:
        session.run(tf.global_variables_initializer())
        for i in range(STEPS):
            pictures, corner = batch()
            summary, value, _ = session.run([merged, loss, step], {x: pictures, y: corner})
            writer.add_summary(summary, i)
            losses.append(value)
    return losses


def check_events(logs, losses):
    run = EventAccumulator(logs, size_guidance={"histograms": 0, "scalars": 0, "images": 0})
    run.Reload()
    np.testing.assert_array_equal([s.value for s in run.Scalars("loss")], np.float32(losses))
    assert losses[-1] < 0.3 * losses[0], losses
    assert run.Scalars("accuracy")[-1].value > 0.9
    assert len(run.Histograms("weights")) == STEPS
    assert {i.width for tag in run.Tags()["images"] for i in run.Images(tag)} == {12} and len(run.Tags()["images"]) == 3
    assert run.Tags()["graph"]


def photograph(logs, folder):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("there is no chromium to take pictures with: apt install chromium")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    board = subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", logs, "--port", str(port),
                              "--host", "127.0.0.1", "--load_fast=false"], stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}/"
        for _ in range(240):
            try:
                if b"loss" in urllib.request.urlopen(url + "data/plugin/scalars/tags", timeout=5).read():
                    break
            except OSError:
                pass
            time.sleep(0.5)
        for page in ("scalars", "images", "histograms", "graphs"):
            picture = os.path.join(folder, page + ".png")
            with tempfile.TemporaryDirectory() as profile:
                subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                                "--user-data-dir=" + profile, "--window-size=1400,900", "--virtual-time-budget=30000",
                                "--screenshot=" + picture, f"{url}#{page}"],
                               check=True, timeout=180, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            assert os.path.getsize(picture) > 10_000, f"{picture} shows nothing"
            print(picture, flush=True)
    finally:
        board.terminate()
        board.wait(timeout=30)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    server = subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        target = server.stdout.readline().split()[1]
        with tempfile.TemporaryDirectory() as logs:
            losses = train(target, logs)
            check_events(logs, losses)
            photograph(logs, folder)
    finally:
        server.terminate()
        server.wait(timeout=30)
    print("look at them: two falling and rising curves, bright squares in corners, a spreading histogram, five named scopes")


if __name__ == "__main__":
    main()
