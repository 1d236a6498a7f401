"""Are two results the same? Closeness of values as in the C++ harness, and distances in units in the last place."""
import numpy as np
import tensorflow as tf

# Same closeness as the C++ harness: relative to max(1, |expected|), by dtype.
FLOOR = {"bfloat16": 4e-2, "float16": 5e-3}


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
