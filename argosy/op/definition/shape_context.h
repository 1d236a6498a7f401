// ShapeContext: the argument of a shape function: a node's attributes and input shapes, and the output shapes to set.
#pragma once

#include <span>

#include "argosy/op/definition/op_def.h"

namespace argosy {

// A size that is not known.
inline constexpr std::int64_t kUnknownSize = PartialShape::kUnknown;

class ShapeContext {
 public:
  // All arguments are borrowed for the length of a call. `ints[i]`: the known integers of input i, or null.
  // `handles[i]`: the dtype and shape behind input i, if it is a handle; null: not known. `output_handles` receives the
  // same of the outputs. Both are empty if the caller does not need them.
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
  const PartialShape& input(int i) const { return *inputs_[i]; }         // its shape, as far as known
  DType input_dtype(int i) const { return dtypes_[i]; }                  // of input i
  // The integers that input i will hold, element by element; null when none is known.
  const PartialInts* ints(int i) const { return ints_[i]; }
  // Input i, read as a shape. Negative and unknown elements become unknown sizes. If no element is known, the rank is
  // still known if the length of input i is.
  PartialShape input_as_shape(int i) const;
  // The single element of input i, if known.
  std::optional<std::int64_t> input_as_int(int i) const;
  std::optional<std::int64_t> int_at(int i, int k) const;  // element k of input i, if it exists and is known

  const PartialShape& output(int i) const { return outputs_[i]; }                 // as set so far
  void set_output(int i, PartialShape shape) { outputs_[i] = std::move(shape); }  // of output i
  // Of every output.
  void set_all_outputs(const PartialShape& shape) {
    for (PartialShape& o : outputs_) o = shape;
  }

  // The dtype and shape behind input i, a resource or a variant; null: not known.
  const HandleFact* handle(int i) const { return handles_.empty() ? nullptr : handles_[i]; }
  // Sets the dtype and shape behind output i, a resource.
  void set_handle(int i, HandleFact fact) {
    if (!output_handles_.empty()) output_handles_[i] = std::move(fact);
  }

  // Returns the shape of input i with this rank. An error if its known rank differs.
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
Status no_output(ShapeContext& c);         // the op has no outputs

// An OpDef::known_ints that many ops share: the known integers of input 0, element by element (Identity, Reshape,
// Squeeze).
std::optional<PartialInts> input_ints(const ShapeContext& c, int index);

}  // namespace argosy
