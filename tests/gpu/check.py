#!/usr/bin/env python3
"""What only a GPU can show: runs the checks of docs/gpu-status.md and, with --write, writes down what they gave.

    python3 tests/gpu/check.py --program build/cuda/bin/argosy [--part NAME] [--write]
    python3 tests/gpu/check.py --program build/release/bin/argosy --rehearse

The second is for fake GPUs (ARGOSY_CUDA_PLUGIN, see tests/fake_gpu/support/fake_plugin.cc): every part, as small as can be.

Every part takes less than ten minutes. Where there is no GPU, or not what a part needs, it says so in one line and is
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

sys.dont_write_bytecode = True
import speed
from machine import LIMIT, ROOT, Failed, Machine, Measured, Skip

STATUS = ROOT / "docs/gpu-status.md"
MIB = 1 << 20
# Figures of nvidia-smi have grains, and other programs come and go: this much is nobody's.
SLACK = 64 * MIB


def close(got, expected, tolerance):
    return len(got) == len(expected) and all(abs(a - b) <= tolerance * max(1, abs(b)) for a, b in zip(got, expected))


def same_course(got, expected):
    """Losses of two trainings that differ in how sums are rounded. Training multiplies that: on the CPU, one device and
    three part by 1e-7 at first, by 3e-5 within five steps and by 2e-3 within twenty. What is wrong shows at once."""
    bounds = [1e-4] * 3 + [1e-3] * 2 + [5e-3] * 5
    bounds += [3e-2] * max(0, len(expected) - len(bounds))
    return len(got) == len(expected) and all(abs(a - b) <= bound * max(1, abs(b))
                                             for a, b, bound in zip(got, expected, bounds))


def need_nvml(m):
    if m.used(0) is None:
        raise Skip("NVML is not there")


def gpus(m):
    smi = shutil.which("nvidia-smi")
    if not smi:
        raise Skip("nvidia-smi is not on PATH")
    query = subprocess.run([smi, "--query-gpu=uuid,memory.total", "--format=csv,noheader,nounits"], capture_output=True,
                           text=True, check=True).stdout
    rows = [[cell.strip() for cell in line.split(",")] for line in query.strip().splitlines()]
    for gpu in m.gpus:
        if gpu["uuid"].startswith("MIG"):
            continue  # a part of a GPU: it has no row there
        if gpu["number"] >= len(rows):
            raise Failed(f"GPU {gpu['number']} is not among nvidia-smi's {len(rows)}")
        uuid, total = rows[gpu["number"]]
        if gpu["uuid"].lower() != uuid.lower():
            raise Failed(f"GPU {gpu['number']} is {gpu['uuid']}, nvidia-smi says {uuid}")
        if abs(gpu["memory_bytes"] - int(total) * MIB) > 0.05 * gpu["memory_bytes"]:
            raise Failed(f"GPU {gpu['number']} has {gpu['memory_bytes']} B, nvidia-smi says {total} MiB")
    return f"{len(m.gpus)} GPUs, in nvidia-smi's order"


def links(m):
    gpus = json.loads(m.argosy("doctor", "--json").stdout)["gpus"]
    bad = [f"{one['from']} to {one['to']}: {one['problem']}" for one in gpus["links"] if not one["intact"]]
    if bad:
        raise Failed("; ".join(bad))
    rate = {way: min((one["bytes_per_second"] for one in gpus["links"] if which(one)), default=None) for way, which in (
        ("to a GPU", lambda one: one["from"] == "host"), ("from a GPU", lambda one: one["to"] == "host"),
        ("between GPUs", lambda one: "host" not in (one["from"], one["to"])))}
    found = ", ".join(f"{way} {value / 1e9:.1f} GB/s" for way, value in rate.items() if value)
    return f"every copy arrived as sent; at least {found}; sums by {gpus['collectives']['way']}"


def benches(m):
    """Copies of a step beside the links as doctor finds them, and sums beside a ring over them."""
    several = ",".join(f"gpu:{i}" for i in range(min(4, len(m.gpus))))
    size = m.pick((), ("--mib", "1"))
    rows = json.loads(m.argosy("bench", "copy", "--devices", several, *size, "--json").stdout)["rows"]
    if len(m.gpus) > 1:
        rows += json.loads(m.argosy("bench", "allreduce", "--devices", several, *size, "--json").stdout)["rows"]
    shares = {row["name"]: row["min"] / row["limit"] for row in rows if row["limit"]}
    return ", ".join(f"{name}: {share:.2f} of the limit" for name, share in shares.items())


def ops(m):
    """The cases that the op tests of this build wrote down, by the machine's GPU."""
    test = pathlib.Path(m.program).parent / "cuda_ops_test"
    cases = test.parents[1] / "op_cases"
    if not test.exists():
        raise Skip(f"{test} is not built")
    done = subprocess.run([str(test), "--cases", str(cases)], capture_output=True, text=True, timeout=LIMIT)
    if "on a real GPU" not in done.stdout:
        raise Skip("cuda_ops_test finds a fake GPU only")
    if done.returncode == 77:
        raise Skip(f"no op cases in {cases}: the op tests of the build write them (ctest -R op_cases)")
    last = (done.stdout.strip() or done.stderr.strip()).splitlines()[-1]
    if done.returncode:
        first = next((line for line in done.stdout.splitlines() if line.startswith("DIFFERS")), "")
        raise Failed(f"{last} {first[:300]}")
    return last


def engines(m):
    """Convolutions by each of the engines that cuDNN names, one after the other: any of them may be the fastest."""
    test = pathlib.Path(m.program).parent / "cuda_ops_test"
    cases = test.parents[1] / "op_cases"
    if m.rehearsal:
        raise Skip("a fake GPU has no engines")
    if not test.exists() or not cases.exists():
        raise Skip(f"no {test} or no {cases}: the build and its op tests make them (ctest -R op_cases)")
    places, kinds = range(13), ("", "BackpropInput", "BackpropFilter")
    for place in places:
        for op in [name + kind for name in ("Conv2D", "DepthwiseConv2dNative") for kind in kinds]:
            done = subprocess.run([str(test), "--cases", str(cases), "--op", op], capture_output=True, text=True,
                                  timeout=LIMIT, env={**os.environ, "ARGOSY_CUDNN_ENGINE": str(place)})
            if done.returncode:
                first = next((line for line in done.stdout.splitlines() if line.startswith("DIFFERS")), done.stderr)
                raise Failed(f"the engine at place {place}: {first[:300]}")
    return f"convolutions and their gradients by each of {len(places)} engines: no case differs"


def by_cudnn(m, *models):
    """Models trained by cuDNN, then by our own kernels."""
    found = [one for one in json.loads(m.argosy("doctor", "--json", "--quick").stdout)["gpus"]["cuda_libraries"]
             if one["name"] == "cuDNN" and one["version"]]
    if not found:
        raise Skip("cuDNN is not there")
    for model in models:
        losses = {}
        for way in ("", "own"):
            losses[way] = m.train(model, "--devices", "gpu:0", "--batch", m.pick("32", "2"), env={"ARGOSY_CUDNN": way},
                                  steps=m.pick(3, 1))["losses"]
        # Rounding alone: on the CPU a ResNet at its learning rate of 0.1 parts by 5e-4 in three steps, 4e-3 in five.
        if not close(losses[""], losses["own"], 3e-3):
            raise Failed(f"{model}: losses {losses['']} by cuDNN, {losses['own']} by our own kernels")
    return f"{' and '.join(models)} by cuDNN {found[0]['version']}: losses of 3 steps within 3e-3 of our own kernels'"


def dnn(m):
    """Convolutions, batch normalisation and pooling."""
    return by_cudnn(m, *m.pick(("lenet", "resnet"), ("mlp",)))


def softmax(m):
    """Softmax of attention, and its gradient."""
    return by_cudnn(m, "transformer")


def virtual(m):
    models = m.pick(("mlp", "lenet", "autoencoder"), ("mlp",))
    small = ("--batch", m.pick("64", "24"))
    for model in models:
        expected = m.train(model, "--devices", "cpu:0", *small)["losses"]
        for gpus in m.pick((1, 2, 4), (2,)):
            devices = ",".join(f"gpu:{i}" for i in range(gpus))
            got = m.train(model, "--devices", devices, "--virtual-gpus", str(gpus), *small)["losses"]
            if not same_course(got, expected):
                raise Failed(f"{model} on {gpus} virtual GPUs: losses {got} on the CPU {expected}")
    return f"{', '.join(models)}: the losses of {len(expected)} steps are the CPU's but for rounding"


def collectives(m):
    """Our own and NCCL's, each told to; then the same bits on any number of GPUs."""
    if len(m.gpus) < 2:
        raise Skip("one GPU: collectives among GPUs need two")
    several = ",".join(f"gpu:{i}" for i in range(min(4, len(m.gpus))))
    small = ("--batch", m.pick("64", "24"))
    expected = m.train("mlp", "--devices", "gpu:0", *small)["losses"]
    for way in ("own", "nccl"):
        got = m.train("mlp", "--devices", several, *small, env={"ARGOSY_COLLECTIVES": way})["losses"]
        if not same_course(got, expected):
            raise Failed(f"{way} on {several}: losses {got}, on one GPU {expected}")
    alone = m.train("mlp", "--devices", "gpu:0", *small, "--reproducible")["losses"]
    many = m.train("mlp", "--devices", several, *small, "--reproducible")["losses"]
    if alone != many:
        raise Failed(f"--reproducible on {several}: losses {many[:3]} ..., on one GPU {alone[:3]} ...")
    return f"mlp on {several}: our own and NCCL's are one GPU's but for rounding, --reproducible bit for bit"


def accuracy(m):
    """LeNet sorts digits, an auto-encoder copies them: as well as on the CPU."""
    mnist = pathlib.Path(os.environ.get("ARGOSY_MNIST", ROOT / "shared/data/mnist")).resolve()
    if not mnist.exists() and not m.rehearsal:
        raise Skip("no MNIST: name its folder in ARGOSY_MNIST")
    data = m.pick(str(mnist), "synthetic")

    def both(model, measure, *flags):
        found = {}
        for device in ("cpu:0", "gpu:0"):
            done = m.argosy("train", model, "--data", data, "--seed", "7", "--devices", device, "--no-verdict",
                            "--json", *flags)
            found[device] = json.loads(done.stdout)["evaluation"][measure]
        return found["cpu:0"], found["gpu:0"]

    model, *length = m.pick(("lenet", "--epochs", "1"), (*m.mlp, "--steps", "1", "--batch", "8"))
    cpu, gpu = both(model, "accuracy", *length)
    if abs(cpu - gpu) > 0.01:
        raise Failed(f"{model}: test accuracy {gpu}, on the CPU {cpu}")
    length = m.pick(("--steps", "500", "--image-size", "32", "--depth", "3", "--width", "16", "--batch", "64"),
                    ("--steps", "1", "--image-size", "4", "--depth", "1", "--width", "1", "--batch", "2"))
    cpu_error, gpu_error = both("autoencoder", "squared_error", *length)
    if abs(cpu_error - gpu_error) > 0.05 * cpu_error:
        raise Failed(f"auto-encoder: squared error {gpu_error}, on the CPU {cpu_error}")
    return (f"{model}: {gpu:.4f}, on the CPU {cpu:.4f}; auto-encoder's squared error {gpu_error:.5f}, on the CPU "
            f"{cpu_error:.5f}")


def cap(m):
    small = m.pick((), ("--image-size", "4", "--depth", "1", "--width", "1", "--batch", "2"))
    limit = min(2 << 30, m.gpus[0]["memory_bytes"] // 2)
    report = m.train("autoencoder", "--devices", "gpu:0", "--mem", f"gpu:0={limit // MIB}MiB", *small)
    peak = max(bytes for device, bytes in report["peak_bytes"].items() if "gpu" in device.lower())
    if peak > limit:
        raise Failed(f"peak {peak} B with a cap of {limit} B")
    refused = m.argosy("train", "autoencoder", "--data", "synthetic", "--steps", "1", "--devices", "gpu:0", "--mem",
                       "gpu:0=1MiB", fails=True)
    if "ARG-MEM" not in refused.stderr:
        raise Failed(f"a cap of 1 MiB: {refused.stderr[-300:]}")
    return f"peak {peak / MIB:.0f} MiB of {limit // MIB}; 1 MiB refused before the first step"


def returned(m):
    need_nvml(m)
    before = m.used(0)
    m.train("mlp", "--devices", "gpu:0", "--batch", m.pick("128", "8"))
    after = m.used(0)
    if after > before + SLACK:
        raise Failed(f"{before} B in use before, {after} B after")
    return f"{before / MIB:.0f} MiB in use before, {after / MIB:.0f} MiB after"


def untouched(m):
    need_nvml(m)
    if len(m.gpus) < 2:
        raise Skip("one GPU only")
    before = m.used(1)
    process = m.start_training(100000)
    try:
        time.sleep(m.pick(20, 2))
        if process.poll() is not None:
            raise Failed(f"the training ended by itself, with exit code {process.returncode}")
        during = m.used(1)
    finally:
        process.kill()  # asked to end it would finish its step first
        process.wait()
    if during > before + SLACK:  # a context alone takes more
        raise Failed(f"GPU 1: {before} B before, {during} B while GPU 0 trains")
    return "GPU 1 keeps its memory while GPU 0 trains"


def sessions(m):
    rounds = m.pick("1000", "5")
    done = m.argosy("bench", "sessions", "--devices", "gpu:0", "--rounds", rounds, "--seconds", "480", "--size",
                    m.pick("256", "8"), "--json")
    found = json.loads(done.stdout)
    if found["growth_bytes"] > 8 * MIB:
        raise Failed(f"{found['rounds']} sessions leave {found['growth_bytes']} B")
    where = "on the GPU and the host"
    if "device_growth_bytes" not in found:
        where = "in the host's memory; the GPU's: no NVML"
    return f"{found['rounds']} sessions leave {found['growth_bytes']} B {where}"


def sanitizer(m, tool):
    path = shutil.which("compute-sanitizer")
    if not path:
        raise Skip("compute-sanitizer is not installed")
    model = m.pick(("lenet",), m.mlp)
    done = m.argosy("train", *model, "--data", "synthetic", "--steps", "2", "--batch", m.pick("8", "2"), "--devices",
                    "gpu:0", "--no-verdict", fails=None, prefix=(path, "--tool", tool, "--error-exitcode", "9"))
    if done.returncode:
        raise Failed((done.stdout + done.stderr)[-400:])
    return f"{model[0]}, two steps: clean"


def memcheck(m):
    return sanitizer(m, "memcheck")


def racecheck(m):
    return sanitizer(m, "racecheck")


def killed(m):
    need_nvml(m)
    before = m.used(0)
    process = m.start_training(100000)
    time.sleep(m.pick(15, 2))
    during = m.used(0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(m.pick(3, 0))
    after = m.used(0)
    if during <= before + SLACK:
        raise Failed("it was not at work when it was killed")
    if after > before + SLACK:
        raise Failed(f"{before} B before, {after} B after")
    return f"{during / MIB:.0f} MiB while it ran, {after / MIB:.0f} MiB after"


def allocations(m):
    failures = 0
    for n in range(1, m.pick(1000, 3)):
        done = m.argosy("train", *m.mlp, "--data", "synthetic", "--steps", "2", "--batch", "16", "--devices", "gpu:0",
                        "--no-verdict", env={"ARGOSY_FAULTS": f"gpu:0:alloc={n}"}, fails=None)
        if done.returncode == 0:
            break
        if done.returncode < 0 or "ARG-MEM" not in done.stderr:
            raise Failed(f"allocation {n}: exit code {done.returncode}: {done.stderr[-300:]}")
        failures += 1
    m.train("mlp", "--devices", "gpu:0", "--batch", "16", steps=2)
    return f"{failures} allocations failed one by one, each an error that says so"


def lost(m):
    done = m.argosy("train", *m.mlp, "--data", "synthetic", "--steps", "50", "--devices", "gpu:0", "--no-verdict",
                    env={"ARGOSY_FAULTS": "gpu:0:lost=40"}, fails=True)
    if "ARG-DEV-003" not in done.stderr or done.returncode < 0:
        raise Failed(f"exit code {done.returncode}: {done.stderr[-300:]}")
    m.train("mlp", "--devices", "gpu:0", "--batch", "16", steps=2)
    return "the step fails with ARG-DEV-003, the process ends in order, the next one works"


def flipped(m):
    """One bit of one virtual GPU of three is wrong: the replicas' check names it."""
    for n in range(1, 200):
        done = m.argosy("train", *m.mlp, "--data", "synthetic", "--steps", "2", "--batch", "24", "--devices",
                        "gpu:0,gpu:1,gpu:2", "--virtual-gpus", "3", "--check-replicas", "1", "--no-verdict",
                        env={"ARGOSY_FAULTS": f"gpu:1:flip={n}"}, fails=None)
        if done.returncode == 0:
            continue  # summed into every mirror, or into none
        if done.returncode < 0 or "ARG-TRAIN-003" not in done.stderr or "gpu:1 differs" not in done.stderr:
            raise Failed(f"flip at kernel {n}: exit code {done.returncode}: {done.stderr[-300:]}")
        m.train("mlp", "--devices", "gpu:0", "--batch", "16", steps=2)
        return f"a bit that flips at kernel {n} of gpu:1 is told, by name"
    raise Failed("no flip was told")


PARTS = [gpus, links, benches, ops, engines, dnn, softmax, virtual, collectives, accuracy, cap, returned, untouched, sessions,
         memcheck, racecheck, killed, allocations, lost, flipped, *speed.PARTS]


def write_row(name, gpu, driver, result):
    text = STATUS.read_text()
    row = re.compile(rf"^\| (`{name}`[^|]*)\|.*$", re.M)
    date = datetime.date.today().isoformat()
    cells = " | ".join(cell.replace("|", "/") for cell in (date, gpu, driver, result))
    text, count = row.subn(lambda match: f"| {match.group(1).strip()} | {cells} |", text)
    assert count == 1, f"{STATUS} has no row for {name}"
    STATUS.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--part", action="append", choices=[p.__name__ for p in PARTS],
                        help="this one alone; repeatable")
    parser.add_argument("--write", action="store_true", help="write what was found into docs/gpu-status.md")
    parser.add_argument("--rehearse", action="store_true", help="as small as can be; what it says is of no GPU")
    arguments = parser.parse_args()
    if arguments.write and arguments.rehearse:
        parser.error("what is rehearsed is not written down")
    machine = Machine(arguments.program.resolve(), arguments.rehearse)
    parts = [p for p in PARTS if not arguments.part or p.__name__ in arguments.part]
    failed = ran = 0
    for part in parts:
        start = time.monotonic()
        try:
            if not machine.gpus:
                raise Skip(f"no GPU at hand ({machine.problem})")
            result = part(machine)
            result = ("measured: " if isinstance(result, Measured) else "passed: ") + result
        except Skip as reason:
            print(f"skipped  {part.__name__}: {reason}", flush=True)
            continue
        except Exception as problem:  # noqa: BLE001 -- whatever it is, the other parts are still to be run
            failed += 1
            kind = "" if isinstance(problem, (Failed, subprocess.TimeoutExpired)) else f"{type(problem).__name__}: "
            result = f"FAILED: {kind}{problem}".replace("\n", " ")
        ran += 1
        print(f"{part.__name__}: {result} ({time.monotonic() - start:.0f} s)", flush=True)
        if arguments.write:
            write_row(part.__name__, machine.gpus[0]["name"], machine.driver, result)
    return 1 if failed else 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main())
