"""Readers of files whose names a queue gives."""

import os

import tensorflow as tf


def through(p, reader, files, reads, up_to=None):
    r = p.raw
    op = lambda name: getattr(r, name + "V2")  # TensorFlow makes no graphs with the old forms any more
    queue = op("FIFOQueue")(component_types=[tf.string], shapes=[[]])
    p.run(op("QueueEnqueueMany")(handle=queue, components=[files]))
    p.run(op("QueueClose")(handle=queue))
    handle = {"reader_handle": reader, "queue_handle": queue}
    read = op("ReaderRead")(**handle) if up_to is None else op("ReaderReadUpTo")(
        num_records=tf.constant(up_to, tf.int64), **handle)
    produced = op("ReaderNumRecordsProduced")(reader_handle=reader)
    finished = op("ReaderNumWorkUnitsCompleted")(reader_handle=reader)
    state = op("ReaderSerializeState")(reader_handle=reader)
    p.run(state)
    for _ in range(reads):
        p.run(read.value if up_to is None else read.values)
    p.run(produced)
    p.run(finished)
    p.run(state)
    p.run(op("ReaderReset")(reader_handle=reader))
    p.run(produced)


def write(p, name, contents):
    path = os.path.join(p.folder, name)
    p.run(p.raw.WriteFile(filename=path, contents=contents))
    return path


def lines(p):
    path = write(p, "x", "one\r\ntwo\n\nfour\rx\nlast")
    through(p, p.raw.TextLineReaderV2(), [path], 7)
    through(p, p.raw.TextLineReaderV2(skip_header_lines=2), [path, path], 7)
    through(p, p.raw.TextLineReaderV2(skip_header_lines=20), [path], 2)
    through(p, p.raw.TextLineReaderV2(skip_header_lines=-1), [path], 1)
    through(p, p.raw.TextLineReaderV2(), [path, path], 5, up_to=3)
    through(p, p.raw.TextLineReaderV2(), [path + "-none", path], 3)
    empty = write(p, "empty", "")
    through(p, p.raw.TextLineReaderV2(), [empty, empty, path], 2)
    through(p, p.raw.TextLineReaderV2(), [empty, path, path], 4, up_to=100)


def whole(p):
    path = write(p, "x", "one\0two")
    through(p, p.raw.WholeFileReaderV2(), [path, path], 3)
    through(p, p.raw.IdentityReaderV2(), ["a", "b"], 3)


def fixed(p):
    path = write(p, "x", "one\r\ntwo\n\nfour\rx\nlast")
    make = p.raw.FixedLengthRecordReaderV2
    through(p, make(record_bytes=5, header_bytes=2, footer_bytes=3), [path, path], 8)
    through(p, make(record_bytes=5, hop_bytes=2), [path], 5)
    through(p, make(record_bytes=5, hop_bytes=8), [path], 5)
    through(p, make(record_bytes=5, header_bytes=50), [path, path], 3)
    p.run(make(record_bytes=-1).op)


def records(p):
    path = os.path.join(p.folder, "r")
    with tf.io.TFRecordWriter(path) as out:
        for record in (b"aa", b"", b"cccc"):
            out.write(record)
    through(p, p.raw.TFRecordReaderV2(), [path, path], 8)


def restored(p):
    r = p.raw
    queue = r.FIFOQueueV2(component_types=[tf.string], shapes=[[]])
    p.run(r.QueueEnqueueManyV2(handle=queue, components=[["a", "b", "c"]]))
    one, other = r.IdentityReaderV2(), r.IdentityReaderV2()
    p.run(r.ReaderReadV2(reader_handle=one, queue_handle=queue))
    state = r.ReaderSerializeStateV2(reader_handle=one)
    p.run(state)
    p.run(r.ReaderRestoreStateV2(reader_handle=other, state=state))
    p.run(r.ReaderNumRecordsProducedV2(reader_handle=other))
    p.run(r.ReaderRestoreStateV2(reader_handle=other, state="xx"))
    p.run(r.ReaderRestoreStateV2(reader_handle=r.TextLineReaderV2(), state=state))


def waiting(p):
    r = p.raw
    queue = r.FIFOQueueV2(component_types=[tf.string], shapes=[[]])
    reader = r.IdentityReaderV2()
    read = r.ReaderReadV2(reader_handle=reader, queue_handle=queue)
    p.within(200, read)
    p.start("a", read)
    p.run(r.QueueEnqueueV2(handle=queue, components=["x"]))
    p.join("a")


PROGRAMS = [lines, whole, fixed, records, restored, waiting]
