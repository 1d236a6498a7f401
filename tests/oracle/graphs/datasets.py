#!/usr/bin/env python3
"""Input pipelines built by TensorFlow, run there and here: datasets.py DATASET_TOOL

Each program is a function that makes a tf.data pipeline. TensorFlow runs its graph in a session, and the tool loads the
same GraphDef; every element must be equal, bit by bit, and so must the code of every error.
Exit code 1 when one differs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.ops import gen_dataset_ops as raw
from tensorflow.python.ops import gen_experimental_dataset_ops as experimental

tf.disable_v2_behavior()
Dataset = tf.data.Dataset
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="argosy_datasets_"))
STEPS = 60


def numbers(n=10):
    return Dataset.range(n)


def image_rows():
    rng = np.random.RandomState(3)
    return Dataset.from_tensor_slices({"image": rng.rand(20, 4, 4, 1).astype(np.float32),
                                       "label": rng.randint(0, 10, 20), "name": [b"n%d" % i for i in range(20)]})


def grow(x):
    return tf.fill([tf.cast(x, tf.int32)], x)


def text_files():
    names = []
    for i, text in enumerate([b"one\ntwo\n", b"", b"three\r\nfo\rur\n\nlast"]):
        names.append(str(FOLDER / f"text{i}"))
        pathlib.Path(names[-1]).write_bytes(text)
    return names


def record_files(compression=""):
    names = []
    for i in range(3):
        names.append(str(FOLDER / f"records{compression}{i}"))
        with tf.python_io.TFRecordWriter(names[-1], options=compression or None) as writer:
            for k in range(4 * i):
                example = tf.train.Example()
                example.features.feature["x"].int64_list.value.append(100 * i + k)
                example.features.feature["v"].float_list.value.extend([i, k])
                writer.write(example.SerializeToString())
    return names


def damaged_records():
    name = record_files()[2]
    data = bytearray(pathlib.Path(name).read_bytes())
    data[len(data) // 2] ^= 1
    pathlib.Path(name + "_damaged").write_bytes(bytes(data))
    return [name + "_damaged"]


def block_file():
    name = str(FOLDER / "blocks")
    pathlib.Path(name).write_bytes(b"HEAD" + bytes(range(60)) + b"FT")
    return name


def parse(record):
    features = {"x": tf.FixedLenFeature([], tf.int64), "v": tf.FixedLenFeature([2], tf.float32)}
    return tf.io.parse_single_example(record, features)


def group(dataset, size):
    return dataset.apply(tf.data.experimental.group_by_window(
        lambda x: x % 3, lambda key, window: window.batch(size).map(lambda b: (key, b)), size))


def reduced(dataset):
    reducer = tf.data.experimental.Reducer(lambda key: (key, tf.constant(0, tf.int64)),
                                           lambda s, x: (s[0], s[1] + x), lambda key, total: (key, total))
    return dataset.apply(tf.data.experimental.group_by_reducer(lambda x: x % 4, reducer))


def seeded(x):
    return tf.random_uniform([2], seed=5) + tf.cast(x, tf.float32)


def captured(dataset):
    scale = tf.constant([2.0, 3.0])
    return dataset.map(lambda x: scale * tf.cast(x, tf.float32) + tf.identity(scale)[0])


def control(x):
    low = tf.cond(x > 4, lambda: x * 2, lambda: -x)
    return low, tf.while_loop(lambda i, v: i < x, lambda i, v: (i + 1, v + i), (tf.constant(0, tf.int64), low))[1]


def table(dataset):
    keys = tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2, 3], tf.int64), tf.constant(["a", "b", "c"]))
    words = tf.lookup.StaticHashTable(keys, "?")
    return dataset.map(words.lookup)


def nested(dataset):
    return dataset.flat_map(lambda x: Dataset.range(x).map(lambda y: (x, y)).batch(2).prefetch(1))


def ragged(dataset):
    return dataset.map(grow).padded_batch(3, padded_shapes=[None], padding_values=tf.constant(-1, tf.int64))


def dense_to_ragged(dataset):
    return dataset.map(grow).padded_batch(3, padded_shapes=[12], drop_remainder=True)


def at_the_end(dataset):
    return dataset.map(lambda x: tf.cast(tf.strings.to_number(tf.where(x < 3, "1", "oops")), tf.int64) + x)


def csv_file():
    name = str(FOLDER / "table.csv")
    pathlib.Path(name).write_bytes(b'id,word,share\n1,"a ""b""\nc",0.5\r\n2,,1e3\n\nx,y,z\n3,plain "quote,2\n'
                                   b'4,"",NA\r5,last,7,8\n6,short\n 7 , end , 1.5')
    return name


def csv(defaults, **options):
    return tf.data.experimental.CsvDataset([csv_file(), csv_file()], defaults, header=True, **options)


def csv_without(columns):
    return made(experimental.csv_dataset_v2(
        filenames=[csv_file()], compression_type="", buffer_size=64, header=True, field_delim=",", use_quote_delim=True,
        na_value="", select_cols=tf.constant([], tf.int64), record_defaults=[tf.constant(["none"])],
        exclude_cols=tf.constant(columns, tf.int64), output_shapes=[[]]), tf.TensorSpec([], tf.string))


class MadeOf(dataset_ops.DatasetV2):
    """A dataset of an op that has no function of its own in Python."""

    def __init__(self, variant, spec):
        self._spec = spec
        super().__init__(variant)

    def _inputs(self):
        return []

    @property
    def element_spec(self):
        return self._spec


def made(variant, spec):
    return dataset_ops.DatasetV1Adapter(MadeOf(variant, spec))


EXAMPLES = {"v": tf.io.VarLenFeature(tf.float32),
            "w": tf.io.FixedLenFeature([2], tf.float32, [0.5, 0.25]), "r": tf.io.RaggedFeature(tf.int64, "x")}


def examples(parallel=1):
    records = tf.data.TFRecordDataset(record_files()).batch(3)
    return records.apply(tf.data.experimental.parse_example_dataset(EXAMPLES, parallel)).map(
        lambda e: (tf.sparse.to_dense(e["v"]), e["w"], e["r"].to_tensor(-1)))


def rebatched(sizes, drop=False):
    d = image_rows().map(lambda e: (e["label"], e["name"])).batch(6)
    return made(experimental.rebatch_dataset_v2(
        d._variant_tensor, batch_sizes=tf.constant(sizes, tf.int64), drop_remainder=drop, output_types=[tf.int64, tf.string],
        output_shapes=[[None], [None]]), (tf.TensorSpec([None], tf.int64), tf.TensorSpec([None], tf.string)))


def sliding(size, shift, stride, drop=True):
    return made(experimental.sliding_window_dataset(
        numbers(11)._variant_tensor, window_size=size, window_shift=shift, window_stride=stride, drop_remainder=drop,
        output_types=[tf.int64], output_shapes=[[None]]), tf.TensorSpec([None], tf.int64))


def sharded(dataset, policy, workers=3, index=1, replicas=0):
    structure = tf.data.experimental.get_structure(dataset)
    return made(experimental.auto_shard_dataset(
        dataset._variant_tensor, num_workers=workers, index=index, auto_shard_policy=policy, num_replicas=replicas,
        output_types=[s.dtype for s in tf.nest.flatten(structure)],
        output_shapes=[s.shape for s in tf.nest.flatten(structure)]), structure)


def lines(shuffled=False, names=None):
    files = Dataset.from_tensor_slices(names or text_files() * 2)
    return (files.shuffle(6, seed=3) if shuffled else files).flat_map(tf.data.TextLineDataset)


def non_empty_shard(elements, count, index):
    return made(raw.shard_dataset(numbers(elements)._variant_tensor, count, index, require_non_empty=True,
                                  output_types=[tf.int64], output_shapes=[[]]), tf.TensorSpec([], tf.int64))


OFF, AUTO, FILE, DATA, HINT = -1, 0, 1, 2, 3
HINTED = tf.data.experimental.SHARD_HINT


def matching(pattern):
    for name in ("m1.txt", "m2.txt", "m3.dat"):
        (FOLDER / name).write_bytes(b"")
    return made(experimental.matching_files_dataset([str(FOLDER / pattern)]), tf.TensorSpec([], tf.string))


PROGRAMS = {
    "range": lambda: numbers(),
    "range of int32": lambda: Dataset.range(3, 9, 2, output_type=tf.int32),
    "slices": image_rows,
    "tensors": lambda: Dataset.from_tensors((np.arange(6).reshape(2, 3), "text")),
    "sparse slices": lambda: Dataset.from_tensor_slices(
        tf.SparseTensor([[0, 1], [2, 0], [2, 3]], [5, 6, 7], [4, 4])),
    "map": lambda: numbers().map(lambda x: (x * x, tf.as_string(x))),
    "map of structures": lambda: image_rows().map(lambda e: {"label": e["label"] + 1, "image": e["image"] * 2}),
    "parallel map": lambda: numbers(40).map(lambda x: x * 3, num_parallel_calls=4),
    "parallel map, tuned": lambda: numbers(40).map(lambda x: x * 3, num_parallel_calls=tf.data.experimental.AUTOTUNE),
    "map with control flow": lambda: numbers().map(control),
    "map with captures": lambda: captured(numbers()),
    "map with random numbers": lambda: numbers().map(seeded),
    "map with random numbers, repeated": lambda: numbers(3).map(seeded).repeat(3),
    "map with a table": lambda: table(numbers(5)),
    "map that fails": lambda: at_the_end(numbers(6)),
    "parallel map that fails": lambda: numbers(6).map(lambda x: 12 // (x - 2), num_parallel_calls=3),
    "errors ignored": lambda: at_the_end(numbers(6)).apply(tf.data.experimental.ignore_errors()),
    "filter": lambda: numbers(30).filter(lambda x: x % 7 < 2),
    "flat map": lambda: nested(numbers(6)),
    "interleave": lambda: numbers(6).interleave(lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=3,
                                                block_length=2),
    "parallel interleave": lambda: numbers(6).interleave(
        lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=3, block_length=2, num_parallel_calls=2),
    "parallel interleave, legacy": lambda: numbers(6).apply(tf.data.experimental.parallel_interleave(
        lambda x: Dataset.from_tensors(x).repeat(4), cycle_length=2, block_length=3)),
    "batch": lambda: numbers(11).batch(4),
    "batch, remainder dropped": lambda: image_rows().batch(6, drop_remainder=True),
    "batch in parallel": lambda: numbers(11).batch(4, num_parallel_calls=2),
    "batch of unlike elements": lambda: numbers(5).map(grow).batch(2),
    "padded batch": lambda: ragged(numbers(8)),
    "padded batch to a size": lambda: dense_to_ragged(numbers(8)),
    "padded batch of strings": lambda: numbers(5).map(lambda x: tf.fill([tf.cast(x, tf.int32)], "s")).padded_batch(
        2, padded_shapes=[4]),
    "padded batch, too small": lambda: numbers(5).map(grow).padded_batch(5, padded_shapes=[2]),
    "map and batch": lambda: numbers(11).apply(tf.data.experimental.map_and_batch(lambda x: x * x, 4)),
    "unbatch": lambda: numbers(10).batch(4).unbatch(),
    "shuffle": lambda: numbers(20).shuffle(20, seed=7),
    "shuffle, small buffer": lambda: numbers(20).shuffle(6, seed=11),
    "shuffle, repeated": lambda: numbers(6).shuffle(4, seed=3).repeat(3),
    "shuffle, repeated alike": lambda: numbers(6).shuffle(4, seed=3, reshuffle_each_iteration=False).repeat(3),
    "repeat, shuffled": lambda: numbers(6).repeat(3).shuffle(9, seed=3),
    "shuffle and repeat": lambda: numbers(6).apply(tf.data.experimental.shuffle_and_repeat(5, 4, seed=9)),
    "shuffle and repeat, short": lambda: numbers(2).apply(tf.data.experimental.shuffle_and_repeat(50, 9, seed=9)),
    "repeat for ever": lambda: numbers(7).repeat(),
    "take and skip": lambda: numbers(30).skip(5).take(11),
    "shard": lambda: numbers(11).shard(3, 1),
    **{f"shard, {n} elements for {count}, {index}": lambda n=n, count=count, index=index: non_empty_shard(n, count, index)
       for n, count, index in ((4, 3, 1), (3, 3, 1), (2, 3, 1), (2, 3, 0), (2, 3, 2), (0, 3, 0), (0, 1, 0))},
    "shard, hinted": lambda: numbers(11).shard(HINTED, HINTED),
    **{f"sharded by policy {policy}": lambda policy=policy: sharded(numbers(10).map(lambda x: x * 2).batch(2).prefetch(1), policy)
       for policy in (OFF, AUTO, FILE, DATA, HINT, 7)},
    **{f"lines sharded by policy {policy}": lambda policy=policy: sharded(lines(), policy) for policy in (OFF, AUTO, FILE, DATA)},
    **{f"shuffled lines sharded by policy {policy}": lambda policy=policy: sharded(lines(True).batch(2).repeat(2), policy)
       for policy in (AUTO, DATA)},
    "sharded by hint": lambda: sharded(numbers(11).shard(HINTED, HINTED).map(lambda x: x + 1), HINT),
    "sharded by a hint that nobody gave": lambda: sharded(numbers(11).shard(HINTED, HINTED), AUTO),
    "sharded records": lambda: sharded(tf.data.TFRecordDataset(record_files()).map(tf.io.encode_base64), AUTO),
    "sharded lines, interleaved": lambda: sharded(Dataset.from_tensor_slices(text_files() * 2).interleave(
        lambda name: tf.data.TextLineDataset(name).map(lambda line: line + "!"), cycle_length=2), AUTO),
    "sharded lines, interleaved at once": lambda: sharded(Dataset.from_tensor_slices(text_files() * 2).interleave(
        tf.data.TextLineDataset, cycle_length=2, num_parallel_calls=2), AUTO),
    "sharded lines of two, zipped": lambda: sharded(Dataset.zip((lines(), lines())), FILE),
    "sharded lines of what is opened again": lambda: sharded(lines().flat_map(Dataset.from_tensors), FILE),
    "sharded windows of lines": lambda: sharded(lines().window(2, 1, 1, True).flat_map(lambda w: w.batch(2)), FILE),
    "sharded lines, counted": lambda: sharded(lines().apply(tf.data.experimental.assert_cardinality(7)), FILE),
    "sharded lines, unlike each other": lambda: sharded(lines().apply(tf.data.experimental.unique()), AUTO),
    "sharded lines of too few files": lambda: sharded(lines(names=text_files()[:2]), AUTO),
    "sharded datasets of numbers": lambda: sharded(numbers(4).flat_map(Dataset.range), AUTO),
    "sharded batches of equal workers": lambda: sharded(rebatched([2, 2]), DATA, 2, 1, 2),
    "sharded batches of unlike workers": lambda: sharded(rebatched([3, 1, 2]), DATA, 3, 2, 3),
    "sharded batches of no workers": lambda: sharded(rebatched([3, 1, 2]), DATA, 3, 2),
    "sharded among no workers": lambda: sharded(numbers(), AUTO, 0, 0),
    "sharded for no worker": lambda: sharded(numbers(), AUTO, 2, 2),
    "a batch in parallel, in an order that there is not": lambda: made(raw.parallel_batch_dataset(
        numbers()._variant_tensor, 3, 2, False, output_types=[tf.int64], output_shapes=[[None]], deterministic="maybe"),
        tf.TensorSpec([None], tf.int64)),
    "tuned to less than no cores": lambda: made(raw.model_dataset(
        numbers()._variant_tensor, cpu_budget=-1, output_types=[tf.int64], output_shapes=[[]]), tf.TensorSpec([], tf.int64)),
    "zip": lambda: Dataset.zip((numbers(5), image_rows())),
    "concatenate": lambda: numbers(3).concatenate(Dataset.range(7, 9)),
    "enumerate": lambda: numbers(4).map(lambda x: x * 2).enumerate(start=5),
    "prefetch": lambda: numbers().map(lambda x: x + 1).prefetch(3),
    "prefetch, tuned": lambda: numbers().prefetch(tf.data.experimental.AUTOTUNE),
    "cache": lambda: numbers(4).shuffle(4, seed=2).cache().repeat(3),
    "cache in a file": lambda: numbers(4).map(seeded).cache(str(FOLDER / "cache")).repeat(2),
    "window": lambda: numbers(10).window(4, shift=3, stride=2).flat_map(lambda w: w.batch(9)),
    "window of pairs": lambda: Dataset.zip((numbers(7), numbers(7))).window(3, drop_remainder=True).flat_map(
        lambda a, b: Dataset.zip((a.batch(3), b.batch(3)))),
    "scan": lambda: numbers().apply(tf.data.experimental.scan(tf.constant(1, tf.int64), lambda s, x: (s + x, s * x))),
    "take while": lambda: numbers(20).apply(tf.data.experimental.take_while(lambda x: x < 6)),
    "group by window": lambda: group(numbers(20), 4),
    "group by reducer": lambda: reduced(numbers(20)),
    "unique": lambda: numbers(20).map(lambda x: x % 6).apply(tf.data.experimental.unique()),
    "chosen": lambda: tf.data.experimental.choose_from_datasets(
        [numbers(3), Dataset.range(10, 15), Dataset.range(20, 40)], Dataset.range(12).map(lambda x: x % 3)),
    "sampled": lambda: tf.data.experimental.sample_from_datasets([numbers(9), Dataset.range(10, 19)], [0.3, 0.7], seed=4),
    "random": lambda: tf.data.experimental.RandomDataset(seed=4).take(9),
    "lines": lambda: tf.data.TextLineDataset(text_files()),
    "lines of a missing file": lambda: tf.data.TextLineDataset([str(FOLDER / "none")] + text_files()),
    "records": lambda: tf.data.TFRecordDataset(record_files()).map(parse),
    "records, compressed": lambda: tf.data.TFRecordDataset(record_files("GZIP"), "GZIP").map(parse).batch(3),
    "records, deflated": lambda: tf.data.TFRecordDataset(record_files("ZLIB"), "ZLIB").map(parse),
    "records, damaged": lambda: tf.data.TFRecordDataset(damaged_records()).map(parse),
    "blocks": lambda: tf.data.FixedLengthRecordDataset(block_file(), 10, 4, 2).map(lambda r: tf.decode_raw(r, tf.uint8)),
    "blocks that do not fit": lambda: tf.data.FixedLengthRecordDataset(block_file(), 7, 4, 2),
    "csv": lambda: csv([tf.int32, tf.string, tf.float32]),
    "csv, defaults": lambda: csv([tf.constant([-1]), tf.constant(["none"]), tf.constant([0.25], tf.float64)], na_value="NA"),
    "csv, columns": lambda: csv([tf.string, tf.string], select_cols=[0, 2]),
    "csv, no quotes": lambda: csv([tf.string] * 3, use_quote_delim=False),
    "csv, other delimiter": lambda: csv([tf.string], field_delim=";"),
    "csv, columns left out": lambda: csv_without([0, 2]),
    "examples": examples,
    "examples in parallel": lambda: examples(3),
    "rebatched": lambda: rebatched([2, 3, 1]),
    "rebatched, remainder dropped": lambda: rebatched([7], True),
    "sliding windows": lambda: sliding(4, 2, 1),
    "sliding windows with gaps": lambda: sliding(3, 5, 2, False),
    "sliding windows, remainder dropped": lambda: sliding(3, 4, 2),
    "dense to sparse": lambda: numbers(7).map(grow).apply(tf.data.experimental.dense_to_sparse_batch(3, [7])).map(
        tf.sparse.to_dense),
    "dense to sparse of any size": lambda: numbers(7).map(grow).apply(
        tf.data.experimental.dense_to_sparse_batch(3, [None])).map(tf.sparse.to_dense),
    "dense to sparse, too large": lambda: numbers(7).map(grow).apply(
        tf.data.experimental.dense_to_sparse_batch(3, [4])).map(tf.sparse.to_dense),
    "slowly": lambda: made(experimental.sleep_dataset(numbers(3)._variant_tensor, sleep_microseconds=200,
                                                      output_types=[tf.int64], output_shapes=[[]]), tf.TensorSpec([], tf.int64)),
    "a list": lambda: made(experimental.list_dataset([1, b"a", 2, b"b"], output_types=[tf.int32, tf.string],
                                                     output_shapes=[[], []]),
                           (tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.string))),
    "matching files": lambda: matching("m?.*"),
    "no matching files": lambda: matching("none*"),
    "options": lambda: numbers(5).with_options(tf.data.Options()),
    "cardinality asserted": lambda: numbers(5).apply(tf.data.experimental.assert_cardinality(5)),
    "cardinality refuted": lambda: numbers(5).apply(tf.data.experimental.assert_cardinality(3)),
    "a whole pipeline": lambda: image_rows().shuffle(20, seed=1).map(
        lambda e: (tf.image.per_image_standardization(e["image"]), e["label"]), num_parallel_calls=3).batch(
            7).repeat(2).prefetch(2),
}


def program(make):
    """(graph, init, fetches) of a pipeline behind an initializable iterator."""
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(1)
        iterator = tf.data.make_initializable_iterator(make())
        element = [tf.sparse.to_dense(e) if isinstance(e, tf.SparseTensor) else e
                   for e in tf.nest.flatten(iterator.get_next(), expand_composites=False)]
        fetches = [tf.identity(e, name=f"fetch{i}") for i, e in enumerate(element)]
        others = [tf.tables_initializer()]
        with tf.control_dependencies(others):
            init = tf.group(iterator.initializer, name="start")
    return graph, init.name, [f.name for f in fetches]


def one_shot(make):
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(1)
        element = tf.data.make_one_shot_iterator(make()).get_next()
        fetches = [tf.identity(e, name=f"fetch{i}") for i, e in enumerate(tf.nest.flatten(element))]
    return graph, "-", [f.name for f in fetches]


def in_tensorflow(graph, init, fetches):
    lines = []
    with tf.Session(graph=graph) as session:
        try:
            if init != "-":
                session.run(init)
        except tf.errors.OpError as error:
            return [[error.__class__.__name__, error.message]]
        for _ in range(STEPS):
            try:
                lines.append([to_json(v) for v in session.run(fetches)])
            except tf.errors.OpError as error:
                lines.append([error.__class__.__name__, error.message])
                if isinstance(error, tf.errors.OutOfRangeError):
                    break
    return lines


def to_json(value):
    value = np.asarray(value)
    if value.dtype == object or value.dtype.kind == "S":
        return ["string", list(value.shape), [bytes(s).hex() for s in value.ravel()]]
    return [tf.as_dtype(value.dtype).name.replace("float32", "float").replace("float64", "double"), list(value.shape),
            [np.ascontiguousarray(value).tobytes().hex()]]


CODES = {"InvalidArgumentError": "INVALID_ARGUMENT", "OutOfRangeError": "OUT_OF_RANGE", "NotFoundError": "NOT_FOUND",
         "DataLossError": "DATA_LOSS", "FailedPreconditionError": "FAILED_PRECONDITION",
         "UnimplementedError": "UNIMPLEMENTED", "InternalError": "INTERNAL", "ResourceExhaustedError": "RESOURCE_EXHAUSTED"}


def is_error(line):
    return bool(line) and isinstance(line[0], str)


def close(a, b):
    """Floats may differ in the last digits: the arithmetic of functions is compared elsewhere."""
    if a[:2] != b[:2] or a[0] not in ("float", "double"):
        return a == b
    dtype = np.float32 if a[0] == "float" else np.float64
    return np.allclose(np.frombuffer(bytes.fromhex(a[2][0]), dtype), np.frombuffer(bytes.fromhex(b[2][0]), dtype),
                       rtol=1e-5, atol=1e-6)


def difference(ours, theirs):
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if is_error(a) or is_error(b):
            code = CODES.get(b[0], b[0]) if is_error(b) else "an element"
            if not is_error(a) or a[0] != code:
                return f"element {i}: {a if is_error(a) else 'an element'}, TensorFlow {code}: {b[-1] if is_error(b) else b}"
        elif len(a) != len(b) or not all(close(x, y) for x, y in zip(a, b)):
            return f"element {i}: {a}, TensorFlow {b}"
    if len(ours) != len(theirs):
        return f"{len(ours)} elements, TensorFlow {len(theirs)}"
    return None


def compare(tool, build):
    graph, init, fetches = build
    for name in os.listdir(FOLDER):
        if name.startswith("cache"):
            os.remove(FOLDER / name)
    theirs = in_tensorflow(graph, init, fetches)
    for name in os.listdir(FOLDER):
        if name.startswith("cache"):
            os.remove(FOLDER / name)
    path = FOLDER / "graph.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    done = subprocess.run([tool, str(path), str(STEPS), init, *fetches], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        return done.stderr.strip()
    return difference([json.loads(line) for line in done.stdout.splitlines()], theirs)


def main():
    tool, chosen = sys.argv[1], sys.argv[2:]
    wrong = count = 0
    for name, make in PROGRAMS.items():
        if chosen and name not in chosen:
            continue
        for kind in (program, one_shot):
            if kind is one_shot and any(word in name for word in ("captures", "table", "sparse", "random numbers")):
                continue  # not allowed there, or without seeds of the graph
            count += 1
            try:
                found = compare(tool, kind(make))
            except Exception as error:  # whatever it is, it belongs to this program
                found = f"{type(error).__name__}: {error}"
            if found:
                wrong += 1
                print(f"{name} ({kind.__name__}): {found}"[:1500])
    print(f"{count - wrong} of {count} pipelines give what TensorFlow gives")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
