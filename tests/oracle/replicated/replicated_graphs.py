"""Small training graphs, hundreds of them, by a server that shards the batch between two GPUs and in TensorFlow.

    replicated_graphs.py ARGOSY [--only TEXT] [--devices 2] [--strategy dp] [--inside FORM] [--every K] [--show] [--least N]

A graph is a loss of the rows of a batch: the patterns of replicated_patterns.py, and every op of TensorFlow that can be asked
so, once on [batch, d] and once on its transpose. Each must give TensorFlow's losses and variables, replicated or on one device
by name. --inside: the loss is computed in a function that is called, in a branch or in a loop, as TensorFlow 2 writes
them; what TensorFlow cannot build so is left out. Prints how many were replicated and equal, on one device by name, wrong; any that is wrong is a failure, and so are
fewer replicated ones than --least.
"""
import argparse
import collections
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

import gpus
import replicated_patterns as patterns

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

SIZES = (12, 9, 3, 12)  # of the batches: even, uneven, small
TOLERANCE = 2e-4
# Rounding grows fifteenfold a step: one device differs from TensorFlow by 9e-4 after four.
ILL_CONDITIONED = {"op BandedTriangularSolve": 5e-3}


class Tensors:
    """What a pattern is made of."""

    def __init__(self):
        self.x = tf.placeholder(tf.float32, [None, 6], name="x")
        self.y = tf.placeholder(tf.int32, [None], name="y")
        self.flag = tf.placeholder(tf.bool, [], name="flag")
        self.n = tf.shape(self.x)[0]
        self.w, self.u = self.var("w", [6, 8]), self.var("u", [8, 8])
        self.h = tf.nn.tanh(tf.matmul(self.x, self.w))
        self.beside = []

    def var(self, name, shape):
        start = np.random.RandomState(sum(map(ord, name))).randn(*shape).astype("float32") * .5
        return tf.get_variable(name, initializer=start)

    def kept(self, shape, update):
        kept = tf.get_variable(f"kept{len(self.beside)}", initializer=np.zeros(shape, "float32"), trainable=False)
        self.beside.append(kept)
        return update(kept)


# --- ops -----------------------------------------------------------------------------------------------------------

# Arguments by name where a tensor of rows would not do: for ops that are not here, the first one is the batch's rows.
GIVEN = {
    "axis": 1, "dim": 1, "dimension": 1, "concat_dim": 1, "split_dim": 1, "num_split": 2, "k": 3, "depth": 8, "on_value": 1., "off_value": 0.,
    "perm": [1, 0], "multiples": [1, 2], "paddings": [[0, 0], [1, 1]], "shape": [-1, 2, 4], "begin": [0, 1], "size": [-1, 4],
    "reduction_indices": 1, "num_lower": 1, "num_upper": 2, "constant_values": 0., "num_segments": 8, "T": None, "name": None, "n": 2,
    "clip_value_min": -.3, "clip_value_max": .3, "boundaries": [-.5, 0., .5], "shift": [1], "num_samples": 3, "seed": 5, "seed2": 7,
    # Seven eigenvalues are equal: which vectors belong to them is open.
    "compute_v": False,
    "min": -.6, "max": .6, "dims": [False, True], "fft_length": [8], "num": 8, "mode": "REFLECT", "predictions": None, "minlength": 8, "DstT": tf.int32,
    "nbins": 5, "value_range": [-1., 1.], "default_value": 0., "start": 0, "limit": 8, "delta": 1, "num_bits": 8, "num_rows": -1,
    "num_cols": -1, "padding_value": 0., "input_min": -1., "input_max": 1., "minval": 0, "maxval": 8, "align": "RIGHT_LEFT",
    "num_partitions": 2, "segment_ids": None, "block_size": 2, "scale": [.5] * 8, "num_bins": 5, "strides": [1, 1], "end": [0, 5],
    "begin_mask": 0, "alpha": .2, "rate": 1., "seq_dim": 1, "message": "", "range_given": True, "signed_input": True,
}
LABELS = {"labels", "targets", "segment_ids", "partitions", "indices", "seq_lengths", "arr"}
LEFT_OUT = re.compile(r"Dataset|Iterator|Quantized|Summary|Reader|Queue|Collective|Nccl|TPU|Xla|XLA|Save|Restore|File|Barrier|"
                      r"Accumulator|Resource|Assign|Apply|Variable|Stage|Table|Session|^Decode|^Encode|PyFunc|Stack|TensorArray|"
                      r"^Ref|Scatter(Add|Sub|Mul|Div|Min|Max|Update)$|Abort|Rpc|Print|Timestamp|Candidate|Switch|Merge|Enter|Exit|"
                      r"NextIteration|LoopCond|While|^If$|Case|Call|Placeholder|Const|Boosted|Mlir|Send|Recv|NonDeterministic|"
                      r"^Skipgram|RaggedTensor|Debug|^Copy|^Fact$|SerializeTensor|Optional|TensorList|TensorMap|_|Uniform(Quantize|Dequantize|Requantize)|Isotonic")


def arguments(op, rows, g):
    """Of a raw op: the first tensor is the rows, and so are further ones that are called as inputs of such ops are."""
    function = getattr(tf.raw_ops, op)
    given, first = {}, True
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "name":
            continue
        if name in LABELS and op != "OneHot":
            given[name] = g.y
        elif name in ("values", "inputs") and op in ("Concat", "ConcatV2", "Pack", "AddN", "AccumulateNV2", "IdentityN"):
            given[name] = [rows, rows * .5]
            first = False
        elif first and parameter.default is inspect.Parameter.empty and name not in ("axis", "split_dim", "concat_dim", "dims", "shape"):
            given[name] = rows
            first = False
        elif name in GIVEN and GIVEN[name] is not None:
            if parameter.default is inspect.Parameter.empty or name in ("seed", "seed2", "mode", "compute_v"):
                given[name] = GIVEN[name]
        elif parameter.default is inspect.Parameter.empty:
            given[name] = rows * .7 + .1
    return function(**given)


CASTS = (lambda v: v, lambda v: tf.cast(v * 5., tf.int32), lambda v: v > 0, lambda v: tf.complex(v, v * .5),
         lambda v: tf.as_string(tf.cast(v * 5., tf.int32)), lambda v: tf.reshape(v, [-1, 4, 2, 1]), lambda v: v[:, 0],
         lambda v: tf.reshape(tf.matmul(v[:, :, None], v[:, None, :]), [-1, 8, 8]) + 2. * tf.eye(8), lambda v: tf.cast(v * 5., tf.uint8),
         lambda v: tf.cast(tf.reshape(v, [-1, 2, 2, 2]), tf.complex64))


def numbers(value):
    if value.dtype == tf.string:
        value = tf.strings.to_hash_bucket_fast(value, 10)
    if value.dtype.is_complex:
        value = tf.real(value) + .3 * tf.imag(value)
    return tf.tanh(tf.cast(value, tf.float32))


def loss_of_op(op, cast, turned):
    def build(g):
        rows = cast(g.h)
        if turned:
            rows = tf.transpose(rows)
        outputs = arguments(op, rows, g)
        outputs = [outputs] if isinstance(outputs, tf.Tensor) else list(outputs)
        total = patterns.mean_square(g.h)
        for one in outputs:
            for value in one if isinstance(one, (list, tuple)) else [one]:
                if not isinstance(value, tf.Tensor):
                    continue
                value = numbers(value)
                shape = value.shape
                if shape.rank and shape[0].value is None and not turned:
                    rest = list(range(1, shape.rank))
                    total += tf.reduce_mean(tf.reduce_mean(value, rest) * tf.reduce_sum(g.h, 1))
                else:
                    total += tf.reduce_mean(value) * (1. + patterns.mean_square(g.h))
        return total
    return build


FORMS = {
    "call": lambda make: lambda g: tf.function(lambda: make(g))(),
    "branch": lambda make: lambda g: tf.cond(g.n > 0, lambda: make(g), lambda: tf.constant(0.)),
    "untaken branch": lambda make: lambda g: tf.cond(g.n < 0, lambda: make(g), lambda: patterns.mean_square(g.h)),
    "loop": lambda make: lambda g: tf.while_loop(lambda i, t: i < 2, lambda i, t: (i + 1, t + make(g)), [0, 0.],
                                                 parallel_iterations=1)[1],
}


def op_graphs(only):
    """Those that TensorFlow builds and runs, tried with rows of several dtypes until one is taken."""
    for op in dir(tf.raw_ops):
        if LEFT_OUT.search(op) or not op[0].isupper() or only not in f"op {op}, turned":
            continue
        for cast in CASTS[1:] if op == "AsString" else CASTS:
            build = loss_of_op(op, cast, False)
            wanted = try_in_tensorflow(build)
            if wanted is None:
                continue
            yield f"op {op}", build, wanted
            turned = loss_of_op(op, cast, True)
            wanted = try_in_tensorflow(turned)
            if wanted is not None:
                yield f"op {op}, turned", turned, wanted
            break


# --- running -------------------------------------------------------------------------------------------------------

def feeds():
    random = np.random.RandomState(7)
    for n in SIZES:
        yield {"x:0": random.randn(n, 6).astype("f"), "y:0": random.randint(0, 8, n).astype("i"), "flag:0": bool(n % 2)}


def build(make, beside):
    g = Tensors()
    g.loss = make(g) if not beside else patterns.mean_square(g.h)
    fetched = make(g) if beside else []
    variables = tf.trainable_variables()
    # TensorFlow's own updates of reference variables may come before the last reading of them: not here.
    slopes = tf.gradients(g.loss, variables, gate_gradients=True)
    slopes = tf.tuple(slopes)
    train = tf.train.GradientDescentOptimizer(.2).apply_gradients([(s, v) for s, v in zip(slopes, variables) if s is not None])
    asked = [f for f in fetched if isinstance(f, tf.Tensor)]
    return g, asked, [train] + [f for f in fetched if not isinstance(f, tf.Tensor)]


def run(make, target, kind="loss"):
    with tf.Graph().as_default():
        tf.set_random_seed(1234)
        if kind == "program":
            return make(target)
        beside = kind == "beside"
        g, asked, targets = build(make, beside)
        values = []
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            for fed in feeds():
                got = session.run([g.loss] + asked + targets, fed)
                values += [np.asarray(v) for v in got[:1 + len(asked)]]
            values += session.run([g.w] + g.beside)
        return values


def try_in_tensorflow(make):
    try:
        return run(make, "")
    except Exception:
        return None


def difference(one, other, tolerance=TOLERANCE):
    for i, (a, b) in enumerate(zip(one, other)):
        if a.shape != b.shape:
            return f"value {i}: {a.shape} against {b.shape}"
        if a.dtype.kind in "OSU":
            if a.tolist() != b.tolist():
                return f"value {i}: {a} against {b}"
            continue
        scale = max(1., float(np.max(np.abs(a[np.isfinite(a)]), initial=0)))
        if not np.allclose(a, b, rtol=0, atol=tolerance * scale, equal_nan=True):
            return f"value {i}: {np.ravel(a)[:4]} in TensorFlow, {np.ravel(b)[:4]}"
    return ""


class Server:
    """`argosy serve --replicate` in a process of its own, and what it says of each step."""

    def __init__(self, argosy, devices, *flags, strategy="dp"):
        self.log = tempfile.TemporaryFile()
        port = [] if "--cluster" in flags else ["--port", "0"]  # in a cluster it is the task's
        command = [argosy, "serve", *port, "--http-port", "0", "--json", *gpus.flags(devices), "--strategy", strategy, *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=dict(os.environ, ARGOSY_LOG_LEVEL="0"))
        line = self.process.stdout.readline()
        if not line.startswith("{"):
            raise SystemExit(f"{' '.join(command)} did not say where it is: {line!r}")
        ready = json.loads(line)
        self.target = f"grpc://localhost:{ready['port']}"
        self.status = f"http://localhost:{ready['http_port']}/statusz"
        self.read, self.steps = 0, {}

    def why(self):
        """The reason for which a step ran on one device since the last call; the log tells each reason once."""
        text = urllib.request.urlopen(self.status, timeout=30).read().decode()
        steps = {why: int(n) for n, why in re.findall(r"^  (\d+) on one device: (?!too few)(.*)$", text, re.MULTILINE)}
        new = [why for why, n in steps.items() if n > self.steps.get(why, 0)]
        self.steps = steps
        return new[0] if new else ""

    def told(self):
        self.log.seek(self.read)
        text = self.log.read()
        self.read += len(text)
        return text.decode(errors="replace")

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=30)


def graphs(only, kinds=("program", "loss", "beside")):
    for group, kind in (("PROGRAMS", "program"), ("FOUND", "loss"), ("DOCUMENTED", "loss"), ("BESIDE", "beside")):
        for name, make in getattr(patterns, group).items():
            if only in name and kind in kinds:
                yield name, make, run(make, "", kind), kind
    if only in "op " or only.startswith("op "):
        for name, make, wanted in op_graphs(only):
            if only in name:
                yield name, make, wanted, "loss"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("--only", default="", metavar="TEXT", help="graphs whose name contains it")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--strategy", default="dp", help="of argosy serve")
    parser.add_argument("--show", action="store_true", help="a line for every graph")
    parser.add_argument("--least", type=int, default=0, metavar="N", help="of graphs that are replicated")
    parser.add_argument("--inside", default="", choices=("", *FORMS), help="the function that computes the loss")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="of the graphs")
    options = parser.parse_args()
    if options.inside:
        tf.enable_control_flow_v2()
    server, start = Server(options.argosy, options.devices, strategy=options.strategy), time.time()
    count, wrong = collections.Counter(), []
    try:
        kinds = ("loss",) if options.inside else ("program", "loss", "beside")
        for number, (name, make, wanted, kind) in enumerate(graphs(options.only, kinds)):
            if number % options.every:
                continue
            if options.inside:
                make = FORMS[options.inside](make)
                wanted = try_in_tensorflow(make)
                if wanted is None:
                    count["left out"] += 1
                    continue
            try:
                found = difference(wanted, run(make, server.target, kind), ILL_CONDITIONED.get(name, TOLERANCE))
            except Exception as error:
                lines = str(error).splitlines()
                line = next((one for one in lines if "ARG-" in one or "{{node" in one), lines[0])
                found = f"{type(error).__name__}: {line[:300]}"
            told = server.told()
            why = server.why()
            how = "wrong" if found else "on one device" if why else "replicated" if "replicated: " in told else "not told"
            count[how] += 1
            if "micro-batches overlap" in told:
                count["of them overlapping"] += 1
            if how in ("wrong", "not told"):
                wrong.append(name)
                print(f"{how}: {name}: {found}", flush=True)
            elif options.show:
                print(f"{how}: {name}{': ' + why[:200] if why else ''}{' (overlap)' if 'micro-batches overlap' in told else ''}", flush=True)
    finally:
        server.close()
    counted = sum(n for how, n in count.items() if how not in ("of them overlapping", "left out"))
    print(f"{counted} graphs, {options.devices} devices, {options.strategy}{options.inside and ', inside: ' + options.inside}, {time.time() - start:.0f} s: " +
          ", ".join(f"{n} {how}" for how, n in sorted(count.items())))
    if count["replicated"] < options.least:
        print(f"fewer than {options.least} replicated")
    return 1 if wrong or count["replicated"] < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
