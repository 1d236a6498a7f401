#!/usr/bin/env python3
"""TensorFlow's own sentences for wrong arguments, which scripts match on, looked for in our errors.

    error_sentences.py ARGOSY [--only MatMul] [--verbose]

Each row is an op with an argument that is wrong in a step alone (shapes are fed, so that the client finds nothing wrong
beforehand) and a regular expression. TensorFlow in process must refuse the row with a message that the expression matches;
our server must refuse it with the same class of exception and a message that it matches as well. Exit code 1 otherwise.
"""
import argparse
import os
import re
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
raw = tf.raw_ops


def fed(value, dtype=None):
    """A tensor of which the client knows nothing but the dtype."""
    value = np.asarray(value, dtype or (np.int32 if np.asarray(value).dtype == np.int64 else None))
    if value.dtype == np.float64:
        value = value.astype(np.float32)
    hole = tf.placeholder(tf.as_dtype(value.dtype), None)
    FEEDS[hole] = value
    return hole


def longs(value):
    return fed(value, np.int64)


def words(value):
    return fed(value, object)


def ones(*shape):
    return fed(np.ones(shape, np.float32))


def ranked(hole):
    """The client knows the rank and the last size: its shape functions of CSR matrices do not take less."""
    shape = FEEDS[hole].shape
    hole.set_shape([None] * (len(shape) - 1) + list(shape[-1:]))
    return hole


def csr(indices, shape, known=True):
    """Ones at these places. known: whether the client knows the shape."""
    return raw.SparseTensorToCSRSparseMatrix(indices=ranked(longs(indices)), values=ranked(ones(len(indices))),
                                             dense_shape=tf.constant(shape, tf.int64) if known else fed(shape, np.int64))


def reference(*shape):
    """A variable of ones, by reference."""
    ref = raw.VariableV2(shape=shape, dtype=tf.float32, shared_name=f"reference{len(tf.get_default_graph().get_operations())}")
    INITIAL.append(raw.Assign(ref=ref, value=tf.ones(shape)).op)
    return ref


def handle(*shape):
    """The same by a handle that does not know the shape."""
    resource = raw.VarHandleOp(dtype=tf.float32, shape=None, shared_name=f"handle{len(tf.get_default_graph().get_operations())}")
    INITIAL.append(raw.AssignVariableOp(resource=resource, value=tf.ones(shape)))
    return resource


FEEDS = {}
INITIAL = []  # what gives variables their values
SPARSE = lambda indices, values, shape: dict(sparse_indices=longs(indices), sparse_values=fed(values), sparse_shape=longs(shape))
# (name, what is fetched, what both must say)
ROWS = [
    ("MatMul sizes", lambda: raw.MatMul(a=ones(2, 3), b=ones(4, 5)), r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[4,5\]"),
    ("MatMul rank", lambda: raw.MatMul(a=ones(2, 3), b=ones(3)), r"In\[0\] and In\[1\] has different ndims: \[2,3\] vs\. \[3\]"),
    ("BatchMatMulV2 sizes", lambda: raw.BatchMatMulV2(x=ones(2, 2, 3), y=ones(2, 4, 5)), r"Matrix size-incompatible: In\[0\]: \[2,2,3\], In\[1\]: \[2,4,5\]"),
    ("BatchMatMulV2 batch", lambda: raw.BatchMatMulV2(x=ones(2, 2, 3), y=ones(3, 3, 5)), r"In\[0\] and In\[1\] must have compatible batch dimensions: \[2,2,3\] vs\. \[3,3,5\]"),
    ("RandomIndexShuffle index", lambda: raw.RandomIndexShuffle(index=fed(9), seed=fed([1, 2, 3]), max_index=fed(7)), r"max_index must be >= index, but 7 < 9"),
    ("RandomIndexShuffle seed", lambda: raw.RandomIndexShuffle(index=fed([0, 1]), seed=fed([1, 2]), max_index=fed(7)), r"Seed must be a vector of size \[3\] or a matrix of size \[2, 3\] but got \[2\]"),
    ("SobolSample dim", lambda: raw.SobolSample(dim=fed(0), num_results=fed(3), skip=fed(0)), r"dim must be at least one"),
    ("SobolSample most", lambda: raw.SobolSample(dim=fed(21201), num_results=fed(3), skip=fed(0)), r"dim must be at most 21200"),
    ("SobolSample skip", lambda: raw.SobolSample(dim=fed(2), num_results=fed(3), skip=fed(-1)), r"skip must be non-negative"),
    ("Binomial shape", lambda: raw.StatelessRandomBinomial(shape=fed([3]), seed=fed([1, 2]), counts=ones(2), probs=ones(1)), r"Shape passed in must end with broadcasted shape"),
    ("Binomial batches", lambda: raw.StatelessRandomBinomial(shape=fed([3]), seed=fed([1, 2]), counts=ones(2), probs=ones(3)), r"counts and probs must have compatible batch dimensions: \[2\] vs\. \[3\]"),
    ("Truncated normal", lambda: raw.StatelessParameterizedTruncatedNormal(shape=fed([3]), seed=fed([1, 2]), means=fed(np.float32(0)), stddevs=fed(np.float32(-1)), minvals=fed(np.float32(0)), maxvals=fed(np.float32(1))), r"Invalid parameters"),
    ("CSR bounds", lambda: raw.SparseMatrixNNZ(sparse_matrix=csr([[0, 9]], [3, 4])), r"Sparse index tuple indices\[0, :\] = \[0, 9\] is out of bounds"),
    ("CSR product", lambda: raw.SparseMatrixMatMul(a=csr([[0, 1]], [3, 4]), b=ranked(ones(3, 2))), r"Inner product dimensions of A and B do not agree\. Shapes are: \[3,4\] vs\. \[3,2\]"),
    ("CSR order", lambda: raw.SparseMatrixOrderingAMD(input=csr([[0, 1]], [3, 4], known=False)), r"sparse matrix must be square; got: 3 != 4"),
    ("CSR factor", lambda: raw.SparseMatrixNNZ(sparse_matrix=raw.SparseMatrixSparseCholesky(input=csr([[0, 1]], [2, 2]), permutation=ranked(fed([0, 1])), type=tf.float32)), r"Sparse Cholesky factorization failed for batch index 0\. The input might not be valid\."),
    ("CSR from dense", lambda: raw.SparseMatrixNNZ(sparse_matrix=raw.DenseToCSRSparseMatrix(dense_input=ranked(ones(2, 3)), indices=ranked(longs([[1, 9]])))), r"indices\[0\] = \[1, 9\] does not index into param shape \[2,3\]"),
    ("Add shapes", lambda: raw.AddV2(x=ones(2, 3), y=ones(2, 4)), r"Incompatible shapes: \[2,3\] vs\. \[2,4\]"),
    ("Mul shapes", lambda: raw.Mul(x=ones(2), y=ones(3)), r"Incompatible shapes: \[2\] vs\. \[3\]"),
    ("AddN shapes", lambda: raw.AddN(inputs=[ones(2), ones(3)]), r"Inputs to operation .* of type AddN must have the same size and shape\.  Input 0: \[2\] != input 1: \[3\]"),
    ("BiasAdd", lambda: raw.BiasAdd(value=ones(2, 3), bias=ones(4)), r"Must provide as many biases as the last dimension of the input tensor: \[4\] vs\. \[2,3\]"),
    ("ConcatV2 sizes", lambda: raw.ConcatV2(values=[ones(2, 3), ones(3, 3)], axis=fed(1)), r"ConcatOp : Dimension 0 in both shapes must be equal: shape\[0\] = \[2,3\] vs\. shape\[1\] = \[3,3\]"),
    ("ConcatV2 ranks", lambda: raw.ConcatV2(values=[ones(2, 3), ones(3)], axis=fed(0)), r"ConcatOp : Ranks of all input tensors should match: shape\[0\] = \[2,3\] vs\. shape\[1\] = \[3\]"),
    ("ConcatV2 axis", lambda: raw.ConcatV2(values=[ones(2, 3), ones(2, 3)], axis=fed(5)), r"ConcatOp : Expected concatenating dimensions in the range \[-2, 2\), but got 5"),
    ("Pack shapes", lambda: raw.Pack(values=[ones(2), ones(3)]), r"Shapes of all inputs must match: values\[0\]\.shape = \[2\] != values\[1\]\.shape = \[3\]"),
    ("Reshape", lambda: raw.Reshape(tensor=ones(2, 3), shape=fed([4, 2])), r"Input to reshape is a tensor with 6 values, but the requested shape has 8"),
    ("Reshape multiple", lambda: raw.Reshape(tensor=ones(2, 3), shape=fed([4, -1])), r"Input to reshape is a tensor with 6 values, but the requested shape requires a multiple of 4"),
    ("Reshape two", lambda: raw.Reshape(tensor=ones(2, 3), shape=fed([-1, -1])), r"Only one input size may be -1, not both 0 and 1"),
    ("Reshape negative", lambda: raw.Reshape(tensor=ones(2, 3), shape=fed([-2, 3])), r"Size 0 must be non-negative, not -2"),
    ("Assign", lambda: raw.Assign(ref=reference(2), value=ones(3)).op, r"Assign requires shapes of both tensors to match\. lhs shape= \[2\] rhs shape= \[3\]"),
    ("AssignAdd", lambda: raw.AssignAdd(ref=reference(2), value=ones(3)).op, r"Parameters and update must be the same size"),
    ("AssignSubVariableOp", lambda: raw.AssignSubVariableOp(resource=handle(2), value=ones(3)), r"Cannot update variable with shape \[2\] using a Tensor with shape \[3\], shapes must be equal"),
    ("ScatterAdd", lambda: raw.ScatterAdd(ref=reference(3, 2), indices=fed([0, 1]), updates=ones(2, 3)).op, r"Must have updates\.shape = indices\.shape \+ params\.shape\[1:\] or updates\.shape = \[\], got updates\.shape \[2,3\], indices\.shape \[2\], params\.shape \[3,2\]"),
    ("ScatterNdUpdate", lambda: raw.ScatterNdUpdate(ref=reference(3, 2), indices=fed([[7]]), updates=ones(1, 2)).op, r"indices\[0\] = \[7\] does not index into shape \[3,2\]"),
    ("ScatterNdUpdate updates", lambda: raw.ScatterNdUpdate(ref=reference(3, 2), indices=fed([[1]]), updates=ones(1, 3)).op, r"Dimensions \[1,2\) of input\[shape=\[3,2\]\] must match dimensions \[1,2\) of updates\[shape=\[1,3\]\]"),
    ("ApplyGradientDescent", lambda: raw.ApplyGradientDescent(var=reference(3, 2), alpha=fed(0.1), delta=ones(3)).op, r"var and delta do not have the same shape\[3,2\] \[3\]"),
    ("ResourceApplyGradientDescent", lambda: raw.ResourceApplyGradientDescent(var=handle(3, 2), alpha=fed(0.1), delta=ones(3)), r"var and delta do not have the same shape\[3,2\] \[3\]"),
    ("SparseApplyAdagrad", lambda: raw.SparseApplyAdagrad(var=reference(3, 2), accum=reference(3, 2), lr=fed(0.1), grad=ones(1, 2), indices=fed([9])).op, r"Index 9 at offset 0 in indices is out of range"),
    ("DestroyTemporaryVariable", lambda: raw.DestroyTemporaryVariable(ref=raw.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="a"), var_name="b"), r"does not exist"),
    ("ConcatV2 known axis", lambda: raw.ConcatV2(values=[ones(2, 3), ones(3, 3)], axis=1), r"ConcatOp : Dimension 0 in both shapes must be equal: shape\[0\] = \[2,3\] vs\. shape\[1\] = \[3,3\]"),
    ("ConcatV2 axis beyond", lambda: raw.ConcatV2(values=[ones(2, 3), ones(2, 3)], axis=5), r"ConcatOp : Expected concatenating dimensions in the range \[-2, 2\), but got 5"),
    ("ConcatV2 scalars", lambda: raw.ConcatV2(values=[ones(), ones()], axis=fed(0)), r"ConcatOp : Can't concatenate scalars \(use tf\.stack instead\)"),
    ("Slice known", lambda: raw.Slice(input=ones(1), begin=[0], size=[5]), r"Expected size\[0\] in \[0, 1\], but got 5"),
    ("Slice known begin", lambda: raw.Slice(input=ones(3, 2), begin=[4, 0], size=[-1, 2]), r"Expected begin\[0\] in \[0, 3\], but got 4"),
    ("Split axis", lambda: raw.Split(axis=fed(3), value=ones(5, 2), num_split=2), r"-input rank\(-2\) <= split_dim < input rank \(2\), but got 3"),
    ("SplitV open", lambda: raw.SplitV(value=ones(5, 2), size_splits=fed([-1, 7]), axis=fed(0), num_split=2), r"Determined shape must either match .* Got: 7"),
    ("Pack axis", lambda: raw.Pack(values=[ones(2), ones(2)], axis=4), r"axis = 4 not in \[-2, 2\)"),
    ("GatherNd deep", lambda: raw.GatherNd(params=ones(3), indices=fed([[0, 1]])), r"index innermost dimension length must be <= params rank; saw: 2 vs\. 1"),
    ("SparseSegmentSum", lambda: raw.SparseSegmentSum(data=ones(3, 2), indices=fed([0, 9]), segment_ids=fed([0, 0])), r"Bad: indices\[1\] == 9 out of range \[0, 3\)"),
    ("SparseSegmentSum length", lambda: raw.SparseSegmentSum(data=ones(3, 2), indices=fed([0, 1]), segment_ids=fed([0])), r"segment_ids and indices should have same size\."),
    ("ArgMax known axis", lambda: raw.ArgMax(input=ones(3, 2), dimension=2), r"Expected dimension in the range \[-2, 2\), but got 2"),
    ("Cumsum known axis", lambda: raw.Cumsum(x=ones(2), axis=3), r"ScanOp: Expected scan axis in the range \[-1, 1\), but got 3"),
    ("Select rows", lambda: raw.Select(condition=fed([True, False]), x=ones(3, 2), y=ones(3, 2)), r"Number of batches of 'then' must match size of 'cond', but saw: 3 vs\. 2"),
    ("Conv2D window", lambda: raw.Conv2D(input=ones(1, 2, 2, 3), filter=ones(4, 4, 3, 1), strides=[1, 1, 1, 1], padding="VALID"), r"Computed output size would be negative: -1 \[input_size: 2, effective_filter_size: 4, stride: 1\]"),
    ("MaxPool window", lambda: raw.MaxPool(input=ones(1, 2, 2, 3), ksize=[1, 4, 4, 1], strides=[1, 1, 1, 1], padding="VALID"), r"Computed output size would be negative: -1 \[input_size: 2, effective_filter_size: 4, stride: 1\]"),
    ("GatherV2", lambda: raw.GatherV2(params=ones(3, 2), indices=fed([0, 7]), axis=fed(0)), r"indices\[1\] = 7 is not in \[0, 3\)"),
    ("ResourceGather-like Gather", lambda: raw.Gather(params=ones(3, 2), indices=fed([[0], [-1]])), r"indices\[1,0\] = -1 is not in \[0, 3\)"),
    ("GatherNd", lambda: raw.GatherNd(params=ones(3, 2), indices=fed([[0, 1], [5, 0]])), r"indices\[1\] = \[5, 0\] does not index into param shape \[3,2\]"),
    ("ScatterNd", lambda: raw.ScatterNd(indices=fed([[0], [5]]), updates=ones(2, 2), shape=fed([3, 2])), r"indices\[1\] = \[5\] does not index into shape \[3,2\]"),
    ("TensorScatterUpdate", lambda: raw.TensorScatterUpdate(tensor=ones(3, 2), indices=fed([[5]]), updates=ones(1, 2)), r"indices\[0\] = \[5\] does not index into shape \[3,2\]"),
    ("Slice", lambda: raw.Slice(input=ones(3, 2), begin=fed([2, 0]), size=fed([2, 2])), r"Expected size\[0\] in \[0, 1\], but got 2"),
    ("Slice begin", lambda: raw.Slice(input=ones(3, 2), begin=fed([4, 0]), size=fed([0, 2])), r"Expected begin\[0\] in \[0, 3\], but got 4"),
    ("Slice lengths", lambda: raw.Slice(input=ones(3, 2), begin=fed([0]), size=fed([1])), r"Expected begin and size arguments to be 1-D tensors of size 2, but got shapes \[1\] and \[1\] instead"),
    ("StridedSlice index", lambda: ones(3, 2)[fed(4)], r"slice index 4 of dimension 0 out of bounds"),
    ("StridedSlice stride", lambda: ones(3, 2)[0:2:fed(0)], r"strides\[0\] must be non-zero"),
    ("StridedSlice too many", lambda: ones(3)[0, 0], r"Index out of range using input dim 1; input has only 1 dims"),
    ("Split", lambda: raw.Split(axis=fed(0), value=ones(5, 2), num_split=2), r"Number of ways to split should evenly divide the split dimension, but got split_dim 0 \(size = 5\) and num_split 2"),
    ("SplitV", lambda: raw.SplitV(value=ones(5, 2), size_splits=fed([2, 2]), axis=fed(0), num_split=2), r"Determined shape must either match input shape along split_dim exactly if fully specified"),
    ("Unpack", lambda: raw.Unpack(value=ones(3, 2), num=2), r"Input shape axis 0 must equal 2, got shape \[3,2\]"),
    ("Transpose", lambda: raw.Transpose(x=ones(3, 2), perm=fed([0])), r"transpose expects a vector of size 2\. But input\(1\) is a vector of size 1"),
    ("Transpose twice", lambda: raw.Transpose(x=ones(3, 2), perm=fed([0, 0])), r"1 is missing from"),
    ("Transpose range", lambda: raw.Transpose(x=ones(3, 2), perm=fed([0, 2])), r"2 is out of range \[0 \.\. 2\)"),
    ("ExpandDims", lambda: raw.ExpandDims(input=ones(3, 2), axis=fed(4)), r"Tried to expand dim index 4 for tensor with 2 dimensions"),
    ("Squeeze", lambda: raw.Squeeze(input=ones(3, 2), axis=[0]), r"Can not squeeze dim\[0\], expected a dimension of 1, got 3"),
    ("Tile", lambda: raw.Tile(input=ones(3, 2), multiples=fed([1])), r"Expected multiples argument to be a vector of length 2 but got length 1"),
    ("Tile negative", lambda: raw.Tile(input=ones(3, 2), multiples=fed([1, -1])), r"Expected multiples\[1\] >= 0, but got -1"),
    ("Fill", lambda: raw.Fill(dims=fed([-1]), value=fed(1.0)), r"Dimension -1 must be >= 0"),
    ("Pad", lambda: raw.Pad(input=ones(3, 2), paddings=fed([[1, 1]])), r"The first dimension of paddings must be the rank of inputs\[1,2\] \[3,2\]"),
    ("Pad negative", lambda: raw.Pad(input=ones(3, 2), paddings=fed([[1, 1], [-1, 0]])), r"Paddings must be non-negative: -1 0"),
    ("MirrorPad", lambda: raw.MirrorPad(input=ones(3, 2), paddings=fed([[3, 0], [0, 0]]), mode="REFLECT"), r"paddings must be less than the dimension size: 3, 0 not less than 3"),
    ("BroadcastTo", lambda: raw.BroadcastTo(input=ones(3), shape=fed([2])), r"Incompatible shapes: \[3\] vs\. \[2\]"),
    ("Sum axis", lambda: raw.Sum(input=ones(3, 2), axis=fed(2)), r"Invalid reduction dimension \(2 for input with 2 dimension\(s\)"),
    ("ArgMax axis", lambda: raw.ArgMax(input=ones(3, 2), dimension=fed(2)), r"Expected dimension in the range \[-2, 2\), but got 2"),
    ("OneHot depth", lambda: raw.OneHot(indices=fed([1]), depth=fed(-1), on_value=fed(1.0), off_value=fed(0.0)), r"depth must be non-negative, got: -1"),
    ("Range", lambda: raw.Range(start=fed(0), limit=fed(3), delta=fed(0)), r"Requires delta != 0"),
    ("Range negative", lambda: raw.Range(start=fed(5), limit=fed(3), delta=fed(1)), r"Requires start <= limit when delta > 0"),
    ("TopKV2", lambda: raw.TopKV2(input=ones(2), k=fed(3)), r"input must have at least k columns\. Had 2, needed 3"),
    ("SparseSoftmax label", lambda: raw.SparseSoftmaxCrossEntropyWithLogits(features=ones(2, 3), labels=fed([0, 5])), r"Received a label value of 5 which is outside the valid range of \[0, 3\)"),
    ("SparseSoftmax shapes", lambda: raw.SparseSoftmaxCrossEntropyWithLogits(features=ones(2, 3), labels=fed([0])), r"logits and labels must have the same first dimension, got logits shape \[2,3\] and labels shape \[1\]"),
    ("Softmax shapes", lambda: raw.SoftmaxCrossEntropyWithLogits(features=ones(2, 3), labels=ones(2, 4)), r"logits and labels must be broadcastable: logits_size=\[2,3\] labels_size=\[2,4\]"),
    ("Conv2D depth", lambda: raw.Conv2D(input=ones(1, 4, 4, 3), filter=ones(2, 2, 2, 1), strides=[1, 1, 1, 1], padding="SAME"), r"input depth must be evenly divisible by filter depth: 3 vs 2"),
    ("SegmentSum order", lambda: raw.SegmentSum(data=ones(3, 2), segment_ids=fed([1, 0, 2])), r"segment ids are not increasing"),
    ("SegmentSum length", lambda: raw.SegmentSum(data=ones(3, 2), segment_ids=fed([0, 1])), r"segment_ids should be the same size as dimension 0 of input"),
    ("UnsortedSegmentSum", lambda: raw.UnsortedSegmentSum(data=ones(3, 2), segment_ids=fed([0, 1, 9]), num_segments=fed(2)), r"segment_ids\[2\] = 9 is out of range \[0, 2\)"),
    ("SparseToDense", lambda: raw.SparseToDense(sparse_indices=fed([[0], [5]]), output_shape=fed([3]), sparse_values=ones(2), default_value=fed(0.0)), r"indices\[1\] = \[?5\]? is out of bounds: need 0 <= index < \[3\]"),
    ("SparseToDense order", lambda: raw.SparseToDense(sparse_indices=fed([[1], [0]]), output_shape=fed([3]), sparse_values=ones(2), default_value=fed(0.0)), r"indices\[1\] = \[?0\]? is out of order"),
    ("SparseTensorDenseMatMul", lambda: raw.SparseTensorDenseMatMul(a_indices=longs([[0, 0]]), a_values=ones(1), a_shape=longs([2, 3]), b=ones(4, 2)), r"Cannot multiply A and B because inner dimension does not match: 3 vs\. 4"),
    ("SparseReorder", lambda: raw.SparseReorder(input_indices=longs([0]), input_values=ones(1), input_shape=longs([2])), r"must be rank 2 but is rank 1"),
    ("DecodeRaw", lambda: raw.DecodeRaw(bytes=words(["abc"]), out_type=tf.int32), r"Input to DecodeRaw has length 3 that is not a multiple of 4, the size of int32"),
    ("DecodePng", lambda: raw.DecodePng(contents=words("nonsense")), r"Unknown image file format\. One of JPEG"),
    ("StringToNumber", lambda: raw.StringToNumber(string_tensor=words(["x1"])), r"StringToNumberOp could not correctly convert string: x1"),
    ("DecodeCSV", lambda: raw.DecodeCSV(records=words(["1,2,3"]), record_defaults=[fed([0.0]), fed([0.0])]), r"Expect 2 fields but have 3 in record"),
    ("DecodeCSV value", lambda: raw.DecodeCSV(records=words(["1,x"]), record_defaults=[fed([0.0]), fed([0.0])]), r"Field 1 in record 0 is not a valid float: x"),
    ("ParseTensor", lambda: raw.ParseTensor(serialized=words("\xff\xfe"), out_type=tf.float32), r"Could not parse `serialized` as TensorProto"),
    ("MatrixInverse", lambda: raw.MatrixInverse(input=fed([[1.0, 1], [1, 1]])), r"Input is not invertible"),
    ("CheckNumerics", lambda: raw.CheckNumerics(tensor=fed([np.nan]), message="here"), r"here : Tensor had NaN values"),
    ("Assert", lambda: tf.Assert(fed(False), ["why", fed(3)]), r"assertion failed: \[why\] \[3\]"),
    ("DynamicPartition", lambda: raw.DynamicPartition(data=ones(2), partitions=fed([0, 5]), num_partitions=2)[0], r"partitions\[1\] = 5 is not in \[0, 2\)"),
    ("InvertPermutation", lambda: raw.InvertPermutation(x=fed([0, 0])), r"0 is duplicated in the input"),
    ("Bincount negative", lambda: raw.Bincount(arr=fed([1, -1]), size=fed(3), weights=fed(np.zeros(0, np.float32))), r"Input arr must be non-negative!"),
    ("Bincount size", lambda: raw.Bincount(arr=fed([1, 1]), size=fed(-3), weights=fed(np.zeros(0, np.float32))), r"size \(-3\) must be non-negative"),
    ("FloorDiv", lambda: raw.FloorDiv(x=fed([1]), y=fed([0])), r"Integer division by zero"),
    ("Where3", lambda: raw.SelectV2(condition=fed([True, False]), t=ones(3), e=ones(3)), r"(Incompatible shapes|condition \[2\], then \[3\], and else \[3\] must be broadcastable)"),
    ("Select", lambda: raw.Select(condition=fed([[True]]), x=ones(3), y=ones(4)), r"must be the same size|must have the same|should match"),
    ("Cumsum axis", lambda: raw.Cumsum(x=ones(2), axis=fed(3)), r"Expected scan axis in the range \[-1, 1\), but got 3"),
    ("ReverseV2", lambda: raw.ReverseV2(tensor=ones(2), axis=fed([3])), r"'axis'\[0\] = 3 is out of valid range \[0, 0"),
    ("LinSpace", lambda: raw.LinSpace(start=fed(0.0), stop=fed(1.0), num=fed(0)), r"Requires num > 0: 0"),
    ("RandomUniform", lambda: raw.RandomUniform(shape=fed([-1]), dtype=tf.float32), r"Dimension -1 must be >= 0"),
    ("EnsureShape", lambda: raw.EnsureShape(input=ones(2), shape=[3]), r"Shape of tensor .* \[2\] is not compatible with expected shape \[3\]"),
]


def answer(fetch, target):
    """(class of the exception, message), or None when there was none."""
    FEEDS.clear()
    INITIAL.clear()
    with tf.Graph().as_default() as graph:
        value = fetch()
        config = tf.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf.Session(target, graph=graph, config=config) as session:
            session.run(INITIAL)
            try:
                session.run(value, FEEDS)
            except (tf.errors.OpError, ValueError) as error:
                # What is around the message: where the program made the node, and a mark of the node.
                text = getattr(error, "message", str(error))
                text = text[text.rfind("\nNode:"):].partition("\n")[2].partition("\n")[2] or text
                return type(error).__name__, re.sub(r"\s*\[\[\{\{node .*", "", text, flags=re.S)
    return None


def start(argosy):
    server = subprocess.Popen([argosy, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        line = server.stdout.readline()
        found = re.search(r"grpc://[^\s\"')]+", line)
        if found:
            return server, found.group(0)
    server.kill()
    sys.exit("the server does not say where it listens")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("argosy")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    server, target = start(options.argosy)
    wrong = unasked = 0
    try:
        rows = [row for row in ROWS if options.only in row[0]]
        for name, fetch, pattern in rows:
            theirs, ours = answer(fetch, ""), answer(fetch, target)
            found = lambda a: a is not None and re.search(pattern, a[1], re.S) is not None
            if not found(theirs):
                unasked += 1
                print(f"{name}: the row itself is wrong: TensorFlow says {theirs}")
            elif not found(ours) or theirs[0] != ours[0]:
                wrong += 1
                print(f"{name}:\n    TensorFlow {' '.join(theirs)[:200]!r}\n    argosy     {ours and ' '.join(ours)[:300]!r}")
            elif options.verbose:
                print(f"{name}: {ours[1][:200]!r}")
        print(f"TensorFlow {tf.__version__}: {len(rows)} wrong arguments, {len(rows) - wrong - unasked} told in its words, "
              f"{wrong} otherwise, {unasked} rows that are wrong themselves")
    finally:
        server.terminate()
        server.wait()
    return 1 if wrong or unasked else 0


if __name__ == "__main__":
    sys.exit(main())
