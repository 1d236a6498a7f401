#!/usr/bin/env python3
"""What lives from step to step, through the session server, by generated programs, held against TensorFlow in process.

    served_state.py ARGOSY [--per-kind 20] [--first 0] [--kind variables,queues] [--devices]

Every program of stateful.py (variables of both kinds, queues, tables, tensor arrays, stacks, accumulators, staging areas,
tf.data pipelines) is drawn from its number: a graph and a list of steps. A stock client runs it in process and on our
server; each step must give equal values, or end with the same exception. The hand-written state_programs/ go the same way.
--devices: on a server with two emulated GPUs. Exit code 1 when anything differs.
"""
import argparse
import collections
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

import state
import stateful

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
FLOOR = {"bfloat16": 4e-2, "float16": 5e-3}


def session(target, graph):
    config = tf.ConfigProto(isolate_session_state=bool(target), allow_soft_placement=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return tf.Session(target, graph=graph, config=config)


class Refusal(collections.namedtuple("Refusal", "kind text")):
    """The class of an exception, and what it said."""


def outcome(where, step):
    options = tf.RunOptions(timeout_in_ms=step.patience) if step.patience else None
    try:
        values = where.run(step.fetches, step.feeds, options=options)
        return values if step.compared else []
    except (tf.errors.OpError, ValueError, TypeError) as error:
        lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith(("From /job:", "Graph execution"))]
        return Refusal(type(error).__name__, " ".join(lines)[:300])


def leaves(values):
    for v in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(v, (list, tuple)):
            yield from leaves(v)
        elif isinstance(v, tf.SparseTensorValue):
            yield from (v.indices, v.values, v.dense_shape)
        elif v is not None:
            yield v


def differs(ours, theirs):
    a, b = (np.array(v, dtype=object) if isinstance(v, bytes) else np.asarray(v) for v in (ours, theirs))
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"ours {a.dtype}{list(a.shape)}, TensorFlow's {b.dtype}{list(b.shape)}"
    if a.dtype == object or not (a.dtype.kind == "c" or tf.as_dtype(a.dtype).is_floating):
        same = a == b
    else:
        kind = np.complex128 if a.dtype.kind == "c" else np.float64
        x, y = a.astype(kind), b.astype(kind)
        with np.errstate(all="ignore"):
            near = np.abs(x - y) <= FLOOR.get(tf.as_dtype(a.dtype).name, 1e-5) * np.maximum(1, np.abs(y))
        same = near | (x == y) | (np.isnan(x) & np.isnan(y))
    return "" if np.all(same) else f"ours {a.tolist()!s:.200}, TensorFlow's {b.tolist()!s:.200}"


def difference(ours, theirs):
    if isinstance(theirs, Refusal) or isinstance(ours, Refusal):
        if isinstance(theirs, Refusal) and isinstance(ours, Refusal) and theirs.kind == ours.kind:
            return ""
        return f"ours {ours!s:.300}; TensorFlow {theirs!s:.300}"
    ours, theirs = list(leaves(ours)), list(leaves(theirs))
    if len(ours) != len(theirs):
        return f"ours {len(ours)} values, TensorFlow's {len(theirs)}"
    return next(filter(None, map(differs, ours, theirs)), "")


def generated(kind, number, target):
    """(steps, refused alike, [what differs])."""
    draw = np.random.RandomState(zlib.crc32(f"{kind}:{number}".encode()))
    graph, found, refused = tf.Graph(), [], 0
    with graph.as_default():
        tf.set_random_seed(number + 1)
        steps = stateful.KINDS[kind](draw)
    with session("", graph) as here, session(target, graph) as there:
        for i, step in enumerate(steps):
            theirs = outcome(here, step)
            refused += isinstance(theirs, Refusal)
            text = difference(outcome(there, step), theirs)
            if text:
                found.append(f"{kind} {number}, step {i} ({step.name}): {text}")
    return len(steps), refused, found


def written(build, name, target):
    """A program of state_programs/: once on each side, with files of its own."""
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for side, opposite in (("ours", "theirs"), ("theirs", "ours")):
            os.makedirs(os.path.join(folder, side))
            with tf.Graph().as_default() as graph:
                program = state.Program(os.path.join(folder, side), os.path.join(folder, opposite))
                build(program)
            sides.append((program, graph))
        if sides[0][0].crossing is not None:  # reads the other side's files: state.py
            return 0, 0, []
        theirs = state.tensorflow_answers(*sides[1])
        ours = state.tensorflow_answers(*sides[0], target=target)
    told = [s for s in sides[0][0].steps if s[0] != "start"]
    found, refused = [], 0
    for i, (step, mine, other) in enumerate(zip(told, ours, theirs)):
        as_said = lambda v: Refusal(type(v).__name__, state.said(v)[:300]) if isinstance(v, Exception) else v
        refused += isinstance(other, Exception)
        if step[3] is not True and not isinstance(mine, Exception) and not isinstance(other, Exception):
            continue  # values of its own, or messages with another encoder's images: state.py looks closer
        text = difference(as_said(mine), as_said(other))
        if text:
            found.append(f"{name}, result {i} ({step[0]} {state.words(step[2])}): {text}")
    return len(told), refused, found


def serve(options):
    devices = ["--emulate", "2" if options.devices else "0"]
    server = subprocess.Popen([options.argosy, "serve", "--port", "0", *devices], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL)
    line = server.stdout.readline()
    if "grpc://" not in line:
        raise SystemExit(f"the server did not say where it is: {line!r}")
    return server, line[line.index("grpc://"):].split()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("--per-kind", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", default="", help="only these, separated by commas; 'written' for state_programs/")
    parser.add_argument("--devices", action="store_true")
    options = parser.parse_args()
    kinds = [k for k in options.kind.split(",") if k] or [*stateful.KINDS, "written"]
    server, target = serve(options)
    begin, count, differences = time.time(), collections.Counter(), []

    def note(steps, refused, found):
        count.update(programs=1, steps=steps, refused=refused)
        differences.extend(found)
        for text in found[:3]:
            print(text, flush=True)

    try:
        for kind in kinds:
            if kind != "written":
                for number in range(options.first, options.first + options.per_kind):
                    note(*generated(kind, number, target))
                continue
            for path in sorted(pathlib.Path(__file__).resolve().parents[1].glob("state_programs/*.py")):
                for build in importlib.import_module(f"state_programs.{path.stem}").PROGRAMS:
                    note(*written(build, f"{path.stem}.{build.__name__}", target))
    finally:
        ended = server.poll()
        server.terminate()
        server.wait(timeout=30)
    if ended is not None:
        differences.append(f"the server ended with {ended}")
        print(differences[-1])
    print(f"{count['programs']} programs, {count['steps']} steps through the server in {time.time() - begin:.0f} s, "
          f"{count['refused']} refused alike, {len(differences)} differ")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
