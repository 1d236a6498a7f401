#!/usr/bin/env python3
"""Are our ops' signatures TensorFlow's?

    ARGOSY_DUMP_OPS=/tmp/ops.json build/dev/bin/testing_test
    path/to/venv/bin/python tests/oracle/ops/compare_signatures.py /tmp/ops.json [--missing]

Compares, for every op of ours that TensorFlow has: inputs and outputs by order, name, type, number and reference;
attributes by name, kind, default, allowed dtypes and strings, minimum; stateful and commutative. Quantized and 8-bit
floating dtypes, which we have not, do not count. Exit code 1 when anything differs. --missing lists the differentiable
ops of TensorFlow's Python gradients that here have none.
"""

import argparse
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry, ops

# Said differently on purpose: (op, how the difference starts) -> why.
NARROW = "TensorFlow takes any dtype here and refuses at run time what has no kernel"
WIDE = "more dtypes than TensorFlow has kernels for"
NO_KERNEL = "no CPU kernel in either"
POLICY = "TensorFlow refuses other words at run time"
SCATTER_ND = [f"ResourceScatterNd{how}" for how in ("Add", "Sub", "Min", "Max")]
KNOWN = {
    **{(op, "stateful"): "files change, and which may be read is a question of the step: never folded"
       for op in ("ReadFile", "MatchingFiles")},
    ("PyFuncStateless", "stateful"): "it calls the program's Python, which nothing of ours may do at another time",
    ("TensorSummary", "stateful"): "its value has the node's name in it: equal ones are not one",
    ("Abort", "stateful"): "an error that is folded away stops nothing",
    ("Placeholder", "stateful"): "two of them are never one; what is fed is not folded",
    ("PlaceholderV2", "stateful"): "two of them are never one; what is fed is not folded",
    **{(op, "stateful"): "windows are drawn: two of them are never one, and none is folded"
       for op in ("FractionalMaxPool", "FractionalAvgPool")},
    ("TensorArrayGrad", "input 0"): "the handle is a reference, as everywhere else",
    ("FusedBatchNormV3", "attribute U"): "statistics are kept in float32",
    ("MaxPool", "attribute T"): WIDE,
    ("MaxPoolV2", "attribute T"): WIDE,
    ("ScatterMax", "attribute T"): WIDE,
    ("ScatterMin", "attribute T"): WIDE,
    **{(op, "attribute dtype"): NARROW for op in ("AssignAddVariableOp", "AssignSubVariableOp")},
    **{(op, "attribute T"): NARROW for op in SCATTER_ND},
    **{(op, "attribute dtype"): NO_KERNEL for op in ("ResourceScatterMin", "ResourceScatterMax")},
    **{(op, "attribute T"): NO_KERNEL for op in ("ScatterNdMin", "ScatterNdMax")},
    **{(op, "attribute bad_indices_policy"): POLICY
       for op in (*SCATTER_ND, "ResourceScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdUpdate", "ScatterNdMin",
                  "ScatterNdMax")},
}

OURS_HAS_NOT = {"qint8", "quint8", "qint16", "quint16", "qint32", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz",
                "float8_e4m3b11fnuz", "float8_e5m2fnuz", "int4", "uint4", "int2", "uint2", "int1", "uint1",
                "float4_e2m1fn", "float8_e8m0fnu"}


def name_of(number):
    return tf.dtypes.as_dtype(number).name


def argument(a):
    return {"name": a.name, "type": a.type, "type_attr": a.type_attr, "type_list_attr": a.type_list_attr,
            "number_attr": a.number_attr, "is_ref": a.is_ref}


def default_text(value):
    """An AttrValue in the words of argosy's attr_to_string."""
    kind = value.WhichOneof("value")
    if kind == "s":
        return '"' + value.s.decode().replace("\n", "\\n") + '"'
    if kind == "b":
        return "true" if value.b else "false"
    if kind == "i":
        return str(value.i)
    if kind == "f":
        return value.f
    if kind == "type":
        return {"float32": "float", "float64": "double", "float16": "half"}.get(name_of(value.type), name_of(value.type))
    if kind == "shape":
        if value.shape.unknown_rank:
            return "shape<unknown>"
        return "shape[" + ",".join("?" if d.size < 0 else str(d.size) for d in value.shape.dim) + "]"
    if kind == "tensor":
        array = tf.make_ndarray(value.tensor)
        return f"{name_of(value.tensor.dtype)}{list(array.shape)} {{{', '.join(map(str, array.reshape(-1)))}}}"
    if kind == "list":
        lists = value.list
        items = list(lists.i) or [str(np.float32(f)) for f in lists.f] or [s.decode() for s in lists.s] or list(lists.b) or list(lists.type)
        return "[" + ",".join(map(str, items)) + "]"
    return None


def same_default(ours, theirs):
    if theirs is None or ours is None:
        return ours == theirs
    if isinstance(theirs, float):
        return abs(float(ours) - theirs) <= 1e-6 * max(1, abs(theirs))
    return ours.replace(" ", "") == str(theirs).replace(" ", "")


def differences(op, theirs):
    for side, ours_args, their_args in (("input", op["inputs"], theirs.input_arg), ("output", op["outputs"], theirs.output_arg)):
        if len(ours_args) != len(their_args):
            yield f"{len(ours_args)} {side}s, TensorFlow {len(their_args)}"
            continue
        for i, (a, b) in enumerate(zip(ours_args, their_args)):
            b = argument(b)
            if a != b:
                yield f"{side} {i}: " + ", ".join(f"{k} {a[k]!r}, TensorFlow {b[k]!r}" for k in a if a[k] != b[k])
    their_attrs = {a.name: a for a in theirs.attr}
    our_attrs = {a["name"]: a for a in op["attrs"]}
    for name in our_attrs.keys() - their_attrs.keys():
        yield f"attribute {name}: unknown to TensorFlow"
    for name in their_attrs.keys() - our_attrs.keys():
        yield f"attribute {name}: TensorFlow has it"
    for name in our_attrs.keys() & their_attrs.keys():
        a, b = our_attrs[name], their_attrs[name]
        if a["kind"] != b.type:
            yield f"attribute {name}: {a['kind']}, TensorFlow {b.type}"
            continue
        theirs_default = default_text(b.default_value) if b.HasField("default_value") else None
        if b.HasField("default_value") != ("default" in a) or not same_default(a.get("default"), theirs_default):
            yield f"attribute {name}: default {a.get('default')}, TensorFlow {theirs_default}"
        allowed = b.allowed_values.list if b.HasField("allowed_values") else None
        our_types = {name_of(t) for t in a["types"]} - OURS_HAS_NOT
        their_types = {name_of(t) for t in allowed.type} - OURS_HAS_NOT if allowed else set()
        if our_types != their_types and "type" in a["kind"]:
            yield (f"attribute {name}: dtypes {sorted(our_types - their_types) or 'none'} too many, "
                   f"{sorted(their_types - our_types) or 'none'} missing")
        their_strings = {s.decode() for s in allowed.s} if allowed else set()
        if set(a["strings"]) != their_strings:
            yield f"attribute {name}: strings {a['strings']}, TensorFlow {sorted(their_strings)}"
        if b.has_minimum != ("minimum" in a) or (b.has_minimum and b.minimum != a["minimum"]):
            yield f"attribute {name}: minimum {a.get('minimum')}, TensorFlow {b.minimum if b.has_minimum else None}"
    if op["stateful"] != theirs.is_stateful:
        yield f"stateful {op['stateful']}, TensorFlow {theirs.is_stateful}"
    if op["commutative"] != theirs.is_commutative:
        yield f"commutative {op['commutative']}, TensorFlow {theirs.is_commutative}"


def gradient_of(name):
    """'yes', 'none' (said to have none) or 'unknown', by TensorFlow's Python registry."""
    try:
        return "none" if ops.gradient_registry.lookup(name) is None else "yes"
    except LookupError:
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ops")
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args()
    compared = wrong = known = 0
    with open(options.ops, encoding="utf-8") as lines:
        ours = [json.loads(line) for line in lines]
    for op in sorted(ours, key=lambda o: o["name"]):
        if op["name"].startswith("_"):  # our own, whatever else has the name
            continue
        theirs = op_def_registry.get(op["name"])
        if theirs is None:
            print(f"{op['name']}: not in TensorFlow")
            continue
        compared += 1
        all_found = list(differences(op, theirs))
        found = [d for d in all_found if not any(op["name"] == o and d.startswith(what) for o, what in KNOWN)]
        known += bool(all_found) and not found
        if options.missing and gradient_of(op["name"]) == "yes" and not op["differentiable"] and not op["blocks_gradient"]:
            found.append("no gradient here, TensorFlow has one")
        wrong += bool(found)
        for text in found:
            print(f"{op['name']}: {text}")
    print(f"TensorFlow {tf.__version__}; {len(ours)} ops, {compared} of them TensorFlow's: {compared - wrong - known} have its "
          f"signature, {known} differ as said here, {wrong} differ otherwise")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
