"""PyTorch's part of the rows about launches, ensembles, copies and snapshots. On the CPU they run as well, so that
the scripts can be tried; what they say there means little."""
import os
import threading
import time

import numpy as np
import torch
from torch.nn import functional as F

import torch_models
import work
from peer_torch import save_durably


def wait(choices):
    if choices.on_gpu():
        torch.cuda.synchronize()


def pinned(tensor, choices):
    return tensor.pin_memory() if choices.on_gpu() else tensor


def recorded(work_once):
    """A CUDA graph of what work_once() starts, and what it gave."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work_once()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = work_once()
    return graph, out


def launch(choices, ops, elements, seconds):
    """A chain of additions, fed and fetched: microseconds an addition."""
    ops, elements = int(ops), int(elements)
    fed = [pinned(torch.full((elements,), float(i)), choices) for i in range(2)]
    static = [torch.zeros(elements, device=choices.device) for _ in range(2)]

    def chain(x, y):
        for _ in range(ops):
            x = x + y
        return x

    def feed():
        for to, value in zip(static, fed):
            to.copy_(value, non_blocking=True)

    run = chain
    if choices.mode == "compile":
        run = torch.compile(chain, mode="reduce-overhead" if choices.on_gpu() else "default")
    if choices.mode == "graph":
        graph, out = recorded(lambda: chain(*static))
        run = lambda x, y: graph.replay() or out  # noqa: E731 -- replay gives None

    def once():
        if choices.mode == "compile" and choices.on_gpu():
            torch.compiler.cudagraph_mark_step_begin()
        feed()
        return run(*static).cpu()

    assert once()[0] == ops, f"a chain of {ops} additions of 1 gives {once()[0]}"
    work.tell("chain", "us/op", [t * 1e6 / ops for t in work.seconds_of(once, float(seconds))])
    if choices.mode == "graph":
        starts = []
        for _ in range(50):
            begin = time.perf_counter()
            graph.replay()
            starts.append((time.perf_counter() - begin) * 1e6)
            torch.cuda.synchronize()
        work.tell("host, replay", "us", starts)


def ensemble(choices, members, batch, seconds):
    """Perceptrons that share their batch: as one by vmap, or each on a stream of its own."""
    members, batch = int(members), int(batch)
    torch.manual_seed(1)
    torch_models.arithmetic(choices)
    nets = [torch_models.mlp(choices).to(choices.device) for _ in range(members)]
    x, y = work.batches("mlp", batch, one_hot=False)[0]
    fed = [pinned(torch.from_numpy(a), choices) for a in (x, y)]
    here = [t.to(choices.device) for t in fed]
    update = by_streams(nets) if choices.mode == "streams" and choices.on_gpu() else by_vmap(nets)
    if choices.mode == "graph":
        eager = update
        graph, losses = recorded(lambda: eager(*here))
        update = lambda x, y: graph.replay() or losses  # noqa: E731 -- replay gives None

    def once():
        for to, value in zip(here, fed):
            to.copy_(value, non_blocking=True)
        return update(*here).cpu()

    work.tell("ensemble", "us/step", [t * 1e6 for t in work.seconds_of(once, float(seconds))])


def by_vmap(nets):
    parameters, _ = torch.func.stack_module_state(nets)
    parameters = {name: value.detach() for name, value in parameters.items()}

    def loss_of(values, x, y):
        return F.cross_entropy(torch.func.functional_call(nets[0], values, (x,)), y)

    each = torch.func.vmap(torch.func.grad_and_value(loss_of), in_dims=(0, None, None))

    def update(x, y):
        gradients, losses = each(parameters, x, y)
        for name, value in parameters.items():
            value.add_(gradients[name], alpha=-work.LEARNING_RATE["sgd"])
        return losses

    return update


def by_streams(nets):
    streams = [torch.cuda.Stream() for _ in nets]
    rules = [torch.optim.SGD(net.parameters(), work.LEARNING_RATE["sgd"], fused=True) for net in nets]

    def update(x, y):
        losses = []
        for net, stream, rule in zip(nets, streams, rules):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                rule.zero_grad(set_to_none=True)
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                rule.step()
                losses.append(loss.detach())
        for stream in streams:
            torch.cuda.current_stream().wait_stream(stream)
        return torch.stack(losses)

    return update


def overlap(choices, mebibytes, size, rounds):
    """The next batch's way in and a snapshot's way out under products, on streams of their own."""
    torch_models.arithmetic(choices)
    elements, rounds = (int(mebibytes) << 20) // 4, int(rounds)
    host_in, host_out = (pinned(torch.ones(elements), choices) for _ in range(2))
    arrived, state = (torch.zeros(elements, device=choices.device) for _ in range(2))
    m = torch.rand(int(size), int(size), device=choices.device) * (2.0 / int(size))

    def copy_in():
        arrived.copy_(host_in, non_blocking=True)

    def copy_out():
        host_out.copy_(state, non_blocking=True)

    def work_of(products):
        power = m
        for _ in range(products):
            power = m @ power

    def seconds(*parts):
        """Of all parts, each on a stream of its own."""
        times = []
        streams = [torch.cuda.Stream() for _ in parts] if choices.on_gpu() else []
        for i in range(-3, rounds):
            wait(choices)
            begin = time.perf_counter()
            for k, part in enumerate(parts):
                if streams:
                    with torch.cuda.stream(streams[k]):
                        part()
                else:
                    part()
            wait(choices)
            if i >= 0:
                times.append(time.perf_counter() - begin)
        return times

    giga = elements * 4e-9
    into, out = seconds(copy_in), seconds(copy_out)
    trial = min(seconds(lambda: work_of(8)))
    products = max(1, min(2000, int(np.ceil(8 * 2 * max(min(into), min(out)) / trial))))
    alone = min(seconds(lambda: work_of(products)))
    work.tell("batch to the device", "GB/s", [giga / t for t in into], best=max)
    work.tell("snapshot from the device", "GB/s", [giga / t for t in out], best=max)
    work.tell_hidden("batch under", min(into), alone, seconds(lambda: work_of(products), copy_in))
    work.tell_hidden("snapshot under", min(out), alone, seconds(lambda: work_of(products), copy_out))


def snapshot(choices, mebibytes, tensors, directory):
    """torch.save of what is on the device; with mode=streams copied out first, and written by a thread."""
    each = (int(mebibytes) << 20) // int(tensors) // 4
    state = {f"v{i}": torch.rand(each, device=choices.device) for i in range(int(tensors))}
    held = {name: pinned(torch.empty(each), choices) for name in state}
    path, giga = os.path.join(directory, "model.pt"), each * int(tensors) * 4e-9
    stalls, rates = [], []
    for i in range(-1, 3):
        wait(choices)
        begin = time.perf_counter()
        if choices.mode == "streams":
            for name, value in state.items():
                held[name].copy_(value, non_blocking=True)
            wait(choices)
            writer = threading.Thread(target=save_durably, args=(held, path))
            writer.start()
            stall = time.perf_counter() - begin
            writer.join()
        else:
            save_durably(state, path)
            stall = time.perf_counter() - begin
        if i >= 0:
            stalls.append(stall)
            rates.append(giga / (time.perf_counter() - begin))
        os.remove(path)
    work.tell("stall", "s", stalls)
    work.tell("saved", "GB/s", rates, best=max)
