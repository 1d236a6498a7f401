#!/usr/bin/env python3
"""What only a card can show: runs the checks of docs/gpu-status.md and, with --write, writes down what they gave.

    python3 tests/gpu/check.py --program build/cuda/bin/argosy [--part NAME] [--write]

Every part takes less than ten minutes. Where there is no card, or not what a part needs, it says so in one line and is
skipped; nothing is written about it. Exit code: 0 all passed or skipped, 1 some failed, 77 all skipped.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATUS = ROOT / "docs/gpu-status.md"
LIMIT = 600  # seconds of a part
MIB = 1 << 20
# Figures of nvidia-smi have grains, and other programs come and go: this much is nobody's.
SLACK = 64 * MIB


class Skip(Exception):
    pass


class Failed(Exception):
    pass


class Machine:
    def __init__(self, program):
        self.program = str(program)
        facts = json.loads(self.argosy("devices", "--json").stdout)["gpus"]
        self.cards = [c for c in facts["cards"] if c["usable"]]
        self.driver = facts["driver"]
        self.problem = facts["problem"] or "no usable card"

    def argosy(self, *arguments, env=None, fails=False, limit=LIMIT, prefix=()):
        done = subprocess.run([*prefix, self.program, *arguments], capture_output=True, text=True, timeout=limit,
                              env={**os.environ, **(env or {})})
        if fails is not None and (done.returncode != 0) != fails:
            raise Failed(f"argosy {' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()[-400:]}")
        return done

    def train(self, model, *flags, env=None, steps=20):
        done = self.argosy("train", model, "--data", "synthetic", "--steps", str(steps), "--no-verdict", "--seed", "7",
                           "--json", *flags, env=env)
        return json.loads(done.stdout)

    def used(self, card):
        """Bytes in use on a card, by NVML; None where that is not there."""
        facts = json.loads(self.argosy("devices", "--json").stdout)["gpus"]["cards"]
        return facts[card]["memory_used_bytes"]


def close(got, expected, tolerance):
    return len(got) == len(expected) and all(abs(a - b) <= tolerance * max(1, abs(b)) for a, b in zip(got, expected))


def need_nvml(m):
    if m.used(0) is None:
        raise Skip("NVML is not there")


def cards(m):
    smi = shutil.which("nvidia-smi")
    if not smi:
        raise Skip("nvidia-smi is not on PATH")
    query = subprocess.run([smi, "--query-gpu=uuid,memory.total", "--format=csv,noheader,nounits"], capture_output=True,
                           text=True, check=True).stdout
    rows = [[cell.strip() for cell in line.split(",")] for line in query.strip().splitlines()]
    for card, (uuid, total) in zip(m.cards, rows):
        if card["uuid"].lower() != uuid.lower():
            raise Failed(f"card {card['number']} is {card['uuid']}, nvidia-smi says {uuid}")
        if abs(card["memory_bytes"] - int(total) * MIB) > 0.05 * card["memory_bytes"]:
            raise Failed(f"card {card['number']} has {card['memory_bytes']} B, nvidia-smi says {total} MiB")
    return f"{len(m.cards)} cards, in nvidia-smi's order"


def links(m):
    gpus = json.loads(m.argosy("doctor", "--json").stdout)["gpus"]
    bad = [f"{one['from']} to {one['to']}: {one['problem']}" for one in gpus["links"] if not one["intact"]]
    if bad:
        raise Failed("; ".join(bad))
    rate = {way: min((one["bytes_per_second"] for one in gpus["links"] if which(one)), default=None) for way, which in (
        ("to a card", lambda one: one["from"] == "host"), ("from a card", lambda one: one["to"] == "host"),
        ("between cards", lambda one: "host" not in (one["from"], one["to"])))}
    found = ", ".join(f"{way} {value / 1e9:.1f} GB/s" for way, value in rate.items() if value)
    return f"every copy arrived as sent; at least {found}; sums by {gpus['collectives']['way']}"


def benches(m):
    """Copies of a step beside the links as doctor finds them, and sums beside a ring over them."""
    several = ",".join(f"gpu:{i}" for i in range(min(4, len(m.cards))))
    rows = json.loads(m.argosy("bench", "copy", "--devices", several, "--json").stdout)["rows"]
    if len(m.cards) > 1:
        rows += json.loads(m.argosy("bench", "allreduce", "--devices", several, "--json").stdout)["rows"]
    shares = {row["name"]: row["min"] / row["limit"] for row in rows if row["limit"]}
    return ", ".join(f"{name}: {share:.2f} of the limit" for name, share in shares.items())


def ops(m):
    """The cases that the op tests of this build wrote down, by the machine's card."""
    test = pathlib.Path(m.program).parent / "cuda_ops_test"
    cases = test.parents[1] / "op_cases"
    if not test.exists():
        raise Skip(f"{test} is not built")
    done = subprocess.run([str(test), "--cases", str(cases)], capture_output=True, text=True, timeout=LIMIT)
    if "on a real card" not in done.stdout:
        raise Skip("cuda_ops_test finds a fake card only")
    if done.returncode == 77:
        raise Skip(f"no op cases in {cases}: the op tests of the build write them (ctest -R op_cases)")
    last = (done.stdout.strip() or done.stderr.strip()).splitlines()[-1]
    if done.returncode:
        first = next((line for line in done.stdout.splitlines() if line.startswith("DIFFERS")), "")
        raise Failed(f"{last} {first[:300]}")
    return last


def by_cudnn(m, *models):
    """Models trained by cuDNN, then by our own kernels."""
    found = [one for one in json.loads(m.argosy("doctor", "--json", "--quick").stdout)["gpus"]["cuda_libraries"]
             if one["name"] == "cuDNN" and one["version"]]
    if not found:
        raise Skip("cuDNN is not there")
    for model in models:
        losses = {}
        for way in ("", "own"):
            losses[way] = m.train(model, "--devices", "gpu:0", "--batch", "32", env={"ARGOSY_CUDNN": way}, steps=5)["losses"]
        if not close(losses[""], losses["own"], 2e-3):
            raise Failed(f"{model}: losses {losses['']} by cuDNN, {losses['own']} by our own kernels")
    return f"{' and '.join(models)} by cuDNN {found[0]['version']}: losses of 5 steps within 2e-3 of our own kernels'"


def dnn(m):
    """Convolutions, batch normalisation and pooling."""
    return by_cudnn(m, "lenet", "resnet")


def softmax(m):
    """Softmax of attention, and its gradient."""
    return by_cudnn(m, "transformer")


def virtual(m):
    for model in ("mlp", "lenet", "autoencoder"):
        expected = m.train(model, "--devices", "cpu:0", "--batch", "64")["losses"]
        for gpus in (1, 2, 4):
            devices = ",".join(f"gpu:{i}" for i in range(gpus))
            got = m.train(model, "--devices", devices, "--virtual-gpus", str(gpus), "--batch", "64")["losses"]
            if not close(got, expected, 2e-3):
                raise Failed(f"{model} on {gpus} virtual GPUs: losses {got[:3]} ..., on the CPU {expected[:3]} ...")
    return "mlp, lenet, autoencoder: losses of 20 steps within 2e-3 of the CPU's"


def collectives(m):
    """Our own and NCCL's, each told to; then the same bits on any number of cards."""
    if len(m.cards) < 2:
        raise Skip("one card: collectives among cards need two")
    several = ",".join(f"gpu:{i}" for i in range(min(4, len(m.cards))))
    expected = m.train("mlp", "--devices", "gpu:0", "--batch", "64")["losses"]
    for way in ("own", "nccl"):
        got = m.train("mlp", "--devices", several, "--batch", "64", env={"ARGOSY_COLLECTIVES": way})["losses"]
        if not close(got, expected, 2e-3):
            raise Failed(f"{way} on {several}: losses {got[:3]} ..., on one card {expected[:3]} ...")
    alone = m.train("mlp", "--devices", "gpu:0", "--batch", "64", "--reproducible")["losses"]
    many = m.train("mlp", "--devices", several, "--batch", "64", "--reproducible")["losses"]
    if alone != many:
        raise Failed(f"--reproducible on {several}: losses {many[:3]} ..., on one card {alone[:3]} ...")
    return f"mlp on {several}: our own and NCCL's within 2e-3 of one card, --reproducible bit for bit"


def accuracy(m):
    mnist = pathlib.Path(os.environ.get("ARGOSY_MNIST", ROOT / "shared/data/mnist"))
    if not mnist.exists():
        raise Skip("no MNIST: name its folder in ARGOSY_MNIST")
    results = {}
    for device in ("cpu:0", "gpu:0"):
        done = m.argosy("train", "lenet", "--data", str(mnist), "--epochs", "1", "--seed", "7", "--devices", device,
                        "--no-verdict", "--json")
        results[device] = json.loads(done.stdout)["test_accuracy"]
    if abs(results["cpu:0"] - results["gpu:0"]) > 0.01:
        raise Failed(f"test accuracy {results}")
    return f"LeNet, one epoch: {results['gpu:0']:.4f}, on the CPU {results['cpu:0']:.4f}"


def cap(m):
    report = m.train("autoencoder", "--devices", "gpu:0", "--mem", "gpu:0=2GiB")
    peak = max(report["peak_bytes"].values())
    if peak > 2 << 30:
        raise Failed(f"peak {peak} B with a cap of 2 GiB")
    refused = m.argosy("train", "autoencoder", "--data", "synthetic", "--steps", "1", "--devices", "gpu:0", "--mem",
                       "gpu:0=1MiB", fails=True)
    if "ARG-MEM" not in refused.stderr:
        raise Failed(f"a cap of 1 MiB: {refused.stderr[-300:]}")
    return f"peak {peak / MIB:.0f} MiB of 2048; 1 MiB refused before the first step"


def returned(m):
    need_nvml(m)
    before = m.used(0)
    m.train("autoencoder", "--devices", "gpu:0")
    after = m.used(0)
    if after > before + SLACK:
        raise Failed(f"{before} B in use before, {after} B after")
    return f"{before / MIB:.0f} MiB in use before, {after / MIB:.0f} MiB after"


def untouched(m):
    need_nvml(m)
    if len(m.cards) < 2:
        raise Skip("one card only")
    before = m.used(1)
    process = subprocess.Popen([m.program, "train", "autoencoder", "--data", "synthetic", "--steps", "2000", "--devices",
                                "gpu:0", "--no-verdict"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(20)
        during = m.used(1)
    finally:
        process.terminate()
        process.wait()
    if during != before:
        raise Failed(f"card 1: {before} B before, {during} B while card 0 trains")
    return "card 1 keeps its memory while card 0 trains"


def sessions(m):
    done = m.argosy("bench", "sessions", "--devices", "gpu:0", "--rounds", "1000", "--json", fails=None)
    if done.returncode:
        raise Skip("this build has no `argosy bench sessions`")
    growth = json.loads(done.stdout)["growth_bytes"]
    if growth > 8 * MIB:
        raise Failed(f"1,000 sessions leave {growth} B")
    return f"1,000 sessions leave {growth} B"


def sanitizer(m, tool):
    path = shutil.which("compute-sanitizer")
    if not path:
        raise Skip("compute-sanitizer is not installed")
    done = m.argosy("train", "lenet", "--data", "synthetic", "--steps", "2", "--batch", "8", "--devices", "gpu:0",
                    "--no-verdict", fails=None, prefix=(path, "--tool", tool, "--error-exitcode", "9"))
    if done.returncode:
        raise Failed((done.stdout + done.stderr)[-400:])
    return "LeNet, two steps: clean"


def memcheck(m):
    return sanitizer(m, "memcheck")


def racecheck(m):
    return sanitizer(m, "racecheck")


def killed(m):
    need_nvml(m)
    before = m.used(0)
    process = subprocess.Popen([m.program, "train", "autoencoder", "--data", "synthetic", "--steps", "100000",
                                "--devices", "gpu:0", "--no-verdict"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(15)
    during = m.used(0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(3)
    after = m.used(0)
    if during <= before + SLACK:
        raise Failed("it was not at work when it was killed")
    if after > before + SLACK:
        raise Failed(f"{before} B before, {after} B after")
    return f"{during / MIB:.0f} MiB while it ran, {after / MIB:.0f} MiB after"


def allocations(m):
    failures = 0
    for n in range(1, 1000):
        done = m.argosy("train", "mlp", "--data", "synthetic", "--steps", "2", "--batch", "16", "--devices", "gpu:0",
                        "--no-verdict", env={"ARGOSY_FAULTS": f"gpu:0:alloc={n}"}, fails=None)
        if done.returncode == 0:
            break
        if done.returncode < 0 or "ARG-MEM" not in done.stderr:
            raise Failed(f"allocation {n}: exit code {done.returncode}: {done.stderr[-300:]}")
        failures += 1
    m.train("mlp", "--devices", "gpu:0")
    return f"{failures} allocations failed one by one, each an error that says so"


def lost(m):
    done = m.argosy("train", "mlp", "--data", "synthetic", "--steps", "50", "--devices", "gpu:0", "--no-verdict",
                    env={"ARGOSY_FAULTS": "gpu:0:lost=40"}, fails=True)
    if "ARG-DEV-003" not in done.stderr or done.returncode < 0:
        raise Failed(f"exit code {done.returncode}: {done.stderr[-300:]}")
    m.train("mlp", "--devices", "gpu:0")
    return "the step fails with ARG-DEV-003, the process ends in order, the next one works"


def flipped(m):
    """One bit of one virtual GPU of three is wrong: the replicas' check names it."""
    for n in range(1, 200):
        done = m.argosy("train", "mlp", "--data", "synthetic", "--steps", "2", "--batch", "24", "--devices",
                        "gpu:0,gpu:1,gpu:2", "--virtual-gpus", "3", "--check-replicas", "1", "--no-verdict",
                        env={"ARGOSY_FAULTS": f"gpu:1:flip={n}"}, fails=None)
        if done.returncode == 0:
            continue  # summed into every mirror, or into none
        if done.returncode < 0 or "ARG-TRAIN-003" not in done.stderr or "gpu:1 differs" not in done.stderr:
            raise Failed(f"flip at kernel {n}: exit code {done.returncode}: {done.stderr[-300:]}")
        m.train("mlp", "--devices", "gpu:0")
        return f"a bit that flips at kernel {n} of gpu:1 is told, by name"
    raise Failed("no flip was told")


def speed(m):
    raise Skip("no benchmark of rows G01 to G12 is built yet")


PARTS = [cards, links, benches, ops, dnn, softmax, virtual, collectives, accuracy, cap, returned, untouched, sessions,
         memcheck, racecheck, killed, allocations, lost, flipped, speed]


def write_row(name, card, driver, result):
    text = STATUS.read_text()
    row = re.compile(rf"^\| (`{name}`[^|]*)\|.*$", re.M)
    date = datetime.date.today().isoformat()
    cells = " | ".join(cell.replace("|", "/") for cell in (date, card, driver, result))
    text, count = row.subn(lambda match: f"| {match.group(1).strip()} | {cells} |", text)
    assert count == 1, f"{STATUS} has no row for {name}"
    STATUS.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--part", action="append", choices=[p.__name__ for p in PARTS], help="this one alone; repeatable")
    parser.add_argument("--write", action="store_true", help="write what was found into docs/gpu-status.md")
    arguments = parser.parse_args()
    machine = Machine(arguments.program.resolve())
    parts = [p for p in PARTS if not arguments.part or p.__name__ in arguments.part]
    failed = ran = 0
    for part in parts:
        start = time.monotonic()
        try:
            if not machine.cards:
                raise Skip(f"no card at hand ({machine.problem})")
            result = "passed: " + part(machine)
        except Skip as reason:
            print(f"skipped  {part.__name__}: {reason}", flush=True)
            continue
        except (Failed, subprocess.TimeoutExpired) as problem:
            failed += 1
            result = f"FAILED: {problem}".replace("\n", " ")
        ran += 1
        print(f"{part.__name__}: {result} ({time.monotonic() - start:.0f} s)", flush=True)
        if arguments.write:
            write_row(part.__name__, machine.cards[0]["name"], machine.driver, result)
    return 1 if failed else 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main())
