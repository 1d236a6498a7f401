"""Summaries, compared as parsed messages: images by their pixels."""

import numpy as np
import tensorflow as tf


def images(p):
    random = np.random.RandomState(3)
    # Doubles are left out: where 255/max*max is not 255, TensorFlow's brightest pixel may be one darker than ours.
    for dtype in (np.uint8, np.float32, np.float16):
        for channels in (1, 3, 4):
            values = random.uniform(-2, 3, (2, 3, 4, channels))
            values = (np.abs(values) * 80).astype(np.uint8) if dtype == np.uint8 else values.astype(dtype)
            if dtype == np.float32:
                values[0, 1, 2, 0] = np.nan
                values[1, 0, 0, 0] = np.inf
            p.run(p.raw.ImageSummary(tag="i", tensor=values, max_images=channels), same="summary")
    p.run(p.raw.ImageSummary(tag="i", tensor=np.abs(random.randn(1, 2, 2, 1)).astype(np.float32)), same="summary")
    p.run(p.raw.ImageSummary(tag="i", tensor=np.zeros([1, 2, 2, 1], np.float32)), same="summary")
    p.run(p.raw.ImageSummary(tag="i", tensor=np.zeros([0, 2, 2, 1], np.uint8)), same="summary")
    p.run(p.raw.ImageSummary(tag="i", tensor=np.zeros([1, 0, 2, 1], np.uint8)), same="summary")
    p.run(p.raw.ImageSummary(tag="i", tensor=np.zeros([1, 2, 2, 2], np.uint8)))
    bad = lambda *v: tf.make_tensor_proto(np.array(v, np.uint8))
    p.run(p.raw.ImageSummary(tag="i", tensor=np.full([1, 2, 2, 3], np.nan, np.float32), bad_color=bad(1, 2, 3)),
          same="summary")
    p.run(p.raw.ImageSummary(tag="i", tensor=np.zeros([1, 2, 2, 3], np.float32), bad_color=bad(1, 2)))


def others(p):
    r = p.raw
    p.run(r.ScalarSummary(tags=["a", "b"], values=[1.5, 2.0]), same="summary")
    p.run(r.HistogramSummary(tag="h", values=np.random.RandomState(1).randn(100).astype(np.float32)), same="summary")
    p.run(r.TensorSummary(tensor=[1.0, 2.0], name="by_name"), same="summary")
    p.run(r.AudioSummaryV2(tag="s", tensor=np.random.RandomState(1).uniform(-1.2, 1.2, (4, 9, 2)).astype(np.float32),
                           sample_rate=44100.0), same="summary")
    p.run(r.MergeSummary(inputs=[r.ScalarSummary(tags="x", values=1), r.HistogramSummary(tag="h", values=[1, 2])]),
          same="summary")


PROGRAMS = [images, others]
