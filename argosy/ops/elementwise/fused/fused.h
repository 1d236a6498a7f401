// Several elementwise ops as one: a program of steps, carried out block by block. A step hands its block to the next
// one in the core's L1 cache, not through memory. The pass fuse_elementwise makes the op _FusedElementwise. The steps
// call the very spans of the ops that they stand for: the numbers are the same, bit for bit.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/op/definition/attr.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy {

// Values are numbered: the op's inputs first, then the result of each step. A step's operands come before it.
struct FusedStep {
  std::string op;                              // TensorFlow's name of the op it stands for
  std::array<int, 3> operands = {-1, -1, -1};  // -1: none
  DType dtype = DType::kInvalid;               // of its result
};

struct FusedProgram {
  std::vector<FusedStep> steps;
  std::vector<int> results;  // steps whose results are the op's outputs, ascending
  PartialShape shape;        // of every step's result; fully known
  // Of the op's inputs; fully known. A task that gets its part of a step may know less of them than who cut the step.
  std::vector<PartialShape> inputs;

  void write(AttrMap& attrs) const;
  // INVALID_ARGUMENT when the attributes are no such program over `inputs` inputs.
  static Result<FusedProgram> read(const AttrMap& attrs, int inputs);
};

// How an input lies under the shape: element i of the result meets its element i, 0, i % period, or i / run.
struct FusedOperand {
  enum class Kind { kFull, kOne, kPeriodic, kRuns };
  Kind kind = Kind::kFull;
  std::int64_t size = 1;  // the period or the length of a run
};
// Nothing when it broadcasts in another way, or a shape is not fully known.
std::optional<FusedOperand> fused_operand(const PartialShape& operand, const PartialShape& result);
// INTERNAL: an input has more or fewer elements than these shapes.
Status check_fused_inputs(const KernelContext& c, const std::vector<PartialShape>& expected);

// What carries a step out. 16-bit floats may go through float32 (`as_float`), rounded after every step.
struct FusedFunction {
  UnarySpan unary = nullptr;
  BinarySpans binary;
  bool select = false;
  bool as_float = false;
  Work work = Work::kArithmetic;
};
// Nothing when there is none, or one whose kernel looks at values before it computes (integer division).
std::optional<FusedFunction> fused_function(std::string_view op, std::span<const DType> inputs, DType output);

}  // namespace argosy
