"""`argosy train` as rows of strategies call it: the data it reads, its flags, and what its --json says.

Needs neither NumPy nor a peer. What a build does not know is told as a LeftOut, in one line.
"""
import array
import json
import pathlib
import random
import struct
import subprocess

from contest import end_with_parent

STEPS_BEFORE = 3  # the trainer's own warm-up: not part of its samples_per_second


class LeftOut(Exception):
    """This build, or this machine, cannot do what the row wants; the text names it."""


class Refused(Exception):
    """The program refused the run by name."""


def write_npy(path, kind, shape, values):
    """A NumPy file of version 1; kind: "<f4" or "<i4"."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        values.tofile(out)


def write_examples(folder, examples, image, channels=1, classes=10, seed=0):
    """image_train.npy and label_train.npy: pixels in 0 … 1, and labels of every class."""
    chance = random.Random(seed)
    count = examples * image * image * channels
    pixels = array.array("f", (byte / 255 for byte in chance.randbytes(count)))
    labels = array.array("i", (chance.randrange(classes) for _ in range(examples)))
    labels[-1] = classes - 1  # the largest label says how many classes there are
    folder.mkdir(parents=True, exist_ok=True)
    write_npy(folder / "image_train.npy", "<f4", (examples, image, image, channels), pixels)
    write_npy(folder / "label_train.npy", "<i4", (examples,), labels)
    return folder


def emulated(devices, speeds=()):
    """--emulate and --devices for so many emulated GPUs, or for those of these speeds."""
    if speeds:
        return ["--emulate", ",".join(f"gpu@{speed}" for speed in speeds), "--devices",
                ",".join(f"gpu:{i}" for i in range(devices))]
    return ["--emulate", str(devices), "--devices", ",".join(f"gpu:{i}" for i in range(devices))]


class Program:
    """The program, and a folder for what it writes."""

    def __init__(self, path, folder):
        self.path, self.folder = str(path), pathlib.Path(folder)
        self.helps = {}

    def call(self, *arguments):
        return subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder,
                              preexec_fn=end_with_parent)

    def knows(self, option, *command):
        """Whether the help of this command has the option. False for an unknown command, too."""
        if command not in self.helps:
            done = self.call(*command, "--help")
            self.helps[command] = done.stdout if done.returncode == 0 else ""
        return option in self.helps[command]

    def need(self, option, *command):
        if not self.knows(option, *command):
            raise LeftOut(f"this build does not know argosy {' '.join(command)} {option}".rstrip())

    def train(self, model, *flags, strategy="dp", dropout=0.0, verdict=False):
        """The document of --json. `dp` is the default: it needs no flag of a build that has none."""
        extra = []
        if strategy != "dp" or self.knows("--strategy", "train"):
            self.need("--strategy", "train")
            extra += ["--strategy", strategy]
        if dropout:
            self.need("--dropout", "train")
            extra += ["--dropout", dropout]
        if model == "autoencoder":
            extra += ["--picture", self.folder / "picture.png"]
        if not verdict:
            extra += ["--no-verdict"]
        done = self.call("train", model, *flags, *extra, "--json", "--no-progress")
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit {done.returncode}"]
            text = next((line for line in lines if "ARG-" in line or "error" in line), lines[-1])
            raise Refused(f"{model}, {strategy}: {text.strip()[:300]}")
        return json.loads(done.stdout)

    def difference(self, one, other, limit=100_000):
        """The largest relative difference of two checkpoints' variables, and of which. Of a variable: the largest
        absolute difference, by the largest of its first `limit` values."""
        done = self.call("ckpt", "diff", one, other, "--json")
        if not done.stdout.lstrip().startswith("{"):
            raise RuntimeError(f"ckpt diff {one} {other}: {done.stderr.strip()[-300:]}")
        worst, name = 0.0, ""
        for found in json.loads(done.stdout)["differences"]:
            apart = largest_of(found, lambda tensor: self.magnitude(one, tensor, limit))
            if apart > worst:
                worst, name = apart, found["name"]
        return worst, name

    def magnitude(self, checkpoint, tensor, limit):
        done = self.call("ckpt", "cat", checkpoint, tensor, "--json", "--limit", limit)
        values = [abs(float(value)) for value in json.loads(done.stdout)["values"]]
        return max(values, default=0.0)


def largest_of(found, magnitude):
    """Of one entry of `ckpt diff`: "2 of 3 values differ, most by 1e-3 at [0,1]". What is no number is infinite."""
    parts = found["what"].split("most by ")
    if len(parts) != 2:
        return float("inf")  # missing, or of another shape
    apart, base = float(parts[1].split(" at ")[0]), magnitude(found["name"])
    return apart / base if base > 0 else float("inf")

