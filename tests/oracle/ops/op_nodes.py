"""One case of an op (op_mutations.Case) as nodes of a graph, and its run in a session."""
import struct

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import op_def_registry

from op_mutations import array, dtype_of, is_int, spans


def proto(kind, value):
    attr = attr_value_pb2.AttrValue()
    number = lambda text: struct.unpack("<f", bytes.fromhex(text))[0]
    if kind == "int":
        attr.i = value
    elif kind == "float":
        attr.f = number(value)
    elif kind == "bool":
        attr.b = value
    elif kind == "string":
        attr.s = value.encode()
    elif kind == "type":
        attr.type = value
    elif kind == "shape":
        attr.shape.CopyFrom(shape(value))
    elif kind == "tensor":
        value = array(value)
        attr.tensor.CopyFrom(tf.make_tensor_proto(value, dtype_of(value), value.shape))
    elif kind == "ints":
        attr.list.i.extend(value)
        attr.list.SetInParent()
    elif kind == "floats":
        attr.list.f.extend(number(v) for v in value)
        attr.list.SetInParent()
    elif kind == "bools":
        attr.list.b.extend(value)
        attr.list.SetInParent()
    elif kind == "strings":
        attr.list.s.extend(v.encode() for v in value)
        attr.list.SetInParent()
    elif kind == "types":
        attr.list.type.extend(value)
        attr.list.SetInParent()
    elif kind == "shapes":
        attr.list.SetInParent()
        for v in value:
            attr.list.shape.add().CopyFrom(shape(v))
    else:
        raise ValueError(f"an attribute of kind {kind}")
    return attr


def shape(sizes):
    return tf.TensorShape(None if sizes is None else [None if n < 0 else n for n in sizes]).as_proto()


class Node:
    """The case in the default graph. ValueError: Python or TensorFlow's client refuses it already."""

    def __init__(self, case, name):
        self.case, self.feeds, self.setup, self.reads = case, {}, [], []
        op_def = op_def_registry.get(case.op)
        known = {a.name for a in op_def.attr}
        attrs = {k: proto(*v) for k, v in case.attrs.items() if k in known}
        inputs = []
        placed = spans(op_def, case)
        dtype = self.state_dtype(op_def, placed)
        for arg, (first, count) in zip(op_def.input_arg, placed):
            given = case.inputs[first:first + count]
            if len(given) < count:
                raise ValueError("fewer inputs than the attributes say")
            if arg.is_ref or arg.type == tf.resource.as_datatype_enum:
                inputs.append(self.variable(arg, given[0], dtype, f"{name}_v{first}"))
                base = inputs[-1].dtype.base_dtype
            else:
                inputs += [self.plain(a, f"{name}_x{first + i}") for i, a in enumerate(given)]
                base = inputs[-1].dtype if given else None
            if arg.type_attr and base is not None:
                attrs[arg.type_attr] = proto("type", base.as_datatype_enum)
            if arg.number_attr:
                attrs[arg.number_attr] = proto("int", count)
            if arg.type_list_attr:
                attrs[arg.type_list_attr] = proto("types", [t.dtype.as_datatype_enum for t in inputs[len(inputs) - count:]])
        if "dtype" in known and case.state and "dtype" not in attrs:
            attrs["dtype"] = proto("type", dtype.as_datatype_enum)
        self.op = tf.get_default_graph()._create_op_internal(case.op, inputs, None, name=name, attrs=attrs, op_def=op_def)
        fetched = [o for o in self.op.outputs if o.dtype.base_dtype not in (tf.resource, tf.variant)]
        self.outputs = [o for o in fetched if not o.dtype._is_ref_dtype]

    def state_dtype(self, op_def, placed):
        """Of variables that are no argument with a value."""
        said = next((self.case.attrs[a][1] for a in ("T", "dtype") if a in self.case.attrs), None)
        if said is not None:
            return tf.as_dtype(said)
        for arg, (first, _) in zip(op_def.input_arg, placed):
            if (arg.is_ref or arg.type == tf.resource.as_datatype_enum) and self.case.inputs[first] is not None:
                return dtype_of(self.case.inputs[first])
        return next((dtype_of(a) for a in self.case.inputs if a is not None), tf.float32)

    def plain(self, value, name):
        if value is None:
            raise ValueError("an input without a value")
        if self.case.constants and is_int(value):
            return tf.constant(value, dtype_of(value), name=name)
        fed = tf.placeholder(dtype_of(value), None, name=name)
        self.feeds[fed] = value
        return fed

    def variable(self, arg, value, dtype, name):
        dtype = dtype_of(value) if value is not None else dtype
        if arg.is_ref:
            handle = tf.raw_ops.VariableV2(shape=[] if value is None else value.shape, dtype=dtype, shared_name=name)
            self.reads.append(tf.raw_ops.Identity(input=handle))
        else:
            handle = tf.raw_ops.VarHandleOp(dtype=dtype, shape=None, shared_name=name)
            self.reads.append(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype))
        if value is not None:
            fed = tf.placeholder(dtype, None)
            self.feeds[fed] = value
            self.setup.append(tf.raw_ops.Assign(ref=handle, value=fed, validate_shape=False).op if arg.is_ref else
                              tf.raw_ops.AssignVariableOp(resource=handle, value=fed))
        return handle

    def run(self, session):
        """[values], or (class of the error, its message)."""
        try:
            # Copies: TensorFlow's in-place ops, and updates of variables, write into the memory that was fed.
            feeds = {fed: np.array(value) for fed, value in self.feeds.items()}
            if self.setup:
                session.run(self.setup, feeds)
            _, values = session.run([self.op, self.outputs], feeds)
            return values + [self.read(session, r) for r in self.reads]
        except (tf.errors.OpError, ValueError, TypeError) as error:
            message = getattr(error, "message", str(error)) or ""
            lines = [line for line in message.splitlines() if line.strip() and not line.startswith("From /job:")] or [""]
            said = [i for i, line in enumerate(lines) if line.startswith("Node:")]
            text = lines[said[0] + 1] if said and said[0] + 1 < len(lines) else lines[0]
            return type(error).__name__, text[:400]

    @staticmethod
    def read(session, value):
        try:
            return session.run(value)
        except tf.errors.OpError as error:  # one that got no value is the same on both sides
            return np.array(type(error).__name__.encode(), dtype=object)
