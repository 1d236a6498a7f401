"""Lookup tables."""

import os

import tensorflow as tf


def i64(*values):
    return tf.constant(list(values), tf.int64)


def fixed(p):
    r = p.raw
    for version in ("V2", ""):
        op = lambda name: getattr(r, name + version)
        table = op("HashTable")(key_dtype=tf.string, value_dtype=tf.int64)
        find = lambda keys, default: op("LookupTableFind")(table_handle=table, keys=keys, default_value=default)
        fill = lambda keys, values: op("InitializeTable")(table_handle=table, keys=keys, values=values)
        size = op("LookupTableSize")(table_handle=table)
        missing = tf.constant(-1, tf.int64)
        p.run(size)
        p.run(find(["a"], missing))
        p.run(fill(["a", "b", "a"], i64(1, 2, 3)))
        p.run(fill(["a", "b"], i64(1, 2)))
        p.run(fill(["a", "b"], i64(1, 2)))
        p.run(fill(["a", "c"], i64(1, 2)))
        p.run(size)
        p.run(find(["a", "x", "b"], missing))
        p.run(find([["a"], ["x"]], missing))
        p.run(find("b", missing))
        p.run(find(["a", "x"], i64(5, 6)))
        p.run(find(i64(1), missing))
        p.run(find(["a"], tf.constant(1.0)))
        if version:
            p.run(r.LookupTableInsertV2(table_handle=table, keys=["q"], values=i64(1)))
            p.run(r.LookupTableRemoveV2(table_handle=table, keys=["a"]))
            p.run(r.LookupTableImportV2(table_handle=table, keys=["a", "b"], values=i64(1, 2)))
            p.run(r.LookupTableImportV2(table_handle=table, keys=["a"], values=i64(1)))


def imported(p):
    r = p.raw
    table = r.HashTableV2(key_dtype=tf.int64, value_dtype=tf.float32, shared_name="imported")
    again = r.HashTableV2(key_dtype=tf.int64, value_dtype=tf.float32, shared_name="imported")
    p.run(r.LookupTableImportV2(table_handle=table, keys=i64(7), values=[0.5]))
    p.run(r.LookupTableFindV2(table_handle=again, keys=i64(7, 8), default_value=9.0))
    p.run(r.LookupTableExportV2(table_handle=again, Tkeys=tf.int64, Tvalues=tf.float32))
    p.run(r.HashTableV2(key_dtype=tf.int64, value_dtype=tf.int64, shared_name="imported").op)


def mutable(p):
    r = p.raw
    for key, value in ((tf.string, tf.int64), (tf.int64, tf.string), (tf.int32, tf.float32)):
        keys = lambda *v: tf.constant([str(x) for x in v]) if key == tf.string else tf.constant(list(v), key)
        values = lambda *v: tf.constant([str(x) for x in v]) if value == tf.string else tf.constant(list(v), value)
        table = r.MutableHashTableV2(key_dtype=key, value_dtype=value)
        find = lambda *v: r.LookupTableFindV2(table_handle=table, keys=keys(*v), default_value=values(0)[0])
        size = r.LookupTableSizeV2(table_handle=table)
        export = r.LookupTableExportV2(table_handle=table, Tkeys=key, Tvalues=value)
        p.run(find(1))
        p.run(export)
        p.run(r.LookupTableInsertV2(table_handle=table, keys=keys(1, 2, 3, 1), values=values(10, 20, 30, 11)))
        p.run(find(1, 2, 3, 4))
        p.run(size)
        p.run(r.LookupTableRemoveV2(table_handle=table, keys=keys(1, 9, 1)))
        p.run(find(1, 2, 3, 4))
        p.run(size)
        p.run(r.LookupTableImportV2(table_handle=table, keys=keys(5), values=values(50)))
        p.run(find(5, 2))
        p.run(export)
        p.run(r.LookupTableInsertV2(table_handle=table, keys=keys(1, 2), values=values(10)))
        p.run(r.LookupTableFindV2(table_handle=table, keys=keys(5, 6), default_value=values(0, 1)))
        p.run(r.LookupTableFindV2(table_handle=table, keys=keys(5, 6), default_value=values(0, 1, 2)))


def of_tensors(p):
    r = p.raw
    table = r.MutableHashTableOfTensorsV2(key_dtype=tf.string, value_dtype=tf.float32, value_shape=[2])
    find = lambda keys: r.LookupTableFindV2(table_handle=table, keys=keys, default_value=[-1.0, -2.0])
    p.run(r.LookupTableInsertV2(table_handle=table, keys=["a", "b"], values=[[1.0, 2.0], [3.0, 4.0]]))
    p.run(find(["b", "x"]))
    p.run(find([["b"], ["a"]]))
    p.run(r.LookupTableInsertV2(table_handle=table, keys=["a"], values=[[1.0, 2.0, 3.0]]))
    p.run(r.LookupTableFindV2(table_handle=table, keys=["a"], default_value=1.0))
    p.run(r.LookupTableRemoveV2(table_handle=table, keys=["a"]))
    p.run(r.LookupTableExportV2(table_handle=table, Tkeys=tf.string, Tvalues=tf.float32))
    p.run(r.MutableHashTableOfTensorsV2(key_dtype=tf.string, value_dtype=tf.float32, value_shape=[2, 2]).op)


def dense(p):
    """(Exports are left out: TensorFlow's are all its buckets, the empty ones too; ours are the keys there are.)"""
    r = p.raw
    table = r.MutableDenseHashTableV2(empty_key=tf.constant(-1, tf.int64), deleted_key=tf.constant(-2, tf.int64),
                                      value_dtype=tf.float32, value_shape=[2], initial_num_buckets=4)
    find = lambda *keys: r.LookupTableFindV2(table_handle=table, keys=i64(*keys), default_value=[0.0, 0.0])
    insert = lambda keys, values: r.LookupTableInsertV2(table_handle=table, keys=i64(*keys), values=values)
    first = insert([1, 2], [[1.0, 1.0], [2.0, 2.0]])
    p.run(first)
    p.run(find(1, 2, 3))
    p.run(find(-1))
    p.run(insert([-1], [[1.0, 1.0]]))
    p.run(insert([-2], [[1.0, 1.0]]))
    p.run(r.LookupTableRemoveV2(table_handle=table, keys=i64(1, 7)))
    p.run(find(1, 2))
    p.run(r.LookupTableSizeV2(table_handle=table))
    p.run(insert(range(10, 30), [[float(k), 0.0] for k in range(10, 30)]))
    p.run(r.LookupTableSizeV2(table_handle=table))
    p.run(find(10, 29, 2))
    p.run(r.LookupTableRemoveV2(table_handle=table, keys=i64(*range(10, 30))))
    pairs = r.MutableDenseHashTableV2(empty_key=i64(0, 0), deleted_key=i64(0, 1), value_dtype=tf.int64)
    p.run(r.LookupTableInsertV2(table_handle=pairs, keys=tf.constant([[1, 2], [3, 4]], tf.int64), values=i64(12, 34)))
    p.run(r.LookupTableFindV2(table_handle=pairs, keys=tf.constant([[3, 4], [4, 3]], tf.int64),
                              default_value=tf.constant(-1, tf.int64)))
    p.run(r.LookupTableFindV2(table_handle=pairs, keys=i64(1, 2, 3), default_value=tf.constant(-1, tf.int64)))
    odd = dict(empty_key=tf.constant(0, tf.int64), value_dtype=tf.int64)
    p.run(r.MutableDenseHashTableV2(deleted_key=tf.constant(0, tf.int64), **odd).op)
    p.run(r.MutableDenseHashTableV2(deleted_key=tf.constant(1, tf.int64), initial_num_buckets=3, **odd).op)
    p.run(r.MutableDenseHashTableV2(deleted_key=tf.constant(1, tf.int64), max_load_factor=1.5, **odd).op)
    p.run(r.MutableDenseHashTableV2(deleted_key=i64(1, 2), **odd).op)


def from_text(p):
    r = p.raw
    path = os.path.join(p.folder, "words.txt")
    p.run(r.WriteFile(filename=path, contents="10\tten\t1.5\n20\ttwenty\t2.5\n30\tthirty\n"))

    def table(key, value, key_index, value_index, keys, default, **more):
        handle = r.HashTableV2(key_dtype=key, value_dtype=value)
        p.run(r.InitializeTableFromTextFileV2(table_handle=handle, filename=path, key_index=key_index,
                                              value_index=value_index, **more))
        p.run(r.LookupTableFindV2(table_handle=handle, keys=tf.constant(keys, key), default_value=tf.constant(default, value)))
        p.run(r.LookupTableSizeV2(table_handle=handle))
        return handle

    again = table(tf.int64, tf.string, 0, 1, [10, 30, 5], "?")
    p.run(r.InitializeTableFromTextFileV2(table_handle=again, filename=path, key_index=0, value_index=1))
    table(tf.string, tf.int64, 1, -1, ["ten", "thirty", "x"], -1)
    table(tf.int64, tf.string, -1, -2, [0, 2, 5], "?")
    table(tf.string, tf.int64, 1, -1, ["ten", "twenty", "thirty"], -1, vocab_size=2)
    table(tf.string, tf.int64, 1, -1, ["ten"], -1, vocab_size=5)
    table(tf.string, tf.int64, 1, 7, ["ten"], -1)
    table(tf.int64, tf.string, 1, 0, [10], "?")
    table(tf.string, tf.float32, 1, 2, ["ten"], -1.0)
    table(tf.string, tf.float32, 1, 2, ["ten"], -1.0, vocab_size=2)
    table(tf.string, tf.int64, 0, 0, ["10"], -1, delimiter="x")
    table(tf.string, tf.int64, 1, -1, ["ten"], -1, offset=100)
    missing = r.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    p.run(r.InitializeTableFromTextFileV2(table_handle=missing, filename=path + "-none", key_index=-2, value_index=-1))
    p.run(r.InitializeTableFromTextFileV2(table_handle=missing, filename=path, key_index=-1, value_index=-2))


def nameless(p):
    r = p.raw
    table = r.AnonymousMutableHashTable(key_dtype=tf.int64, value_dtype=tf.int64)
    with tf.control_dependencies([r.LookupTableInsertV2(table_handle=table, keys=i64(1), values=i64(10))]):
        p.run(r.LookupTableFindV2(table_handle=table, keys=i64(1, 2), default_value=tf.constant(0, tf.int64)))
    table = r.AnonymousMutableHashTableOfTensors(key_dtype=tf.int64, value_dtype=tf.int64, value_shape=[1])
    with tf.control_dependencies([r.LookupTableInsertV2(table_handle=table, keys=i64(1), values=[i64(10)])]):
        p.run(r.LookupTableFindV2(table_handle=table, keys=i64(1, 2), default_value=i64(0)))
    table = r.AnonymousHashTable(key_dtype=tf.int64, value_dtype=tf.int64)
    with tf.control_dependencies([r.LookupTableImportV2(table_handle=table, keys=i64(1), values=i64(10))]):
        p.run(r.LookupTableFindV2(table_handle=table, keys=i64(1, 2), default_value=tf.constant(0, tf.int64)))
    table = r.AnonymousMutableDenseHashTable(empty_key=i64(-1)[0], deleted_key=i64(-2)[0], value_dtype=tf.int64)
    with tf.control_dependencies([r.LookupTableInsertV2(table_handle=table, keys=i64(1), values=i64(10))]):
        p.run(r.LookupTableFindV2(table_handle=table, keys=i64(1, 2), default_value=tf.constant(0, tf.int64)))


PROGRAMS = [fixed, imported, mutable, of_tensors, dense, from_text, nameless]
