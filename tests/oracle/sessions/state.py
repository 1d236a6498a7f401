#!/usr/bin/env python3
"""TensorFlow as the oracle of stateful ops: state.py STATE_TOOL [NAME…] [--verbose]

The programs of state_programs/*.py build a graph of raw ops and run steps of it: in TensorFlow, and, as text, in ours
(state_tool.cc). Both must give equal values, and errors of one code. Exit code 1 when a step differs.
"""

import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import summary_pb2
from tensorflow.python.framework import op_def_registry

tf1 = tf.compat.v1
tf1.disable_eager_execution()
NAMES = {"float32": "float", "float64": "double", "float16": "half"}


# --- a GraphDef in text form (argosy/graph/text.h) ------------------------------------------------------------------------


def quoted(data):
    text = ""
    for b in data:
        c = chr(b)
        text += "\\" + c if c in '"\\' else c if 32 <= b < 127 else f"\\x{b:02x}"
    return f'"{text}"'


def shape_text(shape):
    if shape.unknown_rank:
        return "shape<unknown>"
    return "shape[" + ",".join("?" if d.size < 0 else str(d.size) for d in shape.dim) + "]"


def type_text(number):
    name = tf.as_dtype(number).name
    return NAMES.get(name, name)


def element_text(value):
    if isinstance(value, bytes):
        return quoted(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (complex, np.complexfloating)):
        return f"({float(value.real)!r},{float(value.imag)!r})"
    return str(value)


def tensor_text(proto):
    array = tf.make_ndarray(proto)
    values = [element_text(v) for v in array.reshape(-1)]
    return f"{type_text(proto.dtype)}[{','.join(map(str, array.shape))}] {{{', '.join(values)}}}"


def attr_text(value, kind):
    if kind.startswith("list("):
        field = {"type": "type", "shape": "shape", "int": "i", "float": "f", "string": "s", "bool": "b"}[kind[5:-1]]
        return "[" + ", ".join(one_text(v, kind[5:-1]) for v in getattr(value.list, field)) + "]"
    field = {"type": "type", "shape": "shape", "int": "i", "float": "f", "string": "s", "bool": "b", "tensor": "tensor"}
    return one_text(getattr(value, field[kind]), kind)


def one_text(v, kind):
    if kind == "float":
        text = repr(float(v))
        return text if any(c in text for c in ".einf") else text + ".0"
    return {"type": type_text, "shape": shape_text, "int": str, "string": quoted, "tensor": tensor_text,
            "bool": lambda b: "true" if b else "false"}[kind](v)


def graph_text(graph_def):
    lines = []
    for node in graph_def.node:
        kinds = {a.name: a.type for a in op_def_registry.get(node.op).attr}
        attrs = [f"{n}={attr_text(v, kinds[n])}" for n, v in sorted(node.attr.items()) if n in kinds]
        lines.append(f"{node.name} = {node.op}({', '.join(node.input)}) [{', '.join(attrs)}]")
    return "\n".join(lines)


# --- programs ---------------------------------------------------------------------------------------------------------


class Program:
    """What a program builds and runs. Steps are told by what they fetch: tensors, operations."""

    def __init__(self, folder, other):
        self.raw = tf.raw_ops
        self.folder = folder  # of this side's files
        self.other = other  # of the other side's, to be read after cross()
        self.steps = []
        self.crossing = None

    def run(self, *fetches, same=True):
        """`same`: values must be equal; "summary": as parsed messages; else only their shapes."""
        self.steps.append(("run", None, fetches, same))

    def cross(self):
        """The other side has come as far."""
        self.crossing = len(self.steps)

    def start(self, key, *fetches):
        self.steps.append(("start", key, fetches, True))

    def join(self, key):
        self.steps.append(("join", key, (), True))

    def within(self, milliseconds, *fetches):
        self.steps.append(("within", milliseconds, fetches, True))


def flat(fetches):
    for f in fetches:
        if isinstance(f, (list, tuple)):
            yield from flat(f)
        else:
            yield f


def words(fetches):
    return " ".join("^" + f.name if isinstance(f, tf.Operation) else f.name for f in flat(fetches))


def commands(program):
    return "\n".join(" ".join(filter(None, (verb, str(key) if key is not None else "", words(fetches))))
                     for verb, key, fetches, _ in program.steps)


def tensorflow_answers(program, graph, target=""):
    """What the steps give in process, or on the session server at `target`."""
    answers, running = [], {}
    config = tf1.ConfigProto(isolate_session_state=bool(target))
    with tf1.Session(target, graph=graph, config=config) as session:
        def step(fetches, **options):
            fetches = list(flat(fetches))
            try:
                values = session.run(fetches, options=tf1.RunOptions(**options) if options else None)
                return [v for f, v in zip(fetches, values) if not isinstance(f, tf.Operation)]
            except tf.errors.OpError as error:
                return error

        for verb, key, fetches, _ in program.steps:
            if verb == "start":
                box = []
                thread = threading.Thread(target=lambda f=fetches, b=box: b.append(step(f)), daemon=True)
                thread.start()
                time.sleep(0.1)
                running[key] = (thread, box)
            elif verb == "join":
                thread, box = running[key]
                thread.join(30)
                answers.append(box[0] if box else TimeoutError("still waits"))
            else:
                answers.append(step(fetches, **({"timeout_in_ms": key} if verb == "within" else {})))
    return answers


def value_of(record):
    dtype = tf.as_dtype(record["dtype"])
    if "strings" in record:
        return np.array([bytes.fromhex(s) for s in record["strings"]], dtype=object).reshape(record["shape"])
    return np.frombuffer(bytes.fromhex(record["hex"]), dtype=dtype.as_numpy_dtype).reshape(record["shape"])


def parsed_summary(data):
    """Text of a Summary, its images by their pixels."""
    summary = summary_pb2.Summary.FromString(bytes(data) if not isinstance(data, str) else data.encode())
    pixels = []
    for value in summary.value:
        if value.HasField("image"):
            with tf.Graph().as_default(), tf1.Session() as session:
                pixels.append(session.run(tf.image.decode_png(value.image.encoded_image_string)).tolist())
            value.image.encoded_image_string = b""
    return str(summary) + str(pixels)


def said(error):
    lines = str(error).splitlines()
    at = [i for i, line in enumerate(lines) if line.startswith("Node:")]
    return lines[at[0] + 1] if at and at[0] + 1 < len(lines) else (lines or [""])[0]


def difference(ours, theirs, same):
    if "error" in ours:
        message = bytes.fromhex(ours["message"]).decode()
        if not isinstance(theirs, tf.errors.OpError):
            return f"we refuse, TensorFlow gives {theirs}: {message}"
        if theirs.error_code != ours["error"]:
            return f"code {ours['error']}, TensorFlow {theirs.error_code}: {message} | {said(theirs)}"
        return None
    if isinstance(theirs, Exception):
        return f"TensorFlow refuses: {said(theirs)}; we give {[value_of(r) for r in ours['values']]}"
    for record, value in zip(ours["values"], theirs):
        mine, value = value_of(record), np.asarray(value)
        if same == "summary":
            mine, value = parsed_summary(mine.item()), parsed_summary(theirs[0])
            if mine != value:
                return f"{mine}, TensorFlow {value}"
            continue
        if value.dtype.kind in "SU":
            value = value.astype(object)
        if mine.shape != value.shape:
            return f"shape {mine.shape}, TensorFlow {value.shape}"
        close = mine == value if mine.dtype == object or mine.dtype.kind in "biu" else np.isclose(
            mine.astype(np.complex128), value.astype(np.complex128), 1e-5, 1e-6, equal_nan=True)
        if same and not np.all(close):
            return f"{mine}, TensorFlow {value}"
    return None


def compare(name, build, tool, verbose):
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for side, opposite in (("ours", "theirs"), ("theirs", "ours")):
            place = os.path.join(folder, side)
            os.makedirs(place)
            with tf.Graph().as_default() as graph:
                program = Program(place, os.path.join(folder, opposite))
                build(program)
            sides.append((program, graph))
        program, graph = sides[0]
        if program.crossing is not None:  # TensorFlow's files first; what it says then, once more below
            before = sides[1][0].steps
            sides[1][0].steps = before[:program.crossing]
            tensorflow_answers(*sides[1])
            sides[1][0].steps = before
        text = graph_text(graph.as_graph_def()) + "\n---\n" + commands(program) + "\n"
        done = subprocess.run([tool], input=text.encode(), capture_output=True, timeout=120)
        if done.returncode != 0:
            return [f"{name}: the tool ends with {done.returncode}: {done.stderr.decode()[-2000:]}"], 0
        ours = [json.loads(line) for line in done.stdout.decode().splitlines()]
        told = [step for step in program.steps if step[0] != "start"]
        theirs = tensorflow_answers(*sides[1])
    found = []
    for i, (step, mine, other) in enumerate(zip(told, ours, theirs)):
        text = difference(mine, other, step[3])
        where = f"{name}, result {i} ({step[0]} {words(step[2])})"
        if verbose and "error" in mine and isinstance(other, Exception):
            print(f"{where}\n   ours: {bytes.fromhex(mine['message']).decode()}\n   TF:   {said(other)}")
        if text:
            found.append(f"{where}: {text}")
    if len(ours) != len(told):
        found.append(f"{name}: {len(ours)} answers to {len(told)} commands")
    return found, len(told)


def main(tool, *chosen):
    here = pathlib.Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(here))
    verbose = "--verbose" in chosen
    chosen = [c for c in chosen if not c.startswith("--")]
    found, count, steps = [], 0, 0
    for path in sorted((here / "state_programs").glob("*.py")):
        module = importlib.import_module(f"state_programs.{path.stem}")
        for build in module.PROGRAMS:
            name = f"{path.stem}.{build.__name__}"
            if chosen and not any(c in name for c in chosen):
                continue
            try:
                differences, told = compare(name, build, tool, verbose)
            except (ValueError, NotImplementedError, TypeError) as error:
                differences, told = [f"{name}: TensorFlow does not build it: {error!s:.300}"], 0
            for text in differences:
                print(text, flush=True)
            found += differences
            steps += told
            count += 1
    print(f"{count} programs, {steps} steps, {len(found)} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
