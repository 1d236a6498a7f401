#!/usr/bin/env python3
"""Our side of the rows of strategies that `argosy bench` does not measure. strategy_ours.py PROGRAM TASK [key=value]...

Tasks: train (rate, slots, peak), bits, batches, certificate, planning. Keys: see Choices. Prints what the peers print:
one JSON object a line. What this build does not know ends with exit code 77 and one line that names it.
"""
import itertools
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from contest import LEFT_OUT, end_with_parent
from train_runs import STEPS_BEFORE, LeftOut, Program, Refused, emulated, write_examples

MIB = 1e6  # the unit "MB" of every row


class Choices:
    """Words key=value; several of one kind are separated by commas, strategies by a bar."""

    def __init__(self, words):
        self.model, self.optimizer, self.strategy = "mlp", "sgd", "dp"
        self.batch, self.devices, self.steps = 64, 1, 100
        self.image, self.hidden, self.width, self.depth = 28, 0, 0, 0
        self.seconds, self.dropout, self.speeds = 1.0, 0.0, ""
        self.models, self.strategies, self.counts, self.parameters, self.shards = "mlp", "dp", "1,2", 0, 0
        for word in words:
            key, value = word.split("=", 1)
            setattr(self, key, type(getattr(self, key))(value))  # an unknown key is an error here

    def flags(self, model):
        """Of the model's size."""
        sizes = {"mlp": (("--width", self.hidden),),
                 "autoencoder": (("--width", self.width), ("--depth", self.depth))}.get(model, ())
        return [word for flag, size in sizes if size for word in (flag, size)]


def tell(row, unit, best, median=None, limit=None, detail=""):
    print(json.dumps({"row": row, "unit": unit, "best": best, "median": best if median is None else median,
                      "limit": limit, "detail": detail}), flush=True)


def train(program, choices):
    """Rate by the trainer's own clock, without its first steps; the most memory of a device; slots of a device."""
    image = choices.image
    data = write_examples(program.folder / "data", 2 * choices.batch, image)
    flags = ["--data", data, "--batch", choices.batch, "--optimizer", choices.optimizer, "--check-replicas", 0,
             *choices.flags(choices.model), *emulated(choices.devices, choices.speeds.split(",") if choices.speeds
                                                      else ())]

    def run(steps):
        return program.train(choices.model, *flags, "--steps", steps, strategy=choices.strategy)

    document = run(STEPS_BEFORE + 3)
    steps = int(choices.seconds * document["samples_per_second"] / choices.batch)
    if steps > 3:  # else the first run was long enough
        document = run(STEPS_BEFORE + min(steps, 5000))
    tell("rate", "samples/s", document["samples_per_second"])
    gpus = {name: peak for name, peak in document["peak_bytes"].items() if name.startswith("gpu")}
    tell("peak", "MB", max(gpus.values()) / MIB, detail=f"planned {max(document['planned_bytes'].values()) / MIB:.1f}")
    if choices.parameters and "state_bytes" in document:
        # Slots are what a device keeps beside its mirror of the variables.
        states = [n for name, n in document["state_bytes"].items() if name.startswith("gpu")]
        slots = [(n - 4 * choices.parameters) / MIB for n in states]
        tell("slots", "MB", max(slots), limit=8 * choices.parameters / choices.devices / MIB)


def bits(program, choices):
    """The largest relative difference of variables after so many steps from one device's under dp: 0 where the bits are
    the same."""
    worst, where, runs = 0.0, "", 0
    for model in choices.models.split(","):
        image = 32 if model == "autoencoder" else 28
        data = write_examples(program.folder / f"data_{model}", 8 * choices.batch, image)
        flags = ["--data", data, "--batch", choices.batch, "--steps", choices.steps, "--check-replicas", 0, "--seed", 7,
                 "--optimizer", "adam", "--lr", 1e-3, "--schedule", "constant", *choices.flags(model)]
        if choices.shards:
            flags += ["--reproducible", "--shards", choices.shards]
        alone = program.folder / f"{model}_alone"
        program.train(model, *flags, *emulated(1), "--checkpoint-dir", alone, dropout=choices.dropout)
        for strategy in choices.strategies.split("|"):
            for count in map(int, choices.counts.split(",")):
                if count == 1 and strategy in ("dp", "dp,zero=1"):
                    continue  # that is the one it is compared with
                folder = program.folder / f"{model}_{runs}"
                program.train(model, *flags, *emulated(count), "--checkpoint-dir", folder, strategy=strategy,
                              dropout=choices.dropout)
                apart, name = program.difference(alone, folder)
                runs += 1
                if apart > worst:
                    worst, where = apart, f"{model}, {strategy}, {count} devices: {name}"
    tell("difference", "relative difference", worst, detail=f"{runs} runs" + (f"; most in {where}" if where else ""))


def batches(program, choices, tolerance=1e-5):
    """Batches of 1 to 4N+3 examples: how many run and end with one device's variables. Refused by name: not equal."""
    wrong, refused, worst = [], [], 0.0
    last = 4 * choices.devices + 3
    for batch in range(1, last + 1):
        data = write_examples(program.folder / f"data_{batch}", batch * choices.steps, choices.image, seed=batch)
        flags = ["--data", data, "--batch", batch, "--steps", choices.steps, "--optimizer", "sgd", "--lr", 0.1,
                 "--schedule", "constant", *choices.flags(choices.model)]
        alone, many = (program.folder / f"{kind}_{batch}" for kind in ("alone", "many"))
        program.train(choices.model, *flags, *emulated(1), "--checkpoint-dir", alone)
        try:
            program.train(choices.model, *flags, *emulated(choices.devices), "--checkpoint-dir", many,
                          strategy=choices.strategy)
        except Refused as error:
            refused.append((batch, str(error)))
            continue
        apart, _ = program.difference(alone, many)
        worst = max(worst, apart)
        if apart > tolerance:
            wrong.append(batch)
    detail = f"of {last}; largest relative difference {worst:.2g}"
    if wrong:
        detail += f"; not equal: {','.join(map(str, wrong))}"
    if refused:
        detail += f"; refused: {','.join(str(batch) for batch, _ in refused)} ({refused[0][1]})"
    tell("equal batches", "batches", last - len(wrong) - len(refused), limit=last, detail=detail)


def certificate(program, choices):
    """Over all plans: the largest and the smallest share of the planned bytes that a device used."""
    shares, left_out = {}, []
    for model in choices.models.split(","):
        image = 32 if model == "autoencoder" else 28
        data = write_examples(program.folder / f"data_{model}", 4 * choices.batch, image)
        for strategy, optimizer, count in itertools.product(choices.strategies.split("|"), ("sgd", "adam"),
                                                            map(int, choices.counts.split(","))):
            plan = f"{model}, {strategy}, {optimizer}, {count} device{'s' if count > 1 else ''}"
            try:
                document = program.train(
                    model, "--data", data, "--batch", choices.batch, "--steps", choices.steps, "--optimizer", optimizer,
                    *choices.flags(model), *emulated(count), strategy=strategy)
            except LeftOut as error:
                left_out.append(f"{strategy}: {error}")
                continue
            for device, peak in document["peak_bytes"].items():
                if device.startswith("gpu"):
                    shares[f"{plan}, {device}"] = peak / max(document["planned_bytes"].get(device, 0), 1)
    most, least = max(shares, key=shares.get), min(shares, key=shares.get)
    skipped = f"; left out: {left_out[0]}" if left_out else ""
    above = sum(share > 1 for share in shares.values())
    tell("used", "used / planned", shares[most], statistics.median(shares.values()), limit=1.0,
         detail=f"{len(shares)} devices of plans, {above} above 1; most in {most}{skipped}")
    tell("unused", "planned / used", 1 / shares[least], 1 / statistics.median(shares.values()), limit=1.0,
         detail=f"most in {least}{skipped}")


def unlike(program, choices):
    """What devices of unlike speeds bring over the first alone: the trainer's own verdict, in alternating rounds."""
    data = write_examples(program.folder / "data", 2 * choices.batch, choices.image)
    document = program.train(choices.model, "--data", data, "--batch", choices.batch, "--steps", 6,
                             "--check-replicas", 0, "--optimizer", choices.optimizer, *choices.flags(choices.model),
                             *emulated(choices.devices, choices.speeds.split(",")), strategy=choices.strategy,
                             verdict=True)
    verdict, speeds = document["verdict"], [float(speed) for speed in choices.speeds.split(",")]
    if verdict["not_measured"]:
        raise LeftOut(f"not measured: {verdict['not_measured']}")
    found = verdict["in_turn"]["speedup"]
    tell("speed-up", "times", found["median"], limit=sum(speeds) / speeds[0],
         detail=f"{found['low']:.2f} to {found['high']:.2f} over {verdict['in_turn']['rounds']} rounds")


def planning(program, choices):
    """The whole of `argosy plan`, process start included."""
    if program.call("plan", "--help").returncode != 0:
        raise LeftOut("this build does not know argosy plan")
    times = []
    for _ in range(3):
        began = time.perf_counter()
        done = program.call("plan", choices.model, *emulated(choices.devices), "--strategy", choices.strategy, "--json")
        times.append(time.perf_counter() - began)
        if done.returncode != 0:
            raise Refused(f"argosy plan {choices.model}: {done.stderr.strip()[-200:]}")
    tell("plan", "s", min(times), statistics.median(times), detail=f"--strategy {choices.strategy}")


def propagation(program, choices):
    """Rules, propagation and resolution of a graph of ten thousand nodes on eight devices: the test that prints them,
    built beside the program."""
    test = pathlib.Path(program.path).parent / "sharding_test"
    if not test.exists():
        raise LeftOut(f"there is no {test.name} beside {pathlib.Path(program.path).name}; build the target {test.name}")
    done = subprocess.run([str(test), "--gtest_filter=Resolve.TenThousandNodes"], capture_output=True, text=True,
                          preexec_fn=end_with_parent)
    found = re.search(r"^\d+ nodes, .* rules ([\d.]+) ms, propagate and resolve ([\d.]+) ms.*$", done.stdout,
                      re.MULTILINE)
    if found is None:
        raise LeftOut(f"{test.name} does not know Resolve.TenThousandNodes, or prints no times")
    tell("propagate and resolve", "ms", float(found[1]) + float(found[2]), detail=found[0])


TASKS = {"train": train, "bits": bits, "batches": batches, "certificate": certificate, "unlike": unlike,
         "planning": planning, "propagation": propagation}


def main():
    program, task, *words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        try:
            TASKS[task](Program(program, folder), Choices(words))
        except (LeftOut, Refused) as error:
            print(error, file=sys.stderr)
            sys.exit(LEFT_OUT if isinstance(error, LeftOut) else 1)


if __name__ == "__main__":
    main()
