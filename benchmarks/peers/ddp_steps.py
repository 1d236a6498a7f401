"""A training with DistributedDataParallel over gloo as torchrun starts it: ddp_steps.py STEPS BATCH [FOLDER].

Each rank has its rows of the global batch. In FOLDER the first rank keeps step-N every few steps; whoever is started goes
on from the newest.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

import torch_models
import work

EVERY = 5  # steps


def newest(folder):
    steps = [int(name[5:]) for name in os.listdir(folder) if name.startswith("step-")]
    return max(steps, default=0)


def main(steps, batch, folder=None):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    net = torch_models.MODELS["mlp"](work.Choices())
    begin = newest(folder) if folder else 0
    if begin:
        net.load_state_dict(torch.load(f"{folder}/step-{begin}"))
    net = nn.parallel.DistributedDataParallel(net)
    updates = torch.optim.SGD(net.parameters(), 0.01)
    feeds = [tuple(torch.from_numpy(a[rank::ranks].copy()) for a in feed)
             for feed in work.batches("mlp", int(batch), one_hot=False)]
    for step in range(begin, int(steps)):
        x, y = feeds[step % len(feeds)]
        updates.zero_grad(set_to_none=True)
        torch_models.loss_of("mlp", net(x), y).backward()
        updates.step()
        if folder and rank == 0 and (step + 1) % EVERY == 0:
            torch.save(net.module.state_dict(), f"{folder}/new")
            os.replace(f"{folder}/new", f"{folder}/step-{step + 1}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
