"""Checkpoints of both formats, and whole files."""

import os

import tensorflow as tf


def values():
    return {"f": tf.constant([1.5, -2.0]), "d": tf.constant([[1.0, 2.0]], tf.float64), "i": tf.constant(7),
            "l": tf.constant([1 << 40], tf.int64), "b": tf.constant([True, False]), "s": tf.constant(["x", "", "yz"]),
            "h": tf.constant([0.5], tf.float16), "g": tf.constant([0.5], tf.bfloat16), "u": tf.constant([200], tf.uint8),
            "c": tf.constant([1 + 2j], tf.complex64), "z": tf.zeros([0, 3])}


def save_and_restore(p):
    prefix, tensors = os.path.join(p.folder, "new", "model"), values()
    names, blank = list(tensors), [""] * len(tensors)
    p.run(p.raw.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=blank, tensors=list(tensors.values())))
    dtypes = [t.dtype for t in tensors.values()]
    p.run(p.raw.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=blank, dtypes=dtypes))
    late = lambda specs: tf.compat.v1.placeholder_with_default(specs, None)  # so that only the kernel knows
    one = lambda name, spec, dtype, where=prefix: p.raw.RestoreV2(prefix=where, tensor_names=[name],
                                                                  shape_and_slices=late([spec]), dtypes=[dtype])
    p.run(one("f", "2 0,1", tf.float32))
    p.run(one("none", "", tf.float32))
    p.run(one("f", "", tf.float64))
    p.run(one("f", "3 0,1", tf.float32))
    p.run(one("f", "2", tf.float32))
    p.run(one("f", "2 a", tf.float32))
    p.run(one("f", "2 0,0", tf.float32))
    p.run(one("f", "", tf.float32, prefix + "-none"))
    save = lambda names, specs, tensors, where=prefix + "2": p.raw.SaveV2(prefix=where, tensor_names=names,
                                                                        shape_and_slices=specs, tensors=tensors)
    p.run(save(["f"], ["4 0,3"], [tensors["f"]]))
    p.run(save(["f", "f"], ["", ""], [tensors["f"]] * 2))
    p.run(save(["f"], [""], [tensors["f"]], os.path.join(p.folder, "a", "b", "c")))


def pieces(p):
    at = lambda name: os.path.join(p.folder, name)
    save = lambda where, spec, tensor: p.raw.SaveV2(prefix=at(where), tensor_names=["w", "of_" + os.path.basename(where)],
                                                    shape_and_slices=[spec, ""], tensors=[tensor, 1.0])
    p.run(save("temp/a", "4 2 0,2:-", [[1.0, 2.0], [3.0, 4.0]]))
    p.run(save("temp/b", "4 2 2,2:-", [[5.0, 6.0], [7.0, 8.0]]))
    read = lambda where, name, spec: p.raw.RestoreV2(prefix=at(where), tensor_names=[name], shape_and_slices=[spec],
                                                     dtypes=[tf.float32])
    p.run(read("temp/a", "w", ""))
    p.run(read("temp/a", "w", "4 2 1,1:-"))
    p.run(read("temp/a", "w", "4 2 1,2:-"))
    merge = lambda parts, to, **more: p.raw.MergeV2Checkpoints(checkpoint_prefixes=[at(x) for x in parts],
                                                              destination_prefix=at(to), **more)
    p.run(merge(["temp/a", "none"], "all"))
    p.run(merge(["none"], "all", allow_missing_files=True))
    p.run(merge(["temp/a", "temp/b"], "all"))
    p.run(read("all", "w", ""))
    p.run(read("all", "w", "4 2 1,2:1,1"))
    p.run(read("all", "of_b", ""))
    p.run(p.raw.MatchingFiles(pattern=at("temp")).op)
    p.run(merge(["all", "all"], "twice"))


def first_format(p):
    at, tensors = lambda name: os.path.join(p.folder, name), values()
    del tensors["g"]  # TensorFlow writes no bfloat16 in this format
    p.run(p.raw.Save(filename=at("v1"), tensor_names=list(tensors), data=list(tensors.values())))
    for name, tensor in tensors.items():
        p.run(p.raw.Restore(file_pattern=at("v1"), tensor_name=name, dt=tensor.dtype))
    p.run(p.raw.Restore(file_pattern=at("v1"), tensor_name="none", dt=tf.float32))
    p.run(p.raw.Restore(file_pattern=at("v1"), tensor_name="f", dt=tf.int32))
    p.run(p.raw.Restore(file_pattern=at("none"), tensor_name="f", dt=tf.float32))
    p.run(p.raw.RestoreSlice(file_pattern=at("v1"), tensor_name="f", shape_and_slice="2 1,1", dt=tf.float32))
    p.run(p.raw.RestoreSlice(file_pattern=at("v1"), tensor_name="f", shape_and_slice=tf.compat.v1.placeholder_with_default("3 1,1", None), dt=tf.float32))
    p.run(p.raw.RestoreV2(prefix=at("v1"), tensor_names=["f", "s"], shape_and_slices=["", "3 1,2"],
                          dtypes=[tf.float32, tf.string]))
    shard = lambda i: p.raw.ShardedFilename(basename=at("s"), shard=i, num_shards=2)
    every = p.raw.ShardedFilespec(basename=at("s"), num_shards=2)
    for i in range(2):
        p.run(p.raw.SaveSlices(filename=shard(i), tensor_names=["w"], shapes_and_slices=[f"4 {2 * i},2"],
                               data=[tf.constant([2.0 * i, 2.0 * i + 1])]))
    p.run(p.raw.Restore(file_pattern=every, tensor_name="w", dt=tf.float32))
    p.run(p.raw.RestoreSlice(file_pattern=every, tensor_name="w", shape_and_slice="4 1,2", dt=tf.float32))
    p.run(p.raw.Restore(file_pattern=shard(0), tensor_name="w", dt=tf.float32))


def crossed(kind):
    """What one side wrote, the other reads: told by state.py."""
    def build(p):
        tensors = values()
        tensors.update({"part": tf.constant([[1.0, 2.0]])})
        if kind == "V1":
            del tensors["g"]
        names, specs = list(tensors), [""] * (len(tensors) - 1) + ["3 2 1,1:-"]
        dtypes = [t.dtype for t in tensors.values()]
        write, read = os.path.join(p.folder, "x"), os.path.join(p.other, "x")
        if kind == "V2":
            p.run(p.raw.SaveV2(prefix=write, tensor_names=names, shape_and_slices=specs, tensors=list(tensors.values())))
            p.cross()
            p.run(p.raw.RestoreV2(prefix=read, tensor_names=names, shape_and_slices=specs, dtypes=dtypes))
            return
        p.run(p.raw.SaveSlices(filename=write, tensor_names=names, shapes_and_slices=specs, data=list(tensors.values())))
        p.cross()
        for name, spec, dtype in zip(names, specs, dtypes):
            p.run(p.raw.RestoreSlice(file_pattern=read, tensor_name=name, shape_and_slice=spec, dt=dtype))
    build.__name__ = f"crossed_{kind}"
    return build


def files(p):
    at = lambda name: os.path.join(p.folder, name)
    p.run(p.raw.WriteFile(filename=at("a/b/one.txt"), contents="line\n\0more"))
    p.run(p.raw.ReadFile(filename=at("a/b/one.txt")))
    p.run(p.raw.ReadFile(filename="file://" + at("a/b/one.txt")))
    p.run(p.raw.ReadFile(filename=at("none")))
    p.run(p.raw.ReadFile(filename=at("a")))
    for name in ("two.txt", "three.txt", "four.csv"):
        p.run(p.raw.WriteFile(filename=at(name), contents=name))
    for pattern in ("*.txt", "t*", "[a-f]*.csv", "none*", "????.csv", "four.csv"):
        p.run(tf.shape(p.raw.MatchingFiles(pattern=at(pattern))))
    p.run(tf.shape(p.raw.MatchingFiles(pattern=[at("*.txt"), at("*.csv")])))


PROGRAMS = [save_and_restore, pieces, first_format, crossed("V2"), crossed("V1"), files]
