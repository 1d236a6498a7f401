"""PyTorch, eager. peer_torch.py train MODEL BATCH OPTIMIZER THREADS SECONDS | matpow N THREADS SECONDS | ckpt DIR |
start. Convolutions run channels-last, its faster layout on CPUs."""
import os
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import work


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride, project):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
        self.short = nn.Identity()
        if project:
            self.short = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        return F.relu(self.layers(x) + self.short(x))


def autoencoder():
    layers, channels = [], 1
    for width in work.ENCODER:
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    for width in work.DECODER:
        layers += [nn.ConvTranspose2d(channels, width, 3, 2, 1, output_padding=1), nn.ReLU()]
        channels = width
    return nn.Sequential(*layers, nn.Conv2d(channels, 1, 3, padding=1))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, (width, blocks) in enumerate(work.RESNET50):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, 2 if block == 0 and stage > 0 else 1, block == 0))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def lenet():
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(3136, 1024), nn.ReLU(), nn.Linear(1024, 10))


def mlp():
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))


MODELS = {"mlp": mlp, "lenet": lenet, "autoencoder": autoencoder, "resnet": resnet50}


def training_step(model, optimizer, threads):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    net = MODELS[model]().to(memory_format=torch.channels_last)
    rule = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer]
    updates = rule(net.parameters(), work.LEARNING_RATE[optimizer])
    loss_of = F.mse_loss if model == "autoencoder" else F.cross_entropy

    def step(x, y):
        x, y = torch.from_numpy(x), torch.from_numpy(y)
        if x.dim() == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        updates.zero_grad(set_to_none=True)
        loss = loss_of(net(x), y)
        loss.backward()
        updates.step()
        return loss.item()

    return step


def train(model, batch, optimizer, threads, seconds):
    step = training_step(model, optimizer, int(threads))
    feeds = work.batches(model, int(batch), channels_first=True, one_hot=False)
    work.tell_training(model, int(batch), step, feeds, float(seconds))


def matpow(size, threads, seconds):
    torch.set_num_threads(int(threads))
    size = int(size)
    random = np.random.RandomState(0)
    matrices = [torch.from_numpy(random.rand(size, size).astype("float32") * (2.0 / size)) for _ in range(2)]

    def once():
        powers = []
        for m in matrices:
            power = m
            for _ in range(10):
                power = m @ power
            powers.append(power)
        return (powers[0] + powers[1]).numpy()

    work.tell_matpow(size, 20, once, float(seconds))


def checkpoint(directory):
    state = {f"v{i}": torch.rand((16 << 20) // 4) for i in range(64)}
    path = os.path.join(directory, "model.pt")
    saves, restores = [], []
    for _ in range(3):
        start = time.perf_counter()
        torch.save(state, path)
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        saves.append(2**30 / (time.perf_counter() - start) * 1e-9)
        start = time.perf_counter()
        for name, value in torch.load(path).items():
            state[name].copy_(value)
        restores.append(2**30 / (time.perf_counter() - start) * 1e-9)
    work.tell("durable save", "GB/s", saves, best=max)
    work.tell("restore", "GB/s", restores, best=max)


def start():
    feeds = work.batches("mlp", 10, one_hot=False)
    training_step("mlp", "sgd", 1)(*feeds[0])


if __name__ == "__main__":
    {"train": train, "matpow": matpow, "ckpt": checkpoint, "start": start}[sys.argv[1]](*sys.argv[2:])
