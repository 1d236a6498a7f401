"""Unmodified TensorFlow 1.x scripts under `argosy run`: the same results, signals and exit codes as without it.

    run_scripts.py ARGOSY
"""
import functools
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from called_python import PY_FUNC, TRAINED
from ending_scripts import ENDS, SLEEPS
from keras_datasets import KERAS_ON_DATASETS
from late_reads import LATE_READS
from lent_feeds import LENT_FEEDS
from plain_scripts import DEVICES, KERAS_ERA, SOFTMAX
from replicated_attention import ATTENTION, OPEN_LENGTHS
from replicated_batches import FIXED_SIZE, IN_COLUMNS, SIZE_FED
from replicated_decoders import CTC, DRAWN_INSIDE, FUNCTIONS, OPEN_LSTM, SEQ2SEQ
from replicated_functional import RANDOM, FINITE, HIDDEN, functional, trained_in_functions
from replicated_examples import BESIDE_OTHERS, CONDITIONAL, FETCHED, GRADIENTS_OF_ALL, KEPT, OF_STATISTICS, OF_SUMS, OF_TRAINED, OF_UNTRAINED, TAKEN
from replicated_loops import (ADVERSARIAL, DYNAMIC_RNN, FIXED_LOOP, LOOP, OVER_EXAMPLES, SLICED, TRAINED_NOW_AND_THEN,
                              UNROLLED)
from replicated_norms import MIRRORED, NORMALISED, SYNCED
from replicated_rules import RULES
from replicated_scripts import (BESIDE, CANDIDATES, CHECKED, COLUMNS, DATASET, EMBEDDING, NOISE, NOISE_ALONE,
                                NOISY_WEIGHTS, ONE_GPU, OTHER_WRITERS, QUEUE, ROOTS, ROW_BY_ROW, TERMS,
                                TIME_MAJOR, TWO_LOSSES, UNGATED)

ARGOSY = ""
# Whose TensorFlow runs the scripts: this Python's, or one of 1.x, which may be a Python 2.7 (ARGOSY_TF1_PYTHON).
PYTHON = os.environ.get("ARGOSY_TF1_PYTHON", sys.executable)
QUIET = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")


class RunTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def script(self, text):
        path = self.folder / "script.py"
        path.write_text("from __future__ import print_function\n" + text)
        return [PYTHON, str(path)]

    def run_argosy(self, text, *arguments, flags=("--emulate", "2"), env=None):
        return subprocess.run([ARGOSY, "run", *flags, "--", *self.script(text), *arguments], capture_output=True, text=True,
                              timeout=120, env={**QUIET, **(env or {})})

    def test_a_script_gives_what_it_gives_in_tensorflow(self):
        ours = self.run_argosy(SOFTMAX)
        self.assertEqual(ours.returncode, 0, ours.stderr)
        theirs = self.in_tensorflow(SOFTMAX)
        self.assertEqual(ours.stdout, theirs.stdout, ours.stderr)
        self.assertIn("loss", ours.stdout)
        self.assertRegex(ours.stderr, r"ran  2 sessions, 31 steps, 1 that failed")
        self.assertRegex(ours.stderr, r"gpu:0 \d+ %")

    def test_a_script_copies_into_huge_pages_unless_it_was_told_otherwise(self):
        show = "import os\nprint(os.environ.get('GLIBC_TUNABLES'))"
        for given, expected in ((None, "glibc.malloc.hugetlb=1"),
                                ("glibc.malloc.arena_max=2", "glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1"),
                                ("glibc.malloc.hugetlb=0", "glibc.malloc.hugetlb=0")):
            environment = {k: v for k, v in QUIET.items() if k != "GLIBC_TUNABLES"}
            if given is not None:
                environment["GLIBC_TUNABLES"] = given
            shown = subprocess.run([ARGOSY, "run", "--emulate", "1", "--", *self.script(show)], capture_output=True,
                                   text=True, timeout=120, env=environment)
            self.assertEqual(shown.stdout, expected + "\n", shown.stderr)

    def in_tensorflow(self, text):
        plain = text.replace("import tensorflow as tf", "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()")
        return subprocess.run(self.script(plain), capture_output=True, text=True, timeout=120, env=QUIET)

    def assert_same_numbers(self, ours, theirs, tolerance=2e-5):
        self.assertEqual(ours.returncode, 0, ours.stderr)
        self.assertEqual(theirs.returncode, 0, theirs.stderr)
        mine, wanted = ([float(word) for word in text.stdout.split()] for text in (ours, theirs))
        self.assertEqual(len(mine), len(wanted), ours.stdout)
        self.assertGreater(len(mine), 0)
        for i, (one, other) in enumerate(zip(mine, wanted)):
            self.assertLessEqual(abs(one - other), tolerance * max(1, abs(other)), f"number {i}: {one}, TensorFlow {other}")

    def assert_replicated(self, text, gpus, told, tolerance=2e-5, flags=()):
        ours = self.run_argosy(text, flags=("--emulate", str(gpus), "--replicate", "--strategy", "dp", *flags))
        self.told = ours.stderr
        self.assert_same_numbers(ours, self.in_tensorflow(text), tolerance)
        # What is gathered on the way is not of interest here; who asks finds it in `told`.
        self.assertRegex(ours.stderr, told.replace(" devices, ", " devices, (?:by sharding rules, )?"))
        self.assertNotIn("not replicated", ours.stderr)

    def test_graphs_call_the_scripts_python(self):
        eager = ("False", "True") if PYTHON == sys.executable else ("False",)  # not every 1.x has py_function
        for script in (PY_FUNC, *(TRAINED.replace("EAGER", e) for e in eager)):
            self.assert_same_numbers(self.run_argosy(script), self.in_tensorflow(script))

    def test_large_feeds_are_lent_and_give_what_they_give_in_tensorflow(self):
        for python in sorted({PYTHON, sys.executable}):
            with self.subTest(python), unittest.mock.patch.object(sys.modules[__name__], "PYTHON", python):
                theirs = self.in_tensorflow("LENT = False\n" + LENT_FEEDS)
                for off in ("1", "0"):
                    ours = self.run_argosy(f"LENT = {off == '1'}\n" + LENT_FEEDS, env={"ARGOSY_LENT_FEEDS": off})
                    self.assert_same_numbers(ours, theirs)

    def test_variables_are_read_after_their_updates_in_branches_and_loops(self):
        self.assert_same_numbers(self.run_argosy(LATE_READS), self.in_tensorflow(LATE_READS))

    def test_keras_fits_evaluates_and_predicts_on_datasets(self):
        if PYTHON == sys.executable and importlib.util.find_spec("tf_keras") is None:
            self.skipTest("Keras in graph mode needs the package tf_keras")
        with unittest.mock.patch.dict(QUIET, TF_USE_LEGACY_KERAS="1"):
            theirs = self.in_tensorflow(KERAS_ON_DATASETS)
            for flags in (("--emulate", "2"), ("--emulate", "2", "--replicate", "--strategy", "dp")):
                with self.subTest(flags):
                    self.assert_same_numbers(self.run_argosy(KERAS_ON_DATASETS, flags=flags), theirs)

    def test_thread_pools_of_a_session_are_no_matter(self):
        script = """
import tensorflow as tf
pools = tf.ConfigProto()
pools.session_inter_op_thread_pool.add().num_threads = 2
for config in (tf.ConfigProto(use_per_session_threads=True), pools):
    with tf.Session(config=config) as session:
        print(session.run(tf.constant(2.0) * 3, options=tf.RunOptions(inter_op_thread_pool=0)))
"""
        self.assert_same_numbers(self.run_argosy(script), self.in_tensorflow(script))

    def test_batches_of_a_generator_are_sharded(self):
        self.assert_replicated(TRAINED.replace("cube(tf.matmul", "tf.nn.relu(tf.matmul").replace("EAGER", "False"), 3, r"replicated  8 steps: 3 devices")

    def test_a_script_for_one_gpu_is_replicated(self):
        for gpus in (2, 3):
            self.assert_replicated(ONE_GPU, gpus, rf"replicated  23 steps: {gpus} devices, loss: a mean over the batch, 3 sums")

    def test_rows_of_embeddings_are_replicated(self):
        for optimizer in ("GradientDescentOptimizer(0.5)", "AdagradOptimizer(0.5)", "AdamOptimizer(0.1)",
                          "MomentumOptimizer(0.2, 0.9)", "RMSPropOptimizer(0.1)"):
            with self.subTest(optimizer):
                self.assert_replicated(EMBEDDING.replace("OPTIMIZER", optimizer), 3,
                                       r"replicated  5 steps: .* sums? in .*, rows of \d tensors? joined", 1e-4)

    def test_moving_averages_of_conditional_branches_are_replicated(self):
        # The variance of 16 samples is scaled by 1024 / 1023, that of 32 by 2048 / 2047.
        self.assert_replicated(NORMALISED, 2, r"replicated  8 steps: 2 devices, loss: a mean over the batch", 1e-3)

    def test_steps_of_two_losses_are_replicated(self):
        self.assert_replicated(TWO_LOSSES, 3,
                               r"replicated  4 steps: 3 devices, 2 losses: a mean over the batch, a sum over the batch")

    def test_losses_of_several_terms_are_replicated(self):
        self.assert_replicated(TERMS, 3, r"replicated  5 steps: 3 devices, loss: a sum over the batch, 4 sums")

    def test_terms_of_a_loss_may_share_where_their_gradients_start(self):
        for term in ("0.1 * tf.nn.l2_loss(w)", "2. * tf.reduce_mean(tf.abs(each))"):
            self.assert_replicated(UNGATED.replace("OTHER", term), 2, r"replicated  3 steps: 2 devices")
        apart = UNGATED.replace("OTHER", "0.1 * tf.reduce_sum(tf.abs(each))")
        self.assert_replicated(apart, 2, r"replicated  3 steps: 2 devices, 2 losses: a mean over the batch, a sum over the batch")
        gated = apart.replace("tf.gradients(loss, w)", "tf.gradients(loss, w, gate_gradients=True)")
        self.assert_replicated(gated, 2, r"replicated  3 steps: 2 devices, loss: a sum over the batch")

    def test_losses_made_of_sums_are_replicated(self):
        self.assert_replicated(ROOTS, 3, r"replicated  20 steps: 3 devices, loss: made of sums over the batch")

    def test_batches_of_a_dataset_are_sharded(self):
        self.assert_replicated(DATASET, 3, r"replicated  7 steps: 3 devices", 1e-6)

    def test_what_functions_and_partial_runs_write_reaches_every_gpu(self):
        self.assert_replicated(OTHER_WRITERS, 3, r"replicated  3 steps: 3 devices")

    def test_batches_of_a_queue_are_sharded(self):
        self.assert_replicated(QUEUE, 3, r"replicated  3 steps: 3 devices", 1e-6)

    def test_steps_that_check_their_numbers_are_replicated(self):
        for gpus in (2, 3):
            self.assert_replicated(CHECKED, gpus, rf"replicated  8 steps: {gpus} devices")

    def test_what_a_step_does_outside_training_is_of_the_global_batch(self):
        for gpus in (2, 3):
            self.assert_replicated(BESIDE, gpus, rf"replicated  4 steps: {gpus} devices, loss: a (sum|weighted mean) over the batch")

    def test_rules_written_by_hand_take_the_global_batchs_gradients_summed_once(self):
        for gpus in (2, 3):
            self.assert_replicated(RULES, gpus, rf"replicated  20 steps: {gpus} devices, loss: a mean over the batch, "
                                                r"3 sums in 1 all-reduce \(896 B\)")

    def test_words_of_feature_columns_are_looked_up_by_shards(self):
        for gpus, resource in ((2, "True"), (3, "True"), (3, "False")):
            self.assert_replicated(COLUMNS.replace("RESOURCE", resource), gpus, rf"replicated  4 steps: {gpus} devices")

    def test_batches_of_a_fixed_size_are_sharded(self):
        for gpus in (2, 3):
            self.assert_replicated(FIXED_SIZE, gpus, rf"replicated  8 steps: {gpus} devices, loss: a mean over the batch")
            summed = FIXED_SIZE.replace("= tf.reduce_mean(each)", "= 0.1 * tf.reduce_mean(tf.reduce_sum(tf.square(logits), 1))")
            self.assert_replicated(summed, gpus, rf"replicated  8 steps: {gpus} devices, loss: a mean over the batch")
            self.assert_replicated(UNROLLED, gpus, rf"replicated  8 steps: {gpus} devices, loss: a sum over the batch")
        many = QUEUE.replace("dequeue_up_to", "dequeue_many").replace("data.rand(20", "data.rand(24")
        self.assert_replicated(many, 3, r"replicated  3 steps: 3 devices", 1e-6)

    def test_gradients_come_out_of_loops(self):
        for gpus in (2, 3):
            told = rf"replicated  5 steps: {gpus} devices, loss: a mean over the batch"
            self.assert_replicated(LOOP, gpus, told + ", [45] sums")
            self.assert_replicated(DYNAMIC_RNN, gpus, told)
            self.assert_replicated(SLICED, gpus, told)
            self.assert_replicated(FIXED_LOOP, gpus, rf"replicated  8 steps: {gpus} devices, loss: a sum over the batch, 3 sums")

    def test_loops_over_the_examples_gather_them(self):
        self.assert_replicated(OVER_EXAMPLES, 2, r"replicated  3 steps: 2 devices, by sharding rules, loss: .* 3 values gathered")

    def test_networks_over_batches_of_any_size_are_sharded(self):
        for gpus in (2, 3, 4):
            self.assert_replicated(OPEN_LSTM, gpus, rf"replicated  12 steps: {gpus} devices, loss: a mean over the batch")
            self.assert_replicated(DRAWN_INSIDE, gpus, rf"replicated  5 steps: {gpus} devices, loss: a mean over the batch")

    def test_attention_decoders_are_sharded(self):
        contrib = subprocess.run([PYTHON, "-c", "import tensorflow.contrib"], capture_output=True, timeout=120, env=QUIET)
        if contrib.returncode != 0:
            self.skipTest("tf.contrib is of 1.x: set ARGOSY_TF1_PYTHON")
        for kind in ("plain", "luong", "bahdanau"):
            for gpus in (2, 3, 4):
                self.assert_replicated(SEQ2SEQ.replace("KIND", kind), gpus, rf"replicated  5 steps: {gpus} devices, by sharding rules")

    def test_branches_loops_and_layers_that_are_functions_are_sharded(self):
        for name, (body, gathered) in HIDDEN.items():
            with self.subTest(name):
                self.assert_replicated(functional(body), 3, r"replicated  4 steps: 3 devices, loss: (a mean|made of sums) over the")
                if gathered == 0:
                    self.assertNotIn("gathered", self.told)
        for name in ("dropout in a layer", "a recurrent loop", "arrays of steps"):
            with self.subTest(name + ", a batch of one size"):
                text = functional(HIDDEN[name][0], rows=12, batches=(12, 12, 12))
                self.assert_replicated(text, 3, r"replicated  3 steps: 3 devices, loss: a mean over the batch")
        self.assert_replicated(FINITE, 3, r"replicated  4 steps: 3 devices, loss: a mean over the batch")

    def test_gradients_come_out_of_functions(self):
        for name, gpus, script in trained_in_functions():
            with self.subTest(f"{name}, {gpus} GPUs"):
                self.assert_replicated(script, gpus, rf"replicated  4 steps: {gpus} devices, \d sums")
                self.assertNotIn("gathered", self.told)

    def test_draws_left_to_chance_are_sharded(self):
        ours = self.run_argosy(RANDOM, flags=("--emulate", "3", "--replicate", "--strategy", "dp", "--check"))
        self.assertEqual(ours.returncode, 0, ours.stderr)
        self.assertRegex(ours.stderr, r"replicated  3 steps: 3 devices, loss: a mean over the batch")
        self.assertRegex(ours.stderr, r"checked  3 steps: as on one device")

    def test_feeds_of_other_rows_and_functions_are_sharded(self):
        for gpus in (2, 3, 4):
            for script in (CTC, FUNCTIONS):
                self.assert_replicated(script, gpus, rf"replicated  5 steps: {gpus} devices, ")

    def test_sums_may_stand_between_loops(self):
        head, tail = DYNAMIC_RNN.split("loss = ")
        rest = tail[tail.index("\n"):]
        for loss in ("tf.losses.compute_weighted_loss(each, tf.cast(lengths, tf.float32))",
                     "tf.losses.sparse_softmax_cross_entropy(targets, tf.matmul(last, out))"):
            for gpus in (2, 4):
                told = rf"replicated  5 steps: {gpus} devices, loss: a weighted mean over the batch"
                self.assert_replicated(head + "loss = " + loss + rest, gpus, told, 1e-4)

    def test_what_is_drawn_for_all_goes_on_in_every_step(self):
        ours = self.run_argosy(NOISE, flags=("--emulate", "3", "--replicate"))
        self.assert_same_numbers(ours, self.in_tensorflow(NOISE))
        self.assertRegex(ours.stderr, r"replicated  6 steps: 3 devices")
        self.assertIn("not replicated: the loss 'Mean_2' does not depend on the batch", ours.stderr)

    def test_noise_is_a_batch_where_nothing_is_fed(self):
        self.assert_replicated(NOISE_ALONE, 3, r"replicated  18 steps: 3 devices")
        self.assert_replicated(NOISY_WEIGHTS, 2, r"replicated  \d+ steps: 2 devices")  # by rules

    def test_losses_made_of_several_sums_take_the_global_batchs(self):
        for gpus in (2, 3):
            self.assert_replicated(OF_SUMS, gpus, r"replicated  9 steps: \d devices, loss: (made of sums|a weighted mean) over the batch")

    def test_stats_of_the_batch_that_are_not_trained_are_the_global_batchs(self):
        for gpus in (2, 3):
            self.assert_replicated(OF_UNTRAINED, gpus, r"replicated  21 steps: \d devices, loss: a")

    def test_stats_that_are_trained_through_are_the_global_batchs(self):
        for gpus in (2, 3):
            self.assert_replicated(OF_TRAINED, gpus, r"replicated  36 steps: \d devices, loss: a")

    def test_numbers_of_the_batch_in_gradients_by_hand_are_the_global_batchs(self):
        for gpus in (2, 3):
            self.assert_replicated(GRADIENTS_OF_ALL, gpus, r"replicated  48 steps: \d devices, (2 losses|loss): a")

    def test_statistics_of_a_shard_have_gradients_of_their_own(self):
        script = str(pathlib.Path(__file__).parent.parent / "replicated" / "own_statistics.py")
        run = functools.partial(subprocess.run, capture_output=True, text=True, timeout=120, env=QUIET)
        for gpus in ("2", "3"):
            ours = run([ARGOSY, "run", "--emulate", gpus, "--replicate", "--strategy", "dp", "--", PYTHON, script, "1"])
            self.assert_same_numbers(ours, run([PYTHON, script, gpus]), 1e-7)
            # Their gradients are no values to sum over devices.
            self.assertRegex(ours.stderr, r"replicated  48 steps: . devices, loss: a mean over the batch, 4 sums in 1 all-reduce")

    def test_rows_are_taken_from_a_shards_own_examples(self):
        self.assert_replicated(TAKEN, 3, r"replicated  15 steps: 3 devices, loss: a mean over the batch")

    def test_lengths_may_be_open_where_the_batch_is_of_one_size(self):
        self.assert_replicated(OPEN_LENGTHS, 3, r"replicated  8 steps: 3 devices, loss: a")

    def test_the_size_of_the_batch_may_be_fed_as_a_number(self):
        for gpus in (2, 3):
            self.assert_replicated(SIZE_FED, gpus, r"replicated  12 steps: \d devices, loss: a")

    def test_examples_may_lie_in_columns(self):
        for gpus in (2, 3):
            self.assert_replicated(IN_COLUMNS, gpus, r"replicated  6 steps: \d devices, loss: a mean over the batch")

    def test_candidates_are_drawn_for_the_global_batch(self):
        self.assert_replicated(CANDIDATES, 2, r"replicated  6 steps: 2 devices, loss: a mean over the batch")

    def test_variables_outside_training_keep_what_the_global_batch_has(self):
        for gpus in (2, 3):
            self.assert_replicated(KEPT, gpus, r"replicated  3 steps: \d devices")

    def test_a_step_that_ends_with_a_conditional_trains_every_mirror(self):
        for gpus in (2, 3):
            self.assert_replicated(CONDITIONAL, gpus, r"replicated  4 steps: \d devices")

    def test_examples_compared_with_examples_are_replicated_by_rules(self):
        ours = self.run_argosy(BESIDE_OTHERS, flags=("--emulate", "2", "--replicate", "--strategy", "dp"))
        self.assert_same_numbers(ours, self.in_tensorflow(BESIDE_OTHERS))
        self.assertRegex(ours.stderr, r"replicated  39 steps: 2 devices, by sharding rules")

    def test_statistics_of_shards_are_constants_to_their_gradients(self):
        self.assert_replicated(OF_STATISTICS, 2, r"replicated  6 steps: 2 devices, loss: a mean over the batch")

    def test_synchronised_batch_norm_is_that_of_the_global_batch(self):
        # 20 steps amplify rounding: TensorFlow with and without oneDNN parts by 1.2e-5.
        for gpus in (2, 3):
            self.assert_replicated(SYNCED, gpus, r"replicated  20 steps: \d devices, loss: a mean over the batch",
                                   tolerance=5e-5, flags=("--sync-batch-norm",))

    def test_heads_behind_each_other_drop_what_one_gpu_drops(self):
        for gpus in (2, 3):
            # One example is not sharded.
            self.assert_replicated(ATTENTION, gpus, r"replicated  4 steps: \d devices, loss: a mean over the batch")

    def test_what_is_fetched_is_the_global_batchs(self):
        for gpus in (2, 3):
            self.assert_replicated(FETCHED, gpus, r"replicated  3 steps: \d devices")

    def test_rows_in_another_order_are_fetched_in_theirs(self):
        self.assert_replicated(TIME_MAJOR, 3, r"replicated  3 steps: 3 devices")

    def test_rows_that_python_took_apart_are_replicated_by_rules(self):
        ours = self.run_argosy(ROW_BY_ROW, flags=("--emulate", "2", "--strategy", "dp"))
        self.assertEqual((ours.returncode, ours.stdout), (0, "1.000000\n"), ours.stderr)
        self.assertRegex(ours.stderr, r"replicated  1 step: 2 devices, by sharding rules")

    def test_every_reason_is_told_with_its_count_and_a_node(self):
        ours = self.run_argosy(NOISE, flags=("--emulate", "3", "--replicate"))
        self.assertRegex(ours.stderr,
                         r"not replicated: the loss 'Mean_2' does not depend on the batch\n    \d+ steps?, node 'Mean_2'\n")
        one = self.run_argosy(ONE_GPU, flags=("--emulate", "1", "--replicate"))
        self.assertRegex(one.stderr, r"not replicated: its session has 1 GPU\n    24 steps, node '")

    def test_the_report_is_one_line_of_json_where_asked_for(self):
        ours = self.run_argosy(NOISE, flags=("--emulate", "3", "--replicate", "--json"))
        *printed, last = ours.stdout.splitlines()
        self.assertGreater(len(printed), 0)  # the script's own
        report = json.loads(last)
        self.assertEqual((report["exit_code"], report["sessions"], report["replicated_steps"]), (0, 1, 6))
        self.assertEqual([d["name"] for d in report["devices"]], ["cpu:0", "gpu:0", "gpu:1", "gpu:2"])
        [reason] = report["not_replicated"]
        self.assertEqual(reason["node"], "Mean_2")
        self.assertIn("does not depend on the batch", reason["why"])
        self.assertGreater(reason["steps"], 0)
        self.assertNotIn("ran  ", ours.stderr)
        none = self.run_argosy("print('no session')", "--json", flags=("--emulate", "1", "--json"))
        self.assertIn("no TensorFlow session came here", json.loads(none.stdout.splitlines()[-1])["advice"])

    def test_the_end_of_the_data_is_no_failure(self):
        ours = self.run_argosy(ENDS.replace("FAILS", "False"))
        self.assertEqual(ours.returncode, 0, ours.stderr)
        self.assertIn("end of data", ours.stdout)
        self.assertRegex(ours.stderr, r"ran  1 session, \d+ steps, 1 at the end of the data, ")
        self.assertNotIn("that failed", ours.stderr)
        ours = self.run_argosy(ENDS.replace("FAILS", "True"), flags=("--emulate", "2", "--json"))
        self.assertIn("\nfailed\n", ours.stdout, ours.stderr)
        report = json.loads(ours.stdout.splitlines()[-1])
        self.assertEqual((report["data_ended_steps"], report["failed_steps"]), (1, 1))

    def test_replicating_without_a_gpu_says_how_to_have_some(self):
        ours = self.run_argosy(ONE_GPU, flags=("--devices", "cpu", "--replicate"))
        self.assertIn("what would help: this run has no GPU to replicate on: --emulate 2 makes two", ours.stderr)

    def test_the_first_steps_are_compared_with_one_device(self):
        scripts = (ONE_GPU, QUEUE, DATASET, FIXED_SIZE, ROOTS, IN_COLUMNS, TERMS, TIME_MAJOR,
                   EMBEDDING.replace("OPTIMIZER", "AdamOptimizer(0.1)"), COLUMNS.replace("RESOURCE", "True"))
        for number, script in enumerate(scripts):
            with self.subTest(number):
                ours = self.run_argosy(script, flags=("--emulate", "2", "--replicate", "--check", "2"))
                self.assert_same_numbers(ours, self.in_tensorflow(script), 1e-4)
                self.assertRegex(ours.stderr, r"checked  \d+ steps?: as on one device")
                self.assertNotIn("OTHER than on one device", ours.stderr)

    def test_losses_in_loops_and_branches_are_left_out_of_the_comparison(self):
        for script in (ADVERSARIAL, TRAINED_NOW_AND_THEN):
            with self.subTest(script.strip().splitlines()[-1]):
                ours = self.run_argosy(script, flags=("--emulate", "2", "--replicate", "--check"))
                self.assert_same_numbers(ours, self.in_tensorflow(script), 1e-4)
                self.assertNotIn("is on a branch that was not taken", ours.stderr)
                self.assertNotIn("OTHER than on one device", ours.stderr)
        self.assertRegex(self.run_argosy(ADVERSARIAL, flags=("--emulate", "2", "--replicate", "--check")).stderr,
                         r"checked  \d+ steps?: as on one device")

    def test_a_step_that_is_not_one_devices_fails_with_the_value_and_the_step(self):
        told = 0
        for at in range(10, 61, 10):
            ours = self.run_argosy(ONE_GPU, flags=("--emulate", "2", "--replicate", "--check", "--json"),
                                   env={"ARGOSY_FAULTS": f"gpu:1:flip={at}"})
            report = json.loads(ours.stdout.splitlines()[-1])
            if not report["differing_steps"]:
                continue
            told += 1
            self.assertNotEqual(ours.returncode, 0)
            self.assertRegex(ours.stderr, r"ARG-CHECK-001|replicated step \d is not the step of one device: '")
        self.assertGreaterEqual(told, 2)
        caught = ONE_GPU + "\n"  # a script that goes on after the error fails none the less
        caught = "try:\n" + "".join("    " + line + "\n" for line in caught.splitlines()) + "except Exception: pass\n"
        ended = self.run_argosy(caught, flags=("--emulate", "2", "--replicate", "--check", "--json"),
                                env={"ARGOSY_FAULTS": "gpu:1:flip=20"})
        report = json.loads(ended.stdout.splitlines()[-1])
        self.assertEqual(ended.returncode, 1 if report["differing_steps"] else 0)

    def test_what_cannot_be_compared_says_why(self):
        printed = self.run_argosy(CHECKED, flags=("--emulate", "2", "--replicate", "--check"))
        self.assertRegex(printed.stderr, r"not checked: 'Print' \(Print\) would print its line again\n    1 step, node 'Print'")

    def test_idle_gpus_are_told_of_replication(self):
        self.assertIn("argosy run --replicate", self.run_argosy(ROW_BY_ROW).stderr)

    @unittest.skipIf(PYTHON != sys.executable, "TensorFlow 1 has tf.layers")
    def test_a_script_that_needs_keras_2_is_told(self):
        """Issue 31: tf.layers is gone from 2.16 on, and what TensorFlow says of it does not say what to do."""
        ended = self.run_argosy("import tensorflow as tf\ntf.layers.dense(tf.placeholder(tf.float32, [None, 4]), 3)")
        if ended.returncode == 0:
            self.skipTest("this TensorFlow has Keras 2")
        self.assertIn("not available with Keras 3", ended.stderr)
        self.assertIn("TF_USE_LEGACY_KERAS=1 argosy run", ended.stderr)

    def test_the_exit_code_is_the_programs(self):
        self.assertEqual(self.run_argosy(SOFTMAX, "5").returncode, 5)

    def test_the_devices_are_ours(self):
        ended = self.run_argosy(DEVICES)
        self.assertIn("['CPU', 'GPU', 'GPU'] True", ended.stdout, ended.stderr)

    @unittest.skipIf(PYTHON != sys.executable, "strategies ran otherwise in TensorFlow 1")
    def test_strategies_mirror_on_the_servers_devices(self):
        ours = self.run_argosy(MIRRORED)
        self.assertEqual(ours.returncode, 0, ours.stderr)
        two_cpus = MIRRORED.replace("MirroredStrategy()", "MirroredStrategy(['/cpu:0', '/cpu:1'])").replace(
            "tf.Session()", "tf.Session(config=tf.ConfigProto(device_count={'CPU': 2}))")
        theirs = subprocess.run(self.script(two_cpus), capture_output=True, text=True, timeout=120, env=QUIET)
        self.assertEqual(ours.stdout, theirs.stdout, theirs.stderr)
        self.assertIn("2 loss", ours.stdout)
        self.assertRegex(ours.stderr, r"gpu:1 \d+ %")

    def test_monitored_sessions_come_too(self):
        ended = self.run_argosy(KERAS_ERA)
        self.assertIn("6.0", ended.stdout, ended.stderr)
        self.assertIn("ran  ", ended.stderr)

    def test_a_signal_reaches_the_program(self):
        command = [ARGOSY, "run", "--emulate", "1", "--", *self.script(SLEEPS)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=QUIET)
        self.assertEqual(process.stdout.readline().strip(), "ready")
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 7, told)
        self.assertIn("no TensorFlow session came here", told)

    def test_a_killed_program_is_told(self):
        ended = self.run_argosy("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(ended.returncode, 128 + 9)

    def test_nothing_is_left_behind(self):
        before = {p.name for p in pathlib.Path(tempfile.gettempdir()).glob("argosy_run_*")}
        self.run_argosy("pass")
        time.sleep(0.1)
        self.assertEqual({p.name for p in pathlib.Path(tempfile.gettempdir()).glob("argosy_run_*")} - before, set())


if __name__ == "__main__":
    ARGOSY = sys.argv.pop(1)
    unittest.main()
