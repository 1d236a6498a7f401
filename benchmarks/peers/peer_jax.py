"""JAX: one jitted step, parameters donated. peer_jax.py train MODEL BATCH OPTIMIZER THREADS SECONDS |
matpow N THREADS SECONDS | start | launch OPS ELEMENTS SECONDS | ensemble MEMBERS BATCH SECONDS.

Then words key=value (work.Choices): device=cuda, precision=fp32|tf32|bf16, sizes.
"""
import os
import sys

import work

task, *words = sys.argv[1:]
arguments, choices = work.split_words(words)
one_thread = (task == "train" and arguments[3] == "1") or (task == "matpow" and arguments[1] == "1")
if one_thread:  # read when jax is imported
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
os.environ["JAX_PLATFORMS"] = choices.device
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # what is taken is what is used
import jax
import numpy as np
from jax import numpy as jnp

import jax_models


def train(model, batch, optimizer, threads, seconds):
    feeds = work.batches(model, int(batch), choices=choices)
    step = jax_models.training_step(model, optimizer, feeds[0][0], choices)
    work.tell_training(model, int(batch), step, feeds, float(seconds), choices.unit)
    stats = jax.local_devices()[0].memory_stats()  # None on the CPU
    if stats:
        work.tell("peak memory", "MB", [stats["peak_bytes_in_use"] * 1e-6])


def matpow(size, threads, seconds):
    size = int(size)
    random = np.random.RandomState(0)
    matrices = [random.rand(size, size).astype("float32") * np.float32(2.0 / size) for _ in range(2)]
    if not choices.on_gpu():  # on a GPU their way there belongs to it
        matrices = [jnp.asarray(m) for m in matrices]

    def power(m):
        m = result = m.astype(jnp.bfloat16 if choices.precision == "bf16" else jnp.float32)
        for _ in range(10):
            result = m @ result
        return result

    whole = jax.jit(lambda a, b: power(a) + power(b))
    powers = jax.jit(lambda a, b: (power(a), power(b)))

    def once():
        if choices.on_gpu() and choices.sum == "cpu":
            one, other = powers(*matrices)
            return np.asarray(one) + np.asarray(other)
        return np.asarray(whole(*matrices))

    work.tell_matpow(size, 20, once, float(seconds), choices.unit)


def start():
    feeds = work.batches("mlp", 10)
    jax_models.training_step("mlp", "sgd", feeds[0][0])(*feeds[0])


def launch(ops, elements, seconds):
    fed = [np.full(int(elements), i, np.float32) for i in range(2)]

    def chain(x, y):
        for _ in range(int(ops)):
            x = x + y
        return x

    jitted = jax.jit(chain)
    assert np.asarray(jitted(*fed))[0] == int(ops)
    times = work.seconds_of(lambda: np.asarray(jitted(*fed)), float(seconds))
    work.tell("chain", "us/op", [t * 1e6 / int(ops) for t in times])


def ensemble(members, batch, seconds):
    """Perceptrons that share their batch, as one by vmap."""
    x, y = work.batches("mlp", int(batch))[0]
    maker = jax_models.Net()
    jax.eval_shape(lambda x: jax_models.forward(maker, "mlp", x), x)
    state = [{k: jnp.stack([jnp.asarray(v)] * int(members)) for k, v in maker.made.items()}]

    def loss_of(values, x, y):
        out = jax_models.forward(jax_models.Net(values), "mlp", x)
        return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(out), -1))

    each = jax.vmap(jax.value_and_grad(loss_of), in_axes=(0, None, None))

    def update(values, x, y):
        losses, gradients = each(values, x, y)
        return {k: v - work.LEARNING_RATE["sgd"] * gradients[k] for k, v in values.items()}, losses

    jitted = jax.jit(update, donate_argnums=0)

    def once():
        state[0], losses = jitted(state[0], x, y)
        return np.asarray(losses)

    work.tell("ensemble", "us/step", [t * 1e6 for t in work.seconds_of(once, float(seconds))])


if __name__ == "__main__":
    jax.config.update("jax_default_matmul_precision", jax_models.PRECISION[choices.precision])
    {"train": train, "matpow": matpow, "start": start, "launch": launch, "ensemble": ensemble}[task](*arguments)
