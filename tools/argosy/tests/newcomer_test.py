#!/usr/bin/env python3
"""What newcomers met (issue 31), each as they met it: MNIST and the auto-encoder, disks that are full, timeout's two
signals, somebody else's checkpoints, a run that was finished, help by its other name (ctest "cli_newcomer")."""
import argparse
import gzip
import json
import os
import re
import resource
import signal
import struct
import subprocess
import tempfile
import time
import unittest

PROGRAM = ""
MLP = ["train", "mlp", "--image-size", "8", "--width", "8", "--batch", "16", "--no-verdict"]


def argosy(*words, **options):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ARGOSY_")}
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env=environment, **options)


def write_mnist(folder, size=28, examples=64):
    os.makedirs(folder, exist_ok=True)
    for split in ("train", "t10k"):
        pixels = bytes((i * 7 + i // 300) % 256 for i in range(examples * size * size))
        with gzip.open(f"{folder}/{split}-images-idx3-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(">IIII", 0x803, examples, size, size) + pixels)
        with gzip.open(f"{folder}/{split}-labels-idx1-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(">II", 0x801, examples) + bytes(i % 10 for i in range(examples)))


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, self.before)

    def runs(self, *words, code=0, **options):
        done = argosy(*words, **options)
        self.assertEqual(done.returncode, code, f"argosy {' '.join(words)}\n{done.stdout}\n{done.stderr}")
        return done


    def commands(self, path=()):
        text = self.runs(*path, "--help").stdout
        yield path, text
        listed = re.search(r"\nCommands\n((?:  .*\n)+)", text)
        for line in listed.group(1).splitlines() if listed else []:
            if line[2] != " ":
                yield from self.commands((*path, line.split()[0]))


class Data(Case):
    AUTOENCODER = ["train", "autoencoder", "--width", "2", "--steps", "2", "--batch", "4", "--data", "mnist"]

    def test_the_auto_encoder_fits_mnist(self):
        write_mnist("mnist")
        done = self.runs(*self.AUTOENCODER)
        self.assertIn("trained  2 steps", done.stdout)
        self.assertIn("halved 2 times (--depth 2)", done.stderr)

    def test_images_of_every_size_are_fitted_or_the_advice_is_right(self):
        for size in (7, 8, 15, 26, 32):
            write_mnist("mnist", size)
            self.runs(*self.AUTOENCODER)
            for depth in ("1", "2", "3", "5"):
                done = argosy(*self.AUTOENCODER, "--depth", depth)
                if done.returncode == 0:
                    continue
                self.assertEqual(done.returncode, 2, done.stderr)
                for advice in re.search(r"try +(.*)", done.stderr).group(1).split(", or "):
                    self.runs(*self.AUTOENCODER, "--depth", depth, *advice.split())

    def test_image_size_resizes_what_has_a_size(self):
        write_mnist("mnist")
        done = self.runs("train", "lenet", "--data", "mnist", "--image-size", "12", "--steps", "1", "--batch", "4")
        self.assertIn("resized to 12 x 12 pixels", done.stderr)
        self.assertRegex(done.stdout, "trained  1 step in ")


class Results(Case):
    """They are printed before anything that can fail, and the exit code says what failed."""

    def check(self, done, code, identifier):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn("trained  3 steps", done.stdout)
        self.assertIn("accuracy", done.stdout)
        self.assertNotIn("saved", done.stdout)
        self.assertIn(f"error {identifier}", done.stderr)

    def limited(self, *words):
        return argosy(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))

    def test_a_checkpoint_that_cannot_be_written(self):
        self.check(self.limited(*MLP, "--steps", "3", "--checkpoint-dir", "runs"), 3, "ARG-FILE")
        told = self.limited(*MLP, "--steps", "3", "--checkpoint-dir", "runs", "--json")
        document = json.loads(told.stdout)  # one document
        self.assertEqual(len(document["losses"]), 3)
        self.assertIsNone(document["checkpoint"])
        self.assertTrue(document["error"]["id"].startswith("ARG-FILE"), document["error"])

    def test_a_disk_that_is_full(self):
        os.mkdir("disk")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", "disk"], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no right to mount a small disk")
        self.addCleanup(subprocess.run, ["umount", "disk"], check=False)
        self.check(argosy(*MLP, "--steps", "3", "--checkpoint-dir", "disk/runs"), 3, "ARG-CKPT-010")

    def test_a_picture_that_cannot_be_written(self):
        done = argosy("train", "autoencoder", "--image-size", "8", "--width", "2", "--steps", "3", "--batch", "4",
                      "--picture", "no/such/p.png")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("trained  3 steps", done.stdout)
        self.assertIn("where  --picture", done.stderr)

    def test_a_folder_that_cannot_be_made_is_told_before_anything_is_trained(self):
        open("file", "w").close()
        done = self.runs(*MLP, "--steps", "3", "--checkpoint-dir", "file/runs", code=3)
        self.assertEqual(done.stdout, "")

    def test_standard_output_that_is_full(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, *MLP, "--steps", "3"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_a_loss_that_is_no_number_ends_with_what_was_measured(self):
        done = self.runs(*MLP, "--steps", "60", "--lr", "1e38", "--optimizer", "sgd", code=1)
        self.assertIn("trained", done.stdout)
        self.assertNotIn("checkpoint", done.stderr)


class Signals(Case):
    def start(self, *words):
        process = subprocess.Popen([PROGRAM, *MLP, "--steps", "1000000", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.kill)
        self.assertIn("mlp on", process.stderr.readline())
        time.sleep(0.5)
        return process

    def test_two_at_the_same_time_are_one(self):
        process = self.start("--checkpoint-dir", "runs")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        out, error = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 75, error)
        self.assertIn("saved    runs/model.ckpt-", out)

    def test_timeout_itself(self):
        for words, text in (([], "trained"), (["--checkpoint-dir", "runs"], "saved    runs/model.ckpt-")):
            done = subprocess.run(["timeout", "--preserve-status", "1.5", PROGRAM, *MLP, "--steps", "10000000", *words],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 75 if words else 143, done.stderr)
            self.assertIn(text, done.stdout)
            # Messages about checkpoints only where there are some.
            self.assertEqual("writing a checkpoint" in done.stderr, bool(words), done.stderr)


class Folders(Case):
    def test_another_models_is_refused(self):
        self.runs(*MLP, "--steps", "2", "--checkpoint-dir", "runs")
        kept = sorted(os.listdir("runs"))
        lenet = ["train", "lenet", "--image-size", "8", "--steps", "2", "--batch", "4", "--checkpoint-dir", "runs"]
        for words in (lenet, lenet + ["--resume"]):
            done = self.runs(*words, code=2)
            self.assertIn("error ARG-CKPT-011", done.stderr)
            self.assertIn("of another model", done.stderr)
            self.assertEqual(done.stdout, "")
        self.assertEqual(sorted(os.listdir("runs")), kept)

    def test_an_earlier_run_of_the_same_model_is_told(self):
        self.assertNotIn("earlier run", self.runs(*MLP, "--steps", "2", "--checkpoint-dir", "runs").stderr)
        done = self.runs(*MLP, "--steps", "2", "--checkpoint-dir", "runs")
        self.assertIn("runs holds checkpoints of an earlier run, the newest runs/model.ckpt-2", done.stderr)

    def test_a_finished_run_says_so(self):
        words = [*MLP, "--checkpoint-dir", "runs", "--resume"]
        self.assertIn("no checkpoint in runs: this run began at step 0", self.runs(*words, "--steps", "4").stderr)
        done = self.runs(*words, "--steps", "4")
        self.assertIn("finished runs/model.ckpt-4 is at step 4 of 4: nothing is left to train; --steps 8 goes on", done.stdout)
        self.assertNotIn("verdict", done.stdout)
        self.assertNotIn("trained", done.stdout)
        self.assertIn("trained  4 steps", self.runs(*words, "--steps", "8").stdout)
        self.assertIn("finished", self.runs(*words, "--steps", "5").stdout)


class Help(Case):
    def test_help_by_its_other_name(self):
        for path, text in self.commands():
            if path[:1] != ("help",):
                self.assertEqual(self.runs("help", *path).stdout, text)
        self.assertIn("argosy help trani", self.runs("help", "help").stdout.replace("train", "trani"))
        for words, near in ((("help", "trian"), "argosy train"), (("help", "ckpt", "lss"), "argosy ckpt ls"),
                            (("trian", "--help"), "argosy train"), (("hlep",), "argosy help")):
            done = self.runs(*words, code=2)
            self.assertIn(near, done.stderr)

    def test_every_option_of_train_has_one_line_in_a_group(self):
        text = self.runs("train", "--help").stdout
        self.assertLess(text.index("Examples"), text.index("Usage"))
        for group in ("Data and model", "Training", "Devices", "Checkpoints", "Output"):
            body = re.search(rf"\n{group}\n((?:  .*\n)+)", text)
            self.assertIsNotNone(body, group)
            for line in body.group(1).splitlines():
                self.assertRegex(line, r"^  -\S+( \S+)?  +\S", line)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 110, line)

    def test_no_line_is_too_long_for_a_terminal(self):
        for path, text in self.commands():
            for line in text.splitlines():
                self.assertLessEqual(len(line), 120, f"{path}: {line}")

    def test_every_example_parses(self):
        """With a flag added that there is not, the program reads all the words and does nothing."""
        count = 0
        for path, text in self.commands():
            examples = re.search(r"\nExamples\n((?:  .*\n)+)", text)
            for line in examples.group(1).splitlines() if examples else []:
                words = re.split(r"  +", line.strip())[0].split(" | ")[0]
                if not words.startswith("argosy") or words.startswith("argosy help"):
                    continue
                words = words.replace("\"", "").split()[1:]
                program = words.index("--") if "--" in words else len(words)
                done = argosy(*words[:program], "--check-words", *words[program:])
                count += 1
                # The one thing that is wrong with it is what was added.
                self.assertEqual(done.returncode, 2, f"{line}\n{done.stderr}")
                self.assertIn("unknown flag --check-words", done.stderr, line)
        self.assertGreater(count, 30)


class Examples(Case):
    """The examples of --help, run: those that need no file of the reader's, no disk of his and no minute."""
    SLOW = ("bench", "serve", "train", "doctor")

    def test_they_run(self):
        write_mnist("data/mnist")
        tried = 0
        for path, text in self.commands():
            examples = re.search(r"\nExamples\n((?:  .*\n)+)", text)
            for line in examples.group(1).splitlines() if examples else []:
                words = re.split(r"  +", line.strip())[0].split()
                if words[:1] != ["argosy"] or "|" in words or "--" in words or words[1] in self.SLOW or any("/" in w or w == "--coordinator" for w in words):
                    continue
                done = argosy(*words[1:])
                tried += 1
                # What is missing is the reader's file, if anything.
                self.assertIn(done.returncode, (0, 3), f"{line}\n{done.stderr}")
        self.assertGreater(tried, 8)
        self.runs("train", "autoencoder", "--emulate", "2", "--steps", "2", "--width", "2", "--no-verdict")
        self.runs("train", "lenet", "--data", "data/mnist", "--epochs", "1", "--image-size", "8")
        self.runs("train", "autoencoder", "--data", "data/mnist", "--emulate", "2", "--gpus", "2", "--steps", "2", "--width", "2",
                  "--no-verdict")
        mlp = ("train", "mlp", "--data", "data/mnist", "--checkpoint-dir", "runs/a", "--width", "8")
        self.runs(*mlp, "--epochs", "1")
        self.runs(*mlp, "--epochs", "2", "--resume")
        for words in (("ls", "runs/a"), ("verify", "runs/a"), ("cat", "runs/a", "dense/kernel")):
            self.runs("ckpt", *words)


class Devices(Case):
    def test_gpus_of_train_as_of_run(self):
        told = json.loads(self.runs(*MLP, "--steps", "1", "--emulate", "3", "--gpus", "2", "--json").stdout)
        self.assertEqual([d["name"][-5:] for d in told["devices"]], ["GPU:0", "GPU:1"])
        same = json.loads(self.runs(*MLP, "--steps", "1", "--emulate", "3", "--devices", "gpu:0,gpu:1", "--json").stdout)
        self.assertEqual(same["devices"], told["devices"])
        self.assertEqual(same["losses"], told["losses"])

    def test_by_number_and_both_numbers_are_said(self):
        done = self.runs(*MLP, "--steps", "1", "--emulate", "4", "--gpus", "2,3")
        self.assertIn("gpu:0 is the machine's GPU 2, gpu:1 its GPU 3", done.stderr)
        done = self.runs("run", "--emulate", "4", "--gpus", "2,3", "--", "true")
        self.assertIn("gpu:0 is the machine's GPU 2, gpu:1 its GPU 3", done.stderr)
        refused = self.runs(*MLP, "--steps", "1", "--emulate", "gpu:1GiB,gpu:30KiB", "--gpus", "0,1", code=4)
        self.assertIn("gpu:1 needs", refused.stderr)
        refused = self.runs(*MLP, "--steps", "1", "--emulate", "gpu:1GiB,gpu:30KiB", "--devices", "gpu:1", code=4)
        self.assertIn("gpu:0 (the machine's GPU 1) needs", refused.stderr)

    def test_gpus_that_are_not_here_are_refused(self):
        for words in ((*MLP, "--steps", "1"), ("run", "--"), ("graph", "run", "x", "--fetch", "y"), ("serve",)):
            if words[0] == "run":
                done = argosy("run", "--gpus", "3", "--devices", "cpu:0", "--", "true")
                self.assertIn("--gpus and --devices both say what to use", done.stderr)
                done = argosy("run", "--gpus", "3", "--", "true")
            elif words[0] == "graph":
                continue
            else:
                done = argosy(*words, "--gpus", "3")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, r"--emulate \d")


class Report(Case):
    def test_no_line_looks_like_a_log(self):
        self.runs(*MLP, "--steps", "3", "--checkpoint-dir", "runs", "--schedule", "cosine")
        done = self.runs(*MLP, "--steps", "6", "--checkpoint-dir", "runs", "--schedule", "cosine", "--resume")
        self.assertIn("warning: the learning rate after step 3 is", done.stderr)
        for line in (done.stdout + done.stderr).splitlines():
            self.assertNotRegex(line, r"^\d{4}-\d\d-\d\d|\.cc:\d+\]")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    arguments, rest = parser.parse_known_args()
    PROGRAM = os.path.abspath(arguments.program)
    unittest.main(argv=["newcomer_test", *rest])
