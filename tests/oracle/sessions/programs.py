"""Runs the programs of tests/oracle/programs in TensorFlow and by a session server, and compares all that they keep.

    programs.py ARGOSY [name …]        the program `argosy`, which serves; without names: all programs
    programs.py ARGOSY --list
    programs.py ARGOSY --tensorflow    only in TensorFlow: are the programs themselves right?
    programs.py ARGOSY --replicate 3   by a server that shards the batches of training steps over three GPUs

Every program must give the same names, shapes and, within its tolerance, values. The ops that the programs used are counted:
`argosy graph import --report` must know every one.
"""
import argparse
import collections
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

import control
import curvature
import distributing
import gpus
import hidden_writes
import training_programs
import observing
import pipelines
import seeds
import sparse_rows
import strategies
from program import PROGRAMS, Run

del control, curvature, distributing, hidden_writes, training_programs, observing, pipelines, seeds, sparse_rows, strategies


# Programs that a server with fake GPUs refuses, as it says.
NOT_ON_GPUS = {"collectives_by_hand": "products and extremes of GPUs are not divided by the group's size"}

# Programs that a server which replicates runs otherwise, as it says.
NOT_REPLICATED_ALIKE = {
    "shared_state": "sessions do not share variables then",
    "gan": "batch normalisation of the shards, not of the batch",
    "residual_network": "likewise",
}


@contextlib.contextmanager
def server(argosy, devices=2, replicate=False):
    """A session server in a process of its own; gives its target."""
    command = [argosy, "serve", "--port", "0", *gpus.flags(devices)] + ["--strategy", "dp"] * replicate
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        if "grpc://" not in line:
            raise SystemExit(f"{' '.join(command)} did not say where it is: {line!r}")
        yield line[line.index("grpc://"):].split()[0]
    finally:
        process.terminate()
        process.wait(timeout=30)


def run_program(function, target, folder):
    tf.reset_default_graph()
    run = Run(target, folder)
    with tf.Graph().as_default():
        tf.set_random_seed(1234)
        with contextlib.redirect_stdout(io.StringIO()):
            function(run)
    return run


def difference(one, other, tolerance):
    """What is different, in words; "" when nothing is."""
    if isinstance(one, (str, bytes, bool)) or isinstance(other, (str, bytes, bool)):
        return "" if one == other else f"{one!r} against {other!r}"
    if isinstance(one, (list, tuple)):
        if not isinstance(other, (list, tuple)) or len(one) != len(other):
            return f"{one!r} against {other!r}"
        return next((d for d in (difference(a, b, tolerance) for a, b in zip(one, other)) if d), "")
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
        return "" if a.tolist() == b.tolist() else f"{a.tolist()!r} against {b.tolist()!r}"
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return f"{a.dtype}{a.shape} against {b.dtype}{b.shape}"
    scale = max(1.0, float(np.max(np.abs(a[np.isfinite(a)]), initial=0)))
    if np.allclose(a, b, rtol=0, atol=tolerance * scale, equal_nan=True):
        return ""
    return f"{np.max(np.abs(a.astype('complex128') - b.astype('complex128')))} apart (at most {tolerance * scale}): {a} against {b}"


def told_by(error):
    """The server's own words: Python puts a traceback before them and the op after."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    nodes = [i for i, line in enumerate(lines) if line.startswith("Node: ")]
    words = lines[nodes[-1]:] if nodes else lines
    end = next((i for i, line in enumerate(words) if line.startswith("Original stack trace")), len(words))
    return " | ".join(line.strip() for line in words[:end])[:1500]


def compare(name, wanted, found):
    ours = collections.defaultdict(list)
    for kept in found.results:
        ours[kept.name].append(kept)
    bad = []
    for kept in wanted.results:
        if not ours[kept.name]:
            bad.append(f"{kept.name}: missing")
            continue
        value = ours[kept.name].pop(0).value
        if isinstance(kept.value, str) and kept.value.endswith(" at None"):
            value = value.rsplit(" at ", 1)[0] + " at None"  # TensorFlow in this process does not say where; a server may
        d = difference(kept.value, value, kept.tolerance)
        if d:
            bad.append(f"{kept.name}: {d}")
    return bad


def census(runs):
    """How many programs use each op."""
    count = collections.Counter()
    for run in runs:
        ops = set()
        for graph in run.graphs:
            definition = graph.as_graph_def()
            named = {f.signature.name for f in definition.library.function}
            nodes = list(definition.node) + [n for f in definition.library.function for n in f.node_def]
            ops |= {node.op for node in nodes} - named
        count.update(ops)
    return count


def missing_ops(argosy, runs, folder):
    """Of the ops the programs used, those that `argosy graph import --report` calls missing."""
    missing = collections.Counter()
    for i, graph in enumerate({id(g): g for run in runs for g in run.graphs}.values()):
        path = os.path.join(folder, f"graph{i}.pb")
        with open(path, "wb") as file:
            file.write(graph.as_graph_def().SerializeToString())
        out = subprocess.run([argosy, "graph", "import", path, "--report", "--json"], capture_output=True, text=True)
        if out.returncode not in (0, 1):  # 1: something is missing
            raise SystemExit(f"argosy graph import {path}: {out.stderr}")
        missing.update(op["op"] for op in json.loads(out.stdout)["ops"] if not op["native"])
    return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tensorflow", action="store_true")
    parser.add_argument("--replicate", type=int, metavar="N", help="shards the batches of training steps over N GPUs")
    parser.add_argument("--census", metavar="FILE", help="writes the table of ops there")
    options = parser.parse_args()
    if options.list:
        return print("\n".join(PROGRAMS))
    left_out = (NOT_REPLICATED_ALIKE if options.replicate else {}) | (NOT_ON_GPUS if gpus.are_fake() else {})
    names = options.names or [name for name in PROGRAMS if name not in left_out]
    if not options.names:
        print("".join(f"{name}: left out: {why}\n" for name, why in left_out.items()), end="")
    failed, wanted, runs = [], {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            start = time.time()
            try:
                wanted[name] = run_program(PROGRAMS[name], "", os.path.join(folder, "tf", name))
                runs.append(wanted[name])
                if options.tensorflow:
                    print(f"{name}: {len(wanted[name].results)} results, {time.time() - start:.1f} s")
            except Exception:
                failed.append(name)
                print(f"{name}: fails in TensorFlow itself\n{traceback.format_exc()}")
        if not options.tensorflow:
            with server(options.argosy, options.replicate or 2, bool(options.replicate)) as target:
                for name, run in wanted.items():
                    start = time.time()
                    try:
                        bad = compare(name, run, run_program(PROGRAMS[name], target, os.path.join(folder, "ours", name)))
                    except Exception as error:
                        bad = [f"{type(error).__name__}: {told_by(error)}"]
                    print(f"{name}: {'DIFFERS' if bad else 'equal'}, {len(run.results)} results, {time.time() - start:.1f} s",
                          flush=True)
                    for line in bad[:5]:
                        print(f"    {line[:1000]}")
                    failed += [name] if bad else []
            missing = missing_ops(options.argosy, runs, folder)
            used = census(runs)
            print(f"census: {len(used)} ops used by {len(runs)} programs, {len(used) - len(missing)} native"
                  + (f"; missing: {', '.join(sorted(missing))}" if missing else ""))
            failed += sorted(missing)
            if options.census:
                with open(options.census, "w") as file:
                    file.writelines(f"{op}\t{n}\t{'missing' if op in missing else 'native'}\n" for op, n in used.most_common())
    print(f"{len(names) - len(set(failed) & set(names))} of {len(names)} programs agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
