"""Views of reference variables, whose reader comes after an update."""

import numpy as np
import tensorflow as tf

VIEWS = {
    "Identity": lambda r, x: r.Identity(input=x),
    "Snapshot": lambda r, x: r.Snapshot(input=x),
    "StopGradient": lambda r, x: r.StopGradient(input=x),
    "PreventGradient": lambda r, x: r.PreventGradient(input=x),
    "GuaranteeConst": lambda r, x: r.GuaranteeConst(input=x),
    "Reshape": lambda r, x: r.Reshape(tensor=x, shape=[2, 1]),
    "ExpandDims": lambda r, x: r.ExpandDims(input=x, axis=0),
    "Squeeze": lambda r, x: r.Squeeze(input=r.Reshape(tensor=r.Identity(input=x), shape=[2, 1])),
    "Bitcast": lambda r, x: r.Bitcast(input=x, type=tf.int32),
    "CheckNumerics": lambda r, x: r.CheckNumerics(tensor=x, message="not finite"),
    "EnsureShape": lambda r, x: r.EnsureShape(input=x, shape=[2]),
    "PlaceholderWithDefault": lambda r, x: r.PlaceholderWithDefault(input=x, shape=[2]),
}

SLICES = {
    "rows": lambda r, x: r.Slice(input=x, begin=[1, 0], size=[2, -1]),
    "all": lambda r, x: r.Slice(input=x, begin=[0, 0], size=[-1, -1]),
    "columns": lambda r, x: r.Slice(input=x, begin=[0, 0], size=[-1, 2]),
    "strided rows": lambda r, x: r.StridedSlice(input=x, begin=[1], end=[3], strides=[1]),
    "a row": lambda r, x: r.StridedSlice(input=x, begin=[-1], end=[0], strides=[1], shrink_axis_mask=1),
    "every other row": lambda r, x: r.StridedSlice(input=x, begin=[0], end=[4], strides=[2]),
    "a new axis": lambda r, x: r.StridedSlice(input=x, begin=[0, 0], end=[0, 2], strides=[1, 1], new_axis_mask=1),
    "SplitV": lambda r, x: r.SplitV(value=x, size_splits=[1, 3], axis=0, num_split=2)[1],
    "SplitV in 1": lambda r, x: r.SplitV(value=x, size_splits=[4], axis=0, num_split=1)[0],
    "Unpack": lambda r, x: r.Unpack(value=x, num=4)[1],
}
PARTS = {
    "aligned": lambda r, x: r.Slice(input=x, begin=[16], size=[16]),
    "begin": lambda r, x: r.Slice(input=x, begin=[8], size=[24]),
    "end": lambda r, x: r.StridedSlice(input=x, begin=[16], end=[40], strides=[1]),
    "an element": lambda r, x: r.StridedSlice(input=x, begin=[16], end=[17], strides=[1], shrink_axis_mask=1),
    "SplitV": lambda r, x: r.SplitV(value=x, size_splits=[16, 48], axis=0, num_split=2)[1],
    "SplitV in the middle": lambda r, x: r.SplitV(value=x, size_splits=[8, 56], axis=0, num_split=2)[1],
    "Unpack": lambda r, x: r.Unpack(value=x, num=64)[16],
}


def late(p, view, update, grows=False):
    r = p.raw
    v = r.VariableV2(shape=tf.TensorShape(None if grows else [2]), dtype=tf.float32)
    p.run(r.Assign(ref=v, value=tf.constant([1.0, 2.0]), validate_shape=not grows))
    seen = view(r, v)
    with tf.control_dependencies([seen.op]):
        updated = update(r, v)
    with tf.control_dependencies([updated.op]):
        p.run(r.Mul(x=seen, y=r.OnesLike(x=seen)))


def late_part(p, view, shape):
    r = p.raw
    v = r.VariableV2(shape=shape, dtype=tf.float32)
    p.run(r.Assign(ref=v, value=tf.zeros(shape)))
    seen = view(r, v)
    with tf.control_dependencies([seen.op]):
        updated = r.AssignAdd(ref=v, value=tf.ones(shape))
    with tf.control_dependencies([updated.op]):
        p.run(r.Mul(x=seen, y=r.OnesLike(x=seen)))


def in_place(p):
    for view in VIEWS.values():
        late(p, view, lambda r, v: r.AssignAdd(ref=v, value=tf.constant([10.0, 20.0])))


def what_is_not_checked(p):
    late(p, VIEWS["CheckNumerics"], lambda r, v: r.Assign(ref=v, value=tf.constant([np.nan, 1.0])))


# Of as many elements the update is in place; else the view keeps the variable's old memory.
def of_any_shape(p):
    for size in (2, 3):
        value = np.arange(size, dtype=np.float32) + 5
        for name in ("Reshape", "StopGradient", "ExpandDims"):
            late(p, VIEWS[name], lambda r, v, x=value: r.Assign(ref=v, value=tf.constant(x), validate_shape=False),
                 grows=True)


# A slice along axis 0 is a view where all its rows are aligned.
def slices(p):
    for columns in (3, 8, 16, 32):
        for view in SLICES.values():
            late_part(p, view, [4, columns])
    for view in PARTS.values():
        late_part(p, view, [64])


PROGRAMS = (in_place, slices, what_is_not_checked, of_any_shape)
