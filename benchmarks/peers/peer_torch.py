"""PyTorch. peer_torch.py train MODEL BATCH OPTIMIZER THREADS SECONDS | matpow N THREADS SECONDS | ckpt DIR | start |
launch OPS ELEMENTS SECONDS | ensemble MEMBERS BATCH SECONDS | overlap MIB SIZE ROUNDS | snapshot MIB TENSORS DIR.

Then words key=value (work.Choices): device=cuda, mode=eager|compile|graph|streams, precision=fp32|tf32|bf16, sizes.
Convolutions run channels-last, the faster layout.
"""
import os
import sys
import time

import numpy as np
import torch

import torch_models
import work


def memory_of_steps(step, feeds, choices):
    """What the GPU's memory held at most, and how often a steady step asked for some."""
    if not choices.on_gpu():
        return
    asked = lambda: torch.cuda.memory_stats()["allocation.all.allocated"]  # noqa: E731
    before, steps = asked(), 10
    for i in range(steps):
        step(*feeds[i % len(feeds)])
    work.tell("allocations", "a step", [(asked() - before) / steps])
    work.tell("peak memory", "MB", [torch.cuda.max_memory_allocated() * 1e-6])


def train(choices, model, batch, optimizer, threads, seconds):
    step = torch_models.training_step(model, optimizer, int(threads), choices)
    feeds = work.batches(model, int(batch), channels_first=True, one_hot=False, choices=choices)
    if choices.on_gpu():
        feeds = [tuple(torch_models.as_fed(a).pin_memory() for a in feed) for feed in feeds]
    work.tell_training(model, int(batch), step, feeds, float(seconds), choices.unit)
    memory_of_steps(step, feeds, choices)


def matpow(choices, size, threads, seconds):
    torch.set_num_threads(int(threads))
    torch_models.arithmetic(choices)
    size = int(size)
    random = np.random.RandomState(0)
    matrices = [torch.from_numpy(random.rand(size, size).astype("float32") * (2.0 / size)) for _ in range(2)]
    dtype = torch.bfloat16 if choices.precision == "bf16" else torch.float32
    if choices.on_gpu():
        matrices = [m.pin_memory() for m in matrices]

    def once():
        powers = []
        for m in matrices:
            power = m = m.to(choices.device, non_blocking=True).to(dtype)
            for _ in range(10):
                power = m @ power
            powers.append(power)
        if choices.sum == "cpu":
            powers = [p.cpu() for p in powers]
        return (powers[0] + powers[1]).cpu()

    work.tell_matpow(size, 20, once, float(seconds), choices.unit)
    if choices.on_gpu():
        products_alone(size, dtype, float(seconds))


def products_alone(size, dtype, seconds):
    """cuBLAS's own time: products in a row on the GPU, nothing copied."""
    m = torch.rand(size, size, device="cuda").to(dtype) * (2.0 / size)

    def ten():
        power = m
        for _ in range(10):
            power = m @ power
        torch.cuda.synchronize()

    flops = 2.0 * 10 * size**3
    work.tell("products alone", "GFLOP/s", [flops / t * 1e-9 for t in work.seconds_of(ten, seconds, warm=1)], best=max)


def checkpoint(choices, directory):
    state = {f"v{i}": torch.rand((16 << 20) // 4) for i in range(64)}
    path = os.path.join(directory, "model.pt")
    saves, restores = [], []
    for _ in range(3):
        start = time.perf_counter()
        save_durably(state, path)
        saves.append(2**30 / (time.perf_counter() - start) * 1e-9)
        start = time.perf_counter()
        for name, value in torch.load(path).items():
            state[name].copy_(value)
        restores.append(2**30 / (time.perf_counter() - start) * 1e-9)
    work.tell("durable save", "GB/s", saves, best=max)
    work.tell("restore", "GB/s", restores, best=max)


def save_durably(state, path):
    torch.save(state, path)
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def start(choices):
    feeds = work.batches("mlp", 10, one_hot=False)
    torch_models.training_step("mlp", "sgd", 1, choices)(*feeds[0])


def of_gpus(name):
    def task(choices, *arguments):
        import torch_gpus  # noqa: PLC0415 -- the rows of a GPU alone need it

        return getattr(torch_gpus, name)(choices, *arguments)

    return task


if __name__ == "__main__":
    given, chosen = work.split_words(sys.argv[2:])
    if chosen.on_gpu() and not torch.cuda.is_available():
        sys.exit("this PyTorch finds no GPU (setup torch on the machine that has one)")
    if chosen.mode == "graph" and not chosen.on_gpu():
        sys.exit("a CUDA graph needs a GPU")
    tasks = {"train": train, "matpow": matpow, "ckpt": checkpoint, "start": start}
    tasks |= {name: of_gpus(name) for name in ("launch", "ensemble", "overlap", "snapshot")}
    tasks[sys.argv[1]](chosen, *given)
