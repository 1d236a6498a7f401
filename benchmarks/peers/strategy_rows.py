"""What is compared of strategies, by the numbers S01 to S14: on emulated GPUs that share this machine's cores.

Ours: `argosy bench model` where its clock will do, else strategy_ours.py, which calls `argosy train`. Peers:
peer_ranks.py (PyTorch, a process a rank, gloo) and peer_mesh.py (JAX, virtual devices of one process).
"""
from benchmark_rows import Row

FULL = {
    # model: batch, optimizer, sizes as `argosy bench model` and work.Choices have them
    "models": {"mlp": (128, "sgd", {}), "lenet": (128, "sgd", {}),
               "autoencoder": (16, "adam", {"image": 64, "depth": 4, "width": 32}),
               "resnet": (64, "sgd", {"image": 32, "layers": 20})},
    "devices": (1, 2, 4), "product": 1024,
    "zero": (4, 64, 6688),  # devices, batch, hidden units: 50 M parameters
    "accumulate": (2, 64, 64, 4, 32),  # devices, batch, image, depth, width
    "bits": (100, 32, "1,2,4,8", "mlp,lenet,autoencoder", "2,4", ("mlp", "lenet")),  # the last two: peers
    "batches": (5, (2, 4)),  # steps, devices
    "certificate": (5, 64, "mlp,lenet,autoencoder", "1,4"),
    "unlike": ("lenet", 128),
}
QUICK = FULL | {"devices": (1, 4), "bits": (20, 32, "1,4", "mlp,lenet", "4", ("mlp",)), "batches": (3, (4,))}
TINY = FULL | {
    "models": {"mlp": (8, "sgd", {}), "resnet": (8, "sgd", {"image": 8, "layers": 20})},
    "devices": (1, 2), "product": 64, "zero": (2, 8, 64), "accumulate": (2, 16, 8, 2, 2),
    "bits": (2, 32, "1,2", "mlp", "2", ("mlp",)), "batches": (1, (2,)), "certificate": (4, 16, "mlp", "2"),
    "unlike": ("mlp", 32),
}
SIZES = {"full": FULL, "quick": QUICK, "tiny": TINY}
FAMILIES = ("dp", "dp,accumulate=2", "dp,accumulate=4", "dp,zero=1", "dp,zero=1,accumulate=2", "dp,zero=1,accumulate=4")
LOGICAL_SHARDS = 32  # 8 devices in 4 micro-batches each
SCRIPTS = {"torch": "peer_ranks.py", "jax": "peer_mesh.py"}


def by_script(*words):
    return ["{python}", "strategy_ours.py", "{program}", *words]


class StrategyRow(Row):
    """`ours`: a command whole, and the name of its row. `once`: one round says it all."""

    def __init__(self, name, ours, once=False, **more):
        super().__init__(name, ours, **more)
        self.rounds = 1 if once else None

    def ours_by_name(self):
        return {"argosy": self.ours[0]} | self.variants

    def script(self, peer):
        return SCRIPTS[peer]


def words_of(sizes):
    return [f"{key}={value}" for key, value in sizes.items()]


def dp_steps(sizes, before):
    """S01: a step under data parallelism, on the same cores whatever the number of devices."""
    for model, (batch, optimizer, shape) in sizes["models"].items():
        for devices in sizes["devices"]:
            ours = ["{program}", "bench", "model", model, "--emulate", str(devices), "--devices",
                    ",".join(f"gpu:{i}" for i in range(devices)), "--batch", str(batch), "--optimizer", optimizer,
                    "--seconds", "{seconds}", "--product", str(sizes["product"]), "--json"]
            for key, value in shape.items():
                ours += ["--image-size" if key == "image" else f"--{key}", str(value)]
            words = ["train", model, str(batch), optimizer, "{seconds}", f"ranks={devices}", *words_of(shape)]
            yield StrategyRow(
                f"S01 {model} B={batch}, {devices} device{'s' if devices > 1 else ''}", (ours, "step"),
                targets=[("peers", 1.2)] + ([("argosy before", 0.98)] if before else []), peer_row="step",
                variants={"argosy before": ours} if before else {},
                **{"torch" if devices == 1 else "torch ddp": words, "jax": words})


def zero(sizes):
    """S02: the optimizer's state over the devices, and what that costs."""
    devices, batch, hidden = sizes["zero"]
    parameters = 785 * hidden + (hidden + 1) * hidden + (hidden + 1) * 10

    def ours(strategy):
        return by_script("train", "model=mlp", f"hidden={hidden}", f"batch={batch}", "optimizer=adam",
                         f"devices={devices}", f"parameters={parameters}", "seconds={seconds}", f"strategy={strategy}")

    words = ["train", "mlp", str(batch), "adam", "{seconds}", f"hidden={hidden}", f"ranks={devices}"]
    peers = {"torch fsdp2": [*words, "wrap=fsdp2"], "torch zero": [*words, "wrap=zero"],
             "jax zero": [*words, "wrap=zero"]}
    size = f"mlp of {parameters / 1e6:.3g} M, {devices} devices"
    for what, row, targets in (("slots of a device", "slots", [("argosy dp", 1 / 0.26)]),
                               ("peak of a device", "peak", []),
                               ("step", "rate", [("argosy dp", 1 / 1.05)])):
        yield StrategyRow(f"S02 {what}, {size}", (ours("dp,zero=1"), row), targets=targets, peer_row=row,
                          variants={"argosy dp": ours("dp")}, **peers)


def accumulate(sizes):
    """S04: micro-batches against a batch as small, and against the batch at once."""
    devices, batch, image, depth, width = sizes["accumulate"]

    def ours(strategy, examples):
        return by_script("train", "model=autoencoder", f"image={image}", f"depth={depth}", f"width={width}",
                         "optimizer=adam", f"batch={examples}", f"devices={devices}", "seconds={seconds}",
                         f"strategy={strategy}")

    words = ["train", "autoencoder", str(batch), "adam", "{seconds}", f"ranks={devices}", f"image={image}",
             f"depth={depth}", f"width={width}"]
    variants = {"argosy dp": ours("dp", batch), "argosy batch/4": ours("dp", batch // 4)}
    peers = {"torch no_sync": [*words, "accumulate=4"], "torch ddp": words}
    for what, row, targets in (("peak of a device", "peak", [("argosy batch/4", 1 / 1.1)]),
                               ("step", "rate", [("argosy dp", 1 / 1.05)])):
        yield StrategyRow(f"S04 {what}, autoencoder B={batch}, accumulate=4, {devices} devices",
                          (ours("dp,accumulate=4", batch), row), targets=targets, variants=variants, peer_row=row,
                          **peers)


def bits(sizes):
    """S08: the largest relative difference of variables from one device's. Peers under plain data parallelism.

    Micro-batches of all devices may be more than the 8 chunks of a batch: such runs ask for as many logical shards."""
    steps, batch, counts, models, peers_counts, peers_models = sizes["bits"]
    shape = ["width=8", "depth=3"]
    for strategy, dropout in [("dp", 0), *((strategy, 0.25) for strategy in FAMILIES)]:
        more = [*shape, *([f"dropout={dropout}"] if dropout else [])]
        shards = [f"shards={LOGICAL_SHARDS}"] if "accumulate" in strategy else []
        ours = by_script("bits", f"steps={steps}", f"batch={batch}", f"counts={counts}", f"models={models}",
                         f"strategies={strategy}", *more, *shards)
        words = ["bits", str(steps), str(batch), peers_counts, *peers_models, "rate=0.001", *more]
        name = f"{strategy}{', --reproducible ' + shards[0] if shards else ''}{', dropout' if dropout else ''}"
        yield StrategyRow(f"S08 bits after {steps} steps, {name}", (ours, "difference"), once=True, targets=[("most", 0)],
                          peer_row="difference", **({"torch ddp": words, "jax": words} if strategy == "dp" else {}))


def batches(sizes):
    """S09: batches of 1 to 4N+3 examples: how many end with one device's variables."""
    steps, counts = sizes["batches"]
    for devices in counts:
        last = 4 * devices + 3
        for strategy in ("dp", "dp,accumulate=2", "dp,zero=1"):
            ours = by_script("batches", f"steps={steps}", f"devices={devices}", "hidden=64", f"strategy={strategy}")
            words = ["batches", str(steps), f"ranks={devices}", "rate=0.1", "hidden=64"]
            yield StrategyRow(f"S09 batches of 1 to {last}, {devices} devices, {strategy}", (ours, "equal batches"),
                              once=True, targets=[("least", last)], peer_row="equal batches",
                              **({"torch ddp": words, "jax": words} if strategy == "dp" else {}))


def planning(_):
    """S11: layouts of a large graph, and the whole of `argosy plan`."""
    yield StrategyRow("S11 rules, propagate and resolve, 8 devices",
                      (by_script("propagation"), "propagate and resolve"), targets=[("most", 50)])
    for strategy in ("dp", "auto"):
        yield StrategyRow(f"S11 argosy plan lenet, 8 devices, {strategy}",
                          (by_script("planning", "model=lenet", "devices=8", f"strategy={strategy}"), "plan"),
                          targets=[("most", 1)], peer_row="plan",
                          **({"jax": ["compile", "lenet", "128", "ranks=8"]} if strategy == "auto" else {}))


def certificate(sizes):
    """S13: what a device used of what was planned, over all plans."""
    steps, batch, models, counts = sizes["certificate"]
    ours = by_script("certificate", f"steps={steps}", f"batch={batch}", f"models={models}", f"counts={counts}",
                     "width=8", "depth=3", f"strategies={'|'.join(FAMILIES)}")
    yield StrategyRow("S13 most used of what was planned", (ours, "used"), once=True, targets=[("most", 1)])
    yield StrategyRow("S13 most planned for what was used", (ours, "unused"), once=True, targets=[("most", 1.05)])


def unlike(sizes):
    """S14: devices of speeds 1.0 and 0.5 against the fast one alone."""
    model, batch = sizes["unlike"]

    def ours(devices, strategy, task="train"):
        return by_script(task, f"model={model}", f"batch={batch}", "optimizer=adam", f"devices={devices}",
                         "speeds=1.0,0.5", "seconds={seconds}", f"strategy={strategy}")

    for strategy in ("dp", "dp,zero=1"):
        yield StrategyRow(f"S14 in turn, {model} B={batch}, speeds 1.0 and 0.5, {strategy}",
                          (ours(2, strategy, "unlike"), "speed-up"), targets=[("least", 1.45)])
        yield StrategyRow(f"S14 {model} B={batch}, speeds 1.0 and 0.5, {strategy}", (ours(2, strategy), "rate"),
                          targets=[("argosy fast alone", 1.45)], variants={"argosy fast alone": ours(1, "dp")},
                          limit_from=("argosy fast alone", 1.5))


def strategy_rows(sizes="full", before=False):
    chosen = SIZES[sizes]
    made = list(dp_steps(chosen, before))
    for kind in (zero, accumulate, bits, batches, planning, certificate, unlike):
        made += kind(chosen)
    return made
