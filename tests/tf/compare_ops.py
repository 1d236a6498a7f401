#!/usr/bin/env python3
"""TensorFlow as the oracle of our ops.

    ARGOSY_TF_PYTHON=path/to/venv/bin/python ctest --test-dir build/dev -R tf_ops     # all of it; or step by step:
    ctest --test-dir build/dev -R op_cases                            # the op tests write their cases and our results
    path/to/venv/bin/python tests/tf/compare_ops.py build/dev/op_cases [--op Tanh,Sum] [--verbose] [--json FILE]
        [--report FILE.md]

Runs each case through the op of that name (TensorFlow 2.x, eager, CPU) and reports per op: cases, how many agree, the
largest difference in units in the last place, and every case that differs or that only one of the two refuses.
Exit code 1 when anything differs without the case saying why (OpCase::unlike_tensorflow), or when an op of ops.json has
no case that is run. The file format is what argosy/testing/op_dump.cc writes. Needs a Python with tensorflow; nothing of
argosy's.
"""

import argparse
import collections
import json
import os
import pathlib
import select
import struct
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # the plain kernels are the definition
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

import agreement
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import op_def_registry

# Same closeness as the C++ harness: relative to max(1, |expected|), by dtype.
FLOOR = {"bfloat16": 4e-2, "float16": 5e-3}


def tensor(record):
    dtype = tf.dtypes.as_dtype(record["dtype"])
    if "strings" in record:
        flat = np.array([bytes.fromhex(s) for s in record["strings"]], dtype=object)
        return tf.constant(flat.reshape(record["shape"]), dtype=tf.string)
    flat = np.frombuffer(bytes.fromhex(record["hex"]), dtype=dtype.as_numpy_dtype)
    return tf.constant(flat.reshape(record["shape"]), dtype=dtype)


def attribute(record):
    """As TensorFlow's eager runtime takes it."""
    (kind, value), = record.items()
    number = lambda text: struct.unpack("<f", bytes.fromhex(text))[0]
    sizes = lambda v: None if v is None else [None if s < 0 else s for s in v]
    convert = {"tensor": lambda t: tf.make_tensor_proto(tensor(t).numpy(), tensor(t).dtype), "float": number, "shape": lambda v: execute.make_shape(tf.TensorShape(sizes(v)), "shape"), "string": lambda text: text.encode()}
    if kind in convert:
        return convert[kind](value)
    if kind.endswith("s") and kind[:-1] in convert:
        return [convert[kind[:-1]](v) for v in value]
    return value  # int, bool, type and lists of them


def output_count(op_def, case):
    if case["outputs"]:
        return len(case["outputs"])
    count = 0
    for arg in op_def.output_arg:
        attrs = case["attrs"]
        number = attrs.get(arg.number_attr, {}).get("int", 1) if arg.number_attr else 1
        if arg.type_list_attr:
            number = len(attrs.get(arg.type_list_attr, {}).get("types", []))
        count += number
    return count


def call(case):
    """Runs the case's op in TensorFlow; a flat list of numpy arrays."""
    op_def = op_def_registry.get(case["op"])
    known = {a.name for a in op_def.attr}
    attrs = []
    for name, value in case["attrs"].items():
        if name in known:  # what is younger than this TensorFlow has its default anyway
            attrs += [name, attribute(value)]
    results = execute.execute(case["op"].encode(), output_count(op_def, case), [tensor(t) for t in case["inputs"]],
                              tuple(attrs), context.context())
    return [t.numpy() for t in results or []]


def call_state(case):
    """The same for an op that changes variables: its outputs that are no references, then the variables' values."""
    op_def = op_def_registry.get(case["op"])
    attrs = {name: attribute(value) for name, value in case["attrs"].items() if not name.startswith("_")}
    dtype = next((attrs[a] for a in ("T", "dtype") if isinstance(attrs.get(a), tf.DType)), None)
    if dtype is None:
        dtype = next((tf.dtypes.as_dtype(t["dtype"]) for t in case["inputs"] if t), tf.float32)
    inferred = {a for arg in op_def.input_arg if not arg.is_ref for a in (arg.type_attr,)} | {
        arg.type_attr for arg in op_def.input_arg if arg.is_ref}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        arguments, variables, set_up, feeds = {}, [], [], {}
        for arg, record in zip(op_def.input_arg, case["inputs"]):
            value = tensor_value(record) if record else None
            here = value.dtype if record else dtype
            if arg.is_ref:
                after = case["after"][len(variables)] if case["after"] else None
                shape = value.shape if record else after["shape"] if after else []
                handle = tf.raw_ops.VariableV2(shape=shape, dtype=here)
                if record:
                    set_up.append(tf.raw_ops.Assign(ref=handle, value=fed(value, feeds), validate_shape=False).op)
            elif arg.type == tf.resource.as_datatype_enum:
                handle = tf.raw_ops.VarHandleOp(dtype=here, shape=None, shared_name=f"v{len(variables)}")
                if record:
                    set_up.append(tf.raw_ops.AssignVariableOp(resource=handle, value=fed(value, feeds)))
            else:
                arguments[arg.name] = fed(value, feeds)
                continue
            variables.append((handle, here, arg.is_ref))
            arguments[arg.name] = handle
        arguments.update({k: v for k, v in attrs.items()
                          if k in {a.name for a in op_def.attr} and (k not in inferred or k == "dtype" and k not in
                                                                    {a.type_attr for a in op_def.input_arg})})
        result = getattr(tf.raw_ops, case["op"])(**arguments)
        session.run(set_up, feeds)
        outputs = [] if isinstance(result, tf.Operation) else list(result) if isinstance(result, (list, tuple)) else [result]
        plain = [o for o, arg in zip(outputs, op_def.output_arg) if not arg.is_ref]
        _, values = session.run([result if isinstance(result, tf.Operation) else outputs[0].op, plain], feeds)
        reads = [tf.raw_ops.Identity(input=h) if is_ref else tf.raw_ops.ReadVariableOp(resource=h, dtype=d)
                 for h, d, is_ref in variables]
        after = [session.run(r) if ours else np.float32(0) for r, ours in zip(reads, case["after"])]
        return list(values) + after


class tensor_value:
    """A record as a NumPy array with its TensorFlow dtype."""

    def __init__(self, record):
        self.dtype = tf.dtypes.as_dtype(record["dtype"])
        if "strings" in record:
            flat = np.array([bytes.fromhex(s) for s in record["strings"]], dtype=object)
        else:
            flat = np.frombuffer(bytes.fromhex(record["hex"]), dtype=self.dtype.as_numpy_dtype)
        self.array = flat.reshape(record["shape"])
        self.shape = record["shape"]


def fed(value, feeds):
    placeholder = tf.raw_ops.Placeholder(dtype=value.dtype, shape=value.shape)
    feeds[placeholder] = value.array
    return placeholder


def ulps(ours, theirs):
    """Largest distance in representable numbers, over finite elements of a floating dtype."""
    width = {2: np.int16, 4: np.int32, 8: np.int64}[ours.dtype.itemsize]

    def ordered(a):
        bits = np.ascontiguousarray(a).view(width).astype(object if width is np.int64 else np.int64)
        lowest = -(1 << (8 * ours.dtype.itemsize - 1))
        return np.where(bits < 0, lowest - bits, bits)

    # Subnormal numbers, which TensorFlow flushes to zero, are not near anything.
    tiny = {2: 2.0 ** -14, 4: 2.0 ** -126, 8: 2.0 ** -1022}[ours.dtype.itemsize]
    finite = np.ones(ours.shape, bool)
    for values in (ours.astype(np.float64), theirs.astype(np.float64)):
        finite &= np.isfinite(values) & (np.abs(values) >= tiny)
    if not finite.any():
        return 0
    return int(np.abs(ordered(ours[finite]) - ordered(theirs[finite])).max())


def is_floating(array):
    return tf.dtypes.as_dtype(array.dtype).is_floating


def differs(ours, theirs, tolerance):
    """Text that says how, or None; and the distance in ulps."""
    ours, theirs = (np.array(a, dtype=object) if isinstance(a, bytes) else np.asarray(a) for a in (ours, theirs))
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"ours {ours.dtype}{list(ours.shape)}, TensorFlow's {theirs.dtype}{list(theirs.shape)}", 0
    if ours.size == 0:
        return None, 0
    name = tf.dtypes.as_dtype(ours.dtype).name if ours.dtype != object else "string"
    if name == "string" or not (is_floating(ours) or np.iscomplexobj(ours)):
        wrong = ours != theirs
        distance = 0
    else:
        tolerance = min(tolerance, 1e-5) if name in ("float64", "complex128") else max(tolerance, FLOOR.get(name, 0))
        kind = np.complex128 if np.iscomplexobj(ours) else np.float64
        a, b = ours.astype(kind), theirs.astype(kind)
        with np.errstate(all="ignore"):
            close = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * np.maximum(1, np.abs(b)))
        wrong = ~close
        distance = 0 if np.iscomplexobj(ours) else ulps(ours, theirs)
    if not wrong.any():
        return None, distance
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {ours.size} elements; at {list(where)} ours {ours[where]}, TensorFlow's {theirs[where]}", distance


class Tally:
    def __init__(self):
        self.cases = self.agree = self.ulps = self.refused = 0
        self.known, self.skipped = collections.Counter(), collections.Counter()  # by reason
        self.dtypes = set()
        self.differences = []

    def add(self, other):
        for name in ("cases", "agree", "refused", "known", "skipped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.dtypes |= other.dtypes
        self.ulps = max(self.ulps, other.ulps)
        self.differences += other.differences


# What TensorFlow cannot be asked, by what it says then.
CANNOT_SAY = {
    "not supported in eager": "lives in graphs only",
    "eager execution": "lives in graphs only",
    "graph mode": "lives in graphs only",
    "Attr value has unhandled type": "lives in graphs only",
    "Could not find device for node": "TensorFlow has no CPU kernel for the dtype",
    "No OpKernel was registered": "TensorFlow has no CPU kernel for the dtype",
    "NHWC tensor format": "TensorFlow's CPU kernel takes NHWC only",
    "tensor_format is NHWC": "TensorFlow's CPU kernel takes NHWC only",
    "is not available in GraphDef version": "TensorFlow has removed the op",
    "is not in the list of allowed values": "TensorFlow's signature lacks the dtype",
}
# Ops whose results no single-op case can show -> what shows them instead.
FLOW = "control flow of references, which needs a graph around it: argosy/runtime/control_flow_test.cc"
VARIABLE = "names a variable and has no result of its own: the cases of Assign, ReadVariableOp and all updates go through it"
FED = "a place to feed"
CALLS = "calls functions of its graph: tests/tf/control_flow.py"
LISTS = "lists go from op to op: tests/tf/control_flow.py, argosy/ops/list/list_test.cc"
ARRAYS = "arrays and stacks go from op to op: tests/tf/control_flow.py, argosy/ops/tensor_array/tensor_array_test.cc"
STATE = "lives from step to step: tests/tf/state_programs"
QUEUES = [kind + "Queue" for kind in ("FIFO", "RandomShuffle", "PaddingFIFO", "Priority")] + [
    "Queue" + op for op in ("Enqueue", "EnqueueMany", "Dequeue", "DequeueMany", "DequeueUpTo", "Close", "IsClosed", "Size")]
ACCUMULATORS = ["ConditionalAccumulator"] + ["Accumulator" + op for op in ("ApplyGradient", "TakeGradient",
                                                                           "NumAccumulated", "SetGlobalStep")]
READERS = ["TextLineReader", "WholeFileReader", "FixedLengthRecordReader", "TFRecordReader", "IdentityReader"] + [
    "Reader" + op for op in ("Read", "ReadUpTo", "NumRecordsProduced", "NumWorkUnitsCompleted", "SerializeState",
                             "RestoreState", "Reset")]
TABLES = ["HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable", "InitializeTable",
          "InitializeTableFromTextFile"] + ["LookupTable" + op for op in ("Find", "Insert", "Import", "Export", "Size", "Remove")]
FILES = ["SaveV2", "RestoreV2", "MergeV2Checkpoints", "Save", "SaveSlices", "Restore", "RestoreSlice", "ReadFile", "WriteFile",
         "MatchingFiles"]
ELSEWHERE = {
    **{op + version: STATE for op in READERS + TABLES for version in ("", "V2")},
    **{"Anonymous" + op: STATE for op in TABLES[:4]},
    **dict.fromkeys(FILES, STATE),
    **dict.fromkeys(("GetSessionHandle", "GetSessionHandleV2", "GetSessionTensor", "DeleteSessionTensor"), STATE),
    **{op + version: STATE for op in QUEUES for version in ("", "V2")},
    **{kind + op: STATE for op in ACCUMULATORS for kind in ("", "Resource")},
    **dict.fromkeys(("SparseConditionalAccumulator", "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient"),
                    STATE),
    **dict.fromkeys(("RaggedTensorToVariant", "RaggedTensorFromVariant", "RaggedTensorToVariantGradient"),
                    "variants go from op to op: argosy/ops/ragged/ragged_test.cc"),
    "EmptyTensorMap": "maps go from op to op: argosy/ops/map/map_test.cc",
    **{"TensorMap" + op: "maps go from op to op: argosy/ops/map/map_test.cc"
       for op in ("Insert", "Lookup", "Erase", "HasKey", "Size", "StackKeys")},
    **dict.fromkeys(("AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap"),
                    "keeps tensors from op to op: argosy/ops/sparse/sparse_test.cc"),
    **{kind + op: CALLS for op in ("If", "Case", "While") for kind in ("", "Stateless")},
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), CALLS),
    "EmptyTensorList": LISTS,
    **{"TensorList" + op: LISTS
       for op in ("Reserve", "PushBack", "PopBack", "SetItem", "GetItem", "Stack", "FromTensor", "Length", "Resize",
                  "ElementShape", "Gather", "ScatterV2", "ScatterIntoExistingList", "ConcatV2", "Split")},
    **{f"TensorArray{op}{v}": ARRAYS for v in ("", "V3")
       for op in ("", "Read", "Write", "Gather", "Scatter", "Concat", "Split", "Size", "Grad", "Close")},
    "TensorArrayGradWithShape": ARRAYS,
    **{"Barrier" + op: STATE for op in ("", "InsertMany", "TakeMany", "Close", "ReadySize", "IncompleteSize")},
    **{f"Stack{op}{v}": ARRAYS for op in ("", "Push", "Pop", "Close") for v in ("", "V2")},
    **dict.fromkeys(("Stage", "Unstage", "StagePeek", "StageSize", "StageClear"), STATE),
    **{kind + op: STATE for kind in ("Map", "OrderedMap")
       for op in ("Stage", "Peek", "Unstage", "UnstageNoKey", "Size", "IncompleteSize", "Clear")},
    **dict.fromkeys(("_RefToHandle", "_HandleToRef"), "an op of our own: argosy/runtime/functional_test.cc"),
    "Timestamp": "another value every time",
    **dict.fromkeys(("RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration"), FLOW),
    **dict.fromkeys(("VarHandleOp", "Variable", "VariableV2", "TemporaryVariable", "DestroyTemporaryVariable"), VARIABLE),
    **dict.fromkeys(("Placeholder", "PlaceholderV2", "_Arg"), FED),
    "_Missing": "an op of our own: argosy/tf/session/server_test.cc",
    "_AllReduce": "an op of our own: argosy/train/data_parallel_test.cc",
    "_FusedElementwise": "an op of our own: argosy/passes/fuse_elementwise_test.cc",
    **dict.fromkeys(("_ApplyMany", "_ResourceApplyMany"), "an op of our own: argosy/passes/fuse_updates_test.cc"),
}
PIPELINES = ("Dataset", "Iterator", "Optional", "MemoryCache", "SeedGenerator")  # tried by tests/tf/datasets.py
SHOWN = 4  # differences of an op that are told without --verbose


def brief(case):
    names = []
    for t in filter(None, case["inputs"]):
        names.append(f"{tf.dtypes.as_dtype(t['dtype']).name}{t['shape']}")
    attrs = {k: next(iter(v.values())) for k, v in case["attrs"].items()}
    return f"({', '.join(names)}) {attrs} in {case.get('test', '?')}"


def compare(case):
    """{"is": agree | skip | differ, "ulps": n, "text": how it differs}."""
    if op_def_registry.get(case["op"]) is None:
        return {"is": "skip", "why": "TensorFlow has no such op"}
    problem, furthest = None, 0
    ours = case["outputs"] + case.get("after", [])
    if "seed2" in case["attrs"]:  # a kernel kept from an earlier case would go on where that one stopped
        context.context().clear_kernel_cache()
    try:
        theirs = call_state(case) if "after" in case else call(case)
        if "error" in case:
            problem = f"we refuse ({case['error']}), TensorFlow gives {[np.asarray(t).tolist() for t in theirs]!s:.200}"
        elif len(theirs) != len(ours):
            problem = f"we give {len(ours)} outputs, TensorFlow {len(theirs)}"
        else:
            for i, (record, value) in enumerate(zip(ours, theirs)):
                if record is None:
                    continue
                text, distance = differs(tensor(record).numpy(), value, case["tolerance"])
                furthest = max(furthest, 0 if text else distance)
                if text and not problem:
                    problem = f"output {i}: {text}"
    except Exception as error:  # TensorFlow refuses in many types: tf.errors, TypeError, ValueError
        lines = str(error).splitlines() or [type(error).__name__]
        # A session says where first; what, after the node's name.
        said = [i for i, line in enumerate(lines) if line.startswith("Node:")]
        message = lines[said[0] + 1] if said and said[0] + 1 < len(lines) else lines[0]
        if "error" not in case:
            why = next((why for words, why in CANNOT_SAY.items() if words in message), None)
            if why:
                return {"is": "skip", "why": why}
            problem = f"TensorFlow refuses: {message[:300]}"
        elif isinstance(error, tf.errors.OpError) and os.environ.get("COMPARE_CODES"):
            code = type(error).__name__
            if code.upper().removesuffix("ERROR") != case["error"].replace("_", ""):
                problem = f"we refuse with {case['error']}, TensorFlow with {code}: {message[:200]}"
    if problem is None:
        return {"is": "agree", "ulps": furthest}
    return {"is": "differ", "ulps": furthest, "text": f"{problem}\n      {brief(case)}"}


class Worker:
    """Cases run in a process of its own: hostile input crashes or hangs TensorFlow here and there."""

    def __init__(self):
        self.process = None

    def ask(self, line):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--worker", "-"],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
            if select.select([self.process.stdout], [], [], 120)[0]:
                answer = self.process.stdout.readline()
                if answer:
                    return json.loads(answer)
                how = "dies of it"
            else:
                how = "hangs"
        except BrokenPipeError:
            how = "dies of it"
        self.stop()
        return {"is": "crash", "text": f"TensorFlow {how}"}

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def work():
    """Answers cases on stdin, one line each, until it ends."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what TensorFlow prints is no answer
    for line in sys.stdin:
        os.write(answers, (json.dumps(compare(json.loads(line))) + "\n").encode())


def count(case, answer, tally):
    for t in filter(None, case["inputs"] + case["outputs"]):
        tally.dtypes.add(tf.dtypes.as_dtype(t["dtype"]).name)
    if answer["is"] == "skip":
        tally.skipped[answer["why"]] += 1
        return
    tally.cases += 1
    tally.refused += "error" in case
    tally.ulps = max(tally.ulps, answer.get("ulps", 0))
    if answer["is"] == "agree" or (answer["is"] == "crash" and "error" in case):
        tally.agree += 1
    elif case.get("unlike_tensorflow"):
        tally.known[case["unlike_tensorflow"]] += 1
    else:
        tally.differences.append(answer["text"] if answer["is"] == "differ" else f"{answer['text']}: {case['op']} in {case.get('test', '?')}")


def read_cases(path):
    """Every line once: several runs may have appended to one file."""
    seen = set()
    for file in sorted(path.glob("ops_*.jsonl")) if path.is_dir() else [path]:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if line not in seen:
                    seen.add(line)
                    case = json.loads(line)
                    if "inputs" in case:
                        yield line, case


def summary(total, ops):
    return (f"{ops} ops, {total.cases} cases ({total.refused} of them must be refused) in {len(total.dtypes)} dtypes: "
            f"{total.agree} agree, {sum(total.known.values())} differ as said, {len(total.differences)} differ; "
            f"{sum(total.skipped.values())} more cannot be compared")


def report(tallies, total, unasked, generated):
    lines = ["# Agreement with TensorFlow", "",
             "Written by `tests/tf/compare_ops.py --report` (ctest `tf_ops`); do not edit. Every op case of the C++ tests, in "
             "every dtype that it is", "run in, through TensorFlow's op of that name: same attributes, same inputs, CPU, oneDNN "
             "off.", "",
             f"TensorFlow {tf.__version__}: {summary(total, len(tallies))}.", "",
             "An error agrees when both refuse. Values agree within the tolerance of the C++ tests, relative to max(1, |value|): "
             "1e-5 for float32", "and float64 where the case does not say more, 5e-3 for float16, 4e-2 for bfloat16; NaN equals "
             "NaN; integers, bool and", "strings are equal.", ""]

    def table(title, counter):
        if counter:
            lines.extend([f"## {title}", "", "| why | cases |", "|---|---|"])
            lines.extend(f"| {why} | {n} |" for why, n in sorted(counter.items(), key=lambda item: (-item[1], item[0])))
            lines.append("")

    table("Differs as said: what the case says", total.known)
    table("Cannot be compared", total.skipped)
    if unasked:
        lines.extend(["## Ops of which no case could be compared", "", "| op | why |", "|---|---|"])
        lines.extend(f"| {op} | {why} |" for op, why in sorted(unasked.items()))
        lines.append("")
    if total.differences:
        lines.extend(["## Differs", ""] + [f"* {op}: {len(t.differences)}" for op, t in sorted(tallies.items()) if t.differences] + [""])
    lines.extend(["## Per op", "",
                  "`ulps`: the largest distance of an agreeing floating-point result, in units in the last place.", "",
                  "| op | cases | agree | as said | differ | not compared | ulps | dtypes |", "|---|---|---|---|---|---|---|---|"])
    for op, t in sorted(tallies.items()):
        lines.append(f"| {op} | {t.cases} | {t.agree} | {sum(t.known.values())} | {len(t.differences)} | "
                     f"{sum(t.skipped.values())} | {t.ulps} | {' '.join(sorted(t.dtypes))} |")
    if generated:
        lines += ["", *agreement.section(generated)]
    return "\n".join(lines).rstrip("\n") + "\n"


def not_asked(tallies, ops_file):
    """Ops of which nothing could be compared -> why; and those among them that no case is of."""
    registered = {json.loads(line)["name"] for line in ops_file.read_text().splitlines()} if ops_file.is_file() else set()
    unasked, untried = {}, set()
    for op in registered | set(tallies):
        if op not in tallies:
            pipeline = any(word in op for word in PIPELINES)
            unasked[op] = ELSEWHERE.get(op, "whole pipelines of them: tests/tf/datasets.py" if pipeline else "no case")
            untried.update(set() if pipeline else {op} - ELSEWHERE.keys())
        elif tallies[op].cases == 0:
            unasked[op] = "; ".join(sorted(tallies[op].skipped))
    return unasked, untried


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--op", default="", help="only these, separated by commas")
    parser.add_argument("--verbose", action="store_true", help="every op, not only those that differ")
    parser.add_argument("--json", default="", help="write the counts to this file")
    parser.add_argument("--report", default="", help="write docs/tensorflow-agreement.md, or wherever")
    parser.add_argument("--generated", default="", help="what generated_ops.py --json wrote, for the report")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work()
    worker = Worker()
    wanted = set(filter(None, options.op.split(",")))
    tallies = collections.defaultdict(Tally)
    for line, case in read_cases(options.cases):
        if not wanted or case["op"] in wanted:
            count(case, worker.ask(line), tallies[case["op"]])
    worker.stop()
    total = Tally()
    print(f"TensorFlow {tf.__version__}")
    print(f"{'op':36} {'cases':>6} {'agree':>6} {'known':>6} {'skip':>5} {'max ulps':>9}")
    for op in sorted(tallies):
        t = tallies[op]
        total.add(t)
        if options.verbose or t.differences:
            print(f"{op:36} {t.cases:6} {t.agree:6} {sum(t.known.values()):6} {sum(t.skipped.values()):5} {t.ulps:9}")
            shown = len(t.differences) if options.verbose else SHOWN
            for text in t.differences[:shown]:
                print(f"    {text}")
            if len(t.differences) > shown:
                print(f"    … and {len(t.differences) - shown} more")
    unasked, untried = not_asked(tallies, options.cases / "ops.json") if not wanted else ({}, set())
    for why, ops in sorted(collections.Counter(unasked.values()).items()):
        print(f"no op case could be compared of {ops} ops, {why}: {', '.join(sorted(o for o in unasked if unasked[o] == why))}")
    print(summary(total, len(tallies)))
    if options.json:
        counts = {op: {"cases": t.cases, "agree": t.agree, "known": t.known, "skipped": t.skipped, "max_ulps": t.ulps,
                       "differences": t.differences} for op, t in sorted(tallies.items())}
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"tensorflow": tf.__version__, "ops": counts}, out, indent=1)
    if options.report:
        pathlib.Path(options.report).write_text(report(tallies, total, unasked, options.generated), encoding="utf-8")
    return 1 if total.differences or untried else 0


if __name__ == "__main__":
    sys.exit(main())
