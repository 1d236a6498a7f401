#!/usr/bin/env python3
"""How `argosy run` ends after a signal, whatever its program does (ctest "cli_run_signals")."""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = "argosy"

DEAF = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, '-c', 'import time\\nwhile True: time.sleep(1)'], start_new_session=True)
print('ready', child.pid, flush=True)
while True: time.sleep(1)
"""
POLITE = """
import signal, sys, time
seen = []
signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
print('ready', flush=True)
while not seen: time.sleep(0.01)
time.sleep(0.5)
sys.exit(10 + len(seen))
"""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Signals(unittest.TestCase):
    def start(self, script):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "script.py"
        file.write_text(script)
        run = subprocess.Popen([PROGRAM, "run", "--emulate", "1", "--", sys.executable, "-S", str(file)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        line = run.stdout.readline().split()
        self.assertEqual(line[:1], ["ready"])
        return run, [int(pid) for pid in line[1:]]

    def test_a_deaf_program_is_killed_after_ten_seconds(self):
        run, children = self.start(DEAF)
        begin = time.monotonic()
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=40)
        took = time.monotonic() - begin
        self.assertGreater(took, 9)
        self.assertLess(took, 20)
        self.assertEqual(run.returncode, 128 + signal.SIGKILL)
        self.assertFalse(alive(children[0]), "what the program had started, in a session of its own")

    def test_a_second_signal_ends_at_once(self):
        run, children = self.start(DEAF)
        run.send_signal(signal.SIGTERM)
        time.sleep(0.8)
        self.assertIsNone(run.poll())
        begin = time.monotonic()
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=40)
        self.assertLess(time.monotonic() - begin, 7)
        self.assertFalse(alive(children[0]))

    def test_a_program_does_not_outlive_us(self):
        """Its server is gone: it would wait for ever."""
        run, children = self.start("import os, time\nprint('ready', os.getpid(), flush=True)\nwhile True: time.sleep(1)")
        run.kill()
        run.wait(20)
        until = time.monotonic() + 20
        while alive(children[0]) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertFalse(alive(children[0]))

    def test_two_signals_within_milliseconds_are_one(self):
        run, _ = self.start(POLITE)
        run.send_signal(signal.SIGTERM)
        time.sleep(0.002)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=40)
        self.assertEqual(run.returncode, 11, "it saw one, and had its time to end")

    # A step that nothing interrupts: one decomposition of a library.
    def test_a_step_that_does_not_end(self):
        python = os.environ.get("ARGOSY_TF_PYTHON")
        if not python:
            self.skipTest("ARGOSY_TF_PYTHON names no Python with TensorFlow")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "script.py"
        file.write_text("import numpy as np\nimport tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"
                        "x = tf.placeholder(tf.float32, [3000, 3000])\ny = tf.linalg.svd(x)\n"
                        "v = np.random.rand(3000, 3000).astype(np.float32)\n"
                        "with tf.Session() as s:\n"
                        "  s.run(tf.reduce_sum(x), {x: v})\n"
                        "  print('ready', flush=True)\n"
                        "  s.run(y, {x: v})\n")
        run = subprocess.Popen([PROGRAM, "run", "--", python, str(file)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        while "ready" not in run.stdout.readline():
            self.assertIsNone(run.poll())
        time.sleep(4)  # it is at it
        begin = time.monotonic()
        run.send_signal(signal.SIGTERM)
        _, notes = run.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 25)
        self.assertIn("steps did not end", notes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=PROGRAM)
    known, rest = parser.parse_known_args()
    PROGRAM = known.program
    unittest.main(argv=[sys.argv[0], *rest])
