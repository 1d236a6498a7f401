"""Cases of ops, made from the cases that the C++ tests wrote down (argosy/testing/op_cases/op_dump.cc) by changing them.

A seed's inputs belong together, which no generator that knows signatures alone could promise: sizes fit, indices are inside,
attributes make sense. What is changed is drawn: values (NaN, infinities, zeros of both signs), integers (negative, beyond),
a size wherever it stands in all inputs (0, 1, one more), one input's shape, the rank, a dtype that the op takes, attributes.
Case number N of an op is the same wherever it is made.
"""
import collections
import copy
import json
import struct
import zlib

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

SKIPPED = {"qint8", "quint8", "qint16", "quint16", "qint32", "resource", "variant"}
ANY = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
       "bool", "string", "complex64", "complex128"]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e4, -1e4]
MOST_ELEMENTS = 20000


class Case:
    """inputs: arrays, or None for a variable without a value; of state: what a Ref or resource argument starts with."""

    def __init__(self, record):
        self.op = record["op"]
        self.tolerance = record["tolerance"]
        self.known = record["unlike_tensorflow"]
        self.state = "after" in record
        self.inputs = [None if t is None else array(t) for t in record["inputs"]]
        self.attrs = {name: next(iter(value.items())) for name, value in record["attrs"].items()
                      if not name.startswith("_")}
        self.constants = False  # integer inputs are constants in the graph
        self.how = []

    def brief(self):
        shapes = ", ".join("nothing" if a is None else f"{tf.as_dtype(a.dtype).name if a.dtype != object else 'string'}"
                           f"{list(a.shape)}" + (f"={a.tolist()}" if a.size <= 6 else "") for a in self.inputs)
        attrs = {k: v[1] if v[0] != "tensor" else "…" for k, v in self.attrs.items()}
        return f"({shapes[:600]}) {str(attrs)[:400]}{' const' if self.constants else ''} by {'+'.join(self.how) or 'itself'}"


def array(record):
    dtype = tf.as_dtype(record["dtype"])
    if "strings" in record:
        return np.array([bytes.fromhex(s) for s in record["strings"]] + [None], dtype=object)[:-1].reshape(record["shape"])
    return np.frombuffer(bytes.fromhex(record["hex"]), dtype.as_numpy_dtype).reshape(record["shape"]).copy()


def is_float(a):
    return a.dtype != object and (tf.as_dtype(a.dtype).is_floating or a.dtype.kind == "c")


def is_int(a):
    return a.dtype.kind in "iu"


def dtype_of(a):
    return tf.string if a.dtype == object else tf.as_dtype(a.dtype)


# --- changes: each gets the case and a source of numbers, and says whether it could --------------------------------------


def ordinary_values(case, draw):
    for a in case.inputs:
        if a is not None and is_float(a):
            a[...] = (draw.randn(*a.shape) * draw.choice([0.5, 3.0])).astype(a.dtype)
    return any(a is not None and is_float(a) for a in case.inputs)


def special_values(case, draw):
    floats = [a for a in case.inputs if a is not None and is_float(a) and a.size]
    for a in floats:
        where = draw.rand(*a.shape) < draw.choice([0.2, 0.7])
        a[where] = draw.choice(SPECIAL, size=int(where.sum())).astype(a.dtype)
    return bool(floats)


def integers(case, draw):
    ints = [a for a in case.inputs if a is not None and is_int(a) and a.size]
    if not ints:
        return False
    a = ints[draw.randint(len(ints))]
    at = draw.randint(a.size)
    new = [a.flat[at] + 1, a.flat[at] - 1, -a.flat[at], 0, -1, 1, 7][draw.randint(7)]
    a.flat[at] = np.array(int(new) if a.dtype.kind == "i" else abs(int(new)), np.int64).astype(a.dtype)
    return True


def resized(a, shape):
    if a.size == 0:
        return np.zeros(shape, a.dtype) if a.dtype != object else np.full(shape, b"", object)
    return np.resize(a, shape)


def one_size_everywhere(case, draw):
    sizes = sorted({n for a in case.inputs if a is not None for n in a.shape})
    if not sizes:
        return False
    old = sizes[draw.randint(len(sizes))]
    new = [0, 1, 2, old + 1][draw.randint(4)]
    told = draw.rand() < 0.5  # sizes may also be said in numbers
    for i, a in enumerate(case.inputs):
        if a is None:
            continue
        if told and is_int(a) and a.ndim == 1:
            a[a == old] = new
        case.inputs[i] = resized(a, [new if n == old else n for n in a.shape])
    return True


def one_shape(case, draw):
    shaped = [i for i, a in enumerate(case.inputs) if a is not None and a.ndim]
    if not shaped:
        return False
    i = shaped[draw.randint(len(shaped))]
    shape = list(case.inputs[i].shape)
    shape[draw.randint(len(shape))] = [0, 1, 1, 2, 3][draw.randint(5)]
    case.inputs[i] = resized(case.inputs[i], shape)
    return True


def rank(case, draw):
    given = [i for i, a in enumerate(case.inputs) if a is not None]
    if not given:
        return False
    i = given[draw.randint(len(given))]
    a = case.inputs[i]
    kind = draw.randint(4)
    shape = [[1, *a.shape], a.shape[1:], [], [2, *a.shape]][kind]
    case.inputs[i] = resized(a, shape)
    return True


def converted(a, dtype, draw):
    if dtype_of(a) == dtype:
        return a
    if dtype == tf.string:
        return np.array([str(v).encode() for v in a.reshape(-1).tolist()] + [None], object)[:-1].reshape(a.shape)
    if a.dtype == object:
        return draw.randint(0, 5, a.shape).astype(dtype.as_numpy_dtype)
    values = a.astype(np.complex128)
    values = np.where(np.isfinite(values), values, 1)
    if not (dtype.is_floating or dtype.is_complex):
        values = np.round(values.real)
        values = np.clip(np.abs(values) if dtype.is_unsigned else values, -100, 100)
    return (values if dtype.is_complex else values.real).astype(dtype.as_numpy_dtype)


def allowed_types(op_def, name):
    attr = next(a for a in op_def.attr if a.name == name)
    names = [tf.as_dtype(t).name for t in attr.allowed_values.list.type] if attr.HasField("allowed_values") else ANY
    return [tf.as_dtype(n) for n in names if n not in SKIPPED and "float8" not in n and "int4" not in n and "int2" not in n]


def dtype(case, draw):
    op_def = op_def_registry.get(case.op)
    names = [a.name for a in op_def.attr if a.type == "type"]
    if not names:
        return False
    name = names[draw.randint(len(names))]
    types = allowed_types(op_def, name)
    if not types:
        return False
    new = types[draw.randint(len(types))]
    for (first, count), arg in zip(spans(op_def, case), op_def.input_arg):
        if arg.type_attr == name:
            for i in range(first, first + count):
                if case.inputs[i] is not None:
                    case.inputs[i] = converted(case.inputs[i], new, draw)
    if name in case.attrs or not any(a.type_attr == name for a in op_def.input_arg):
        case.attrs[name] = ("type", new.as_datatype_enum)
    return True


def attribute(case, draw):
    op_def = op_def_registry.get(case.op)
    counted = {a.number_attr for a in op_def.input_arg}
    choices = [a for a in op_def.attr if a.type in ("bool", "int", "float", "string", "list(int)") and a.name not in counted
               and a.name not in ("container", "shared_name", "seed", "seed2")]
    if not choices:
        return False
    attr = choices[draw.randint(len(choices))]
    old = case.attrs[attr.name][1] if attr.name in case.attrs else default_of(attr)
    if attr.type == "bool":
        new = ("bool", not old)
    elif attr.type == "string":
        words = [s.decode() for s in attr.allowed_values.list.s]
        if not words:
            return False
        new = ("string", words[draw.randint(len(words))])
    elif attr.type == "int":
        new = ("int", [(old or 0) + 1, (old or 0) - 1, 0, -1, 1, 2][draw.randint(6)])
    elif attr.type == "float":
        new = ("float", struct.pack("<f", [0.0, -1.0, 0.5, 2.0][draw.randint(4)]).hex())
    else:
        new = list(old or [])
        if not new:
            return False
        at = draw.randint(len(new))
        new[at] += [1, -1, 1, -2][draw.randint(4)]
        new = ("ints", new)
    case.attrs[attr.name] = new
    return True


def default_of(attr):
    value = attr.default_value
    kind = value.WhichOneof("value")
    return {"b": value.b, "i": value.i, "f": value.f, "s": value.s, "list": list(value.list.i)}.get(kind)


def spans(op_def, case):
    """(first, count) of every argument among the inputs."""
    plain = sum(not (a.number_attr or a.type_list_attr) for a in op_def.input_arg)
    lists = [a for a in op_def.input_arg if a.number_attr or a.type_list_attr]
    at, found = 0, []
    for arg in op_def.input_arg:
        count = 1
        if arg.number_attr or arg.type_list_attr:
            said = case.attrs.get(arg.number_attr or arg.type_list_attr)
            count = len(said[1]) if said and said[0] == "types" else said[1] if said else (
                (len(case.inputs) - plain) // len(lists))
        found.append((at, count))
        at += count
    return found


CHANGES = [ordinary_values, ordinary_values, special_values, special_values, integers, integers, one_size_everywhere,
           one_size_everywhere, one_shape, rank, dtype, dtype, attribute, attribute]


def make(op, seeds, number):
    """Case `number` of the op: a seed, changed up to two times."""
    draw = np.random.RandomState(zlib.crc32(f"{op}:{number}".encode()))
    case = copy.deepcopy(seeds[draw.randint(len(seeds))])
    with np.errstate(all="ignore"):
        for _ in range(0 if number % 8 == 0 else 1 + draw.randint(2)):
            change = CHANGES[draw.randint(len(CHANGES))]
            if change(case, draw):
                case.how.append(change.__name__)
    if sum(a.size for a in case.inputs if a is not None) > MOST_ELEMENTS:
        case.inputs = [a if a is None or a.size < 2000 else resized(a, [min(n, 5) for n in a.shape]) for a in case.inputs]
    case.constants = draw.rand() < 0.25
    if any(a.name == "seed2" for a in op_def_registry.get(op).attr) and not any(
            case.attrs.get(name, (0, 0))[1] for name in ("seed", "seed2")):
        case.attrs["seed"] = ("int", 17)  # without one, every run has numbers of its own
    return case


WORDS = ["", "SAME", "VALID", "EXPLICIT", "NHWC", "NCHW", "NCHW_VECT_C", "NDHWC", "NCDHW", "DEFAULT", "ERROR", "IGNORE", "utf-8",
         "UTF-8", "UTF8_CHAR", "BYTE", "strict", "replace", "ignore", "bilinear", "nearest", "BILINEAR", "NEAREST", "REFLECT", "WRAP",
         "CONSTANT", "MIN_FIRST", "SCALED", "HALF_TO_EVEN", "GZIP", "ZLIB", "NONE", "SUM", "MEAN", "sum", "mean", "gaussian", "zero",
         "INTEGER_FAST", "no such word"]  # of attributes whose words the signature does not list


FATAL = {("RandomIndexShuffle", "rounds")}  # TensorFlow dies or hangs of any number but a few


def values_of(attr, old):
    """What is worth trying for an attribute: every word and dtype, numbers around the old one, lists changed in one place."""
    number = lambda f: ("float", struct.pack("<f", f).hex())
    if attr.type == "bool":
        return [("bool", not old)]
    if attr.type == "string":
        return [("string", s) for s in ([s.decode() for s in attr.allowed_values.list.s] or WORDS)]
    if attr.type == "int":
        return [("int", n) for n in sorted({(old or 0) + 1, (old or 0) - 1, -1, 0, 1, 2})]
    if attr.type == "float":
        return [number(f) for f in (-1.0, 0.0, 0.5, 2.0)]
    if attr.type == "list(int)":
        old = list(old or [])
        return [("ints", v) for v in [[], old[::-1], old + [1], [1] + old[1:], *(
            [*old[:i], n + by, *old[i + 1:]] for i, n in enumerate(old) for by in (1, -1))]]
    return []


def attribute_changes(op, seeds, most):
    """(seed, attribute, value) for every value that is worth trying of every attribute; of `most` seeds, those with
    attributes of their own first."""
    op_def = op_def_registry.get(op)
    given = {n for arg in (*op_def.input_arg, *op_def.output_arg) for n in (arg.number_attr, arg.type_list_attr)} | {
        arg.type_attr for arg in op_def.input_arg}
    times, changes = collections.Counter(), []
    for seed in seeds:
        seed.place = times[str(seed.attrs)]
        times[str(seed.attrs)] += 1
    for seed in sorted(seeds, key=lambda seed: seed.place)[:most]:
        for attr in op_def.attr:
            if attr.name in given or (op, attr.name) in FATAL:
                continue
            said = seed.attrs.get(attr.name)
            old = said[1] if said and attr.type != "float" else default_of(attr)
            values = values_of(attr, old) if attr.type != "type" else [
                ("type", t.as_datatype_enum) for t in allowed_types(op_def, attr.name)]
            changes += [(seed, attr.name, value) for value in values
                        if not said or tuple(map(str, said)) != tuple(map(str, value))]
    return changes


def with_attribute(seed, name, value):
    case = copy.deepcopy(seed)
    case.attrs[name] = value
    case.how = [f"{name}={value[1]}"]
    if any(a.name == "seed2" for a in op_def_registry.get(case.op).attr) and not name.startswith("seed"):
        case.attrs.setdefault("seed", ("int", 17))
    return case


def read_seeds(folder):
    """op -> its cases, one of every test and kind of inputs first."""
    by_op = {}
    for file in sorted(folder.glob("ops_*.jsonl")):
        for line in file.open(encoding="utf-8"):
            record = json.loads(line)
            if "inputs" in record and op_def_registry.get(record["op"]) is not None:
                by_op.setdefault(record["op"], {})[line] = record
    seeds = {}
    for op, records in by_op.items():
        kept = {}
        for record in records.values():
            if sum(int(np.prod(t["shape"])) for t in record["inputs"] if t) <= MOST_ELEMENTS:
                kept.setdefault((record["test"], str(record["attrs"]), str([t and t["shape"] for t in record["inputs"]])), record)
        good = [r for r in kept.values() if "error" not in r and not r["unlike_tensorflow"]]
        seeds[op] = [Case(r) for r in (good or kept.values() or list(records.values())[:1])]
    return seeds
