"""What the programs of stateful.py are made of: steps, and what is drawn for them."""
import dataclasses

import numpy as np
import tensorflow.compat.v1 as tf

FLOATS = [tf.float32, tf.float64, tf.float16, tf.bfloat16]
NUMBERS = FLOATS + [tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.complex64, tf.complex128]


@dataclasses.dataclass
class Step:
    name: str
    fetches: object
    feeds: dict = dataclasses.field(default_factory=dict)
    patience: int = 0  # milliseconds; 0: for ever
    compared: bool = True


def pick(draw, of):
    return of[draw.randint(len(of))]


def numbers(draw, dtype, shape):
    values = draw.randint(1, 9, shape) if dtype.is_integer else np.round(draw.rand(*shape) * 4 + 0.25, 2)
    if dtype.is_complex:
        values = values + 1j * np.round(draw.rand(*shape), 2)
    return np.asarray(values).astype(dtype.as_numpy_dtype)


def hidden(value):
    """A constant of which the client knows no shape: it is the step that finds out."""
    return tf.placeholder_with_default(value, None)


def shape(draw, least=1):
    return [int(n) for n in draw.randint(1, 5, draw.randint(least, 4))]
