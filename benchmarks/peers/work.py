"""What every peer has in common: the work's data, how it is timed, how results are told.

A peer prints one JSON object a line: {"row", "unit", "best", "median"}; for rates the best is the largest.
Batches are fresh NumPy arrays and the loss is fetched after every step, as users do.
"""
import json
import time

import numpy as np

ENCODER = [64, 128, 256, 512, 512, 512]
DECODER = [512, 512, 512, 256, 128, 64]
RESNET50 = [(64, 3), (128, 4), (256, 6), (512, 3)]
LEARNING_RATE = {"sgd": 0.01, "adam": 1e-4}


def batches(model, size, channels_first=False, one_hot=True):
    random = np.random.RandomState(0)
    made = []
    for _ in range(8 if model in ("mlp", "lenet") else 2):
        if model in ("mlp", "lenet"):
            x, classes = random.rand(size, 784), 10
        elif model == "autoencoder":
            x, classes = random.rand(size, 64, 64, 1), 0
        else:
            x, classes = random.rand(size, 224, 224, 3), 1000
        x = x.astype(np.float32)
        if x.ndim == 4 and channels_first:
            x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
        if classes == 0:
            made.append((x, x))
            continue
        labels = random.randint(0, classes, size)
        made.append((x, np.eye(classes, dtype=np.float32)[labels] if one_hot else labels.astype(np.int64)))
    return made


def tell(row, unit, values, best=min):
    values = sorted(values)
    print(json.dumps({"row": row, "unit": unit, "best": best(values), "median": values[len(values) // 2]}), flush=True)


def seconds_of(work, seconds, warm=3):
    """Seconds of one call, many times: blocks long enough for the clock, for `seconds` in all."""
    for _ in range(warm):
        work()
    start = time.perf_counter()
    work()
    calls = max(1, int(0.05 / max(time.perf_counter() - start, 1e-9)))
    times, began = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        for _ in range(calls):
            work()
        times.append((time.perf_counter() - start) / calls)
    return times


def tell_training(model, batch, step, feeds, seconds):
    at = [0]

    def next_step():
        at[0] += 1
        step(*feeds[at[0] % len(feeds)])

    times = seconds_of(next_step, seconds)
    if model == "mlp":
        tell("train", "us/step", [t * 1e6 for t in times])
    else:
        tell("train", "samples/s", [batch / t for t in times], best=max)


def tell_matpow(size, products, once, seconds):
    times = seconds_of(once, seconds, warm=1)
    flops = 2.0 * products * size**3
    tell("matpow", "GFLOP/s", [flops / t * 1e-9 for t in times], best=max)
