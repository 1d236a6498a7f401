#!/usr/bin/env python3
"""How well `argosy plan` predicts: 20 cases, five models on one and two emulated GPUs at three link speeds.

    benchmarks/predict.py [--program PROGRAM] [--strategies all] [--rounds 3] [--seconds 2] [--json FILE]
                          [case …]

`--strategies all`: each case under dp, dp,zero=1 and dp,accumulate=2 where these are strategies of its own: 55 cases.

Each round of a case makes a plan, then trains: what is compared was measured within seconds of each other. Prints each
case's step as predicted and as trained (medians of the rounds), the error, and Kendall's tau: over all cases, and over the
pairs of cases of one model, where sizes of models do not help. Other work on the machine widens all of it: the spread of the
trainings says how much.
"""
import argparse
import json
import statistics
import subprocess

import built

MODELS = {
    "mlp": ["mlp", "--image-size", "28", "--width", "256"],
    "lenet": ["lenet", "--batch", "64"],
    "autoencoder": ["autoencoder", "--image-size", "32", "--depth", "3", "--width", "16"],
    "resnet": ["resnet", "--image-size", "16", "--batch", "32"],
    "transformer": ["transformer", "--batch", "32"],
}
MACHINES = {
    "1 of 2": ["--emulate", "2", "--devices", "gpu:0"],
    "2": ["--emulate", "2"],
    "2, 1GB/s": ["--emulate", "gpu:2GiB,gpu:2GiB;link=1GB/s"],
    "2, 100MB/s": ["--emulate", "gpu:2GiB,gpu:2GiB;link=100MB/s"],
}
STRATEGIES = ["dp", "dp,zero=1", "dp,accumulate=2"]


def is_case(machine, strategy):
    return machine != "1 of 2" or "zero" not in strategy  # one device has nothing to shard


def document(command):
    done = subprocess.run(command + ["--json"], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def kendall(pairs):
    """Of (predicted, measured) of both cases of each pair: concordant less discordant, over all."""
    total = sum(1 if (a[0] - b[0]) * (a[1] - b[1]) > 0 else -1 for a, b in pairs)
    return total / len(pairs) if pairs else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=built.program())
    parser.add_argument("--strategies", choices=["dp", "all"], default="dp")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2, help="of each training, about")
    parser.add_argument("--json", default="", help="write the rows there")
    parser.add_argument("cases", nargs="*", help="names of models; default: all")
    args = parser.parse_args()
    rows = []
    print(f"{'case':42} {'predicted ms':>13} {'trained ms':>11} {'spread':>7} {'error':>7}")
    for model, words in MODELS.items():
        if args.cases and model not in args.cases:
            continue
        for machine, flags in MACHINES.items():
            for strategy in STRATEGIES if args.strategies == "all" else STRATEGIES[:1]:
                if not is_case(machine, strategy):
                    continue
                flags_of = [*words, *flags, "--strategy", strategy]
                predicted, trained = [], []
                for _ in range(args.rounds):
                    told = document([args.program, "plan", *flags_of])["predicted"]
                    predicted.append(told["step_seconds"])
                    batch = told["step_seconds"] * told["samples_per_second"]
                    steps = max(10, min(3000, int(args.seconds / told["step_seconds"])))
                    ran = document([args.program, "train", *flags_of, "--steps", str(steps), "--no-verdict",
                                    "--check-replicas", "0"])
                    trained.append(batch / ran["samples_per_second"])
                p, t = statistics.median(predicted), statistics.median(trained)
                rows.append({"model": model, "machine": machine, "strategy": strategy, "predicted": p, "trained": t,
                             "spread": (max(trained) - min(trained)) / t, "error": p / t - 1})
                print(f"{f'{model}, {machine}, {strategy}':42} {1e3 * p:13.3f} {1e3 * t:11.3f} "
                      f"{rows[-1]['spread']:6.0%} {rows[-1]['error']:+7.1%}", flush=True)
    errors = [abs(r["error"]) for r in rows]
    pairs = [(a, b) for i, a in enumerate(rows) for b in rows[:i]]
    points = [((a["predicted"], a["trained"]), (b["predicted"], b["trained"])) for a, b in pairs]
    same = [p for p, (a, b) in zip(points, pairs) if a["model"] == b["model"]]
    print(f"{len(rows)} cases: error median {statistics.median(errors):.1%}, mean {statistics.mean(errors):.1%}, worst {max(errors):.1%}, "
          f"within 10 % {sum(e <= 0.1 for e in errors)}; tau {kendall(points):.2f}, of pairs of one model {kendall(same):.2f}")
    if args.json:
        with open(args.json, "w") as out:
            json.dump(rows, out, indent=1)


if __name__ == "__main__":
    main()
