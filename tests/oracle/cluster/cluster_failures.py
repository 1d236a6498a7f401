"""Tasks that die, are silent or come back while a client's step is under way: an error within seconds, never a hang, and
TensorFlow's MonitoredTrainingSession goes on after a restart.

  cluster_failures.py PROGRAM
"""
import os
import signal
import sys
import tempfile
import threading
import time

import numpy as np
import tensorflow.compat.v1 as tf

from cluster_harness import Cluster

tf.disable_v2_behavior()

TASKS = [("ps", 0), ("worker", 0), ("worker", 1)]
LOST = (tf.errors.UnavailableError, tf.errors.AbortedError)
failures = []


def check(what, holds):
    print(("ok      " if holds else "FAILED  ") + what, flush=True)
    if not holds:
        failures.append(what)


def blocked_graph(device):
    """A step that waits for ever at a queue of this task, and whose result another one takes."""
    with tf.device(device):
        queue = tf.FIFOQueue(4, [tf.float32], shapes=[[]], shared_name="empty")
        value = queue.dequeue()
    with tf.device("/job:worker/task:0"):
        return value + 1.0


def ended_by(program, roles, victim, number, seconds, label):
    with Cluster(program, dict(zip(TASKS, roles))) as cluster, tf.Graph().as_default():
        out = blocked_graph("/job:%s/task:%d" % victim)
        with tf.Session(cluster.target("worker", 0)) as session:
            errors = []

            def wait():
                try:
                    session.run(out)
                except tf.errors.OpError as e:
                    errors.append(e)

            waiting = threading.Thread(target=wait, daemon=True)
            waiting.start()
            time.sleep(2.0)
            begin = time.time()
            cluster.kill(victim, number)
            waiting.join(60)
            took = time.time() - begin
            said = "%s: %s" % (type(errors[0]).__name__, errors[0].message[:160]) if errors else "nothing"
            check("%s: after %.2f s (at most %.1f) %s" % (label, took, seconds, said.replace("\n", " ")),
                  bool(errors) and isinstance(errors[0], LOST) and took <= seconds)
            cluster.kill(victim, signal.SIGCONT)


def restart_is_noticed(program):
    with Cluster(program, dict(zip(TASKS, "AAA"))) as cluster, tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            w = tf.get_variable("w", initializer=np.float32(3.0), use_resource=False)
        with tf.device("/job:worker/task:1"):
            out = w * 2.0
        with tf.Session(cluster.target("worker", 0)) as session:
            session.run(tf.global_variables_initializer())
            first = session.run(out)
            cluster.kill(("ps", 0))
            cluster.restart(("ps", 0))
            error = None
            for _ in range(3):  # the lost connection may be told first
                try:
                    session.run(out)
                except tf.errors.OpError as e:
                    error = e
            check("a restarted server is told from the old one: %s" % (type(error).__name__), isinstance(error, LOST))
        with tf.Session(cluster.target("worker", 0)) as session:
            session.run(tf.global_variables_initializer())
            check("a new session works with it", session.run(out) == first)


def monitored_session_recovers(program, roles, victim):
    with Cluster(program, dict(zip(TASKS, roles))) as cluster, tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        spec = tf.train.ClusterSpec(cluster.spec)
        with tf.device(tf.train.replica_device_setter(cluster=spec, worker_device="/job:worker/task:0")):
            x = tf.placeholder(tf.float32, [None, 3])
            w = tf.get_variable("w", initializer=np.zeros((3, 1), np.float32))
            with tf.device("/job:worker/task:1"):
                error = tf.matmul(x, w) - 1.0
            loss = tf.reduce_mean(tf.square(error))
            step = tf.train.get_or_create_global_step()
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        seen, killed = [], False
        restarting = None
        with tf.train.MonitoredTrainingSession(cluster.target("worker", 0), is_chief=True, checkpoint_dir=folder,
                                               save_checkpoint_steps=5, save_summaries_steps=None,
                                               save_summaries_secs=None) as session:
            begin = time.time()
            while not session.should_stop() and time.time() - begin < 90:
                at = int(session.run([step, train], {x: np.ones((2, 3), np.float32)})[0])
                seen.append(at)
                if at >= 12 and not killed:
                    killed = True
                    cluster.kill(victim)
                    restarting = threading.Timer(1.0, lambda: cluster.restart(victim))
                    restarting.start()
                if killed and at >= 25:
                    break
        if restarting is not None:
            restarting.join()
        back = any(b < a for a, b in zip(seen, seen[1:])) or victim[0] != "ps"
        check("%s: MonitoredTrainingSession goes on to step %d after a restart of %s:%d" % (roles, seen[-1], victim[0], victim[1]),
              killed and seen[-1] >= 25 and back)


def loop_over_two_tasks():
    """A loop in a loop: what the inner one multiplies by is on the ps, all else on worker 1. (limit, value)"""
    def inner(j, value):
        with tf.device("/job:ps/task:0"):
            value = value * 2.0
        with tf.device("/job:worker/task:1"):
            return j + 1, value + 1.0

    def body(i, value):
        return i + 1, tf.while_loop(lambda j, v: j < 2, inner, [tf.constant(0), value])[1]

    limit = tf.placeholder(tf.int32, [])
    with tf.device("/job:worker/task:1"):
        return limit, tf.while_loop(lambda i, value: i < limit, body, [tf.constant(0), tf.constant(1.0)])[1]


def loops_over_both_kinds_run(program):
    """Under either master: they meet by the numbers of TensorFlow's frames."""
    for roles in ("AAT", "TAA", "ATA", "TTA"):
        with Cluster(program, dict(zip(TASKS, roles))) as cluster, tf.Graph().as_default():
            limit, out = loop_over_two_tasks()
            with tf.Session(cluster.target("worker", 0), config=tf.ConfigProto(operation_timeout_in_ms=20000)) as session:
                values = [float(session.run(out, {limit: n})) for n in (3, 0, 1)]
            check("%s: a loop in a loop over both kinds of tasks gives %s" % (roles, values), values == [127.0, 1.0, 7.0])


def loop_with_tensorflow_1_is_refused(program):
    """Its tasks give frames other numbers: refused by name, where a step would wait until its timeout."""
    if "ARGOSY_TF1_PYTHON" not in os.environ:
        return
    with Cluster(program, dict(zip(TASKS, "AAO"))) as cluster, tf.Graph().as_default():
        limit, out = loop_over_two_tasks()
        error, begin = None, time.time()
        with tf.Session(cluster.target("worker", 0), config=tf.ConfigProto(operation_timeout_in_ms=20000)) as session:
            try:
                session.run(out, {limit: 3})
            except tf.errors.OpError as e:
                error = e
        took = time.time() - begin
        check("a loop over a task of TensorFlow 1.15 and one of Argosy ends after %.2f s: %s" % (took, error),
              isinstance(error, tf.errors.UnimplementedError) and "numbers frames" in error.message and took < 15)


def main():
    program = sys.argv[1]
    ended_by(program, "AAA", ("ps", 0), signal.SIGKILL, 3, "kill -9 of the ps")
    ended_by(program, "AAA", ("worker", 1), signal.SIGKILL, 3, "kill -9 of a worker")
    ended_by(program, "AAA", ("ps", 0), signal.SIGSTOP, 8, "SIGSTOP of the ps")
    ended_by(program, "TAA", ("ps", 0), signal.SIGKILL, 3, "kill -9 of TensorFlow's ps")
    ended_by(program, "TAA", ("ps", 0), signal.SIGSTOP, 8, "SIGSTOP of TensorFlow's ps")
    loops_over_both_kinds_run(program)
    loop_with_tensorflow_1_is_refused(program)
    restart_is_noticed(program)
    monitored_session_recovers(program, "AAA", ("ps", 0))
    monitored_session_recovers(program, "AAA", ("worker", 1))
    monitored_session_recovers(program, "ATA", ("ps", 0))
    sys.exit(1 if failures else 0)


main()
