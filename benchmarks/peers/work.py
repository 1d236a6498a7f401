"""What every peer has in common: the work's data, how it is timed, how results are told.

A peer prints one JSON object a line: {"row", "unit", "best", "median"}; for rates the best is the largest.
Batches are fresh NumPy arrays and the loss is fetched after every step, as users do.
What a row's work depends on beside its model comes as words key=value, the same for every peer (Choices).
"""
import json
import time

import numpy as np

RESNET50 = [(64, 3), (128, 4), (256, 6), (512, 3)]
LEARNING_RATE = {"sgd": 0.01, "adam": 1e-4}


class Choices:
    """Words key=value; what is not said is as the CPU's rows have it."""

    def __init__(self, words=()):
        self.device, self.mode, self.precision, self.unit, self.sum = "cpu", "eager", "fp32", "", "cpu"
        self.image, self.depth, self.width, self.layers, self.length, self.heads = 0, 6, 64, 0, 16, 4
        self.hidden, self.dropout = 256, 0.0  # of the perceptron; of elements
        # Of strategies: ranks or devices, micro-batches of a step, the sharded state (wrap: ddp, zero, fsdp2).
        self.ranks, self.accumulate, self.wrap, self.rate = 1, 1, "ddp", 0.0
        for word in words:
            key, value = word.split("=", 1)
            setattr(self, key, type(getattr(self, key))(value))  # an unknown key is an error here

    def on_gpu(self):
        return self.device != "cpu"


def split_words(arguments):
    """Those by position, and the choices."""
    return [a for a in arguments if "=" not in a], Choices([a for a in arguments if "=" in a])


def encoder(choices):
    return [choices.width << min(level, 3) for level in range(choices.depth)]


VOCABULARY = 32  # of the transformer


def batches(model, size, channels_first=False, one_hot=True, choices=Choices()):
    random = np.random.RandomState(0)
    made = []
    for _ in range(8 if model in ("mlp", "lenet") else 2):
        if model == "transformer":
            made.append(tuple(random.randint(0, VOCABULARY, (size, choices.length)).astype(np.int32) for _ in "xy"))
            continue
        if model in ("mlp", "lenet"):
            x, classes = random.rand(size, 784), 10
        elif model == "autoencoder":
            x, classes = random.rand(size, choices.image or 64, choices.image or 64, 1), 0
        elif choices.layers == 20:
            x, classes = random.rand(size, choices.image or 32, choices.image or 32, 3), 1000
        else:
            x, classes = random.rand(size, choices.image or 224, choices.image or 224, 3), 1000
        x = x.astype(np.float32)
        if x.ndim == 4 and channels_first:
            x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
        if classes == 0:
            made.append((x, x))
            continue
        labels = random.randint(0, classes, size)
        made.append((x, np.eye(classes, dtype=np.float32)[labels] if one_hot else labels.astype(np.int64)))
    return made


def tell(row, unit, values, best=min, detail=""):
    values = sorted(values)
    print(json.dumps({"row": row, "unit": unit, "best": best(values), "median": values[len(values) // 2]}
                     | ({"detail": detail} if detail else {})), flush=True)


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


def step_times(step, feeds, seconds, agreed=lambda steps: steps):
    """Seconds of each step, one by one, as many as last for `seconds`; `agreed`: of all ranks."""

    def times_of(steps):
        times = []
        for i in range(steps):
            start = time.perf_counter()
            step(*feeds[i % len(feeds)])
            times.append(time.perf_counter() - start)
        return times

    times_of(1)  # compiles, and touches memory
    each = times_of(1)[0]
    each = min(times_of(agreed(1 if each > seconds / 4 else 3)) + [each])
    return times_of(agreed(max(3, min(int(seconds / max(each, 1e-9)), 20_000))))


def tell_steps(batch, times):
    """By the best and the median step, and by the mean of all, as `argosy train` has it."""
    tell("step", "samples/s", [batch / t for t in times], best=max)
    tell("rate", "samples/s", [batch * len(times) / sum(times)])


def resident(which):
    """Of this process, in MB: VmRSS now, VmHWM at most since reset_resident()."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(which + ":")) * 1024e-6


def reset_resident():
    """VmHWM starts anew; returns what is resident now."""
    with open("/proc/self/clear_refs", "w") as out:
        out.write("5")
    return resident("VmRSS")


def relative_difference(one, other):
    """Of two dictionaries of arrays: the largest difference of any, by the largest value of that array."""
    worst = 0.0
    for name, value in one.items():
        apart, base = float(np.max(np.abs(value - other[name]), initial=0)), float(np.max(np.abs(value), initial=0))
        if apart > 0:
            worst = max(worst, apart / base if base > 0 else float("inf"))
        if not np.all(np.isfinite(other[name])):
            return float("inf")
    return worst


def tell_training(model, batch, step, feeds, seconds, unit=""):
    at = [0]

    def next_step():
        at[0] += 1
        step(*feeds[at[0] % len(feeds)])

    times = seconds_of(next_step, seconds)
    if (unit or ("us/step" if model == "mlp" else "samples/s")) == "us/step":
        tell("train", "us/step", [t * 1e6 for t in times])
    else:
        tell("train", "samples/s", [batch / t for t in times], best=max)


def tell_matpow(size, products, once, seconds, unit=""):
    times = seconds_of(once, seconds, warm=1)
    if unit == "s":
        tell("in all", "s", times)
        return
    flops = 2.0 * products * size**3
    tell("matpow", "GFLOP/s", [flops / t * 1e-9 for t in times], best=max)


def tell_hidden(name, copy, work, together):
    """The part of a copy's time by which both together are shorter than one after the other."""
    tell(name, "hidden", [min(1.0, (copy + work - t) / copy) for t in together], best=max)
