"""Programs of stateful.py over tables, tensor arrays and stacks."""
import numpy as np
import tensorflow.compat.v1 as tf

from stateful_steps import Step, numbers, pick

raw = tf.raw_ops


def tables(draw):
    """Mutable tables, dense and by key; tables that are filled once."""
    keys = pick(draw, [tf.int64, tf.string])
    values = pick(draw, [tf.int64, tf.float32] if keys == tf.string else [tf.float32, tf.int64, tf.string])
    word = lambda n: b"k%d" % n if keys == tf.string else int(n)
    key = lambda n: np.array([word(i) for i in n] + [None], object)[:-1] if keys == tf.string else np.array(n, np.int64)

    def value(n):
        if values == tf.string:
            return np.array([b"v%d" % i for i in draw.randint(0, 99, n)] + [None], object)[:-1]
        return numbers(draw, values, [n])

    kind = pick(draw, ["MutableHashTable", "MutableDenseHashTable", "HashTable"])
    if kind == "MutableDenseHashTable" and values == tf.string:
        values = tf.float32
    k, v = tf.placeholder(keys, None), tf.placeholder(values, None)
    missing = tf.constant(b"none" if values == tf.string else -1, values)
    if kind == "HashTable":
        t = raw.HashTableV2(key_dtype=keys, value_dtype=values, shared_name="t")
        fill = raw.InitializeTableV2(table_handle=t, keys=k, values=v)
    elif kind == "MutableHashTable":
        t = raw.MutableHashTableV2(key_dtype=keys, value_dtype=values, shared_name="t")
    else:
        t = raw.MutableDenseHashTableV2(empty_key=tf.constant(word(90), keys), deleted_key=tf.constant(word(91), keys),
                                        value_dtype=values, initial_num_buckets=4, shared_name="t")
    find = raw.LookupTableFindV2(table_handle=t, keys=k, default_value=missing)
    size = raw.LookupTableSizeV2(table_handle=t)
    steps = [Step("find in an empty table", find, {k: key([1])})]
    for _ in range(8):
        n = draw.randint(0, 6, draw.randint(1, 4))
        if draw.rand() < 0.1:
            n[0] = 90
        several = value(len(n) if draw.rand() < 0.9 else len(n) + 1)
        if kind == "HashTable":
            steps.append(Step("initialize", fill, {k: key(np.unique(n)), v: value(len(np.unique(n)))}))
        else:
            insert = raw.LookupTableInsertV2(table_handle=t, keys=k, values=v)
            remove = raw.LookupTableRemoveV2(table_handle=t, keys=k)
            steps.append(Step("insert", insert, {k: key(n), v: several}) if draw.rand() < 0.7 else
                         Step("remove", remove, {k: key(n)}))
        steps += [Step("find", find, {k: key(draw.randint(0, 7, 4))}), Step("size", size)]
    if keys == tf.int64 and values != tf.string and kind == "MutableHashTable":
        out = raw.LookupTableExportV2(table_handle=t, Tkeys=keys, Tvalues=values)
        at = tf.argsort(out.keys)
        steps.append(Step("export", [tf.gather(out.keys, at), tf.gather(out.values, at)]))
    return steps


def tensor_arrays(draw):
    """Writes and reads, scatters, gathers, splits and joins of a tensor array, and gradients through them."""
    steps = []
    for _ in range(4):
        dtype, n = pick(draw, [tf.float32, tf.float64, tf.int32, tf.complex64]), int(draw.randint(1, 5))
        x = tf.constant(numbers(draw, dtype, [n, 3]))
        a = tf.TensorArray(dtype, size=n if draw.rand() < 0.7 else 0, dynamic_size=bool(draw.randint(2)),
                           clear_after_read=bool(draw.randint(2)), infer_shape=False)
        how = draw.randint(3)
        if how == 0:
            for i in draw.permutation(n + (draw.rand() < 0.1)):
                a = a.write(int(i), x[min(int(i), n - 1)])
        elif how == 1:
            a = a.unstack(x)
        else:
            lengths = np.full(n, 1)
            a = a.split(x, tf.constant(lengths, tf.int32))
        out = pick(draw, ["stack", "concat", "gather", "read", "size"])
        y = {"stack": a.stack, "concat": a.concat, "size": a.size, "read": lambda: a.read(int(draw.randint(0, n))),
             "gather": lambda: a.gather(tf.constant(draw.randint(0, n, 2), tf.int32))}[out]()
        fetches = [y]
        if dtype.is_floating and out in ("stack", "gather", "concat"):
            fetches += [tf.gradients(y * y, x)[0]]
        steps.append(Step(f"{how} {out}", fetches))
    return steps


def stacks(draw):
    """Pushes and pops in one step, ordered by control edges."""
    dtype = pick(draw, [tf.float32, tf.int32, tf.string])
    s = raw.StackV2(max_size=tf.constant(int(draw.randint(2, 6))), elem_type=dtype, stack_name="s")
    last, popped = s, []
    for i in range(6):
        with tf.control_dependencies([last] if i else []):
            if draw.rand() < 0.6:
                x = tf.constant(b"w%d" % i if dtype == tf.string else i, dtype)
                last = raw.StackPushV2(handle=s, elem=x)
            else:
                last = raw.StackPopV2(handle=s, elem_type=dtype)
                popped.append(last)
    with tf.control_dependencies([last]):
        close = raw.StackCloseV2(handle=s)
    with tf.control_dependencies([close] if isinstance(close, tf.Operation) else [close.op]):
        end = tf.constant(1)
    return [Step("push and pop", popped + [end]), Step("once more", popped + [end])]
