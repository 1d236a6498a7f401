#!/usr/bin/env python3
"""Which ops run on a GPU: TensorFlow's GPU kernels beside ours, dtype by dtype. Registries alone are asked: no GPU is
needed, but a TensorFlow that was built for GPUs (the wheel `tensorflow`, not `tensorflow-cpu`).

    path/to/venv/bin/python tests/oracle/ops/gpu_kernels.py build/release/bin/kernel_tool [--report FILE] [--list]

Prints a table by family of ops, and what TensorFlow has on a GPU and we have not. Exit code 1 where an op that
TensorFlow has there is missing here and no reason is given, or one is given for nothing, and where an op's definition
says that TensorFlow has it for CPUs alone (cpu_only: an error where a GPU is asked for without soft placement) and
that is not so. --list: the dtypes, op by op.
"""

import argparse
import collections
import fnmatch
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry

# Ops without a kernel for GPUs, by a pattern of their names: why.
REASONS = {
    "tensor arrays of versions 1 and 2 (TensorArrayV3 and tensor lists have GPU kernels)":
        [f"TensorArray{op}{version}" for version in ("", "V2")
         for op in ("Concat", "Gather", "Grad", "Read", "Scatter", "Size", "Split", "Write")],
    "random generators with state in a variable: the state is in host memory, and the CPU draws (GPUs draw from keys and counters)":
        ["StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform*", "RngReadAndSkip"],
    "coordinates of sparse tensors: the host arranges them, where input pipelines make them":
        ["SparseConcat", "SparseFillEmptyRows*", "SparseReorder", "SparseReshape", "SparseSlice*", "SparseSplit"],
    "CSR matrices: no GPU library is called yet":
        ["CSRSparseMatrix*", "DenseToCSRSparseMatrix", "SparseMatrix*", "SparseTensorToCSRSparseMatrix"],
    "counts of int32 values: int32 values are in host memory": ["Bincount", "DenseBincount"],
    "Fourier transforms: no GPU library is called yet": ["FFT*", "IFFT*", "RFFT*", "IRFFT*"],
    "decompositions and solvers: no GPU library is called yet":
        ["BatchMatrixTriangularSolve", "BatchSvd", "Cholesky", "LogMatrixDeterminant", "Lu", "MatrixDeterminant",
         "MatrixInverse", "MatrixSolve", "MatrixTriangularSolve", "SelfAdjointEigV2", "Svd", "Tridiagonal*"],
    "special functions: computed on the CPU, in double precision":
        ["Bessel*", "Betainc", "Dawsn", "Erfinv", "Expint", "Fresnel*", "Igamma*", "Ndtri", "Polygamma",
         "RandomGammaGrad", "Spence", "Zeta"],
    "suppression of boxes: sequential work on few boxes, done on the host": ["NonMaxSuppression*"],
    "input pipelines: they run on the host": ["ExperimentalMapDataset"],
    "what no branch computes: nobody reads it": ["FakeParam"],
    "not written yet, and rare in training":
        ["AdjustContrast", "ApproximateEqual", "BatchNormWithGlobalNormalization*", "Bucketize", "ConjugateTranspose", "Conv",
         "Inplace*", "RaggedFillEmptyRows*", "ApproxTopK", "CumulativeLogsumexp", "Dilation2D*",
         "Extract*Patches", "HistogramFixedWidth", "ImageProjectiveTransformV*", "LowerBound", "UpperBound",
         "ParameterizedTruncatedNormal", "PopulationCount", "QuantizeAndDequantize*", "StatelessRandomGammaV*",
         "TileGrad"],
}
LACKING = {pattern: why for why, patterns in REASONS.items() for pattern in patterns}

DTYPES = {"float": "float32", "double": "float64", "half": "float16"}
# Dtypes that are not counted: TensorFlow's registries name some that no op can be made with.
UNKNOWN = re.compile(r"^(q|float8|float4|u?int[124]$)")
WAYS = ("GPU", "host", "by the host", "CPU")


def ours(tool):
    """op -> what kernel_tool says of it, kernels as {dtypes by attribute (a tuple): way}."""
    text = subprocess.run([tool], check=True, capture_output=True, text=True).stdout
    rows = {}
    for line in text.splitlines():
        row = json.loads(line)
        row["kernels"] = {tuple(DTYPES.get(d, d) for d in dtypes): way for dtypes, way in row["kernels"]}
        rows[row["op"]] = row
    return rows


def theirs():
    """op -> its kernels for GPUs or for any device, each (dtypes by attribute, arguments in the host's memory)."""
    found = collections.defaultdict(list)
    for k in kernels.get_all_registered_kernels().kernel:
        if k.device_type not in ("GPU", "DEFAULT") or k.label:
            continue
        constraints = {c.name: [tf.dtypes.as_dtype(t).name for t in c.allowed_values.list.type] for c in k.constraint}
        constraints = {a: [t for t in types if not UNKNOWN.match(t)] for a, types in constraints.items() if types}
        if all(constraints.values()):
            found[k.op].append((constraints, frozenset(k.host_memory_arg)))
    return found


def choices(op_kernels, types):
    """{dtypes of the attributes named there: in host memory} of an op's kernels, each choice of dtypes once."""
    every = {}
    for constraints, host in op_kernels:
        names = [a for a in types if a in constraints]
        for dtypes in itertools.product(*(constraints[a] for a in names)):
            choice = tuple(zip(names, dtypes))
            every[choice] = every.get(choice, host) & host
    return every


def way_of(row, choice):
    """How we run a choice of dtypes: the best way of the kernels that agree with it."""
    wanted = dict(choice)
    ways = {way for dtypes, way in row["kernels"].items()
            if all(wanted.get(a, d) == d for a, d in zip(row["types"], dtypes))}
    return next((w for w in WAYS if w in ways), "CPU")


def families(root):
    """op -> the folder of argosy/ops whose files name it."""
    named = {}
    for file in sorted((root / "argosy" / "ops").glob("*/*.cc")):
        if file.stem.endswith("_test"):
            continue
        for op in re.findall(r'"(_?[A-Z][A-Za-z0-9]+)"', file.read_text()):
            plain = not re.search(r"_(cpu|cuda)$", file.stem)
            if op not in named or (plain and not named[op][1]):
                named[op] = (file.parent.name, plain)
    return {op: family for op, (family, _) in named.items()}


def family_of(op, named):
    while op and op not in named:
        op = op[:-1]
    return named.get(op, "")


def reason_of(op):
    return next((why for pattern, why in LACKING.items() if fnmatch.fnmatchcase(op, pattern)), None)


def all_in_host_memory(op, op_kernels):
    """Does TensorFlow compute on the host in all of an op's kernels? Then a CPU does the same."""
    definition = op_def_registry.get(op)
    names = {a.name for a in (*definition.input_arg, *definition.output_arg)} if definition else set()
    return bool(names) and all(names <= host for _, host in op_kernels)


def main_host(op, op_kernels):
    """Arguments that TensorFlow keeps in the host's memory for any dtype, and those that it never does; others hang on
    the dtype, as int32 does."""
    definition = op_def_registry.get(op)
    if definition is None:
        return set(), set()
    arguments = [a for a in (*definition.input_arg, *definition.output_arg)
                 if not a.type or tf.dtypes.as_dtype(a.type).name not in ("int32", "resource", "variant", "string")]
    always = {a.name for a in arguments if all(a.name in host for _, host in op_kernels)}
    never = {a.name for a in arguments if not any(a.name in host for _, host in op_kernels)}
    return always, never


class Report:
    def __init__(self, rows, tensorflow, named):
        self.counts = collections.defaultdict(collections.Counter)  # by family
        self.lacking, self.partly, self.only_ours = [], [], []
        self.on_host, self.unlike, self.not_for_cpus_alone = [], [], []
        for op, row in sorted(rows.items()):
            family = family_of(op, named)
            op_kernels = tensorflow.get(op, [])
            if not op_kernels:
                if any(way == "GPU" for way in row["kernels"].values()) and not op.startswith("_"):
                    self.only_ours.append(op)
                continue
            self.look_at(op, row, op_kernels, self.counts[family])

    def look_at(self, op, row, op_kernels, count):
        count["ops"] += 1
        elsewhere = row["in_host_memory"] or op.endswith("Dataset") or all_in_host_memory(op, op_kernels)
        if row["cpu_only"] and not elsewhere:
            self.not_for_cpus_alone.append(op)
        if not row["kernels"]:
            if row["in_host_memory"] or row["lowered"] or all_in_host_memory(op, op_kernels):
                self.on_host.append(op)
                count["on the host"] += 1
            else:
                self.lacking.append(op)
                count["missing"] += 1
            return
        every = choices(op_kernels, row["types"])
        for choice in every:
            count[way_of(row, choice)] += 1
        without = sorted({dict(choice).get(a, "") for choice in every if way_of(row, choice) == "CPU"
                          for a in ("T", "dtype", "Tparams", "SrcT") if a in dict(choice)} - {""})
        if any(way_of(row, choice) == "CPU" for choice in every):
            self.partly.append((op, without))
            count["in part"] += 1
        always, never = main_host(op, op_kernels)
        here = set(row["on_host"])
        for name in sorted((always - here) | (never & here)):
            self.unlike.append((op, name, name in here))

    def wrong(self):
        unsaid = [op for op in self.lacking if reason_of(op) is None]
        idle = [p for p in LACKING if not any(fnmatch.fnmatchcase(op, p) for op in self.lacking)]
        return unsaid, idle

    def table(self):
        heads = ("family", "ops", "missing", "in part", "on the host", *(f"{w}" for w in WAYS))
        lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
        total = collections.Counter()
        for family, c in sorted(self.counts.items()):
            total.update(c)
            lines.append("| " + " | ".join([family, *(str(c[h] or "") for h in heads[1:])]) + " |")
        lines.append("| **all** | " + " | ".join(str(total[h]) for h in heads[1:]) + " |")
        return lines

    def text(self):
        reasons = collections.defaultdict(list)
        for op in self.lacking:
            reasons[reason_of(op) or "(no reason given)"].append(op)
        moved = [f"`{op}` {name}" for op, name, here in self.unlike if here]
        kept = [f"`{op}` {name}" for op, name, here in self.unlike if not here]
        lines = [
            "# Kernels for GPUs, beside TensorFlow's", "",
            "Which ops have a kernel for GPUs, here and in TensorFlow. `tests/oracle/ops/gpu_kernels.py --report` (ctest "
            "`tf_gpu_kernels`) writes this page: do not edit it. It compares Argosy's registry of kernels with that of TensorFlow "
            f"{tf.__version__}; no GPU is needed. An op without a kernel here runs on a CPU, also where a GPU was asked for. The "
            "notes of the step then say so.", "",
            "The table counts, for each family of ops:", "",
            "* ops: those that have a GPU kernel in TensorFlow",
            "* missing: those of them without one here",
            "* in part: those with one here, but not for all of TensorFlow's dtypes",
            "* on the host: those whose kernel works in host memory, as TensorFlow's does",
            "* GPU, host, by the host, CPU: choices of dtypes, of the ops that both have. GPU: a kernel there. host: all inputs and "
            "outputs are in host memory. by the host: inputs are copied to the host and results back. CPU: no kernel for these "
            "dtypes", "",
            *self.table(), "",
            "## Ops without a GPU kernel here", ""]
        for why, ops in sorted(reasons.items(), key=lambda r: (-len(r[1]), r[0])):
            lines += [f"* {why}: " + ", ".join(f"`{op}`" for op in ops)]
        lines += ["", "## Ops with a GPU kernel for some dtypes only", ""]
        by_dtypes = collections.defaultdict(list)
        for op, dtypes in self.partly:
            by_dtypes[", ".join(dtypes) or "some indices"].append(op)
        for dtypes, ops in sorted(by_dtypes.items(), key=lambda r: (-len(r[1]), r[0])):
            lines += [f"* {dtypes}: " + ", ".join(f"`{op}`" for op in ops)]
        lines += ["", "## Arguments in another memory", "",
                  "Both have a GPU kernel for these ops. They want an argument in different memories.", "",
                  "* Host memory here, GPU memory in TensorFlow: " + (", ".join(moved) or "none"),
                  "* GPU memory here, host memory in TensorFlow: " + (", ".join(kept) or "none"), "",
                  "## Ops with a GPU kernel here, and none in TensorFlow", "", ", ".join(f"`{op}`" for op in self.only_ours), ""]
        return "\n".join(wrapped(line) for line in lines)


def wrapped(line, width=120):
    if len(line) <= width or line.startswith("|"):
        return line
    parts, here = [], ""
    for word in line.split(" "):
        if len(here) + 1 + len(word) > width:
            parts.append(here)
            here = "  " + word if line.startswith("*") else word
        else:
            here = f"{here} {word}" if here else word
    return "\n".join([*parts, here])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    tensorflow = theirs()
    if not any(op == "Conv2D" for op in tensorflow):
        print("SKIPPED: this TensorFlow was not built for GPUs")
        return 77
    rows = ours(options.tool)
    report = Report(rows, tensorflow, families(pathlib.Path(__file__).resolve().parents[3]))
    if options.list:
        for op, row in rows.items():
            for choice in sorted(choices(tensorflow.get(op, []), row["types"])):
                print(op, " ".join(f"{a}={d}" for a, d in choice), way_of(row, choice))
    print("\n".join(report.table()))
    if options.report:
        options.report.write_text(report.text())
    unsaid, idle = report.wrong()
    for op in unsaid:
        print(f"no kernel for GPUs, and no reason: {op}")
    for pattern in idle:
        print(f"a reason for nothing: {pattern}")
    for op in report.not_for_cpus_alone:
        print(f"not for CPUs alone, as its definition says: {op}")
    return 1 if unsaid or idle or report.not_for_cpus_alone else 0


if __name__ == "__main__":
    sys.exit(main())
