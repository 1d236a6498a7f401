"""PyTorch over several processes of one machine, by gloo. peer_ranks.py train MODEL BATCH OPTIMIZER SECONDS |
bits STEPS BATCH COUNTS MODEL... | batches STEPS | sum BYTES SECONDS.

Then words key=value (work.Choices): ranks=4, wrap=ddp|zero|fsdp2, accumulate=4, sizes. wrap=ddp: every rank has all of
the optimizer's state; zero: DistributedDataParallel with ZeroRedundancyOptimizer; fsdp2: fully_shard of every layer.
One rank is plain PyTorch. Ranks are forked before anything computes, and share the cores evenly.
"""
import multiprocessing
import os
import sys
import tempfile
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

import torch_models
import work
from contest import LEFT_OUT, end_with_parent

CORES = len(os.sched_getaffinity(0))


def on_ranks(ranks, work_of_rank, *arguments):
    """Calls work_of_rank(rank, ...) in so many processes that form one group; one that fails ends all."""
    with tempfile.TemporaryDirectory() as folder:
        fork = multiprocessing.get_context("fork")
        processes = [fork.Process(target=in_group, args=(rank, ranks, folder, work_of_rank, *arguments))
                     for rank in range(ranks)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            if process.exitcode != 0:
                for other in processes:
                    other.kill()
                sys.exit(process.exitcode)


def in_group(rank, ranks, folder, work_of_rank, *arguments):
    end_with_parent()
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(max(1, CORES // ranks))
    if ranks > 1:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
    work_of_rank(rank, *arguments)
    sys.stdout.flush()
    if ranks > 1:
        dist.barrier()
        dist.destroy_process_group()


def agreed(value, how=None):
    """The first rank's number, or all ranks' largest."""
    if not dist.is_initialized():
        return value
    made = torch.tensor([float(value)], dtype=torch.float64)
    if how is None:
        dist.broadcast(made, 0)
    else:
        dist.all_reduce(made, how)
    return made.item()


def wrapped(net, optimizer, choices):
    """The model over the ranks, and its optimizer."""
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer]
    rate = choices.rate or work.LEARNING_RATE[optimizer]
    if not dist.is_initialized():
        return net, kind(net.parameters(), rate)
    if choices.wrap == "fsdp2":
        try:
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.fsdp import fully_shard
        except ImportError as error:
            print(f"this PyTorch has no fully_shard: {error}", file=sys.stderr)
            sys.exit(LEFT_OUT)
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for layer in net:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(net, mesh=mesh)
        return net, kind(net.parameters(), rate)
    net = nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=True)
    if choices.wrap == "zero":
        from torch.distributed.optim import ZeroRedundancyOptimizer

        return net, ZeroRedundancyOptimizer(net.parameters(), optimizer_class=kind, lr=rate)
    return net, kind(net.parameters(), rate)


def step_of(model, net, updates, choices):
    """step(x, y) of this rank's tensors: the rank's loss. Micro-batches but the last do not combine gradients."""

    def step(x, y):
        updates.zero_grad(set_to_none=True)
        loss = 0.0
        parts = list(zip(x.chunk(choices.accumulate), y.chunk(choices.accumulate)))
        for i, (part_x, part_y) in enumerate(parts):
            part = torch_models.loss_of(model, net(part_x), part_y) / len(parts)
            if i + 1 < len(parts) and isinstance(net, nn.parallel.DistributedDataParallel):
                with net.no_sync():
                    part.backward()
            else:
                part.backward()
            loss += part.item()
        updates.step()
        return loss

    return step


def made(model, choices):
    torch.manual_seed(1)
    return torch_models.MODELS[model](choices).to(memory_format=torch.channels_last)


def shard_of(array, rank, ranks):
    each = len(array) // ranks
    return torch_models.as_fed(np.ascontiguousarray(array[rank * each:(rank + 1) * each]))


def slots_of(updates):
    """Bytes of this rank's optimizer state, beside the count of steps."""
    updates = getattr(updates, "optim", updates)  # of ZeroRedundancyOptimizer: this rank's own
    total = 0
    for state in updates.state.values():
        for value in state.values():
            value = value.to_local() if hasattr(value, "to_local") else value
            if torch.is_tensor(value) and value.dim() > 0:
                total += value.numel() * value.element_size()
    return total


def load_libraries():
    """One step of a small net, so that what is resident later is the model's."""
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    updates = torch.optim.Adam(net.parameters())
    net(torch.rand(2, 1, 8, 8)).sum().backward()
    updates.step()


def train(choices, model, batch, optimizer, seconds):
    batch = int(batch)
    feeds = work.batches(model, batch, channels_first=True, one_hot=False, choices=choices)

    def of_rank(rank):
        load_libraries()
        before = work.reset_resident()
        net, updates = wrapped(made(model, choices), optimizer, choices)
        own = step_of(model, net, updates, choices)
        mine = [tuple(shard_of(a, rank, choices.ranks) for a in feed) for feed in feeds]
        times = work.step_times(own, mine, float(seconds), lambda steps: int(agreed(steps)))
        peak = agreed(work.resident("VmHWM") - before, dist.ReduceOp.MAX)
        slots = agreed(slots_of(updates), dist.ReduceOp.MAX)
        if rank == 0:
            work.tell_steps(batch, times)
            work.tell("peak", "MB", [peak])
            work.tell("slots", "MB", [slots * 1e-6])

    on_ranks(choices.ranks, of_rank)


def values_of(net):
    net = getattr(net, "module", net)
    return {name: value.detach().numpy().copy() for name, value in net.named_parameters()}


def bits(choices, steps, batch, counts, *models):
    """The largest relative difference of variables after so many steps from one process's."""
    batch, worst, where = int(batch), 0.0, ""
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            feeds = work.batches(model, batch, channels_first=True, one_hot=False, choices=choices)

            def of_rank(rank, ranks):
                net, updates = wrapped(made(model, choices), "adam", choices)
                torch.manual_seed(100 + rank)  # of dropout: each rank's own, as in PyTorch's examples
                step = step_of(model, net, updates, choices)
                mine = [tuple(shard_of(a, rank, ranks) for a in feed) for feed in feeds]
                for i in range(int(steps)):
                    step(*mine[i % len(mine)])
                if rank == 0:
                    np.savez(f"{folder}/{ranks}.npz", **values_of(net))

            alone = None
            for ranks in map(int, ["1", *counts.split(",")]):
                if ranks == 1 and alone is not None:
                    continue
                on_ranks(ranks, of_rank, ranks)
                values = dict(np.load(f"{folder}/{ranks}.npz"))
                alone = values if alone is None else alone
                apart = work.relative_difference(alone, values)
                if apart > worst:
                    worst, where = apart, f"{model}, {ranks} ranks"
    work.tell("difference", "relative difference", [worst], detail=where and f"most in {where}")


def batches(choices, steps, tolerance=1e-5):
    """Batches of 1 to 4N+3 examples, each dealt out as DistributedSampler does: it repeats examples until the ranks
    have equally many. How many end with one process's variables."""
    ranks, steps = choices.ranks, int(steps)
    last = 4 * ranks + 3

    def after(net, updates, batch, picked):
        step = step_of("mlp", net, updates, choices)
        random = np.random.RandomState(batch)
        for _ in range(steps):
            x, y = random.rand(batch, 784).astype(np.float32), random.randint(0, 10, batch)
            step(torch.from_numpy(x[picked]), torch.from_numpy(y[picked]))
        return values_of(net)

    def of_rank(rank):
        wrong = []
        for batch in range(1, last + 1):
            each = -(-batch // ranks)
            picked = np.resize(np.arange(batch), each * ranks)[rank::ranks]
            net, updates = wrapped(made("mlp", choices), "sgd", choices)
            many = after(net, updates, batch, picked)
            net = made("mlp", choices)
            alone = after(net, torch.optim.SGD(net.parameters(), choices.rate), batch, np.arange(batch))
            if work.relative_difference(alone, many) > tolerance:
                wrong.append(batch)
        if rank == 0:
            listed = f"; not equal, by repeated examples: {','.join(map(str, wrong))}" if wrong else ""
            work.tell("equal batches", "batches", [last - len(wrong)], best=max, detail=f"of {last}{listed}")

    on_ranks(ranks, of_rank)


def summed(choices, size, seconds):
    """Times of an all-reduce of so many bytes, those of the slowest rank."""
    size = int(size)
    repeats = 100 if size < 1 << 16 else 10 if size < 8 << 20 else 1

    def of_rank(rank):
        value, times, began = torch.zeros(size // 4), [], time.perf_counter()
        more = True
        while more:
            dist.barrier()
            start = time.perf_counter()
            for _ in range(repeats):
                dist.all_reduce(value)
            times.append(agreed((time.perf_counter() - start) / repeats, dist.ReduceOp.MAX))
            more = agreed(time.perf_counter() - began < float(seconds) or len(times) < 5) != 0
        if rank == 0:
            work.tell("sum", "us", [1e6 * t for t in times[1:]])

    on_ranks(choices.ranks, of_rank)


if __name__ == "__main__":
    given, chosen = work.split_words(sys.argv[2:])
    {"train": train, "bits": bits, "batches": batches, "sum": summed}[sys.argv[1]](chosen, *given)
