"""Random sessions, whose training steps a server shards over devices, and the same in TensorFlow: all that they fetch is equal.

    random_sessions.py ARGOSY [--count 100] [--first SEED] [--devices 2] [--tasks 1] [--strategy dp] [--check] [--only KIND[,KIND]] [--show]

A session is a model (random_layers.py), optimizers, and a list of calls of `run`: training by one or two losses, evaluation
of any values, gradients that are added up by hand, averages of variables, assignments, checkpoints, other batch sizes.
A session that differs is run once more by a server of one device: what differs there as well is no matter of sharding.
"""
import argparse
import collections
import os
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

from random_layers import RandomLayers
from random_training import OtherTasks
from replicated_graphs import Server, difference

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

SIZES = (2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 16)
TOLERANCE = 5e-4
STEP = .02


class RandomSession:
    """The graph of session number `seed`, and its calls: `calls` yields (kind, what is run, whether it is compared)."""

    def __init__(self, seed, kinds=None):
        self.seed, self.kinds = seed, kinds
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.set_random_seed(seed)
            self.rows = RandomLayers(seed)
            for _ in range(int(self.rows.random.randint(3, 25))):
                self.rows.add()
            self.random = np.random.RandomState(seed + 2000000)
            self.step = tf.train.get_or_create_global_step()
            self.rate = self.chosen_rate()
            self.trained = tf.trainable_variables()
            self.losses = [self.loss() for _ in range(2)]
            self.made = []
            self.train = [self.training(loss, number) for number, loss in enumerate(self.losses)]
            self.add_accumulation()
            self.add_averages()
            self.add_assignments()
            self.pool = [v.tensor for v in self.rows.floats[1:] + self.rows.ints]
            self.variables = tf.global_variables() + tf.local_variables()
            self.reset = tf.local_variables_initializer()
            self.initial = tf.group(tf.global_variables_initializer(), self.reset)
            self.saver = tf.train.Saver(max_to_keep=2, sharded=self.chance(.3))

    def pick(self, items):
        return items[self.random.randint(len(items))]

    def chance(self, share):
        return self.random.rand() < share

    # --- the graph -----------------------------------------------------------------------------------------------------

    def chosen_rate(self):
        """A function of a base rate: a fixed one, a schedule of the global step, or one that is fed."""
        step = self.step
        factor = self.pick([
            lambda: 1., lambda: tf.train.exponential_decay(1., step, 3, .8, staircase=True),
            lambda: tf.train.piecewise_constant(step, [2, 5], [1., .5, .25]), lambda: tf.train.cosine_decay(1., step, 10),
            lambda: tf.train.polynomial_decay(1., step, 6, .1), lambda: tf.train.inverse_time_decay(1., step, 2, .5),
            lambda: tf.placeholder_with_default(np.float32(1.), [], name="rate")])()
        return lambda base: base * factor

    def loss(self):
        chosen = [self.rows.floats[1]] + [self.pick(self.rows.floats[-8:]) for _ in range(3)]
        parts = [tf.reduce_mean(tf.tanh(v.tensor)) if self.chance(.7) else .05 * tf.reduce_sum(tf.tanh(v.tensor)) for v in chosen]
        if self.chance(.3):
            parts.append(.01 * tf.add_n([tf.nn.l2_loss(v) for v in self.trained]))
        return tf.add_n(parts)

    def optimizer(self):
        rate, step = self.rate, self.step
        return self.pick([
            lambda: tf.train.GradientDescentOptimizer(rate(STEP)), lambda: tf.train.MomentumOptimizer(rate(STEP), .9),
            lambda: tf.train.MomentumOptimizer(rate(STEP), .8, use_nesterov=True), lambda: tf.train.AdagradOptimizer(rate(STEP)),
            lambda: tf.train.AdadeltaOptimizer(rate(10 * STEP), epsilon=1e-3), lambda: tf.train.RMSPropOptimizer(rate(STEP / 4), epsilon=.1),
            lambda: tf.train.RMSPropOptimizer(rate(STEP / 4), momentum=.5, centered=True, epsilon=.5),
            lambda: tf.train.AdamOptimizer(rate(STEP / 4), epsilon=.1),
            lambda: tf.train.FtrlOptimizer(rate(STEP), initial_accumulator_value=1., l2_regularization_strength=.01),
            lambda: tf.train.FtrlOptimizer(rate(STEP), initial_accumulator_value=1., l1_regularization_strength=.001),
            lambda: tf.train.ProximalGradientDescentOptimizer(rate(STEP), l1_regularization_strength=.01, l2_regularization_strength=.01),
            lambda: tf.train.ProximalAdagradOptimizer(rate(STEP), l2_regularization_strength=.01),
            lambda: tf.train.AdagradDAOptimizer(rate(STEP), step, initial_gradient_squared_accumulator_value=.5)])()

    def reached(self, loss):
        """The variables with a gradient. An optimizer may change others, too, before or after what reads them is fetched."""
        return [v for s, v in zip(tf.gradients(loss, self.trained), self.trained) if s is not None]

    def slopes(self, loss, variables):
        # TensorFlow's own updates of reference variables may come before the last reading of them: not here.
        return tf.tuple(tf.gradients(loss, variables, gate_gradients=True))

    def training(self, loss, number):
        variables = self.reached(loss)
        if self.chance(.4):
            variables = variables[number::2] or variables
        slopes = self.slopes(loss, variables)
        how = self.pick(["plain", "plain", "global norm", "norm", "value"])
        dense = [tf.convert_to_tensor(s) for s in slopes]
        if how == "global norm":
            slopes = tf.clip_by_global_norm(slopes, .5)[0]
        elif how == "norm":
            slopes = [tf.clip_by_norm(s, .3) for s in dense]
        elif how == "value":
            slopes = [tf.clip_by_value(s, -.1, .1) for s in dense]
        optimizer = self.optimizer()
        self.made.append(f"loss {number}: {type(optimizer).__name__}, clipped by {how}")
        with tf.control_dependencies(self.rows.updates if number == 0 else []):
            return optimizer.apply_gradients(list(zip(slopes, variables)), global_step=self.step if self.chance(.8) else None)

    def add_accumulation(self):
        """Gradients of several batches, added up in variables of the script's own."""
        variables = self.reached(self.losses[0])[:3]
        sums = [tf.get_variable(f"sum{i}", initializer=np.zeros(v.shape, "float32"), trainable=False, use_resource=bool(i % 2))
                for i, v in enumerate(variables)]
        slopes = self.slopes(self.losses[0], variables)
        self.accumulate = tf.group(*[tf.assign_add(a, tf.convert_to_tensor(s)) for a, s in zip(sums, slopes)])
        reads = tf.tuple([tf.identity(a) * .5 for a in sums])
        with tf.control_dependencies([tf.train.GradientDescentOptimizer(STEP).apply_gradients(list(zip(reads, variables)))]):
            self.apply = tf.group(*[tf.assign(a, tf.zeros_like(a)) for a in sums])

    def add_averages(self):
        average = tf.train.ExponentialMovingAverage(.8, num_updates=self.step if self.chance(.5) else None)
        with tf.control_dependencies([self.train[0]]):
            self.train_and_average = average.apply(self.trained)
        self.swap = tf.group(*[tf.assign(v, average.average(v)) for v in self.trained])

    def add_assignments(self):
        v = self.pick(self.trained)
        self.given = tf.placeholder(tf.float32, v.shape, name="given")
        self.shape = v.shape.as_list()
        rows = [w for w in self.trained if w.shape.ndims == 2]
        at = self.pick(rows)
        self.row = tf.placeholder(tf.int32, [None], name="row")
        row = tf.gather(at, self.row) * .5
        self.assignments = [tf.assign(v, self.given), tf.assign_sub(v, self.given * .1), tf.scatter_update(at, self.row, row + .1),
                            tf.scatter_add(at, self.row, row), tf.scatter_sub(at, self.row, row)]
        self.assignments = [a.op for a in self.assignments]

    # --- calls -----------------------------------------------------------------------------------------------------------

    def calls(self, session, folder):
        """Runs the session's calls and yields (name, value) of what they fetch."""
        random = np.random.RandomState(self.seed + 3000000)
        kinds = ["train", "train", "train", "train", "other loss", "evaluate", "evaluate", "accumulate", "average", "assign", "variables",
                 "save", "restore", "traced", "callable", "reset", "one by one", "alternate"]
        session.run(self.initial)
        saved = None
        for number in range(12):
            kind = kinds[random.randint(len(kinds))]
            n = SIZES[random.randint(len(SIZES))]
            fed = {"x:0": random.randn(n, 6).astype("f"), "y:0": random.randint(0, 8, n).astype("i"), "flag:0": bool(random.rand() < .5)}
            some = [self.pool[i] for i in random.permutation(len(self.pool))[:random.randint(0, 5)]]
            given = random.randn(*self.shape).astype("f") * .3
            rows = random.permutation(4)[:random.randint(1, 4)].astype("i")
            which = random.randint(len(self.assignments))
            if random.rand() < .3 and "rate" in [op.name for op in self.graph.get_operations()]:
                fed["rate:0"] = np.float32(random.rand())
            if self.kinds and kind not in self.kinds:
                continue
            got, options = [], None
            names = [t.name for t in some]
            if kind in ("train", "traced"):
                if kind == "traced":
                    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
                got = session.run([self.losses[0], *some, self.train[0]], fed, options=options,
                                  run_metadata=tf.RunMetadata() if options else None)[:-1]
                names = ["loss", *names]
            elif kind == "other loss":
                got = session.run([self.losses[1], self.train[1]], fed)[:-1]
                names = ["other loss"]
            elif kind == "alternate":  # as adversarial training does
                for turn in range(4):
                    got += session.run([self.losses[turn % 2], self.train[turn % 2]], fed)[:-1]
                names = ["loss", "other loss"] * 2
            elif kind == "evaluate":
                got = session.run([*self.losses, *some], fed)
                names = ["loss", "other loss", *names]
            elif kind == "accumulate":
                for turn in range(3):
                    cut = {k: v[turn * n // 3:(turn + 1) * n // 3] if np.ndim(v) else v for k, v in fed.items()}
                    if len(cut["x:0"]):
                        session.run(self.accumulate, cut)
                session.run(self.apply)
                names = []
            elif kind == "average":
                got = [session.run([self.losses[0], self.train_and_average], fed)[0]]
                names = ["loss"]
                if random.rand() < .3:
                    session.run(self.swap)
            elif kind == "assign":
                session.run(self.assignments[which], {self.given: given, self.row: rows} | fed)
                names = []
            elif kind == "variables":
                got, names = session.run(self.variables), [v.name for v in self.variables]
            elif kind == "save":
                saved = self.saver.save(session, os.path.join(folder, f"model{number}"), write_meta_graph=False)
                names = []
            elif kind == "restore":
                if saved:
                    self.saver.restore(session, saved)
                names = []
            elif kind == "callable":
                call = session.make_callable([self.losses[0], self.train[0]], feed_list=["x:0", "y:0", "flag:0"])
                got, names = [call(fed["x:0"], fed["y:0"], fed["flag:0"])[0]], ["loss"]
            elif kind == "reset":
                session.run(self.reset)
                names = []
            elif kind == "one by one":  # every fetch a run of its own
                got = [session.run(t, fed) for t in [self.losses[0], *some]]
                session.run([], fed)
                names = ["loss", *names]
            for name, value in zip(names, got):
                yield f"call {number}, {kind} of {n}: {name}", value
        for v, value in zip(self.variables, session.run(self.variables)):
            yield f"at the end: {v.name}", value


def run(target, made):
    config = tf.ConfigProto()
    if not target:
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder, tf.Session(target, graph=made.graph, config=config) as session:
        return list(made.calls(session, folder))


def compare(wanted, target, made):
    found = []
    try:
        found = run(target, made)
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:600]}"
    for (name, one), (_, other) in zip(wanted, found):
        told = difference([one], [other], TOLERANCE)
        if told:
            return f"{name}: {told}"
    return ""


def steady(wanted, made):
    """Whether TensorFlow gives the same numbers again: what is open there cannot be compared."""
    return not any(difference([a], [b], TOLERANCE / 10) for (_, a), (_, b) in zip(wanted, run("", made)))


def main():
    global FOLDER
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=1, help="of a cluster, each with so many devices")
    parser.add_argument("--strategy", default="dp", help="of argosy serve")
    parser.add_argument("--check", action="store_true", help="the server compares each step with one device's, too")
    parser.add_argument("--only", help="kinds of calls, separated by commas; others are left out")
    parser.add_argument("--show", action="store_true", help="what each session is made of")
    options = parser.parse_args()
    scratch = tempfile.TemporaryDirectory()
    FOLDER = scratch.name
    files = ["--allow-files", FOLDER]
    others = OtherTasks(options.argosy, options.tasks, options.devices, *files)
    many = Server(options.argosy, options.devices, *others.flags, *files, *(["--check=100"] if options.check else []), "--sync-batch-norm", strategy=options.strategy)
    one = Server(options.argosy, 1, *files)
    count, start = collections.Counter(), time.time()
    try:
        for seed in range(options.first, options.first + options.count):
            try:
                made = RandomSession(seed, options.only and options.only.split(","))
            except TypeError:  # "Second-order gradient for while loops not supported."
                count["not built by TensorFlow"] += 1
                continue
            if options.show:
                print("\n".join(f"  {op}" for op in made.rows.made + made.made), flush=True)
            try:
                wanted = run("", made)
            except tf.errors.OpError as error:
                count["not run by TensorFlow"] += 1
                if options.show:
                    print(f"{seed}: TensorFlow: {error.message[:500]}")
                continue
            if not all(np.isfinite(v).all() for _, v in wanted if v.dtype.kind == "f"):
                count["not finite"] += 1
                continue
            found = compare(wanted, many.target, made)
            told, why = many.told(), many.why()
            how = "on one device in part" if why else "replicated" if "replicated: " in told else "not told"
            if found and not steady(wanted, made):
                how, found = "other numbers in TensorFlow itself", ""
            elif found:
                alone = compare(wanted, one.target, made)
                how = "wrong on one device, too" if alone else "wrong"
                print(f"{how}: session {seed} ({', '.join(made.made)}): {found}{'; on one device: ' + alone if alone else ''}", flush=True)
            elif options.show:
                print(f"{how}: session {seed}{': ' + why if why else ''}", flush=True)
            count[how] += 1
    finally:
        many.close()
        one.close()
        others.close()
    print(f"{sum(count.values())} random sessions, {options.devices * options.tasks} devices, {options.strategy}, {time.time() - start:.0f} s: " +
          ", ".join(f"{n} {how}" for how, n in sorted(count.items())))
    return 1 if count["wrong"] or count["wrong on one device, too"] or not count["replicated"] else 0


if __name__ == "__main__":
    sys.exit(main())
