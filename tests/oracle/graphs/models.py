#!/usr/bin/env python3
"""Models that TensorFlow wrote, run by `argosy graph run`: models.py ARGOSY

A frozen graph (binary and text), the .meta and checkpoint of a Saver, SavedModels of TensorFlow 1 and 2 and of Keras. The values must
be those that TensorFlow computes. Exit code 1 when one differs.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np

X = np.random.RandomState(3).randn(4, 5).astype(np.float32)

# Each writes a model into the folder given, saves there what TensorFlow computes for x.npy as want.npy, and prints the
# words after `argosy graph run`. In a process of its own: TensorFlow 1 and 2 do not mix.
COMMON = "import sys, numpy as np, tensorflow as tf\nd = sys.argv[1]\nX = np.load(d + '/x.npy')\n"
V1 = COMMON + """
tf1 = tf.compat.v1
tf1.disable_eager_execution()
x = tf1.placeholder(tf.float32, [None, 5], name='x')
with tf1.variable_scope('plain', use_resource=False):
    w = tf1.get_variable('w', initializer=np.linspace(-1, 1, 15).reshape(5, 3).astype(np.float32))
with tf1.variable_scope('resource', use_resource=True):
    b = tf1.get_variable('b', initializer=np.array([0.1, 0.2, 0.3], np.float32))
y = tf.nn.softmax(tf.matmul(x, w) + b, name='y')
session = tf1.Session()
session.run(tf1.global_variables_initializer())
session.run(tf1.assign_add(w, w * 0.5))
np.save(d + '/want.npy', session.run(y, {x: X}))
"""
# A SavedModel as Keras writes it; its inputs and outputs by the names of the signature.
KERAS = COMMON + """
K = tf.keras
tf.random.set_seed(1)
def export(model, *inputs):
    want = model(list(inputs) if len(inputs) > 1 else inputs[0], training=False)
    np.save(d + '/want.npy', want)
    model.export(d + '/model', verbose=False)
    signature = tf.saved_model.load(d + '/model').signatures['serving_default']
    names = [i.name for i in model.inputs]
    words = f'{d}/model'
    for key in signature.structured_input_signature[1]:
        at = names.index(key) if key in names else 0
        np.save(f'{d}/in{at}.npy', inputs[at])
        words += f' --feed {key}={d}/in{at}.npy'
    print(words + ' --fetch ' + list(signature.structured_outputs)[0])
"""
MODELS = {
    "frozen": V1 + """
g = tf1.graph_util.convert_variables_to_constants(session, tf1.get_default_graph().as_graph_def(), ['y'])
tf.io.write_graph(g, d, 'model.pb', as_text=False)
print(f'{d}/model.pb --feed x={d}/x.npy --fetch y')
""",
    "frozen_text": V1 + """
g = tf1.graph_util.convert_variables_to_constants(session, tf1.get_default_graph().as_graph_def(), ['y'])
tf.io.write_graph(g, d, 'model.pbtxt', as_text=True)
print(f'{d}/model.pbtxt --feed x={d}/x.npy --fetch y:0')
""",
    "saver": V1 + """
tf1.train.Saver().save(session, d + '/model', global_step=7)
print(f'{d}/model-7.meta --checkpoint {d}/model-7 --feed x={d}/x.npy --fetch y')
""",
    "saver_sharded": V1 + """
tf1.train.Saver(sharded=True).save(session, d + '/model')
print(f'{d}/model.meta --checkpoint {d}/model --feed x={d}/x.npy --fetch y')
""",
    "saved_model_1": V1 + """
tf1.saved_model.simple_save(session, d + '/model', inputs={'question': x}, outputs={'answer': y})
print(f'{d}/model --feed question={d}/x.npy --fetch answer')
""",
    "saved_model_2": COMMON + """
class Model(tf.Module):
    def __init__(self):
        self.w = tf.Variable(np.linspace(-1, 1, 15).reshape(5, 3).astype(np.float32))
        self.steps = tf.Variable(3)
    @tf.function(input_signature=[tf.TensorSpec([None, 5])])
    def __call__(self, question):
        y = question
        if tf.reduce_sum(y) > 1000.:
            y = y * 2
        for _ in tf.range(self.steps):
            y = tf.sin(y) + question
        return {'answer': tf.matmul(y, self.w)}
m = Model()
m.w.assign_add(m.w)
np.save(d + '/want.npy', m(tf.constant(X))['answer'])
tf.saved_model.save(m, d + '/model')
print(f'{d}/model --feed question={d}/x.npy --fetch answer')
""",
    "two_signatures": COMMON + """
class Model(tf.Module):
    def __init__(self):
        self.w = tf.Variable(np.linspace(-1, 1, 15).reshape(5, 3).astype(np.float32))
    @tf.function(input_signature=[tf.TensorSpec([None, 5], tf.float32, 'question')])
    def score(self, question):
        return {'answer': tf.matmul(question, self.w)}
    @tf.function(input_signature=[tf.TensorSpec([None, 5], tf.float32, 'question')])
    def again(self, question):
        return {'answer': -tf.matmul(question, self.w)}
m = Model()
np.save(d + '/want.npy', m.score(tf.constant(X))['answer'])
tf.saved_model.save(m, d + '/model', signatures={'score': m.score, 'again': m.again})
print(f'{d}/model --signature score --feed question={d}/x.npy --fetch answer')
""",
    "keras_dense": KERAS + """
export(K.Sequential([K.Input((5,), name='x'), K.layers.Dense(8, activation='relu'), K.layers.Dense(3, activation='softmax')]), X)
""",
    "keras_convolution": KERAS + """
m = K.Sequential([K.Input((12, 12, 3)), K.layers.Conv2D(4, 3, activation='relu'), K.layers.BatchNormalization(),
                  K.layers.MaxPooling2D(), K.layers.DepthwiseConv2D(3), K.layers.Flatten(), K.layers.Dropout(.5), K.layers.Dense(2)])
export(m, np.random.RandomState(1).rand(4, 12, 12, 3).astype(np.float32))
""",
    "keras_two_inputs": KERAS + """
left, right = K.Input((5,), name='left'), K.Input((3,), name='right')
both = K.layers.Add()([K.layers.Dense(4)(left), K.layers.Dense(4)(right)])
export(K.Model([left, right], K.layers.Concatenate()([both, left])), X, X[:, :3])
""",
    "keras_lstm": KERAS + """
m = K.Sequential([K.Input((7,), dtype='int32', name='words'), K.layers.Embedding(20, 6), K.layers.LSTM(5), K.layers.Dense(1)])
export(m, np.random.RandomState(1).randint(0, 20, (4, 7)).astype(np.int32))
""",
    "keras_normalised": KERAS + """
export(K.Sequential([K.Input((5,), name='x'), K.layers.LayerNormalization(), K.layers.Dense(3, activation='gelu')]), X)
""",
    "saved_model_table": COMMON + """
class Model(tf.Module):
    def __init__(self):
        with open(d + '/words.txt', 'w') as words:
            words.write('zero\\none\\ntwo\\n')
        self.table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(
            d + '/words.txt', tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER), -1)
    @tf.function(input_signature=[tf.TensorSpec([None, 5])])
    def __call__(self, question):
        n = self.table.lookup(tf.constant(['two', 'none', 'one']))
        return {'answer': question[:, :3] * tf.cast(n, tf.float32)}
m = Model()
np.save(d + '/want.npy', m(tf.constant(X))['answer'])
tf.saved_model.save(m, d + '/model')
print(f'{d}/model --feed question={d}/x.npy --fetch answer')
""",
}


def compare(program, folder, script):
    np.save(folder / "x.npy", X)
    (folder / "write.py").write_text(script)
    written = subprocess.run([sys.executable, str(folder / "write.py"), str(folder)], capture_output=True, text=True,
                             timeout=120)
    if written.returncode != 0:
        return f"TensorFlow: {written.stderr.strip().splitlines()[-1]}"
    words = written.stdout.strip().splitlines()[-1].split()
    if difference := imported(program, words):
        return difference
    out = folder / "out.npy"
    done = subprocess.run([program, "graph", "run", *words, "--out", str(out)], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return done.stderr.strip()
    ours, theirs = np.load(out), np.load(folder / "want.npy")
    if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=1e-5, atol=1e-6):
        return f"{ours.ravel()[:6]}, TensorFlow {theirs.ravel()[:6]}"
    return None


def imported(program, words):
    """`graph import` finds nothing missing, and says what is fed and fetched."""
    done = subprocess.run([program, "graph", "import", words[0]], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return f"graph import: exit {done.returncode}\n{done.stdout}{done.stderr}"
    for i, word in enumerate(words):
        name = words[i + 1].split("=")[0].split(":")[0] if word in ("--feed", "--fetch") else None
        if name and not re.search(rf"^  {word[2:]} +{re.escape(name)}\b", done.stdout, re.M):
            return f"graph import does not say {word} {name}:\n{done.stdout}"
    return None


def main():
    wrong = 0
    for name, script in MODELS.items():
        with tempfile.TemporaryDirectory() as scratch:
            difference = compare(sys.argv[1], pathlib.Path(scratch), script)
        if difference:
            wrong += 1
            print(f"{name}: {difference}")
    print(f"{len(MODELS) - wrong} of {len(MODELS)} models give what TensorFlow gives")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
