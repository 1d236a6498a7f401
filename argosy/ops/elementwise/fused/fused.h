// Several elementwise ops in one op, _FusedElementwise, which the pass fuse_elementwise makes. It runs a program of
// steps block by block: a step leaves its block in the core's L1 cache for the next one. Steps call the same spans as
// the ops that they replace, so the results have the same bits.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/op/definition/attr.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy {

// One step. Values are numbered: the op's inputs first, then the result of each step. Operands of a step come before
// it.
struct FusedStep {
  std::string op;                              // TensorFlow's name of the op it stands for
  std::array<int, 3> operands = {-1, -1, -1};  // -1: none
  DType dtype = DType::kInvalid;               // of its result
};

struct FusedProgram {
  std::vector<FusedStep> steps;
  std::vector<int> results;  // steps whose results are the op's outputs, ascending
  PartialShape shape;        // of every step's result; fully known
  // The shapes of the op's inputs; fully known. They are kept here because a task that gets its part of a step may know
  // less about them.
  std::vector<PartialShape> inputs;

  void write(AttrMap& attrs) const;
  // Reads a program from attributes. INVALID_ARGUMENT if it is not valid for `inputs` inputs.
  static Result<FusedProgram> read(const AttrMap& attrs, int inputs);
};

// How an input broadcasts to the result: element i of the result uses the input's element i, 0, i % size, or i / size.
struct FusedOperand {
  enum class Kind { kFull, kOne, kPeriodic, kRuns };
  Kind kind = Kind::kFull;
  std::int64_t size = 1;  // the period or the length of a run
};
// nullopt if the operand broadcasts in another way, or a shape is not fully known.
std::optional<FusedOperand> fused_operand(const PartialShape& operand, const PartialShape& result);
// INTERNAL if an input does not have as many elements as its expected shape.
Status check_fused_inputs(const KernelContext& c, const std::vector<PartialShape>& expected);

// The function of one step. With `as_float`, 16-bit floats are computed in float32 and rounded after every step.
struct FusedFunction {
  UnarySpan unary = nullptr;
  BinarySpans binary;
  bool select = false;
  bool as_float = false;
  Work work = Work::kArithmetic;
};
// nullopt if there is no such function, or its kernel must check values first (integer division).
std::optional<FusedFunction> fused_function(std::string_view op, std::span<const DType> inputs, DType output);

}  // namespace argosy
