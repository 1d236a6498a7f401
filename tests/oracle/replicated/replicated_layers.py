#!/usr/bin/env python3
"""Layers, losses and optimizers of TensorFlow 1.15 (layers_of_tf1.py) replicated over 2 and 3 devices, with batch statistics of
the global batch. All give TensorFlow's losses, and all but those in ONE_DEVICE are replicated.

    replicated_layers.py ARGOSY     (ARGOSY_TF1_PYTHON: a Python with TensorFlow 1.15; without it nothing is compared)
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).with_name("layers_of_tf1.py")
DEVICES = (2, 3)
TOLERANCE = 2e-4
# Shards are joined in the gradient of the loop: the reason names the node.
ONE_DEVICE = {"cell_groups"}


def run(words, path):
    done = subprocess.run([*words, str(SCRIPT), path], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr[-3000:]}")
    with open(path) as file:
        return json.load(file), done.stdout


def equal(wanted, got):
    """False for what is no number as well."""
    return len(wanted) == len(got) and all(abs(a - b) < TOLERANCE * (.01 + abs(a)) for a, b in zip(wanted, got))


def main():
    argosy, python = sys.argv[1], os.environ.get("ARGOSY_TF1_PYTHON")
    if not python:
        print("SKIPPED: set ARGOSY_TF1_PYTHON to a Python with TensorFlow 1.15 to compare with its layers")
        return 77
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        wanted, _ = run([python], f"{folder}/wanted")
        for devices in DEVICES:
            flags = ["--emulate", str(devices), "--strategy", "dp", "--sync-batch-norm", "--json"]
            got, printed = run([argosy, "run", *flags, "--", python], f"{folder}/{devices}")
            report = json.loads(printed.splitlines()[-1])
            bad += [f"{name} on {devices} devices: {got[name]}, TensorFlow {wanted[name]}"
                    for name in wanted if not equal(wanted[name], got[name])]
            stays = {name for name in wanted for reason in report["not_replicated"] if f"{name}/" in (reason["node"] or "")}
            bad += [f"{name} on {devices} devices is {'not ' if name in stays else ''}replicated"
                    for name in sorted(stays ^ ONE_DEVICE)]
            steps = 3 * (len(wanted) - len(ONE_DEVICE))
            if report["replicated_steps"] != steps:
                bad.append(f"{report['replicated_steps']} of {steps} steps replicated on {devices}: {report['not_replicated']}")
            print(f"{len(wanted)} layers, losses and optimizers on {devices} devices: "
                  f"{report['replicated_steps']} steps replicated")
    for line in bad:
        print("wrong: " + line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
