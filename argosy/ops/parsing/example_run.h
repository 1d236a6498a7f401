// ExampleRun: one run of an op that parses Examples: its arguments by name, and its rows. Internal to the parsing family.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "argosy/ops/parsing/feature_rows.h"

namespace argosy::examples {

// Borrows the context, the op and the attributes.
class ExampleRun {
 public:
  ExampleRun(KernelContext& c, const OpDef& op, const AttrMap& attrs) : c_(c), op_(op), attrs_(attrs) {}

  // Finds the arguments and parses every row. To be called first. INVALID_ARGUMENT where the inputs do not fit.
  Status read();

  KernelContext& context() { return c_; }
  const OpDef& op() const { return op_; }
  const AttrMap& attrs() const { return attrs_; }
  const std::vector<ExampleRow>& rows() const { return rows_; }
  std::int64_t batch() const { return static_cast<std::int64_t>(rows_.size()); }
  // Rows are SequenceExamples; the input is a vector of rows, not one row.
  bool sequence() const { return sequence_; }
  bool batched() const { return batched_; }

  // Positions of the first tensor of an input, and of tensor k of an output. REQUIRES: the op has it.
  int in(const std::string& name) const { return in_.at(name); }
  int out(const std::string& name, std::size_t k) const { return out_.at(name) + static_cast<int>(k); }
  bool has_output(const std::string& name) const { return out_.contains(name); }

  // Keys of a kind of columns: an attribute, a scalar each, or a vector. INVALID_ARGUMENT unless there are `wanted`.
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

// Fill the outputs whose names start with `part`: features of each row ("" or "context_"), and features of each time
// step of a row ("feature_list_"). context_columns_cpu.cc, time_steps_cpu.cc.
Status parse_context(ExampleRun& run, const std::string& part);
Status parse_steps(ExampleRun& run, const std::string& part);

}  // namespace argosy::examples
