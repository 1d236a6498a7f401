"""Programs of TensorFlow 1.x, each run in TensorFlow itself and by a session server; both must give the same results.

A program is a function of one argument, a Run. It builds its graph, opens sessions by run.session(), and keeps what it
finds by run.keep(). Its random numbers come from seeds, so that two runs are one.
"""
import contextlib
import threading

import numpy as np
import tensorflow.compat.v1 as tf

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


class Kept:
    """A result: what it is called, its value, and how far another run's may be from it."""

    def __init__(self, name, value, tolerance):
        self.name, self.value, self.tolerance = name, value, tolerance


class Run:
    def __init__(self, target, folder):
        self.target = target    # "" for TensorFlow in this process, else "grpc://host:port"
        self.folder = folder    # to write files in
        self.random = np.random.RandomState(42)
        self.results = []
        self.graphs = []        # every graph a session ran, for the census of ops
        self._lock = threading.Lock()

    @property
    def in_process(self):
        return not self.target

    def session(self, graph=None, **options):
        """A session on what the run is for. TensorFlow here has no GPU: it moves what asks for one."""
        options.setdefault("allow_soft_placement", True)
        return self.session_of(tf.ConfigProto(**options), graph)

    def session_of(self, config, graph=None, shared=False):
        """The same, with this configuration; `shared`: its variables outlive it on a server."""
        graph = graph or tf.get_default_graph()
        with self._lock:
            if graph not in self.graphs:
                self.graphs.append(graph)
        if not shared:  # as in TensorFlow's own process
            config.isolate_session_state = bool(self.target)
        return tf.Session(self.target, graph=graph, config=config)

    def keep(self, name, value, tolerance=1e-5):
        with self._lock:
            self.results.append(Kept(name, value, tolerance))

    @contextlib.contextmanager
    def raises(self, name, anywhere=False):
        """Keeps the class of the exception that the block ends with, and the op it names; not the op, where several fail
        at once and any may be the first (`anywhere`)."""
        try:
            yield
            self.keep(name, "nothing")
        except tf.errors.OpError as error:
            op = error.op.name if error.op is not None else None
            self.keep(name, type(error).__name__ if anywhere else f"{type(error).__name__} at {op}")
        except Exception as error:  # the client's own checks
            self.keep(name, type(error).__name__)


def train(run, session, steps, loss, step, feed, name="losses", tolerance=1e-4):
    """Runs `steps` steps; keeps the loss of each: 1e-6 apart at first, `tolerance` in the end (relative to its size)."""
    losses = []
    for i in range(steps):
        losses.append(session.run([loss, step], feed(i))[0])
    run.keep(f"first of {name}", losses[0], 1e-6)
    run.keep(name, np.array(losses), tolerance)
    return losses


def dense(x, units, name, activation=None):
    """A fully connected layer, as people wrote it before tf.layers."""
    with tf.variable_scope(name):
        w = tf.get_variable("w", [x.shape[-1], units], initializer=tf.glorot_uniform_initializer())
        b = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
        y = tf.nn.bias_add(tf.matmul(x, w), b)
        return activation(y) if activation else y


def conv(x, filters, kernel, name, stride=1, activation=None, padding="SAME"):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [kernel, kernel, x.shape[-1], filters], initializer=tf.glorot_uniform_initializer())
        b = tf.get_variable("b", [filters], initializer=tf.zeros_initializer())
        y = tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, stride, stride, 1], padding=padding), b)
        return activation(y) if activation else y
