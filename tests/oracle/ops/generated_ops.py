"""Every op through the session server, by generated cases, held against TensorFlow in process.

    generated_ops.py ARGOSY CASES [--per-op 40] [--op Tanh,Sum] [--first 0] [--json FILE] [--attributes SEEDS]

CASES is the folder that the op tests write (ctest op_cases). op_mutations.py changes those cases; each one becomes nodes of
one graph, run by a stock client in process and on our server: values must agree, and what one refuses the other refuses with
the same code. --attributes changes one attribute at a time instead, in SEEDS cases of each op, to every value worth it: an
attribute that nobody reads shows. compare_ops.py --generated FILE puts what --json wrote into its report. Exit code 1 when
anything differs without a row of known_differences.py.
"""
import argparse
import collections
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # the plain kernels are the definition
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

import known_differences
import op_mutations
from op_nodes import Node

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

BATCH = 40      # cases of one graph
PATIENCE = 60   # seconds for one case
DEATHS = 3      # of TensorFlow in one batch; after that the rest is left out
LOUD = "GENERATED_OPS_LOUD" in os.environ  # what TensorFlow and the server print
LEFT_OUT = {"Abort": "ends TensorFlow's process", "NonDeterministicInts": "another value every time"}
FLOOR = {"bfloat16": 4e-2, "float16": 5e-3}
NO_KERNEL = ("No OpKernel was registered", "Could not find device for node", "Cannot assign a device", "Unsupported data type",
             "No registered", "not registered for")


def plain_session(target, graph):
    config = tf.ConfigProto(isolate_session_state=bool(target), allow_soft_placement=True)
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return tf.Session(target, graph=graph, config=config)


def differs(ours, theirs, tolerance):
    ours, theirs = (np.array(a, dtype=object) if isinstance(a, bytes) else np.asarray(a) for a in (ours, theirs))
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"ours {ours.dtype}{list(ours.shape)}, TensorFlow's {theirs.dtype}{list(theirs.shape)}"
    if ours.size == 0:
        return ""
    if not op_mutations.is_float(ours):
        wrong = ours != theirs
    else:
        name = tf.as_dtype(ours.dtype).name
        tolerance = max(tolerance, FLOOR.get(name, 1e-5))
        kind = np.complex128 if ours.dtype.kind == "c" else np.float64
        a, b = ours.astype(kind), theirs.astype(kind)
        with np.errstate(all="ignore"):
            sizes = np.abs(b[np.isfinite(b)])
            scale = np.maximum(1, sizes.max(initial=0))  # what was added up may have cancelled out
            wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * scale))
    if not wrong.any():
        return ""
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {ours.size} elements; at {list(where)} ours {ours[where]}, TensorFlow's {theirs[where]}"


def judge(case, theirs, ours):
    """{"is": equal | refused | skip | values | code | ours refuses | ours accepts, "text": …}."""
    refused = isinstance(theirs, tuple)
    if refused and (theirs[0] in ("ValueError", "TypeError") or any(w in theirs[1] for w in NO_KERNEL)):
        return {"is": "skip", "text": theirs[1][:200]}
    if refused and isinstance(ours, tuple):
        if theirs[0] == ours[0]:
            return {"is": "refused"}
        return {"is": "code", "text": f"ours {ours[0]}: {ours[1]}; TensorFlow {theirs[0]}: {theirs[1]}"}
    if refused:
        return {"is": "ours accepts", "text": f"TensorFlow {theirs[0]}: {theirs[1]}; ours {[np.asarray(v).tolist() for v in ours]!s:.160}"}
    if isinstance(ours, tuple):
        return {"is": "ours refuses", "text": f"ours {ours[0]}: {ours[1]}; TensorFlow {[np.asarray(v).tolist() for v in theirs]!s:.160}"}
    for i, (a, b) in enumerate(zip(ours, theirs)):
        text = differs(a, b, case.tolerance)
        if text:
            return {"is": "values", "text": f"output {i}: {text}"}
    return {"is": "equal"}


def run_batch(asked, seeds, attributes, target, say):
    op, graph, nodes = asked["op"], tf.Graph(), []
    changes = op_mutations.attribute_changes(op, seeds[op], attributes) if attributes else []
    with graph.as_default():
        for n in asked["numbers"]:
            case = op_mutations.with_attribute(*changes[n]) if attributes else op_mutations.make(op, seeds[op], n)
            try:
                nodes.append((n, case, Node(case, f"case{n}")))
            except Exception as error:  # of many kinds: what Python thinks of the node
                say({"n": n, "is": "client", "text": str(error)[:300]})
    with plain_session("", graph) as here, plain_session(target, graph) as there:
        for n, case, node in nodes:
            say({"begin": n})
            theirs = node.run(here)
            say({"theirs": n})
            answer = judge(case, theirs, node.run(there))
            if "text" in answer:
                answer["text"] += f"\n      case {n}: {case.brief()}"
            say({"n": n, **answer})


def work(target, folder, attributes):
    """Answers {"op", "numbers"} on stdin by a line per case; before it runs one, it says which. Every batch has a process
    of its own, forked before TensorFlow has threads: hostile input ends TensorFlow here and there."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what TensorFlow prints is no answer
    say = lambda line: os.write(answers, (json.dumps(line) + "\n").encode())
    seeds = op_mutations.read_seeds(folder)
    say({"ops": {op: len(op_mutations.attribute_changes(op, cases, attributes)) for op, cases in seeds.items()}})
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                run_batch(json.loads(line), seeds, attributes, target, say)
                status = 0
            finally:
                os._exit(status)
        status = os.waitpid(child, 0)[1]
        say({"end": status})


class Worker:
    def __init__(self, argosy, folder, attributes):
        self.argosy, self.folder, self.attributes = argosy, folder, attributes
        self.process, self.server, self.buffer = None, None, b""

    def start(self):
        if self.server is None or self.server.poll() is not None:
            self.server = subprocess.Popen([self.argosy, "serve", "--port", "0", "--emulate", "0"], stdout=subprocess.PIPE, text=True,
                                           stderr=None if LOUD else subprocess.DEVNULL)
            line = self.server.stdout.readline()
            if "grpc://" not in line:
                raise SystemExit(f"the server did not say where it is: {line!r}")
            self.target = line[line.index("grpc://"):].split()[0]
        self.buffer = b""
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), self.argosy, str(self.folder), "--worker",
                                         self.target, "--attributes", str(self.attributes)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        start_new_session=True, stderr=None if LOUD else subprocess.DEVNULL)
        answer = self.read(5 * PATIENCE)
        if answer is None:
            raise SystemExit("the worker did not say which ops there are")
        self.ops = answer["ops"]

    def read(self, patience=PATIENCE):
        """The next line; None when the worker is gone or silent for too long."""
        end = time.time() + patience
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], 1)[0]:
                if time.time() > end or self.server.poll() is not None:
                    return None
                continue
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.buffer += more
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def ask(self, op, numbers):
        """(number, answer) of every case; TensorFlow dying or hanging in one is an answer too."""
        left, deaths = list(numbers), 0
        while left:
            if deaths > DEATHS:
                yield from ((n, {"is": "skip", "text": "TensorFlow dies of this op"}) for n in left)
                return
            if self.process is None:
                self.start()
            self.process.stdin.write((json.dumps({"op": op, "numbers": left}) + "\n").encode())
            self.process.stdin.flush()
            begun = where = None
            while True:
                answer = self.read()
                if answer is None or "end" in answer:
                    break
                if "n" in answer:
                    left.remove(answer["n"])
                    yield answer["n"], answer
                elif "begin" in answer:
                    begun, where = answer["begin"], "TensorFlow"
                else:
                    where = "ours"
            if answer is not None and answer["end"] == 0:
                continue
            time.sleep(0.2)
            dead = self.server.poll() is not None
            how = "dies" if answer is not None else "hangs"
            if answer is None or dead:
                self.stop_client()
            deaths += 1
            if begun not in left:  # while the nodes were made: they have no shape functions to speak of
                begun, where = left[0], "client"
            left.remove(begun)
            text = f"{where} {how}{f', the server has ended ({self.server.poll()})' if dead else ''}: case {begun}"
            print(f"{op}: {text}", flush=True)
            yield begun, {"is": "ours dies" if dead or where == "ours" else "client" if where == "client" else "skip", "text": text}

    def stop_client(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def stop(self):
        if self.process is not None:
            self.stop_client()
        if self.server is not None:
            self.server.terminate()
            self.server.wait(timeout=30)


def run(options):
    """op -> Counter of answers, its unexplained differences, its reasons."""
    worker = Worker(options.argosy, options.cases, options.attributes)
    worker.start()
    wanted = [op for op in options.op.split(",") if op] or sorted(worker.ops.keys() - LEFT_OUT.keys())
    wanted = [op for op in wanted if op >= options.start]
    results = {}
    try:
        for op in wanted:
            counts, differences, reasons = collections.Counter(), [], collections.Counter()
            end = worker.ops[op] if options.attributes else options.first + options.per_op
            for first in range(options.first, end, BATCH):
                for _, answer in worker.ask(op, range(first, min(first + BATCH, end))):
                    kind = answer["is"]
                    why = None if kind in ("equal", "refused", "skip", "client") else known_differences.reason(op, kind, answer["text"])
                    counts["known" if why else kind] += 1
                    if why:
                        reasons[why] += 1
                    elif kind not in ("equal", "refused", "skip", "client"):
                        differences.append(f"{kind}: {answer['text']}")
            results[op] = {"counts": counts, "differences": differences, "reasons": reasons}
            if differences:
                print(f"{op}: {dict(counts)}", flush=True)
                for text in differences[:options.show]:
                    print(f"    {text}", flush=True)
    finally:
        worker.stop()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--op", default="", help="only these, separated by commas")
    parser.add_argument("--start", default="", help="from this op on")
    parser.add_argument("--per-op", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--attributes", type=int, default=0, metavar="SEEDS", help="change attributes alone, one at a time")
    parser.add_argument("--show", type=int, default=6, help="differences of an op that are told")
    parser.add_argument("--json", default="")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker, options.cases, options.attributes)
    start = time.time()
    results = run(options)
    total = sum((r["counts"] for r in results.values()), collections.Counter())
    compared = sum(total.values()) - total["skip"] - total["client"]
    different = sum(len(r["differences"]) for r in results.values())
    print(f"{len(results)} ops, {compared} cases through the server in {time.time() - start:.0f} s: {total['equal']} equal, "
          f"{total['refused']} refused alike, {total['known']} differ as said, {different} differ; {total['client']} more are "
          f"refused by the client, {total['skip']} TensorFlow cannot run")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"tensorflow": tf.__version__, "ops": results}, indent=1))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
