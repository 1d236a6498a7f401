"""What is compared on a device of any kind, by the numbers G01 to G12. Sizes are those of one large GPU, or tiny ones:
that the rows run at all."""
from benchmark_rows import Row

FULL = {
    "matpow": 10000, "chains": (100, 1000, 10000, 100000), "compiled": 1000,
    "autoencoder": (32, {"image": 256, "depth": 8, "width": 64}),
    "resnet": (256, {"image": 224}),
    "transformer": (8, {"length": 512, "heads": {1024: 16, 4096: 32}, "layers": 1}),
    "batches": (10, 128), "members": (1, 2, 4, 8, 16, 32), "overlap": (256, 8192, 9), "snapshot": (10240, 64),
    "devices": (2, 4, 8, 16, 32, 64), "product": 8192,
}
QUICK = FULL | {"chains": (1000, 100000), "members": (1, 32), "snapshot": (2048, 64), "devices": (8, 64)}
TINY = {
    "matpow": 64, "chains": (10, 100), "compiled": 100,
    "autoencoder": (2, {"image": 8, "depth": 2, "width": 2}),
    "resnet": (2, {"image": 32}),
    "transformer": (2, {"length": 8, "heads": {16: 2, 32: 4}, "layers": 1}),
    "batches": (4,), "members": (1, 2), "overlap": (1, 32, 2), "snapshot": (1, 4), "devices": (2,), "product": 64,
}
SIZES = {"full": FULL, "quick": QUICK, "tiny": TINY}


class Device:
    def __init__(self, name):
        self.name, self.gpu = name, name != "cpu"
        self.argosy = ["--devices", name if self.gpu else "cpu:0", "--json"]
        self.word = "device=" + ("cuda" if self.gpu else "cpu")
        self.ways = ("eager", "compile", "graph") if self.gpu else ("eager", "compile")


def by_ways(device, arguments):
    """PyTorch in each way, and JAX."""
    peers = {"torch" if way == "eager" else "torch " + way: [*arguments, f"mode={way}"] for way in device.ways}
    return peers | {"jax": arguments}


def arithmetic(precision):
    """Ours: TensorFloat-32 is a way of computing float32."""
    return ["--precision", "bf16" if precision == "bf16" else "fp32", *(["--tf32"] if precision == "tf32" else [])]


def matpow(device, sizes):
    for precision in ("fp32", "tf32", "bf16") if device.gpu else ("fp32", "bf16"):
        for place in ("cpu", "device"):
            ours = ["bench", "matpow", *device.argosy, "--size", str(sizes["matpow"]), "--sum", place,
                    *arithmetic(precision)]
            words = ["matpow", str(sizes["matpow"]), "{cores}", "{seconds}", device.word, "unit=s",
                     f"precision={precision}", f"sum={place}"]
            targets = [("limit", 0.97)] + ([("torch", 1.2)] if precision == "bf16" and place == "cpu" else [])
            name = f"G01 matpow {sizes['matpow']} {precision}, sum on the {place}"
            yield Row(name, (ours, "1 device, in all"), targets=targets, peer_row="in all", torch=words, jax=words)
        if device.gpu:  # whether the limit of the row above is cuBLAS's time
            yield Row(f"G01 products alone {precision}", (ours, "products alone"), targets=[("torch", 0.97)],
                      peer_row="products alone", torch=words)


def launch(device, sizes):
    chains = sizes["chains"]
    ours = ["bench", "launch", *device.argosy, "--least", str(chains[0]), "--most", str(chains[-1]), "--seconds",
            "{seconds}"]

    def words(ops, *more):
        return ["launch", str(ops), "1000", "{seconds}", device.word, *more]

    for ops in chains:
        yield Row(f"G02 chain of {ops}, one by one", (ours, f"{ops} additions, one by one"),
                  targets=[("most", 3.5)] if device.gpu else [], torch=words(ops))
        if device.gpu:
            yield Row(f"G02 chain of {ops}, recorded", (ours, f"{ops} additions, recorded"), targets=[("most", 1.2)],
                      peer_row="chain", **{"torch graph": words(ops, "mode=graph")})
        if ops <= sizes["compiled"]:  # longer ones keep compilers busy for minutes
            yield Row(f"G02 chain of {ops}, fused", (ours, f"{ops} additions, fused"), targets=[("peers", 1)],
                      **{"torch compile": words(ops, "mode=compile"), "jax": words(ops)})
    if device.gpu:
        yield Row("G02 host, around a replay", (ours, "around a chain, recorded"), targets=[("most", 10)],
                  peer_row="host, replay", **{"torch graph": words(chains[0], "mode=graph")})


def model_words(device, model, batch, optimizer, precision, unit, shape):
    """Arguments of ours and of the peers' for the same training."""
    ours = ["bench", "model", model, *device.argosy, "--batch", str(batch), "--optimizer", optimizer, "--unit", unit,
            "--seconds", "{seconds}", "--product", "{product}", *arithmetic(precision)]
    for key, value in shape.items():
        ours += ["--image-size" if key == "image" else f"--{key}", str(value)]
    words = ["train", model, str(batch), optimizer, "{cores}", "{seconds}", device.word, f"precision={precision}",
             f"unit={unit}", *(f"{key}={value}" for key, value in shape.items())]
    return ours, words


def small_steps(device, sizes):
    for model in ("mlp", "lenet"):
        for batch in sizes["batches"]:
            ours, words = model_words(device, model, batch, "sgd", "fp32", "us/step", {})
            targets = [("peers", 1.5)] + ([("most", 60)] if device.gpu and (model, batch) != ("lenet", 128) else [])
            yield Row(f"G03 {model} B={batch}", (ours, "step"), targets=targets, peer_row="train",
                      **by_ways(device, words))


def large_steps(device, sizes):
    """Each with its memory: the same processes."""
    kinds = []
    batch, shape = sizes["autoencoder"]
    for precision in ("tf32", "bf16") if device.gpu else ("fp32", "bf16"):
        targets = [("peers", 1.05)] + ([("limit", 0.45)] if precision == "bf16" else [])
        name = f"G04 autoencoder B={batch} {precision}"
        kinds.append((name, "autoencoder", batch, "adam", precision, shape, targets))
    batch, shape = sizes["resnet"]
    kinds.append((f"G05 resnet-50 B={batch} bf16", "resnet", batch, "sgd", "bf16", shape, [("peers", 1)]))
    batch, given = sizes["transformer"]
    for width, heads in given["heads"].items():
        shape = given | {"heads": heads, "width": width}
        targets = [("peers", 0.9)] + ([("limit", 0.6)] if width == max(given["heads"]) else [])
        name = f"G06 transformer d={width} B={batch} bf16"
        kinds.append((name, "transformer", batch, "adam", "bf16", shape, targets))
    for name, model, batch, optimizer, precision, shape, targets in kinds:
        ours, words = model_words(device, model, batch, optimizer, precision, "samples/s", shape)
        peers = by_ways(device, words)
        row = Row(name, (ours, "step"), targets=targets, peer_row="train", **peers)
        yield row
        what = name.split(" ", 1)[1]
        if not device.gpu:
            memory = row.memory()
            memory.name = f"G09 memory of {what}"
            yield memory
            continue
        yield Row(f"G09 memory of {what}", (ours, "peak memory"), targets=[("torch", 1 / 0.85)], peer_row="peak memory",
                  **peers)
        yield Row(f"G09 allocations of {what}", (ours, "allocations"), targets=[("most", 0)], peer_row="allocations",
                  **{name: words for name, words in peers.items() if name.startswith("torch")})


def ensemble(device, sizes):
    ours = ["bench", "ensemble", *device.argosy, "--counts", ",".join(map(str, sizes["members"])), "--seconds",
            "{seconds}"]
    for members in sizes["members"]:
        words = ["ensemble", str(members), "10", "{seconds}", device.word]
        peers = {"torch vmap": [*words, "mode=vmap"], "jax": words}
        targets = []
        if device.gpu:
            peers |= {"torch streams": [*words, "mode=streams"], "torch graph": [*words, "mode=graph"]}
            targets = [("torch streams", 3)] if members > 1 else []
        if members == max(sizes["members"]):
            targets.append((f"G07 ensemble E={sizes['members'][0]}", 2))
        yield Row(f"G07 ensemble E={members}", (ours, f"E={members}"), targets=targets, **peers)


def overlap(device, sizes):
    numbers = [str(n) for n in sizes["overlap"]]
    ours = ["bench", "overlap", *device.argosy, "--mib", numbers[0], "--size", numbers[1], "--rounds", numbers[2]]
    words = ["overlap", *numbers, device.word]
    for mine, theirs, targets in (
            ("batch to the device", "batch to the device", [("limit", 0.95)]),
            ("snapshot from the device", "snapshot from the device", [("limit", 0.95)]),
            ("batch under the same step", None, []),
            ("batch under the step before", "batch under", [("least", 0.98)]),
            ("snapshot under steps", "snapshot under", [("least", 0.98)])):
        yield Row(f"G08 {mine}", (ours, mine), targets=targets, peer_row=theirs, **({"torch": words} if theirs else {}))


def start(device, sizes):
    peers = {"torch": ["start", device.word], "jax": ["start", device.word]}
    if not device.gpu:
        yield Row("G10 process start to first step", (["bench", "start", *device.argosy], None), **peers)
        return
    yield Row("G10 process start to first step", (["bench", "start", *device.argosy], None),
              targets=[("above limit", 0.3)], limit_of="context", context=["start"], **peers)


def snapshot(device, sizes):
    mebibytes, tensors = sizes["snapshot"]
    ours = ["bench", "snapshot", *device.argosy, "--mib", str(mebibytes), "--tensors", str(tensors),
            "--dir", "{folder}"]
    words = ["snapshot", str(mebibytes), str(tensors), "{folder}", device.word]
    peers = {"torch": words, "torch async": [*words, "mode=streams"]}
    yield Row(f"G11 stall of a save of {mebibytes} MiB", (ours, "stall"), targets=[("most", 0.25)], peer_row="stall",
              **peers)
    yield Row(f"G11 save of {mebibytes} MiB", (ours, "saved"), targets=[("peers", 1)], peer_row="saved", **peers)


def virtual(device, sizes):
    ours = ["bench", "virtual", *device.argosy, "--counts", ",".join(map(str, sizes["devices"])), "--seconds",
            "{seconds}"]
    for count in sizes["devices"]:
        yield Row(f"G12 {count} logical devices", (ours, f"D={count}"),
                  targets=[("limit", 1 / 1.02 if count <= 8 else 1 / 1.1)])


def device_rows(name, sizes):
    device, chosen = Device(name), SIZES[sizes]
    made = []
    for kind in (matpow, launch, small_steps, large_steps, ensemble, overlap, start, snapshot, virtual):
        made += kind(device, chosen)
    for row in made:
        row.product = chosen["product"]
    return made
