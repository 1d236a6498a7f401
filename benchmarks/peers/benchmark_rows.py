"""What is compared: the rows of CPUs. Those of any device are in device_rows.py."""
import os

CORES = len(os.sched_getaffinity(0))


class Row:
    """One kind of work. `ours` is (arguments of argosy, name of its row); a peer's value is its script's arguments, its
    name the script's and, behind a blank, how it is run ("torch graph"). `variants` are others of ours on the same work
    ("argosy dp"): commands, with "{program}" and "{python}" in them; they are no peers.

    `targets`: what is wanted, each (kind, value): "peers": as many times as good as the best peer; the name of a peer:
    than it; "limit": this share of the limit; "most", "least": the figure itself; "above limit": so much more than the
    limit; (name of an earlier row, n): at most n times that row's figure.
    """

    of_memory = False
    rounds = None  # at most so many; None: as many as asked for

    def __init__(self, name, ours, target=None, cores=CORES, targets=(), peer_row=None, limit_of=None, variants=None,
                 limit_from=None, **peers):
        self.name, self.ours, self.cores, self.peers = name, ours, cores, peers
        self.variants = dict(variants or {})
        self.targets = list(targets) or ([("peers", target)] if target is not None else [])
        self.peer_row = peer_row  # the name of a peer's row, where its process has several
        self.limit_of = limit_of  # a contestant that is no peer but the limit
        self.limit_from = limit_from  # (contestant, n): the limit is n times its figure

    def ours_by_name(self):
        """Contestant: command, of ours."""
        return {"argosy": ["{program}", *self.ours[0]]} | self.variants

    def script(self, peer):
        return f"peer_{peer}.py"

    def memory(self):
        """The same processes, by their peak resident memory: at most three quarters of the leanest peer's."""
        row = Row(f"memory of {self.name}", self.ours, 1.33, self.cores, **self.peers)
        row.of_memory = True
        return row


def training(name, bench_row, model, batch, optimizer, cores, target):
    ours = (["bench", "train", "--json", "--seconds", "{seconds}", "--only", bench_row], bench_row)
    arguments = ["train", model, str(batch), optimizer, str(cores), "{seconds}"]
    return Row(name, ours, target, cores, tf=arguments, torch=arguments, jax=arguments)


def cpu_rows():
    made = []
    for cores in sorted({1, CORES}):
        with_cores = "1 core" if cores == 1 else f"{cores} cores"
        for batch, targets in ((10, (1.7, 1.7)), (128, (1.15, 1.4))):
            name = f"mlp B={batch}, {with_cores}"
            made.append(training(name, name, "mlp", batch, "sgd", cores, targets[cores > 1]))
        name = f"lenet B=128, {with_cores}"
        made.append(training(name, name, "lenet", 128, "sgd", cores, 1.0 if cores == 1 else 1.08))
    made.append(made[-1].memory())
    name = f"lenet B=128, {CORES} towers"
    made.append(Row(name, (["bench", "train", "--json", "--seconds", "{seconds}", "--only", name], name), 1.08,
                    tf=["towers", "lenet", "128", "sgd", str(CORES), "{seconds}"]))
    name = f"autoencoder 64x64 B=4, {with_cores}"
    made.append(training(name, name, "autoencoder", 4, "adam", CORES, 1.35))
    made.append(made[-1].memory())
    name = f"resnet-50 B=8, {with_cores}"
    made.append(training(name, name, "resnet", 8, "sgd", CORES, 1.15))
    for size in (2000, 4000):
        ours = (["bench", "matpow", "--json", "--size", str(size), "--devices", "cpu:0", "--rounds", "2"], "1 device")
        arguments = ["matpow", str(size), str(CORES), "{seconds}"]
        made.append(Row(f"matpow {size}", ours, 1.0, tf=arguments, torch=arguments, jax=arguments))
    for name, target in (("chain", 3), ("fan", 6), ("tree", 4), ("loop", 8), ("loop and gradient", 3), ("conds", 8),
                         ("feed, add, fetch", 100)):
        made.append(Row(name, (["bench", "exec", "--json"], name), target, 1, tf=["exec", "{seconds}"]))
    made.append(Row("first step", (["bench", "compile", "--json", "--nodes", "10000"], "first step"), 10, 1,
                    tf=["first", "10000"]))
    made.append(Row("durable save", (["bench", "ckpt", "--json"], "durable save"), None, tf=["ckpt", "{folder}"],
                    torch=["ckpt", "{folder}"]))
    made.append(Row("restore", (["bench", "ckpt", "--json"], "restore"), None, tf=["ckpt", "{folder}"],
                    torch=["ckpt", "{folder}"]))
    made.append(Row("process start to first step", (["bench", "start"], None), None, tf=["start"], torch=["start"],
                    jax=["start"]))
    return made
