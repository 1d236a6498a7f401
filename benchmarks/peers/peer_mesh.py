"""JAX on virtual devices of the CPU: one jitted step, batches sharded over a mesh, variables replicated.
peer_mesh.py train MODEL BATCH OPTIMIZER SECONDS | bits STEPS BATCH COUNTS MODEL... | batches STEPS | compile MODEL BATCH.

Then words key=value (work.Choices): ranks=4 (devices), wrap=zero (Adam's slots are sharded by rows), sizes.
"""
import os
import sys
import time

import work

task, *words = sys.argv[1:]
arguments, choices = work.split_words(words)
devices = max([choices.ranks, *(map(int, arguments[2].split(",")) if task == "bits" else [])])
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + f" --xla_force_host_platform_device_count={devices}"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jax_models


class Sharded:
    """A training step over the first `ranks` devices."""

    def __init__(self, model, optimizer, example, ranks):
        mesh = Mesh(np.array(jax.devices()[:ranks]), ("data",))
        self.rows, everywhere = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
        update, state = jax_models.update_of(model, optimizer, example, choices)

        def of_slot(a):
            return self.rows if choices.wrap == "zero" and a.ndim and a.shape[0] % ranks == 0 else everywhere

        values, m, v, t = state
        where = (jax.tree.map(lambda a: everywhere, values), jax.tree.map(of_slot, m), jax.tree.map(of_slot, v),
                 everywhere)
        self.state = jax.device_put(state, where)
        self.jitted = jax.jit(update, donate_argnums=0, out_shardings=(where, everywhere))

    def step(self, x, y):
        x, y = jax.device_put((x, y), self.rows)
        self.state, loss = self.jitted(self.state, x, y)
        return float(loss)

    def values(self):
        return {name: np.asarray(value) for name, value in self.state[0].items()}

    def slot_bytes(self):
        """Of the first device."""
        return sum(shard.data.nbytes for slot in jax.tree.leaves(self.state[1:3])
                   for shard in slot.addressable_shards if shard.device == jax.devices()[0])


def train(model, batch, optimizer, seconds):
    feeds = work.batches(model, int(batch), choices=choices)
    jax.jit(lambda a: a @ a)(np.ones((64, 64), np.float32)).block_until_ready()  # loads libraries
    before = work.reset_resident()
    sharded = Sharded(model, optimizer, feeds[0][0], choices.ranks)
    work.tell_steps(int(batch), work.step_times(sharded.step, feeds, float(seconds)))
    work.tell("peak", "MB", [(work.resident("VmHWM") - before) / choices.ranks])  # one process has all devices
    work.tell("slots", "MB", [sharded.slot_bytes() * 1e-6])


def bits(steps, batch, counts, *models):
    """The largest relative difference of variables after so many steps from one device's."""
    worst, where = 0.0, ""
    for model in models:
        feeds, alone = work.batches(model, int(batch), choices=choices), None
        for ranks in sorted({1, *map(int, counts.split(","))}):
            sharded = Sharded(model, "sgd", feeds[0][0], ranks)
            for i in range(int(steps)):
                sharded.step(*feeds[i % len(feeds)])
            alone = sharded.values() if alone is None else alone
            apart = work.relative_difference(alone, sharded.values())
            if apart > worst:
                worst, where = apart, f"{model}, {ranks} devices"
    work.tell("difference", "relative difference", [worst], detail=where and f"most in {where}")


def batches(steps, tolerance=1e-5):
    """Batches of 1 to 4N+3 examples: how many run, and end with one device's variables."""
    last, wrong, refused = 4 * choices.ranks + 3, [], []
    for batch in range(1, last + 1):
        random = np.random.RandomState(batch)
        feeds = [(random.rand(batch, 784).astype(np.float32),
                  np.eye(10, dtype=np.float32)[random.randint(0, 10, batch)]) for _ in range(int(steps))]
        found = []
        try:
            for ranks in (choices.ranks, 1):
                sharded = Sharded("mlp", "sgd", feeds[0][0], ranks)
                for feed in feeds:
                    sharded.step(*feed)
                found.append(sharded.values())
        except ValueError:  # the batch does not divide by the devices
            refused.append(batch)
            continue
        if work.relative_difference(found[1], found[0]) > tolerance:
            wrong.append(batch)
    listed = "".join(f"; {what}: {','.join(map(str, those))}" for what, those in
                     (("not equal", wrong), ("refused", refused)) if those)
    work.tell("equal batches", "batches", [last - len(wrong) - len(refused)], best=max, detail=f"of {last}{listed}")


def compile_step(model, batch):
    """From the first call to the compiled step over the devices, tracing included."""
    x, y = work.batches(model, int(batch), choices=choices)[0]
    sharded = Sharded(model, "adam", x, choices.ranks)
    began = time.perf_counter()
    sharded.jitted.lower(sharded.state, *jax.device_put((x, y), sharded.rows)).compile()
    work.tell("plan", "s", [time.perf_counter() - began], detail="traced and compiled")


if __name__ == "__main__":
    {"train": train, "bits": bits, "batches": batches, "compile": compile_step}[task](*arguments)
