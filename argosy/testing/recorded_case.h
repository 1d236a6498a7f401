// An op case as it was written down (op_dump.h), read again: for programs that run every case of every test elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/op/definition/attr.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

struct RecordedCase {
  std::string op, test;         // the test that tried it: "Softmax.Values"
  std::vector<Tensor> inputs;   // as in StateCase: a variable's value, or not valid() where it has none
  std::vector<Tensor> outputs;  // not valid(): one that the case does not look at
  AttrMap attrs;
  bool changes_variables = false;
  std::vector<Tensor> after;  // the variables' values then
  Code error = Code::kOk;     // or what it must end with
  double tolerance = 1e-5;
};

// One line. Nothing for a line that is no case (a gradient that was tried); INVALID_ARGUMENT for what cannot be read.
Result<std::optional<RecordedCase>> read_case(std::string_view line);

}  // namespace argosy
