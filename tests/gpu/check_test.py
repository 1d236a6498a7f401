#!/usr/bin/env python3
"""check.py as somebody with GPUs would run it, on fake ones: so that no part ends by a slip of its own.

NVML, nvidia-smi and compute-sanitizer are small stand-ins; what is slow on fakes is left to other tests (SLOW).
"""
import argparse
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = PLUGIN = ""
# Every op case (cuda_ops runs them on fakes) and a ResNet-50.
SLOW = {"ops", "speed_resnet"}

SMI = """#!/bin/sh
[ "$1" = --query-gpu=uuid,memory.total ] && [ "$2" = --format=csv,noheader,nounits ] || exit 1
cat "$(dirname "$0")/gpus"
"""
SANITIZER = """#!/bin/sh
[ "$1" = --tool ] && [ "$3 $4" = "--error-exitcode 9" ] || exit 1
shift 4
exec "$@"
"""


def load():
    spec = importlib.util.spec_from_file_location("check", HERE / "check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def children():
    """Of this process, those that are not yet gone."""
    listed = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [pid for pid in listed if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "argosy"]


class OnFakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name, text in (("nvidia-smi", SMI), ("compute-sanitizer", SANITIZER)):
            path = pathlib.Path(cls.folder.name) / name
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        for name in ("ARGOSY_EMULATE", "ARGOSY_FAULTS", "ARGOSY_VIRTUAL_GPUS", "ARGOSY_MNIST"):
            os.environ.pop(name, None)
        os.environ.update(ARGOSY_CUDA_PLUGIN=PLUGIN, ARGOSY_FAKE_GPUS="gpus=2,nccl=yes",
                          PATH=f"{cls.folder.name}:{os.environ['PATH']}", ARGOSY_PEERS=cls.folder.name)
        cls.check = load()
        cls.machine = cls.check.Machine(PROGRAM, rehearsal=True)
        with open(pathlib.Path(cls.folder.name) / "gpus", "w") as gpus:
            for gpu in cls.machine.gpus:
                print(f"{gpu['uuid']}, {gpu['memory_bytes'] >> 20}", file=gpus)
        # A gigabyte for every process of ours at work, on the first GPU.
        cls.machine.used = lambda gpu: len(children()) << 30 if gpu == 0 else 0

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_part_has_a_row_and_every_row_a_part(self):
        rows = self.check.re.findall(r"^\| `([a-z_]+)`", self.check.STATUS.read_text(), self.check.re.M)
        self.assertEqual(rows, [part.__name__ for part in self.check.PARTS])

    def test_cudnn(self):
        """The fakes have none: two trainings by our own kernels, as if they had."""
        doctor = {"gpus": {"cuda_libraries": [{"name": "cuDNN", "version": "9.5.0"}]}}
        machine = self.check.Machine(PROGRAM, rehearsal=True)
        plain = machine.argosy
        found = subprocess.CompletedProcess((), 0, json.dumps(doctor), "")
        machine.argosy = lambda *words, **more: found if words[0] == "doctor" else plain(*words, **more)
        self.assertIn("losses of", self.check.dnn(machine))

    def test_losses_may_part_as_rounding_makes_them(self):
        course = [2.0] * 20
        self.assertTrue(self.check.same_course(course, course))
        self.assertTrue(self.check.same_course([2.0] * 19 + [2.02], course))
        self.assertFalse(self.check.same_course([2.001] + [2.0] * 19, course))
        self.assertFalse(self.check.same_course([2.0] * 19 + [2.2], course))
        self.assertFalse(self.check.same_course(course[:-1], course))

    def test_speed_tells_what_is_below_its_target_and_who_is_missing(self):
        ours = {"unit": "us/op", "best": 2.0, "median": 2.0, "spread": 0.1, "limit": None}
        row = {"row": "G02 a", "figures": {"argosy": ours}, "ratios": {"torch": 1.5}, "missing": {"jax": "not set up"},
               "targets": [{"wanted": "at most 1.2 us/op", "got": 2.0, "met": False}]}
        text = self.check.speed.tell_speed([row])
        self.assertIsInstance(text, self.check.Measured)
        self.assertIn("1 rows, 1 targets not met, 0 that cannot be judged; without jax", text)
        self.assertIn("1.50 x torch, BELOW TARGET (at most 1.2 us/op)", text)
        with self.assertRaises(self.check.Failed):
            self.check.speed.tell_speed([row | {"figures": {}, "missing": {"argosy": "exited with 1"}}])

    def test_a_part_that_breaks_does_not_end_the_others(self):
        def broken(m):
            raise KeyError("peak_bytes")

        def fine(m):
            return "fine"

        check, out = load(), io.StringIO()
        check.PARTS = [broken, fine]
        sys.argv = ["check.py", "--program", PROGRAM, "--rehearse"]
        with contextlib.redirect_stdout(out):
            self.assertEqual(check.main(), 1)
        self.assertIn("broken: FAILED: KeyError", out.getvalue())
        self.assertIn("fine: passed: fine", out.getvalue())


def part_test(name):
    def test(self):
        part = next(p for p in self.check.PARTS if p.__name__ == name)
        result = part(self.machine)
        self.assertTrue(result)
        print(f"{name}: {result[:200]}", file=sys.stderr)

    return test


def add_parts():
    for part in load().PARTS:
        if part.__name__ not in SLOW | {"dnn", "softmax", "engines"}:
            setattr(OnFakes, f"test_part_{part.__name__}", part_test(part.__name__))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--plugin", required=True)
    arguments, rest = parser.parse_known_args()
    PROGRAM, PLUGIN = arguments.program, arguments.plugin
    add_parts()
    unittest.main(argv=[__file__, *rest])
