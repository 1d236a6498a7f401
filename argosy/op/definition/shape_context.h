// ShapeContext: what a shape function sees of a node, and where it says what it found.
#pragma once

#include <span>

#include "argosy/op/definition/op_def.h"

namespace argosy {

// A size that a shape function cannot tell.
inline constexpr std::int64_t kUnknownSize = PartialShape::kUnknown;

class ShapeContext {
 public:
  // Everything is borrowed for the length of a call. `ints[i]`: the known integers of input i, or null. `handles`: what
  // the inputs that are handles refer to, or null, and room for what the outputs refer to; empty where nobody asks.
  ShapeContext(const OpDef& op, const AttrMap& attrs, std::span<const DType> input_dtypes,
               std::span<const PartialShape* const> inputs, std::span<const PartialInts* const> ints,
               std::span<PartialShape> outputs, std::span<const HandleFact* const> handles = {},
               std::span<HandleFact> output_handles = {})
      : op_(op),
        attrs_(attrs),
        dtypes_(input_dtypes),
        inputs_(inputs),
        ints_(ints),
        outputs_(outputs),
        handles_(handles),
        output_handles_(output_handles) {}

  const OpDef& op() const { return op_; }                                // of the node
  const AttrMap& attrs() const { return attrs_; }                        // of the node
  int num_inputs() const { return static_cast<int>(inputs_.size()); }    // data inputs
  int num_outputs() const { return static_cast<int>(outputs_.size()); }  // of the node
  const PartialShape& input(int i) const { return *inputs_[i]; }         // what is known of its shape
  DType input_dtype(int i) const { return dtypes_[i]; }                  // of input i
  // The integers input i will hold, element by element; null when nothing is known of them.
  const PartialInts* ints(int i) const { return ints_[i]; }
  // Input i read as a shape (sizes; negative and unknown ones become unknown); unknown when nothing is known, but of
  // known rank when input i's length is.
  PartialShape input_as_shape(int i) const;
  // The one integer input i holds, if known; the k-th it holds, if known and if there is one.
  std::optional<std::int64_t> input_as_int(int i) const;
  std::optional<std::int64_t> int_at(int i, int k) const;  // element k of input i, where it is an integer known now

  const PartialShape& output(int i) const { return outputs_[i]; }                 // what was set so far
  void set_output(int i, PartialShape shape) { outputs_[i] = std::move(shape); }  // of output i
  // Of every output.
  void set_all_outputs(const PartialShape& shape) {
    for (PartialShape& o : outputs_) o = shape;
  }

  // What input i, a resource or a variant, refers to; null when that is not known.
  const HandleFact* handle(int i) const { return handles_.empty() ? nullptr : handles_[i]; }
  // What lies behind a resource that output i names.
  void set_handle(int i, HandleFact fact) {
    if (!output_handles_.empty()) output_handles_[i] = std::move(fact);
  }

  // Input i must have this rank (or an unknown one, which becomes known in the returned shape).
  Result<PartialShape> with_rank(int i, int rank) const;

 private:
  const OpDef& op_;
  const AttrMap& attrs_;
  std::span<const DType> dtypes_;
  std::span<const PartialShape* const> inputs_;
  std::span<const PartialInts* const> ints_;
  std::span<PartialShape> outputs_;
  std::span<const HandleFact* const> handles_;
  std::span<HandleFact> output_handles_;
};

// Shape functions that many ops share.
Status same_as_input(ShapeContext& c);     // every output has input 0's shape
Status broadcast_inputs(ShapeContext& c);  // output 0: all inputs broadcast together
Status merged_inputs(ShapeContext& c);     // output 0: all inputs have one shape
Status scalar_output(ShapeContext& c);     // every output is a scalar
Status unknown_output(ShapeContext& c);    // nothing is known
Status no_output(ShapeContext& c);         // there is none

// Known integers that many ops share: those of input 0, element by element (Identity, Reshape, Squeeze).
std::optional<PartialInts> input_ints(const ShapeContext& c, int index);

}  // namespace argosy
