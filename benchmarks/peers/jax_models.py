"""The models of the rows in JAX, and one training step of each: jitted, its state donated."""
import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

import work

# What float32 products of a GPU may be made of; the CPU has one kind.
PRECISION = {"fp32": "float32", "tf32": "tensorfloat32", "bf16": "default"}


class Net:
    """Makes its variables on the first pass, reads them on later ones."""

    def __init__(self, values=None, dtype=jnp.float32, key=None):
        self.values, self.made, self.dtype, self.key = values, {}, dtype, key
        self.random = np.random.RandomState(1)

    def variable(self, name, shape, value=None):
        if self.values is not None:
            return self.values[name]
        if value is None:
            receptive = np.prod(shape[:-2]) if len(shape) > 2 else 1
            bound = np.sqrt(6.0 / (receptive * (shape[-1] + shape[-2])))
            self.made[name] = self.random.uniform(-bound, bound, shape).astype(np.float32)
        else:
            self.made[name] = np.full(shape, value, np.float32)
        return jnp.zeros(shape, self.dtype)

    def drop(self, x, rate):
        if not rate or self.key is None:
            return x
        self.key, mine = jax.random.split(self.key)
        return jnp.where(jax.random.bernoulli(mine, 1 - rate, x.shape), x / (1 - rate), 0)

    def dense(self, x, units, name, activation=jax.nn.relu):
        y = x @ self.variable(name + "/kernel", (x.shape[-1], units)) + self.variable(name + "/bias", (units,), 0)
        return activation(y) if activation else y

    def conv(self, x, window, filters, name, stride=1, activation=jax.nn.relu, bias=True):
        kernel = self.variable(name + "/kernel", (window, window, x.shape[-1], filters))
        y = lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        if bias:
            y = y + self.variable(name + "/bias", (filters,), 0)
        return activation(y) if activation else y

    def up(self, x, filters, name):
        kernel = self.variable(name + "/kernel", (3, 3, x.shape[-1], filters))
        y = lax.conv_transpose(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jax.nn.relu(y + self.variable(name + "/bias", (filters,), 0))

    def batch_norm(self, x, name):
        width, mean = x.shape[-1], x.mean((0, 1, 2))
        variance = (x * x).mean((0, 1, 2)) - mean * mean
        scale = lax.rsqrt(variance + 1e-5) * self.variable(name + "/gamma", (width,), 1)
        return (x - mean) * scale + self.variable(name + "/beta", (width,), 0)

    def layer_norm(self, x, name):
        width, mean = x.shape[-1], x.mean(-1, keepdims=True)
        scale = lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-6)
        gamma, beta = self.variable(name + "/gamma", (width,), 1), self.variable(name + "/beta", (width,), 0)
        return (x - mean) * scale * gamma + beta

    def attention(self, x, choices, name):
        query, key, value = (self.dense(x, x.shape[-1], f"{name}/{part}", None).reshape(*x.shape[:2], choices.heads, -1)
                             for part in ("query", "key", "value"))
        by = "cudnn" if choices.on_gpu() and choices.precision == "bf16" else None  # cuDNN's flash attention
        mixed = jax.nn.dot_product_attention(query, key, value, implementation=by)
        return self.dense(mixed.reshape(x.shape), x.shape[-1], name + "/output", None)


def max_pool(x, window, stride):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, window, window, 1), (1, stride, stride, 1), "SAME")


def transformer(net, tokens, choices):
    """Normalised before: attention and two dense layers, each added to what came in."""
    x = net.variable("tokens", (work.VOCABULARY, choices.width))[tokens]
    x = x + net.variable("places", (choices.length, choices.width))
    for layer in range(choices.layers or 2):
        name = f"layer{layer}"
        x = x + net.attention(net.layer_norm(x, name + "/norm1"), choices, name)
        wide = net.dense(net.layer_norm(x, name + "/norm2"), 4 * choices.width, name + "/wide")
        x = x + net.dense(wide, choices.width, name + "/narrow", None)
    return net.dense(net.layer_norm(x, "norm"), work.VOCABULARY, "out", None)


def resnet20(net, x):
    def conv_norm(h, window, filters, stride, name):
        return net.batch_norm(net.conv(h, window, filters, name, stride, None, False), name + "/norm")

    h = jax.nn.relu(conv_norm(x, 3, 16, 1, "stem"))
    for stage in range(3):
        for block in range(3):
            name, stride, short = f"s{stage}b{block}", 2 if block == 0 and stage > 0 else 1, h
            if stride != 1:
                short = conv_norm(h, 1, 16 << stage, stride, name + "/p")
            g = jax.nn.relu(conv_norm(h, 3, 16 << stage, stride, name + "/1"))
            h = jax.nn.relu(conv_norm(g, 3, 16 << stage, 1, name + "/2") + short)
    return net.dense(h.mean((1, 2)), 1000, "head", None)


def forward(net, model, x, choices=work.Choices()):
    if model == "transformer":
        return transformer(net, x, choices)
    if model == "mlp":
        for name in ("d1", "d2"):
            x = net.drop(net.dense(x, choices.hidden, name), choices.dropout)
        return net.dense(x, 10, "d3", None)
    if model == "lenet":
        h = x.reshape(-1, 28, 28, 1)
        h = max_pool(net.conv(h, 5, 32, "conv1"), 2, 2)
        h = max_pool(net.conv(h, 5, 64, "conv2"), 2, 2)
        return net.dense(net.drop(net.dense(h.reshape(-1, 3136), 1024, "dense1"), choices.dropout), 10, "dense2", None)
    if model == "autoencoder":
        h = x
        for i, width in enumerate(work.encoder(choices)):
            h = max_pool(net.conv(h, 3, width, f"down{i}"), 2, 2)
        h = net.drop(h, choices.dropout)
        for i, width in enumerate(reversed(work.encoder(choices))):
            h = net.up(h, width, f"up{i}")
        return net.conv(h, 3, 1, "out", activation=None)
    if choices.layers == 20:
        return resnet20(net, x)
    h = max_pool(jax.nn.relu(net.batch_norm(net.conv(x, 7, 64, "stem", 2, None, False), "stem/norm")), 3, 2)
    for stage, (width, blocks) in enumerate(work.RESNET50):
        for block in range(blocks):
            name, stride, short = f"s{stage}b{block}", 2 if block == 0 and stage > 0 else 1, h
            if block == 0:
                short = net.batch_norm(net.conv(h, 1, 4 * width, name + "/p", stride, None, False), name + "/pn")
            g = jax.nn.relu(net.batch_norm(net.conv(h, 1, width, name + "/1", 1, None, False), name + "/1n"))
            g = jax.nn.relu(net.batch_norm(net.conv(g, 3, width, name + "/2", stride, None, False), name + "/2n"))
            g = net.batch_norm(net.conv(g, 1, 4 * width, name + "/3", 1, None, False), name + "/3n")
            h = jax.nn.relu(g + short)
    return net.dense(h.mean((1, 2)), 1000, "head", None)


def cast(x, dtype):
    return x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x


def update_of(model, optimizer, example, choices=work.Choices()):
    """update(state, x, y): the next state and the loss; and the first state, of NumPy arrays. bfloat16 is mixed
    precision: variables and their updates stay float32."""
    compute = jnp.bfloat16 if choices.precision == "bf16" else jnp.float32
    maker = Net(dtype=compute)
    jax.eval_shape(lambda x: forward(maker, model, cast(x, compute), choices), example)
    rate = choices.rate or work.LEARNING_RATE[optimizer]

    def loss_of(values, x, y, t):
        values = {k: v.astype(compute) for k, v in values.items()}
        key = jax.random.fold_in(jax.random.key(1), t.astype(int)) if choices.dropout else None
        out = forward(Net(values, compute, key), model, cast(x, compute), choices).astype(jnp.float32)
        if model == "autoencoder":
            return jnp.mean((out - y) ** 2)
        if model == "transformer":
            y = jax.nn.one_hot(y, work.VOCABULARY)
        return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(out), -1))

    def update(state, x, y):
        values, m, v, t = state
        loss, g = jax.value_and_grad(loss_of)(values, x, y, t)
        t = t + 1
        if optimizer == "sgd":
            return ({k: values[k] - rate * g[k] for k in values}, m, v, t), loss
        alpha = rate * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        m = {k: 0.9 * m[k] + 0.1 * g[k] for k in values}
        v = {k: 0.999 * v[k] + 0.001 * g[k] ** 2 for k in values}
        return ({k: values[k] - alpha * m[k] / (jnp.sqrt(v[k]) + 1e-8) for k in values}, m, v, t), loss

    slots = [{k: np.zeros_like(a) for k, a in maker.made.items()} if optimizer == "adam" else {} for _ in range(2)]
    return update, (maker.made, *slots, np.float32(0))


def training_step(model, optimizer, example, choices=work.Choices()):
    """step(x, y) of NumPy arrays: the loss."""
    update, first = update_of(model, optimizer, example, choices)
    state = [jax.tree.map(jnp.asarray, first)]
    jitted = jax.jit(update, donate_argnums=0)

    def step(x, y):
        state[0], loss = jitted(state[0], x, y)
        return float(loss)

    return step
