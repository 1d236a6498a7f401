"""Programs of stateful.py over variables and optimizers."""
import numpy as np
import tensorflow.compat.v1 as tf

from stateful_steps import NUMBERS, Step, hidden, numbers, pick, shape

raw = tf.raw_ops
SCATTERED = [tf.float32, tf.float64, tf.float16, tf.int8, tf.int32, tf.int64, tf.uint8]


def variables(draw):
    """Assignments, scatters, slices and counters on variables by reference and by resource."""
    ref, steps = bool(draw.randint(2)), []
    dtype, sizes = pick(draw, NUMBERS), shape(draw)
    first = numbers(draw, dtype, sizes)
    v = tf.Variable(first, use_resource=not ref, name="v")
    read = v.read_value()
    steps.append(Step("before it has a value", read))
    steps.append(Step("initializer", v.initializer))
    for _ in range(8):
        kind = draw.randint(6)
        bad = draw.rand() < 0.15
        wrong = [n + 1 for n in sizes] if bad else sizes
        value = hidden(numbers(draw, dtype, wrong))
        if kind < 2:
            name = pick(draw, ["Assign", "AssignAdd", "AssignSub"])
            if ref:
                op = raw.Assign(ref=v._ref(), value=value) if name == "Assign" else getattr(raw, name)(ref=v._ref(), value=value)
            else:
                op = getattr(raw, {"Assign": "AssignVariableOp", "AssignAdd": "AssignAddVariableOp",
                                   "AssignSub": "AssignSubVariableOp"}[name])(resource=v.handle, value=value)
        elif kind < 4:
            name = pick(draw, ["Update", "Add", "Sub", "Mul", "Div", "Min", "Max"])
            if dtype not in SCATTERED:
                name = "Update"
            count = draw.randint(0, 4)
            indices = draw.randint(0, sizes[0], [count])
            if bad and count:
                indices[0] = sizes[0]
            if name in ("Update", "Div") and len(set(indices.tolist())) < count:
                indices, count = indices[:1], 1  # of equal ones, any may win
            updates = hidden(numbers(draw, dtype, [count] + sizes[1:]))
            index = hidden(indices.astype(pick(draw, [np.int32, np.int64])))
            if ref:
                op = getattr(raw, "Scatter" + name)(ref=v._ref(), indices=index, updates=updates)
            else:
                op = getattr(raw, "ResourceScatter" + name)(resource=v.handle, indices=index, updates=updates)
            name = "Scatter" + name
        elif kind == 4:
            name = "ScatterNdUpdate"
            row = draw.randint(0, sizes[0] + (1 if bad else 0), [1, 1])
            updates = hidden(numbers(draw, dtype, [1] + sizes[1:]))
            if ref:
                op = raw.ScatterNdUpdate(ref=v._ref(), indices=hidden(row), updates=updates)
            else:
                op = raw.ResourceScatterNdUpdate(ref=v.handle, indices=hidden(row), updates=updates)
        else:
            name = "Gather"
            indices = tf.constant(draw.randint(0, sizes[0] + (1 if bad else 0), [3]))
            op = tf.gather(v._ref(), indices) if ref else raw.ResourceGather(resource=v.handle, indices=indices, dtype=dtype)
        steps.append(Step(name, op, compared=name == "Gather"))
        steps.append(Step("read", read))
    if dtype in (tf.int32, tf.int64):
        counter = tf.Variable(tf.constant(0, dtype), use_resource=not ref, name="counter")
        limit = int(draw.randint(1, 4))
        up = raw.CountUpTo(ref=counter._ref(), limit=limit) if ref else raw.ResourceCountUpTo(
            resource=counter.handle, limit=limit, T=dtype)
        steps.append(Step("initializer", counter.initializer))
        steps += [Step("count up", up)] * (limit + 2)
    return steps


OPTIMIZERS = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "AdagradDA": lambda: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
    "Adadelta": lambda: tf.train.AdadeltaOptimizer(0.5),
    "Adam": lambda: tf.train.AdamOptimizer(0.1),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "CenteredRMSProp": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "Ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "ProximalAdagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01),
    "ProximalGradientDescent": lambda: tf.train.ProximalGradientDescentOptimizer(0.1, l2_regularization_strength=0.01),
}


def optimizers(draw):
    """Some steps of an optimizer, its gradients dense and sparse; slots are read, too."""
    name = pick(draw, sorted(OPTIMIZERS))
    dtype = pick(draw, [tf.float32] if name.startswith("Proximal") else [tf.float32, tf.float64])
    use_resource = bool(draw.randint(2))
    table = tf.Variable(numbers(draw, dtype, [5, 3]), use_resource=use_resource, name="table")
    weights = tf.Variable(numbers(draw, dtype, [3, 2]), use_resource=use_resource, name="weights")
    ids = tf.placeholder(tf.int32, [None], "ids")
    loss = tf.reduce_sum(tf.square(tf.matmul(tf.nn.embedding_lookup(table, ids), weights)))
    optimizer = OPTIMIZERS[name]()
    global_step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(loss, global_step=global_step)
    state = [v.read_value() for v in tf.global_variables()]
    steps = [Step("initializer", tf.global_variables_initializer())]
    for _ in range(5):
        rows = draw.randint(0, 5, draw.randint(1, 5))
        if draw.rand() < 0.5:
            rows = np.unique(rows)
        steps += [Step(f"{name}", [train, loss], {ids: rows}, compared=False), Step("variables", state)]
    steps.append(Step("an id outside", train, {ids: [7]}))
    return steps
