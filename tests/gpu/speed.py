"""The parts of check.py that compare speeds: rows of benchmarks/peers/compare, and how they are told."""
import json
import os
import signal
import subprocess
import sys

from machine import LIMIT, ROOT, Failed, Measured

COMPARE = ROOT / "benchmarks/peers/compare"


def speed(m, *rows):
    """Rows of the benchmarks beside the peers that are installed: what they gave, and where it is below the target."""
    flags = ("--quick", "--sizes", "tiny", "--seconds", "0.01") if m.rehearsal else ("--quick",)
    command = [sys.executable, str(COMPARE), "--program", m.program, "--device", "gpu:0", "--json", *flags, *rows]
    # A session of its own: what it started ends with it.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            out, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise Failed(f"compare {' '.join(rows)}: exit code {process.returncode}: {errors.strip()[-400:]}")
    return tell_speed(json.loads(out)["rows"])


def tell_speed(rows):
    told, missing, below, open_ones = [], set(), 0, 0
    for row in rows:
        missing |= {name for name in row["missing"] if name != "argosy"}
        ours = row["figures"].get("argosy")
        if ours is None:
            raise Failed(f"{row['row']}: {row['missing'].get('argosy', 'nothing was measured')}")
        text = f"{row['row']} {ours['best']:.4g} {ours['unit']} (±{ours['spread'] * 100:.0f} %)"
        if ours["limit"]:
            text += f", limit {ours['limit']:.4g}"
        text += "".join(f", {times:.2f} x {peer}" for peer, times in (row["ratios"] or {}).items())
        for target in row["targets"]:
            if target["met"] is False:
                text += f", BELOW TARGET ({target['wanted']})"
            below += target["met"] is False
            open_ones += target["met"] is None
        told.append(text)
    head = f"{len(rows)} rows, {below} targets not met, {open_ones} that cannot be judged"
    if missing:
        head += f"; without {', '.join(sorted(missing))}"
    return Measured(f"{head}: {'; '.join(told)}")


def speed_matpow(m):
    return speed(m, "G01")


def speed_launch(m):
    return speed(m, "G02")


def speed_steps(m):
    return speed(m, *m.pick(("G03",), ("G03 mlp",)))


def speed_autoencoder(m):
    return speed(m, *m.pick(("G04", "G09 memory of autoencoder", "G09 allocations of autoencoder"), ("G04",)))


def speed_resnet(m):
    return speed(m, "G05", "G09 memory of resnet", "G09 allocations of resnet")


def speed_transformer(m):
    return speed(m, *m.pick(("G06", "G09 memory of transformer", "G09 allocations of transformer"),
                            ("G06 transformer d=16", "G09 allocations of transformer d=16")))


def speed_ensemble(m):
    return speed(m, "G07")


def speed_copies(m):
    return speed(m, "G08", "G11")


def speed_start(m):
    return speed(m, "G10")


def speed_virtual(m):
    return speed(m, "G12")


PARTS = [speed_matpow, speed_launch, speed_steps, speed_autoencoder, speed_resnet, speed_transformer, speed_ensemble,
         speed_copies, speed_start, speed_virtual]
