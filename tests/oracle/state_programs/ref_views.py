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


def late(p, view, update, grows=False):
    r = p.raw
    v = r.VariableV2(shape=tf.TensorShape(None if grows else [2]), dtype=tf.float32)
    p.run(r.Assign(ref=v, value=tf.constant([1.0, 2.0]), validate_shape=not grows))
    seen = view(r, v)
    with tf.control_dependencies([seen.op]):
        updated = update(r, v)
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


PROGRAMS = (in_place, what_is_not_checked, of_any_shape)
