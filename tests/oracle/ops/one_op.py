"""One op case (argosy/testing/op_cases/op_dump.cc writes them) as TensorFlow runs it: its tensors, attributes, variables, results."""
import struct

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import op_def_registry


INTEGERS = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint16: tf.int16, tf.quint16: tf.uint16, tf.qint32: tf.int32}


def array(t):
    """A tensor's elements; of quantised ones, the integers that they are."""
    return (tf.bitcast(t, INTEGERS[t.dtype]) if t.dtype in INTEGERS else t).numpy()


def tensor(record):
    dtype = tf.dtypes.as_dtype(record["dtype"])
    if dtype in INTEGERS:
        return tf.bitcast(tensor({**record, "dtype": INTEGERS[dtype].as_datatype_enum}), dtype)
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
    return [array(t) for t in results or []]


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
