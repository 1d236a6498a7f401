"""Barriers: what comes in parts, and leaves whole."""
import numpy as np
import tensorflow as tf

TYPES = [tf.float32, tf.int32]


def rows(n):
    return np.arange(2 * n, dtype=np.float32).reshape(n, 2)


class Barrier:
    def __init__(self, p, **attrs):
        self.p = p
        self.handle = p.raw.Barrier(**{"component_types": TYPES, "shapes": [[2], []], "shared_name": "b", **attrs})

    def insert(self, component, *keys):
        values = rows(len(keys)) if component == 0 else np.arange(len(keys), dtype=np.int32)
        self.p.run(self.p.raw.BarrierInsertMany(handle=self.handle, keys=np.array(keys, object).astype(np.bytes_), values=values,
                                                component_index=component))

    def take(self, n, within=0, **attrs):
        taken = self.p.raw.BarrierTakeMany(handle=self.handle, num_elements=n, component_types=TYPES, **attrs)
        fetches = [taken.indices, taken.keys, *taken.values]
        self.p.within(within, *fetches) if within else self.p.run(*fetches)

    def sizes(self):
        self.p.run(self.p.raw.BarrierReadySize(handle=self.handle), self.p.raw.BarrierIncompleteSize(handle=self.handle))

    def close(self, cancel=False):
        self.p.run(self.p.raw.BarrierClose(handle=self.handle, cancel_pending_enqueues=cancel))


def elements(p):
    b = Barrier(p)
    b.insert(0, "a", "b", "c")
    b.sizes()
    b.insert(1, "c", "a")
    b.sizes()
    b.take(1)
    b.take(2, within=300)
    b.take(2, within=300, allow_small_batch=True)
    b.take(0)
    b.insert(0, "c")
    b.insert(0, "b")
    b.insert(0, "d", "d")
    b.insert(2, "e")
    b.sizes()


def order(p):
    b = Barrier(p)
    b.insert(0, "a")
    b.insert(1, "a")
    b.insert(0, "b")
    b.insert(0, "c", "a")
    b.insert(1, "c", "b", "a")
    b.take(4)


def closed(p):
    b = Barrier(p)
    b.insert(0, "a", "b")
    b.close()
    b.sizes()
    b.insert(0, "c")
    b.insert(1, "a")
    b.take(1)
    b.take(1, within=300)
    b.insert(1, "b")
    b.take(2)
    b.take(2, allow_small_batch=True)
    b.take(1)
    b.take(1, allow_small_batch=True)
    b.take(0)
    b.insert(0, "d")
    b.close()
    b.close(cancel=True)


def cancelled(p):
    b = Barrier(p)
    b.insert(0, "a", "b")
    b.insert(1, "b")
    b.close(cancel=True)
    b.sizes()
    b.insert(1, "a")
    b.take(2)
    b.take(2, allow_small_batch=True)
    b.take(1)


def refused(p):
    for attrs in ({"capacity": 5}, {"shapes": []}, {"shapes": [[None], []]}, {"shapes": [[2]]}):
        Barrier(p, shared_name=str(len(p.steps)), **attrs).sizes()
    b = Barrier(p)
    b.insert(0, "a")
    b.insert(1, "a")
    b.take(1, timeout_ms=5)
    b.take(1, wait_for_incomplete=True)


PROGRAMS = [elements, order, closed, cancelled, refused]
