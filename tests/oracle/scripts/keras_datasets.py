"""Keras in graph mode on datasets, whose iterators are connected to its placeholders; run_scripts.py runs it."""

KERAS_ON_DATASETS = """
import numpy as np
import tensorflow as tf

keras = tf.keras
tf.set_random_seed(1)
draw = np.random.RandomState(0)
x, t = draw.rand(20, 3).astype('f'), draw.rand(20, 1).astype('f')
data = tf.data.Dataset.from_tensor_slices((x, t)).batch(4)
start = lambda *shape: keras.initializers.Constant(np.linspace(-.5, .5, int(np.prod(shape))).reshape(shape))

def numbers(values):
    print(' '.join('%.5f' % v for v in np.ravel(values)))

def train(model, data, **fit):
    model.compile(keras.optimizers.SGD(.1), 'mse', metrics=['mae'])
    told = model.fit(data.repeat(), steps_per_epoch=5, epochs=3, verbose=0, **fit)
    for key in sorted(told.history):
        numbers(told.history[key])
    numbers(model.evaluate(data, steps=5, verbose=0))
    numbers(model.predict(data, steps=2))

dense = lambda inputs, units: keras.layers.Dense(units, kernel_initializer=start(inputs, units))
train(keras.Sequential([keras.layers.InputLayer((3,)), dense(3, 4), keras.layers.Activation('tanh'), dense(4, 1)]), data,
      validation_data=data, validation_steps=5)

# Two inputs, two outputs, weights of examples.
a, b = keras.layers.Input((3,), name='a'), keras.layers.Input((3,), name='b')
both = keras.layers.concatenate([a, b])
model = keras.models.Model([a, b], [dense(6, 1)(both), dense(6, 1)(both)])
weights = draw.rand(20).astype('f')
named = tf.data.Dataset.from_tensor_slices(({'a': x, 'b': -x}, (t, 1 - t), (weights, 1 - weights))).batch(4)
train(model, named)
"""
