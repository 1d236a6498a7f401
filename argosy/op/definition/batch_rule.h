// BatchRule: how an op treats the examples of a batch, stated in its definition (OpSpec::batch_rule).
//
// A strategy shards a batch: every shard computes with the rows of its own examples. That is right where the rows of an
// example depend on no other example. The batch lies on one axis of some of the inputs, with as many examples on each.
// Shape functions tell which axis of an output follows. Who shards asks OpSpec::sharding. A batch rule is about outputs
// that have such an axis. Of the others it says only whether the values of shards may be summed or averaged.
//
// Read are kShapeOnly and kStatistics alone. What the others say, sharding rules say and tests of theirs try.
#pragma once

namespace argosy {

// Elementwise ops (OpSpec::elementwise) need not say anything: they are kPerExample.
enum class BatchRule : char {
  kUnknown,     // the op has no rule: a step that uses it on a batch's rows runs on one device.
  kPerExample,  // row i of an output, along the batch's axis, depends on rows i of the inputs alone.
  // kPerExample, unless the batch lies on the last axis (or on one of the last two, or three) of the first input, or of
  // another input with as many axes. Softmax, Cholesky, FFT3D.
  kNotLast,
  kNotLastTwo,
  kNotLastThree,
  kFirstAxis,   // the same, where the batch is axis 0 of every input that has it: convolutions, windows
  kGivenAxis,   // the same, unless the batch's axis is the one that "axis", "dims", "seq_dim" name: Cumsum, Squeeze
  kNotFirst,    // the same, unless the batch is axis 0 of an input: its rows become elements of a list, or are shuffled
  kStrided,     // the same, unless a negative one of "strides" turns the batch's axis round
  kGather,      // the first input's, by the numbers in the second: which must count a shard's own examples from 0
  kScatter,     // puts rows where integers among its inputs say, which must likewise
  kRowNumbers,  // gives such numbers: Range, Where
  kRenumbers,   // gives such numbers for those of its input, of the same examples: SparseFillEmptyRows
  kUnique,      // gives different ones of its input's, and numbers among these: Unique
  kShapeOnly,   // at shapes: its value says nothing of what is in them
  kShapeMath,   // computes with shapes: none of its inputs has rows of examples
  kMinMax,      // per example; of sizes it gives the larger, the smaller, a remainder: no multiple of the batch's
  kStatistics,  // per example, but for statistics for normalisation over all of them
  kRandom,      // random numbers, which know of no examples: rows of them are anybody's
  // Per example; and an output without the batch's axis is a sum, or a mean, over the examples.
  kSum,
  kMean,
  kSumNotLast,    // kSum, with the batch on an axis as for kNotLast
  kSumFirstAxis,  // kSum, with the batch on axis 0 as for kFirstAxis
  kScatterAdd     // kScatter, adding up what meets at one place: without the batch's axis, a sum over the examples
};

}  // namespace argosy
