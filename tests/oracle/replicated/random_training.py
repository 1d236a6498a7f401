"""Random training steps, sharded over devices by a server and whole in TensorFlow: losses, fetches and variables must be equal.

    random_training.py ARGOSY [--count 100] [--first SEED] [--devices 2] [--tasks 1] [--strategy dp] [--check] [--drawn] [--ops N] [--all] [--show]

Step number SEED is the same wherever it is made (random_rows.py, random_layers.py). What is fetched beside the loss is chosen at random among all
values of the step; some steps feed a value that they compute otherwise. A step that differs is run once more by a server of one device: what differs there as well is no
matter of sharding. To find the op that matters: --ops N makes only the first N ops of a step, --all fetches every value.
"""
import argparse
import collections
import functools
import json
import os
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

import gpus
from cluster_harness import free_ports
from random_layers import RandomLayers
from replicated_graphs import Server, difference

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

SIZES = (12, 9, 3, 13, 5)
TOLERANCE = 5e-4
STEP = .02

GIVEN_AT = 3  # the run that feeds a computed value, if any does

Made = collections.namedtuple("Made", "graph fetches names given targets variables initial ops drawn")


def optimizer(random):
    return [lambda: tf.train.GradientDescentOptimizer(STEP), lambda: tf.train.MomentumOptimizer(STEP, .9),
            lambda: tf.train.AdagradOptimizer(STEP), lambda: tf.train.RMSPropOptimizer(STEP / 4, epsilon=.1),
            lambda: tf.train.AdamOptimizer(STEP / 4, epsilon=.1)][random.randint(5)]()


def examples(seed):
    """Of each step: x and y."""
    random = np.random.RandomState(seed)
    return [(random.randn(n, 6).astype("f"), random.randint(0, 8, n).astype("i")) for n in SIZES]


def iterator(seed):
    """Draws what else would be fed: batches whose sizes nobody knows before the step runs."""
    batches = [tf.data.Dataset.from_tensor_slices(batch).batch(len(batch[0])) for batch in examples(seed)]
    return tf.data.make_initializable_iterator(functools.reduce(lambda all, next: all.concatenate(next), batches).repeat())


def make(seed, limit, fetch_all=False, drawn=False):
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(seed)
        batches = iterator(seed) if drawn else None
        rows = RandomLayers(seed, batches and batches.get_next())
        wanted = int(rows.random.randint(3, 45))
        for _ in range(min(wanted, limit)):
            rows.add()
        random = np.random.RandomState(seed + 1000000)  # another stream: --ops changes nothing of what follows
        chosen = [rows.floats[1]] + rows.floats[-6:]
        loss = tf.add_n([tf.reduce_mean(tf.tanh(v.tensor)) if random.rand() < .7 else .05 * tf.reduce_sum(tf.tanh(v.tensor)) for v in chosen])
        variables = tf.trainable_variables()
        # TensorFlow's own updates of reference variables may come before the last reading of them: not here.
        slopes = tf.tuple(tf.gradients(loss, variables, gate_gradients=True))
        norm = random.rand() < .3
        if norm:
            slopes = tf.clip_by_global_norm(slopes, .7)[0]
        with tf.control_dependencies(rows.updates):
            train = optimizer(random).apply_gradients([(s, v) for s, v in zip(slopes, variables) if s is not None])
        fetched = [loss]
        pool = rows.floats[1:] + rows.ints
        some = [pool[i].tensor for i in random.permutation(len(pool))[:random.randint(0, 5)]]
        fetched = [v.tensor for v in pool] + fetched if fetch_all else fetched + some
        computed = [v.tensor for v in rows.floats[1:] if graph.is_feedable(v.tensor)]
        given = computed[random.randint(len(computed))] if random.rand() < .3 else None
        initial = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer(), *([batches.initializer] if drawn else []))
        return Made(graph, fetched, [f.name for f in fetched], given, [train], tf.global_variables() + tf.local_variables(),
                    initial, rows.made, drawn)


def feeds(made, seed):
    for x, y in examples(seed):
        yield {"flag:0": bool(len(x) % 2)} | ({} if made.drawn else {"x:0": x, "y:0": y})


def run(target, made, seed):
    """The fetches of each step, then the variables."""
    config = tf.ConfigProto()
    if not target:  # the plain graph is the definition; TensorFlow's rewritten one gives other numbers where computed values are fed
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    values = []
    with tf.Session(target, graph=made.graph, config=config) as session:
        session.run(made.initial)
        for number, fed in enumerate(feeds(made, seed)):
            if number == GIVEN_AT and made.given is not None:
                fed[made.given] = np.asarray(session.run(made.given, fed) * .5 + .1, "float32")
            got = session.run(made.fetches + made.targets, fed)
            values += [np.asarray(v) for v in got[:len(made.fetches)]]
        return values + session.run(made.variables)


def names(made):
    return [f"step {s}, {name}" for s in range(len(SIZES)) for name in made.names] + [v.name for v in made.variables]


def compare(wanted, target, made, seed):
    try:
        found = run(target, made, seed)
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:600]}"
    for name, one, other in zip(names(made), wanted, found):
        told = difference([one], [other], TOLERANCE)
        if told:
            return f"{name}: {told}"
    return ""


def steady(wanted, made, seed):
    """Whether TensorFlow gives the same numbers again: what is open there cannot be compared."""
    return not any(difference([a], [b], TOLERANCE / 10) for a, b in zip(wanted, run("", made, seed)))


class OtherTasks:
    """All tasks of a cluster but the first, which has as many devices as each of them. `flags`: of the first task's server.
    `more`: further options of the others."""

    def __init__(self, argosy, tasks, devices, *more):
        spec = json.dumps({"worker": [f"127.0.0.1:{port}" for port in free_ports(tasks)]}) if tasks > 1 else ""
        self.processes, self.flags = [], []
        for task in range(1, tasks):
            self.processes.append(subprocess.Popen([argosy, "serve", *self.of_task(spec, task), *gpus.flags(devices), *more],
                                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
            if b"serving" not in self.processes[-1].stdout.readline():
                raise SystemExit(f"task {task} did not start")
        if tasks > 1:
            self.flags = self.of_task(spec, 0)

    @staticmethod
    def of_task(spec, task):
        return ["--cluster", spec, "--job", "worker", "--task", str(task)]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--devices", type=int, default=2, help="of each task")
    parser.add_argument("--tasks", type=int, default=1, help="of a cluster, whose devices all take part")
    parser.add_argument("--strategy", default="dp", help="of argosy serve")
    parser.add_argument("--check", action="store_true", help="the server compares each step with one device's, too")
    parser.add_argument("--drawn", action="store_true", help="an iterator gives the examples, instead of feeds")
    parser.add_argument("--ops", type=int, default=1000, metavar="N", help="the most that a step has")
    parser.add_argument("--all", action="store_true", help="fetch every value, in the order of the ops")
    parser.add_argument("--show", action="store_true", help="what each step is made of")
    options = parser.parse_args()
    checks = ["--check=5"] if options.check else []
    others = OtherTasks(options.argosy, options.tasks, options.devices)
    many = Server(options.argosy, options.devices, "--sync-batch-norm", *others.flags, *checks, strategy=options.strategy)
    one = Server(options.argosy, 1)
    count, start = collections.Counter(), time.time()
    try:
        for seed in range(options.first, options.first + options.count):
            try:
                made = make(seed, options.ops, options.all, options.drawn)
            except TypeError:  # "Second-order gradient for while loops not supported."
                count["not built by TensorFlow"] += 1
                continue
            if options.show:
                print("\n".join(f"  {i + 1}: {op}" for i, op in enumerate(made.ops)), flush=True)
            try:
                wanted = run("", made, seed)
            except tf.errors.OpError as error:
                count["not run by TensorFlow"] += 1
                if options.show:
                    print(f"{seed}: TensorFlow: {error.message[:500]}")
                continue
            if not all(np.isfinite(v).all() for v in wanted if v.dtype.kind == "f"):
                count["not finite"] += 1
                continue
            found = compare(wanted, many.target, made, seed)
            told, why = many.told(), many.why()
            how = "on one device" if why else "replicated" if "replicated: " in told else "not told"
            if found and not steady(wanted, made, seed):
                how, found = "other numbers in TensorFlow itself", ""
            elif found:
                alone = compare(wanted, one.target, made, seed)
                how = "wrong on one device, too" if alone else "wrong"
                print(f"{how}: step {seed} ({len(made.ops)} ops): {found}{'; on one device: ' + alone if alone else ''}", flush=True)
            elif options.show:
                print(f"{how}: step {seed}{': ' + why if why else ''}", flush=True)
            count[how] += 1
    finally:
        many.close()
        one.close()
        others.close()
    print(f"{sum(count.values())} random steps, {options.devices * options.tasks} devices, {options.strategy}, {time.time() - start:.0f} s: " +
          ", ".join(f"{n} {how}" for how, n in sorted(count.items())))
    return 1 if count["wrong"] or count["wrong on one device, too"] or count["not told"] else 0


if __name__ == "__main__":
    sys.exit(main())
