// ExampleRun: the state of one run of an op that parses Examples: its arguments by name, and its parsed rows. Internal
// to the parsing family.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "argosy/ops/parsing/feature_rows.h"

namespace argosy::examples {

// Does not own the context, the op and the attributes.
class ExampleRun {
 public:
  ExampleRun(KernelContext& c, const OpDef& op, const AttrMap& attrs) : c_(c), op_(op), attrs_(attrs) {}

  // Finds the arguments and parses every row. Call it first. INVALID_ARGUMENT: the inputs do not fit.
  Status read();

  KernelContext& context() { return c_; }
  const OpDef& op() const { return op_; }
  const AttrMap& attrs() const { return attrs_; }
  const std::vector<ExampleRow>& rows() const { return rows_; }
  std::int64_t batch() const { return static_cast<std::int64_t>(rows_.size()); }
  // Whether rows are SequenceExamples; whether the input is a vector of rows instead of one.
  bool sequence() const { return sequence_; }
  bool batched() const { return batched_; }

  // The position of an argument's first input; that of output k of an output argument. REQUIRES: the op has it.
  int in(const std::string& name) const { return in_.at(name); }
  int out(const std::string& name, std::size_t k) const { return out_.at(name) + static_cast<int>(k); }
  bool has_output(const std::string& name) const { return out_.contains(name); }

  // The feature keys of one kind of columns. Depending on the op they are an attribute, scalar inputs, or one vector
  // input. INVALID_ARGUMENT unless there are `wanted`.
  Result<std::vector<std::string>> keys(const std::string& name, std::size_t wanted) const;

 private:
  Status read_rows();

  KernelContext& c_;
  const OpDef& op_;
  const AttrMap& attrs_;
  std::map<std::string, int> in_, out_;
  std::vector<ExampleRow> rows_;
  bool sequence_ = false, batched_ = false;
};

// Write the outputs whose names start with `part`. parse_context(): features of each row ("" or "context_");
// context_columns_cpu.cc. parse_steps(): features of each time step of a row ("feature_list_"); time_steps_cpu.cc.
Status parse_context(ExampleRun& run, const std::string& part);
Status parse_steps(ExampleRun& run, const std::string& part);

}  // namespace argosy::examples
