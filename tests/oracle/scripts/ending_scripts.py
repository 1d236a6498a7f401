"""Scripts that show how programs and their steps end."""

# Loops that end as TensorFlow's do: the data is over, or a queue is closed.
ENDS = """
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
n = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()
queue = tf.FIFOQueue(1, tf.float32)
tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1.0)]))
one = queue.dequeue()
with tf.Session() as s:
    try:
        while True: print(s.run(n))
    except tf.errors.OutOfRangeError: print('end of data')
    stop = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(s, stop)
    print(s.run(one))
    stop.request_stop()
    stop.join(threads)
    if FAILS:
        try: s.run(tf.ensure_shape(tf.py_func(lambda: __import__('numpy').float32(1), [], tf.float32), [2]))
        except tf.errors.InvalidArgumentError: print('failed')
"""

SLEEPS = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print('ready')
sys.stdout.flush()
time.sleep(60)
"""
