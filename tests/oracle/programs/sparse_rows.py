"""CSR matrices with all that TensorFlow's CPU computes of them, and what warm starts read."""
import os

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops.linalg.sparse import sparse_csr_matrix_grad  # registers the gradients
from tensorflow.python.ops.linalg.sparse import gen_sparse_csr_matrix_ops as csr

from program import program

del sparse_csr_matrix_grad


def _matrix(values, batched):
    places = [[0, 0, 1], [0, 2, 0], [1, 1, 3], [1, 2, 2]] if batched else [[0, 1], [1, 3], [2, 0], [2, 2]]
    return csr.sparse_tensor_to_csr_sparse_matrix(places, values, [2, 3, 4] if batched else [3, 4])


@program
def csr_matrices(run):
    """Forms, products with every combination of flags, and their gradients."""
    flags = ("transpose_a", "transpose_b", "adjoint_a", "adjoint_b", "transpose_output", "conjugate_output")
    for dtype in (tf.float32, tf.complex128):
        for batched in (False, True):
            with tf.Graph().as_default() as graph:
                def numbers(*shape):
                    real = run.random.rand(*shape).astype(dtype.as_numpy_dtype)
                    return real + 1j * run.random.rand(*shape) if dtype.is_complex else real

                values = tf.placeholder(dtype, [4])
                a = _matrix(values, batched)
                sparse = csr.csr_sparse_matrix_to_sparse_tensor(a, type=dtype)
                fetches = {"dense": csr.csr_sparse_matrix_to_dense(a, type=dtype), "indices": sparse.indices,
                           "values": sparse.values, "shape": sparse.dense_shape, "count": csr.sparse_matrix_nnz(a),
                           "turned": csr.csr_sparse_matrix_to_dense(
                               csr.sparse_matrix_transpose(a, type=dtype, conjugate=True), type=dtype)}
                for i, part in enumerate(csr.csr_sparse_matrix_components(a, int(batched), type=dtype)):
                    fetches[f"part {i}"] = part
                for bits in range(64):
                    chosen = {flag: bool(bits >> k & 1) for k, flag in enumerate(flags)}
                    ta, tb, aa, ab, _, _ = chosen.values()
                    if ta and aa or tb and ab:
                        continue
                    inner = 3 if ta or aa else 4
                    shape = ([2] if batched else []) + ([2, inner] if tb or ab else [inner, 2])
                    b = tf.constant(numbers(*shape))
                    y = csr.sparse_matrix_mat_mul(a, b, **chosen)
                    fetches[f"product {bits}"] = y
                    if dtype == tf.float32:
                        loss = tf.reduce_sum(y * tf.constant(run.random.rand(*y.shape.as_list()).astype("float32")))
                        fetches[f"gradient {bits} a"], fetches[f"gradient {bits} b"] = tf.gradients(loss, [values, b])
                for name, product in (("square", {"transpose_b": True}), ("other square", {"adjoint_a": True})):
                    y = csr.csr_sparse_matrix_to_dense(csr.sparse_matrix_sparse_mat_mul(a, a, type=dtype, **product), type=dtype)
                    fetches[name] = y
                with run.session(graph) as session:
                    for name, kept in session.run(fetches, {values: numbers(4)}).items():
                        if np.iscomplexobj(kept):
                            kept = np.stack([kept.real, kept.imag])
                        run.keep(f"{dtype.name} {'batch' if batched else 'matrix'} {name}", kept, 1e-4)


@program
def csr_factors(run):
    """An order of rows, and the Cholesky factor in it."""
    for dtype in (tf.float64, tf.complex128):
        for batches in (0, 2):
            n = 12
            pattern = run.random.rand(n, n) < 0.15
            places = np.argwhere(pattern | pattern.T | np.eye(n, dtype=bool))
            values = run.random.rand(n, n) - 0.5 + (1j * (run.random.rand(n, n) - 0.5) if dtype.is_complex else 0)
            values = (values + values.conj().T + 2 * n * np.eye(n))[places[:, 0], places[:, 1]]
            shape = [n, n]
            if batches:
                places = np.concatenate([np.insert(places, 0, b, axis=1) for b in range(batches)])
                values, shape = np.concatenate([values, values + (values.real > n)]), [batches, n, n]
            with tf.Graph().as_default() as graph:
                a = csr.sparse_tensor_to_csr_sparse_matrix(places, tf.constant(values, dtype), shape)
                order = csr.sparse_matrix_ordering_amd(a)
                turned = tf.reverse(order, [-1])
                fetches = {"order": order}
                for name, by in (("factor", order), ("factor in another order", turned)):
                    factor = csr.sparse_matrix_sparse_cholesky(a, by, type=dtype)
                    fetches[name], fetches[f"{name}, count"] = (csr.csr_sparse_matrix_to_dense(factor, type=dtype),
                                                                csr.sparse_matrix_nnz(factor))
                with run.session(graph) as session:
                    for name, kept in session.run(fetches).items():
                        if np.iscomplexobj(kept):
                            kept = np.stack([kept.real, kept.imag])
                        run.keep(f"{dtype.name} {'batch' if batches else 'matrix'} {name}", kept, 1e-8)


@program
def warm_start(run):
    """Weights of a checkpoint for a vocabulary in another order."""
    old, new, model = (os.path.join(run.folder, name) for name in ("old.txt", "new.txt", "model"))
    os.makedirs(run.folder, exist_ok=True)
    for path, words in ((old, "abc"), (new, "cdab")):
        with open(path, "w") as file:
            file.write("\n".join(words) + "\n")
    from tensorflow.python.ops import gen_checkpoint_ops as remap
    weights = tf.get_variable("weights", initializer=np.arange(12, dtype="float32").reshape(3, 4))
    saver = tf.train.Saver()
    rows = remap.generate_vocab_remapping(new, old, new_vocab_offset=0, num_new_vocab=4)
    loaded = remap.load_and_remap_matrix(model, "weights", rows.remapping, [3, -1, 0], initializing_values=tf.range(100.0, 106.0),
                                         num_rows=4, num_cols=3)
    with run.session() as session:
        session.run(weights.initializer)
        saver.save(session, model, write_meta_graph=False)
        run.keep("rows", session.run(rows.remapping))
        run.keep("found", session.run(rows.num_present))
        run.keep("loaded", session.run(loaded))


@program
def composite_tensors(run):
    """Ragged and sparse tensors as variants, and out of them, with gradients through the values."""
    from tensorflow.python.ops import composite_tensor_ops as composite
    x = tf.placeholder(tf.float32, [3])
    ragged = tf.RaggedTensor.from_row_splits(x * 2.0, [0, 1, 3])
    back = composite.composite_tensor_from_variant(composite.composite_tensor_to_variants(ragged), ragged._type_spec)
    sparse = tf.SparseTensor([[0, 1], [1, 0], [2, 2]], x * x, [3, 3])
    other = composite.composite_tensor_from_variant(composite.composite_tensor_to_variants(sparse), tf.SparseTensorSpec([3, 3], tf.float32))
    loss = tf.reduce_sum(back.flat_values * [1.0, 2.0, 3.0]) + tf.reduce_sum(other.values * [4.0, 5.0, 6.0])
    with run.session() as session:
        feed = {x: [1.0, -2.0, 3.0]}
        for name, fetch in (("splits", back.row_splits), ("values", back.flat_values), ("indices", other.indices),
                            ("squares", other.values), ("gradient", tf.gradients(loss, x)[0])):
            run.keep(name, session.run(fetch, feed))
