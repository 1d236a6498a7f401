#!/usr/bin/env python3
"""`argosy train` as a user meets it: the same losses on any number of devices, uneven batches, the same bits when asked
for, a killed run that resumes without losing or repeating an example, a model above its cap refused before step 0."""
import argparse
import json
import os
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

PROGRAM = ""
MLP = ["mlp", "--data", "synthetic", "--image-size", "16", "--width", "32", "--no-verdict", "--seed", "3"]
AUTOENCODER = ["autoencoder", "--image-size", "16", "--depth", "2", "--width", "4", "--no-verdict"]


def run(*args, code=0):
    done = subprocess.run([PROGRAM, "train", *args, "--json"], capture_output=True, text=True, timeout=120)
    if done.returncode != code:
        raise AssertionError(f"{args}: exit {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout) if code == 0 else done


class Losses(unittest.TestCase):
    def check(self, model, tolerance):
        one = run(*model, "--emulate", "1")["losses"]
        self.assertLess(one[-1], one[0])
        for devices in ("2", "4", "8"):
            many = run(*model, "--emulate", devices)["losses"]
            self.assertEqual(len(one), len(many))
            for a, b in zip(one, many):
                self.assertAlmostEqual(a, b, delta=tolerance * max(1, abs(a)), msg=f"{devices} devices")

    def test_mean_loss_with_a_batch_that_does_not_divide(self):
        self.check(MLP + ["--steps", "20", "--batch", "37", "--optimizer", "sgd", "--lr", "0.1"], 1e-5)

    def test_mean_loss_of_convolutions(self):
        lenet = ["lenet", "--data", "synthetic", "--image-size", "28", "--no-verdict"]
        self.check(lenet + ["--steps", "20", "--batch", "50"], 1e-5)

    def test_mean_loss_in_float64(self):
        self.check(MLP + ["--steps", "8", "--batch", "37", "--optimizer", "sgd", "--lr", "0.1", "--precision", "fp64"], 1e-6)

    def test_sum_loss_with_fewer_examples_than_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = ["--picture", os.path.join(folder, "p.png")]
            self.check(AUTOENCODER + picture + ["--steps", "10", "--batch", "3"], 1e-5)

    def test_dropout_drops_the_same_on_any_number_of_devices(self):
        lenet = ["lenet", "--data", "synthetic", "--image-size", "12", "--no-verdict"]
        with tempfile.TemporaryDirectory() as folder:
            picture = ["--picture", os.path.join(folder, "p.png")]
            for model in (MLP, lenet, AUTOENCODER + picture):
                def train(name, *args):
                    run(*model, "--steps", "6", "--batch", "32", *args, "--checkpoint-dir", f"{folder}/{model[0]}_{name}")

                def differ(a, b):
                    prefix = f"{folder}/{model[0]}_"
                    return subprocess.run([PROGRAM, "ckpt", "diff", prefix + a, prefix + b], capture_output=True).returncode

                train("none", "--emulate", "1")
                for n in "124":
                    train(n, "--dropout", "0.5", "--emulate", n)
                self.assertEqual([differ("1", "2"), differ("1", "4"), differ("1", "none")], [0, 0, 1], model[0])

    def test_as_many_shards_as_wanted_mean_equal_bits_in_micro_batches(self):
        lenet = ["lenet", "--image-size", "16", "--no-verdict", "--dropout", "0.3", "--steps", "4", "--batch", "37",
                 "--reproducible", "--shards", "16"]
        losses = []
        for devices, strategy in (("1", "dp"), ("8", "dp"), ("8", "dp,accumulate=2"), ("4", "dp,accumulate=4,zero=1")):
            ran = run(*lenet, "--emulate", devices, "--strategy", strategy)
            self.assertIsNone(ran["other_bits"], strategy)
            losses.append(ran["losses"])
        self.assertEqual(losses, losses[:1] * 4)

    def test_reproducible_means_equal_bits(self):
        runs = [run(*MLP, "--steps", "10", "--batch", "37", "--reproducible", "--emulate", n)["losses"] for n in "1248"]
        for other in runs[1:]:
            self.assertEqual(runs[0], other)


class Strategy(unittest.TestCase):
    def test_its_name_and_the_state_of_each_device(self):
        ran = run(*MLP, "--steps", "2", "--emulate", "2", "--strategy", "dp=2")
        self.assertEqual(ran["strategy"], "dp=2")
        # Adam: each variable with two slots, on both devices; and a few scalars.
        weights = 4 * (768 * 32 + 32 + 32 * 32 + 32 + 32 * 10 + 10)
        self.assertEqual(ran["state_bytes"]["gpu:0"], ran["state_bytes"]["gpu:1"])
        self.assertGreaterEqual(ran["state_bytes"]["gpu:0"], 3 * weights)
        self.assertLess(ran["state_bytes"]["gpu:0"], 3 * weights + 64)
        self.assertEqual(run(*MLP, "--steps", "2", "--emulate", "2")["strategy"], "dp")

    def test_check_strategy_measures_the_first_step(self):
        same = run(*MLP, "--steps", "2", "--emulate", "2", "--check-strategy")
        # Variables have one device's bits, or it had failed; the loss is added up from the shards.
        self.assertEqual((same["checked_steps"], same["other_bits"]), (1, None))
        self.assertLess(same["largest_difference"], 1e-6)
        for devices, strategy in (("2", "dp,accumulate=2"), ("1", "dp,accumulate=4")):
            turns = run(*MLP, "--steps", "2", "--emulate", devices, "--strategy", strategy, "--check-strategy")
            self.assertEqual((turns["strategy"], turns["checked_steps"], turns["other_bits"]), (strategy, 1, None))
        thirds = run(*MLP, "--steps", "2", "--emulate", "2", "--strategy", "dp,accumulate=3", "--check-strategy")
        self.assertEqual(thirds["checked_steps"], 1)
        self.assertIn("6 micro-batches", thirds["other_bits"])
        # A batch of 20 has 3 examples on each of 7 devices: 8 of 28 micro-batches are empty.
        empty = run(*MLP, "--steps", "2", "--emulate", "7", "--optimizer", "sgd", "--strategy", "dp,accumulate=4",
                    "--batch", "20", "--check-strategy")
        self.assertEqual(empty["checked_steps"], 1)
        self.assertLess(empty["largest_difference"], 1e-3)  # of the largest update
        rounded = run(*MLP, "--steps", "2", "--emulate", "3", "--check-strategy")
        self.assertEqual(rounded["checked_steps"], 1)
        self.assertGreater(rounded["largest_difference"], 0)
        self.assertLess(rounded["largest_difference"], 1e-3)
        self.assertIsNone(run(*MLP, "--steps", "2", "--emulate", "2")["largest_difference"])

    def test_check_strategy_finds_a_wrong_bit(self):
        # Where the flipped bit is of no kernel's result that counts, the step stays equal; of some it does not.
        told = []
        for at in range(20, 60, 5):
            environment = dict(os.environ, ARGOSY_FAULTS=f"gpu:1:flip={at}")
            done = subprocess.run([PROGRAM, "train", *MLP, "--steps", "1", "--emulate", "2", "--check-strategy"],
                                  capture_output=True, text=True, timeout=120, env=environment)
            told += [done.stderr] if done.returncode == 1 else []
        self.assertTrue(told)
        for error in told:
            self.assertRegex(error, "ARG-(CHECK-00[12]|TRAIN-003)")
        self.assertTrue(any("ARG-CHECK" in error for error in told), told)


class OtherBits(unittest.TestCase):
    def why(self, *args):
        return run(*args, "--no-verdict", "--seed", "3")["other_bits"]

    def test_promised_means_equal_losses(self):
        # An epoch of 10,000 examples ends with a batch of 16: it is not reached here.
        runs = [run(*MLP, "--steps", "10", "--batch", "64", "--emulate", n) for n in ("1", "2", "4")]
        self.assertEqual([r["other_bits"] for r in runs], [None] * 3)

    def test_what_is_not_promised_says_why(self):
        mlp = ["mlp", "--image-size", "16", "--width", "32", "--steps", "3"]
        self.assertIn("a batch of 16 has fewer than 24", self.why(*mlp, "--batch", "16", "--emulate", "2"))
        self.assertIn("a batch of 600 has more than 512", self.why(*mlp, "--batch", "600", "--emulate", "2"))
        self.assertIn("3 devices", self.why(*mlp, "--batch", "64", "--emulate", "3"))
        self.assertIn("fp64", self.why(*mlp, "--batch", "64", "--emulate", "2", "--precision", "fp64"))
        self.assertIn("transformer", self.why("transformer", "--layers", "1", "--steps", "2", "--emulate", "2"))
        self.assertIsNone(self.why(*mlp, "--batch", "16", "--emulate", "2", "--reproducible"))
        self.assertIsNone(self.why(*mlp, "--batch", "16", "--emulate", "1"))
        long = ["mlp", "--image-size", "8", "--width", "8", "--epochs", "1", "--batch", "64", "--emulate", "2"]
        self.assertIn("last batch, of 16", self.why(*long))

    def test_it_is_said_where_people_read(self):
        done = subprocess.run([PROGRAM, "train", *MLP, "--steps", "3", "--batch", "16", "--emulate", "2"],
                              capture_output=True, text=True, timeout=120)
        self.assertIn("--reproducible makes them equal", done.stderr)
        done = subprocess.run([PROGRAM, "train", *MLP, "--steps", "2", "--batch", "64", "--emulate", "8", "--strategy",
                               "dp,accumulate=2"], capture_output=True, text=True, timeout=120)
        self.assertIn("--reproducible --shards 16 makes them equal", done.stderr)

    def test_shards_alone_are_refused(self):
        done = subprocess.run([PROGRAM, "train", *MLP, "--shards", "16"], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2)
        self.assertIn("add --reproducible", done.stderr)


class Check(unittest.TestCase):
    def test_the_first_steps_are_one_devices(self):
        for devices in ("2", "4"):
            for model in (MLP, ["lenet", "--image-size", "16", "--no-verdict"], ["transformer", "--layers", "1", "--no-verdict"]):
                done = run(*model, "--steps", "6", "--batch", "37", "--emulate", devices, "--check")
                self.assertEqual((done["checked_steps"], done["not_checked"]), (3, None), model[0])
        for precision in ("bf16", "fp64"):
            done = run(*MLP, "--steps", "4", "--batch", "37", "--emulate", "2", "--check", "4", "--precision", precision)
            self.assertEqual(done["checked_steps"], 4)
        resnet = ["resnet", "--image-size", "16", "--batch", "8", "--steps", "3", "--no-verdict", "--emulate", "2", "--check"]
        shares = run(*resnet)
        self.assertEqual(shares["checked_steps"], 0)
        self.assertIn("--sync-batch-norm", shares["not_checked"])
        # In float32 a ReLU may flip by rounding, and so may what twenty layers make of it.
        self.assertEqual(run(*resnet, "--sync-batch-norm", "--precision", "fp64")["checked_steps"], 3)
        one = run(*MLP, "--steps", "2", "--emulate", "1", "--check")
        self.assertEqual(one["checked_steps"], 0)
        self.assertIn("there is one device", one["not_checked"])

    def test_a_loss_combines_as_the_graph_says(self):
        done = run(*MLP, "--steps", "2", "--batch", "37", "--emulate", "2", "--combine", "sum", code=2)
        error = json.loads(done.stdout)["error"]
        self.assertEqual(error["id"], "ARG-DP-002")
        self.assertRegex(error["message"], r"the loss '.*' is a mean over the batch, and is to be combined as a sum")
        run(*MLP, "--steps", "2", "--batch", "37", "--emulate", "2", "--combine", "mean")

    def test_a_wrong_bit_is_told(self):
        told = 0
        for at in range(5, 80, 5):
            environment = dict(os.environ, ARGOSY_FAULTS=f"gpu:1:flip={at}")
            done = subprocess.run([PROGRAM, "train", *MLP, "--steps", "3", "--batch", "37", "--emulate", "2", "--check",
                                   "--check-replicas", "0", "--json"], capture_output=True, text=True, timeout=120, env=environment)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if done.returncode == 1:
                self.assertEqual(json.loads(done.stdout)["error"]["id"], "ARG-CHECK-001")
                told += 1
        self.assertGreaterEqual(told, 3)


class Verdict(unittest.TestCase):
    def test_a_speedup_is_measured_or_told_why_not(self):
        model = [flag for flag in MLP if flag != "--no-verdict"]
        verdict = run(*model, "--steps", "10", "--batch", "64", "--emulate", "2")["verdict"]
        self.assertEqual(verdict["speedup"] is None, verdict["not_measured"] is not None)
        if verdict["speedup"] is None:
            self.assertIsNone(verdict["advice"])
        else:
            self.assertLessEqual(verdict["in_turn"]["speedup"]["low"], verdict["speedup"])
            self.assertLess(verdict["efficiency"], 1.4)
        self.assertGreaterEqual(verdict["in_turn"]["rounds"], 3)
        off = run(*MLP, "--steps", "10", "--batch", "64", "--emulate", "2")["verdict"]
        self.assertIsNone(off["speedup"])
        self.assertRegex(off["not_measured"], "--no-verdict|other programs took")

    def test_a_speedup_beside_a_busy_program_is_not_told(self):
        # As many as there are cores, and they never wait.
        busy = [subprocess.Popen(["python3", "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
        try:
            model = [flag for flag in MLP if flag != "--no-verdict"]
            verdict = run(*model, "--steps", "200", "--batch", "256", "--emulate", "2")["verdict"]
        finally:
            for process in busy:
                process.kill()
                process.wait()
        if verdict["not_measured"] is not None:  # the kernel tells who waits
            self.assertIsNone(verdict["speedup"])
            self.assertIsNone(verdict["advice"])


class Precision(unittest.TestCase):
    def test_every_model_in_every_precision(self):
        with tempfile.TemporaryDirectory() as folder:
            models = [
                AUTOENCODER + ["--picture", os.path.join(folder, "p.png")],
                MLP,
                ["lenet", "--image-size", "16"],
                ["resnet", "--image-size", "16"],
                ["transformer", "--layers", "1", "--width", "16"],
                ["ensemble", "--image-size", "16", "--width", "8", "--members", "2"],
            ]
            for model in models:
                for precision in ("fp32", "bf16", "fp64"):
                    with self.subTest(model=model[0], precision=precision):
                        steps = ["--steps", "2", "--batch", "4", "--emulate", "2", "--precision", precision]
                        done = run(*model, *steps)
                        for key in ("model", "devices", "losses", "samples_per_second", "test_accuracy", "peak_bytes",
                                    "planned_bytes", "verdict", "checkpoint"):
                            self.assertIn(key, done)
                        self.assertEqual(done["steps"], 2)
                        self.assertEqual(len(done["losses"]), 2)

    def test_every_precision_begins_near_the_same_loss(self):
        for model in (MLP, ["resnet", "--image-size", "16", "--lr", "0.001"]):
            first = {}
            for precision in ("fp32", "bf16", "fp64"):
                # float64 draws initial values of its own.
                first[precision] = run(*model, "--steps", "1", "--batch", "64", "--emulate", "1", "--precision",
                                       precision)["losses"][0]
            self.assertAlmostEqual(first["fp32"], first["bf16"], delta=0.02 * first["fp32"], msg=model[0])
            self.assertAlmostEqual(first["fp32"], first["fp64"], delta=0.5 * first["fp32"], msg=model[0])


class Resume(unittest.TestCase):
    def test_killed_run_goes_on_where_its_checkpoint_was(self):
        steps = ["--steps", "60", "--batch", "37", "--reproducible"]
        whole = run(*MLP, *steps, "--emulate", "2")["losses"]
        with tempfile.TemporaryDirectory() as folder:
            save = ["--checkpoint-dir", folder, "--checkpoint-every", "5"]
            for attempt in range(3):
                resume = ["--resume"] if any(f.endswith(".index") for f in os.listdir(folder)) else []
                process = subprocess.Popen([PROGRAM, "train", *MLP, *steps, *save, *resume, "--emulate", "2"],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(0.05 + 0.1 * attempt)
                process.send_signal(signal.SIGKILL)
                process.wait()
            resume = ["--resume"] if any(f.endswith(".index") for f in os.listdir(folder)) else []
            rest = run(*MLP, *steps, *save, *resume, "--emulate", "1")
        self.assertEqual(rest["steps"], 60)
        self.assertEqual(rest["losses"], whole[rest["first_step"]:])

    def test_warns_where_the_learning_rate_is_not_what_it_was(self):
        def warning(folder, steps, schedule):
            done = subprocess.run([PROGRAM, "train", *MLP, "--checkpoint-dir", folder, "--resume", "--batch", "37",
                                   "--steps", str(steps), "--schedule", schedule], capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            return "the learning rate after step 10 is" in done.stderr
        for schedule, warned in (("constant", False), ("cosine", True)):
            with self.subTest(schedule), tempfile.TemporaryDirectory() as folder:
                self.assertFalse(warning(folder, 10, schedule))
                self.assertFalse(warning(folder, 10, schedule))
                self.assertEqual(warning(folder, 20, schedule), warned)

    def test_killed_on_any_number_of_devices_it_ends_with_the_same_variables(self):
        steps = ["--steps", "60", "--batch", "37"]
        with tempfile.TemporaryDirectory() as folder:
            whole, torn = os.path.join(folder, "whole"), os.path.join(folder, "torn")
            expected = run(*MLP, *steps, "--emulate", "2", "--checkpoint-dir", whole)["checkpoint"]
            save = ["--checkpoint-dir", torn, "--checkpoint-every", "5"]
            saved = lambda: os.path.isdir(torn) and any(f.endswith(".index") for f in os.listdir(torn))
            for devices in ("1", "4", "8"):
                resume = ["--resume"] if saved() else []
                process = subprocess.Popen([PROGRAM, "train", *MLP, *steps, *save, *resume, "--emulate", devices],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(0.15)
                process.send_signal(signal.SIGKILL)
                process.wait()
            got = run(*MLP, *steps, *save, *(["--resume"] if saved() else []), "--emulate", "4")["checkpoint"]
            diff = subprocess.run([PROGRAM, "ckpt", "diff", expected, got], capture_output=True, text=True, timeout=60)
        self.assertEqual((diff.returncode, diff.stdout), (0, ""), diff.stderr)


class ResumeInLittleMemory(unittest.TestCase):
    """What fits a cap can be resumed under it: values are restored without holding all of them twice."""

    def test_a_run_that_fits_goes_on(self):
        for flags in (["--emulate", "gpu:15MiB,gpu:15MiB"],
                      ["--emulate", "gpu:12MiB,gpu:12MiB", "--strategy", "dp,zero=1"],
                      ["--emulate", "gpu:10MiB,gpu:10MiB", "--optimizer", "sgd"]):
            with self.subTest(flags), tempfile.TemporaryDirectory() as folder:
                words = ["mlp", "--no-verdict", "--schedule", "constant", "--checkpoint-dir", folder, *flags]
                whole = run("mlp", "--no-verdict", "--schedule", "constant", "--steps", "4", *flags)
                run(*words, "--steps", "2")
                rest = run(*words, "--steps", "4", "--resume")
                self.assertEqual(rest["first_step"], 2)
                self.assertEqual(rest["losses"], whole["losses"][2:])
                self.assertGreater(rest["samples_per_second"], 0)  # of few steps, too
                for device, peak in rest["peak_bytes"].items():
                    if device.startswith("gpu"):
                        self.assertLessEqual(peak, rest["planned_bytes"][device], device)


class TypedValuesCount(unittest.TestCase):
    def test_a_learning_rate_of_0_trains_nothing(self):
        still = [run(*MLP, "--lr", "0", "--steps", steps)["evaluation"] for steps in ("1", "20")]
        self.assertEqual(still[0], still[1])
        self.assertNotEqual(run(*MLP, "--steps", "20")["evaluation"], still[0])

    def test_a_run_of_few_steps_has_a_speed(self):
        for steps in ("1", "2", "5"):
            self.assertGreater(run(*MLP, "--steps", steps)["samples_per_second"], 0, steps)
        ensemble = ["ensemble", "--image-size", "8", "--width", "8", "--members", "2", "--emulate", "2", "--batch", "8"]
        self.assertGreater(run(*ensemble, "--steps", "1")["samples_per_second"], 0)


class ExitCodes(unittest.TestCase):
    def started(self, *args):
        """A long run, once it trains."""
        process = subprocess.Popen([PROGRAM, "train", *args, "--steps", "10000000"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if line.startswith("train") or line.startswith("ensemble"):  # the first line of progress
                return process
        raise AssertionError(f"{args}: ended with {process.wait()}")

    def test_an_interrupted_ensemble_ends_as_other_models_do(self):
        words = ["--image-size", "8", "--width", "8", "--batch", "8", "--emulate", "2"]
        for model in (["mlp"], ["ensemble", "--members", "2"]):
            for number in (signal.SIGINT, signal.SIGTERM)[:2 if model[0] == "ensemble" else 1]:
                process = self.started(*model, *words)
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 128 + number, f"{model}\n{out}\n{err}")
                self.assertNotIn("ARG-CANCEL", err)

    def test_a_folder_in_use_is_no_failed_computation(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["mlp", "--image-size", "8", "--width", "8", "--batch", "8", "--emulate", "1", "--checkpoint-dir", folder]
            process = self.started(*words)
            try:
                error = json.loads(run(*words, "--steps", "1", code=3).stdout)["error"]
            finally:
                process.kill()
                process.communicate()
            self.assertEqual(error["id"], "ARG-CKPT-012")
            self.assertIn("a checkpoint folder of its own", error["next"])


class ImageFiles(unittest.TestCase):
    """Image files have no common size: what they are resized to is said."""

    def png(self, path, width, height):
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        rows = b"".join(b"\0" + bytes((x * 7 + y * 3) % 256 for x in range(3 * width)) for y in range(height))
        with open(path, "wb") as out:
            out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                      + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

    def test_a_resized_image_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            for k, name in enumerate(("a", "b")):
                os.makedirs(f"{folder}/{name}")
                for i in range(4):
                    self.png(f"{folder}/{name}/{i}.png", 40 + k, 32)
            flags = ["--data", folder, "--batch", "4", "--steps", "1", "--no-verdict", "--emulate", "1"]
            picture = ["--picture", f"{folder}/p.png", "--width", "2"]
            for model, size in ((["mlp", "--width", "8"], 28), (["lenet"], 28), (["autoencoder", *picture], 64)):
                told = f"images are resized to {size} x {size} pixels (--image-size)"
                self.assertIn(told, run(*model, *flags)["data"], model[0])
                self.assertNotIn("resized", run(*model, *flags, "--image-size", "16")["data"], model[0])
                words = subprocess.run([PROGRAM, "train", *model, *flags], capture_output=True, text=True, timeout=120)
                self.assertIn(told, words.stderr)
            ensemble = ["ensemble", "--members", "2", "--width", "8"]
            told = run(*ensemble, *[f for f in flags if f != "--no-verdict"])["data"]
            self.assertIn("resized to 28 x 28", told)
        self.assertNotIn("resized", run(*MLP, "--steps", "1")["data"])


class Arrays(unittest.TestCase):
    def write(self, folder, name, kind, shape, raw):
        header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        with open(os.path.join(folder, name), "wb") as out:
            out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + raw)

    def test_what_the_hints_say_to_name_files_trains(self):
        train = ["mlp", "--width", "8", "--steps", "2", "--batch", "4", "--no-verdict"]
        images, labels = ((8, 4, 4, 1), bytes(8 * 16 * 4)), ((8,), b"".join(i.to_bytes(4, "little") for i in range(8)))
        with tempfile.TemporaryDirectory() as folder:
            self.write(folder, "x_train.npy", "<f4", (8, 4, 4), images[1])
            self.write(folder, "y_train.npy", "<i4", *labels)
            self.assertIn("numpy.save('image_train.npy'", run(*train, "--data", folder, code=2).stderr)
            self.write(folder, "x_train.npy", "<f4", *images)
            self.assertIn("the file image_train.npy", run(*train, "--data", folder, code=2).stderr)
            os.rename(f"{folder}/x_train.npy", f"{folder}/image_train.npy")
            self.assertIn("the file label_train.npy", run(*train, "--data", folder, code=2).stderr)
            os.rename(f"{folder}/y_train.npy", f"{folder}/label_train.npy")
            self.assertEqual(len(run(*train, "--data", folder)["losses"]), 2)


class Memory(unittest.TestCase):
    def test_model_above_its_cap_is_refused_with_the_batch_that_fits(self):
        refused = run(*AUTOENCODER, "--steps", "2", "--batch", "4096", "--emulate", "gpu:8MiB", code=4)
        self.assertIn("--batch", refused.stderr)

    def test_the_forecast_is_what_a_run_takes(self):
        lenet = ["lenet", "--data", "synthetic", "--image-size", "28", "--batch", "128", "--optimizer", "sgd"]
        with tempfile.TemporaryDirectory() as folder:
            encoder = ["autoencoder", "--picture", os.path.join(folder, "p.png")]
            for model, devices in ((lenet, "1"), (lenet, "2"), (encoder, "1"), (encoder, "2")):
                told = run(*model, "--no-verdict", "--steps", "3", "--emulate", devices)
                for device, planned in told["planned_bytes"].items():
                    if device.startswith("gpu"):
                        message = f"{model[0]} on {devices}, {device}"
                        self.assertLessEqual(told["peak_bytes"][device], 1.1 * planned, msg=message)
                        self.assertGreaterEqual(told["peak_bytes"][device], 0.9 * planned, msg=message)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    PROGRAM = parser.parse_args().program
    unittest.main(argv=["train_test"])
