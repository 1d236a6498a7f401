"""One process, two sessions, each with a GPU of its own. Both call it gpu:0."""
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def session_on(gpu):
    return tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list=str(gpu))))


with tf.device("/gpu:0"):
    w = tf.get_variable("w", initializer=tf.ones([1000, 1000]))
    grow = tf.assign(w, 0.5 * w + 1)

with session_on(0) as a, session_on(1) as b:
    for sess, steps in ((a, 3), (b, 5)):
        sess.run(w.initializer)
        for _ in range(steps):
            sess.run(grow)
    print("a:", a.run(w)[0, 0], "b:", b.run(w)[0, 0])
