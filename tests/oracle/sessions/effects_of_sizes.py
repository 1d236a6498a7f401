"""Effects that a run needs for sizes alone happen as in TensorFlow: draws, elements, assignments, counters.

    effects_of_sizes.py ARGOSY [--only TEXT] [--strategy dp] [--show]

Each case fetches what follows from a size (a shape, zeros of it, a count) of something that has an effect, plainly, in a branch,
a loop or a function. Afterwards the state must be TensorFlow's. A second server shards a training step that fetches the same.
"""
import argparse
import itertools
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

from replicated_graphs import Server

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

BATCH = np.arange(24, dtype="float32").reshape(4, 6) / 10


def after(effect, value):
    with tf.control_dependencies([effect]):
        return tf.identity(value)


# --- effects: of the batch. What is run first, what makes a value whose making is the effect, the state that it changes -------

def draw(shape, seed):
    value = lambda: tf.random_uniform(shape(), seed=seed)
    drawn = value()
    return [], lambda: drawn, drawn


def queue():
    q = tf.FIFOQueue(40, tf.float32, shapes=[[2]])
    return [q.enqueue_many(tf.ones([30, 2]))], q.dequeue, q.size()


def batch_of_queue():
    q = tf.FIFOQueue(40, tf.float32, shapes=[[2]])
    return [q.enqueue_many(tf.ones([30, 2]))], lambda: q.dequeue_many(2), q.size()


def iterator():
    it = tf.data.make_initializable_iterator(tf.data.Dataset.range(100).map(lambda i: tf.fill([3], tf.cast(i, tf.float32))))
    return [it.initializer], it.get_next, it.get_next()


def counter(resource, how):
    c = tf.get_variable("counter", initializer=np.zeros(2, "float32"), use_resource=resource, trainable=False)
    return [c.initializer], lambda: how(c), c.read_value() if resource else tf.identity(c)


def waiting(x):
    c = tf.get_variable("counter", initializer=0., trainable=False)
    return [c.initializer], lambda: after(tf.assign_add(c, 1.), x), tf.identity(c)


def table():
    t = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, -1.)
    return [], lambda: after(t.insert(tf.cast([t.size() + 1], tf.int64), [1.]), tf.constant([1., 2.])), t.size()


def stack():
    q = tf.raw_ops.StackV2(max_size=9, elem_type=tf.float32)
    c = tf.get_variable("counter", initializer=0., trainable=False)
    pushed = lambda: after(tf.assign_add(c, 1.), tf.raw_ops.StackPushV2(handle=q, elem=tf.constant([1., 2.])))
    return [c.initializer], pushed, tf.identity(c)


def draw_there(x):
    """Drawn where the size is asked for: in a loop, once an iteration."""
    c = tf.get_variable("counter", initializer=0., trainable=False)
    return [c.initializer], lambda: tf.random_uniform(tf.shape(x), seed=7), tf.identity(c)


EFFECTS = {
    "draw": lambda x: draw(lambda: [4], 3),
    "draw of the batch's shape": lambda x: draw(lambda: tf.shape(x), 4),
    "draw beside the batch": lambda x: (lambda first, value, state: (first, lambda: x + value(), state))(*draw(lambda: [6], 5)),
    "draw there": draw_there, "queue": lambda x: queue(), "batch of a queue": lambda x: batch_of_queue(), "iterator": lambda x: iterator(),
    "reference variable": lambda x: counter(False, lambda c: tf.assign_add(c, [1., 2.])),
    "reference variable, scattered": lambda x: counter(False, lambda c: tf.scatter_add(c, [0], [1.])),
    "resource variable": lambda x: counter(True, lambda c: c.assign_add([1., 2.], read_value=True)),
    "resource variable, scattered": lambda x: counter(True, lambda c: after(c.scatter_add(tf.IndexedSlices(tf.constant([1.]), tf.constant([1]))), x)),
    "control edge": waiting, "table": lambda x: table(), "stack": lambda x: stack(),
}

SIZES = {
    "value": tf.identity,
    "shape": tf.shape, "size": tf.size, "rank": tf.rank, "zeros": tf.zeros_like, "ones": tf.ones_like,
    "shape of a sum": lambda v: tf.shape(v + 1.), "rows": lambda v: tf.shape(tf.expand_dims(v, 0))[1:],
    "shapes": lambda v: tf.shape_n([v, v * 2.])[1], "count": lambda v: tf.cast(tf.reduce_prod(tf.shape(v)), tf.float32) * .5,
    "zeros of a reshape": lambda v: tf.zeros_like(tf.reshape(v, [-1])), "range": lambda v: tf.range(tf.size(v)),
    "reshaped by it": lambda v: tf.reshape(tf.ones(tf.shape(v)), tf.shape(v)), "filled": lambda v: tf.fill(tf.shape(v), 2.),
    "filled, in a fused op": lambda v: tf.zeros(tf.shape(v)) * 3. + 1.,
}


def in_loop(make):
    return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.cast(tf.reduce_sum(make()), tf.float32)), [0, 0.], parallel_iterations=1)[1]


def in_function(make):
    @tf.function
    def body():
        return make()
    return body()


FORMS = {
    "plainly": lambda make, flag: make(),
    "in a branch": lambda make, flag: tf.cond(flag, lambda: tf.cast(tf.reduce_sum(make()), tf.float32), lambda: 7.),
    "in a branch not taken": lambda make, flag: tf.cond(flag, lambda: 7., lambda: tf.cast(tf.reduce_sum(make()), tf.float32)),
    "in a loop": lambda make, flag: in_loop(make),
    "in a function": lambda make, flag: in_function(make),
}


class Case:
    def __init__(self, effect, size, form):
        self.name = f"{size} of {effect}, {form}"
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = tf.placeholder(tf.float32, [None, 6], name="x")
            self.flag = tf.placeholder(tf.bool, [], name="flag")
            first, value, self.state = EFFECTS[effect](self.x)
            self.fetched = FORMS[form](lambda: SIZES[size](value()), self.flag)
            w = tf.get_variable("w", initializer=np.ones([6, 2], "float32"))
            loss = tf.reduce_mean(tf.square(tf.matmul(self.x, w)))
            self.train = [loss, tf.train.GradientDescentOptimizer(.1).minimize(loss)]
            self.first = [tf.global_variables_initializer(), *first]

    def run(self, target, trained, rewritten=True):
        """What is fetched, then the state after the first and the second run."""
        found, config = [], tf.ConfigProto()
        if not rewritten:
            config.graph_options.optimizer_options.opt_level = -1
            config.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf.Session(target, graph=self.graph, config=config) as session:
            for op in self.first:
                session.run(op)
            fed = {self.x: BATCH, self.flag: True}
            for _ in range(2):
                found.append(session.run([self.fetched, *(self.train if trained else [])], fed)[0])
                found.append(session.run(self.state, fed))
        return found


def compare(case, target, trained):
    """What differs from TensorFlow, with its rewrites and without: they drop arguments that a function does not read. None: it refuses."""
    try:
        wanted = [case.run("", trained, rewritten) for rewritten in (False, True)]
    except (tf.errors.OpError, TypeError) as error:
        return None if isinstance(error, tf.errors.OpError) else f"TensorFlow: {error}"
    try:
        found = case.run(target, trained)
    except tf.errors.OpError as error:
        return f"{type(error).__name__}: {' '.join(error.message.split())[:300]}"
    told = [differ(w, found) for w in wanted]
    return all(told) and told[0]


def differ(wanted, found):
    for name, one, other in zip(("fetched", "state", "fetched again", "state afterwards"), wanted, found):
        if np.shape(one) != np.shape(other) or not np.allclose(one, other, 1e-5, 1e-6):
            return f"{name}: {np.ravel(one)[:4]} in TensorFlow, {np.ravel(other)[:4]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names have it")
    parser.add_argument("--strategy", default="dp", help="of the second server")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    servers = {"one device": (Server(options.argosy, 1), False), "two devices": (Server(options.argosy, 2, strategy=options.strategy), True)}
    tried = wrong = left_out = replicated = 0
    try:
        for effect, size, form in itertools.product(EFFECTS, SIZES, FORMS):
            try:
                case = Case(effect, size, form)
            except (TypeError, ValueError) as error:  # TensorFlow's Python refuses it
                left_out += 1
                if options.show:
                    print(f"left out: {size} of {effect}, {form}: {' '.join(str(error).split())[:200]}")
                continue
            if options.only not in case.name:
                continue
            for where, (server, trained) in servers.items():
                told = compare(case, server.target, trained)
                if told is None:
                    left_out += 1
                    continue
                tried += 1
                replicated += trained and "replicated: " in server.told()
                if told:
                    wrong += 1
                    print(f"{case.name}, {where}: {told}", flush=True)
                elif options.show:
                    print(f"equal: {case.name}, {where}", flush=True)
    finally:
        for server, _ in servers.values():
            server.close()
    print(f"{tried} cases, {replicated} replicated: {wrong} differ; {left_out} left out, which TensorFlow does not run")
    return 1 if wrong or not tried or not (replicated or options.only) else 0


if __name__ == "__main__":
    sys.exit(main())
