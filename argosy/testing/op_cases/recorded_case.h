// Reads op cases that op_dump.h wrote: for programs that run every case of every test elsewhere.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/op/definition/attr.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

struct RecordedCase {
  std::string op, test;         // the test it is from: "Softmax.Values"
  std::vector<Tensor> inputs;   // as in StateCase: a variable's value, or not valid() where it has none
  std::vector<Tensor> outputs;  // not valid(): the case does not check it
  AttrMap attrs;
  bool changes_variables = false;
  std::vector<Tensor> after;  // the variables' values after the op
  Code error = Code::kOk;     // or the error that it must return
  double tolerance = 1e-5;
};

// Parses one line. Empty: the line is no case (the record of a gradient). INVALID_ARGUMENT: it cannot be parsed.
Result<std::optional<RecordedCase>> read_case(std::string_view line);

// Calls `take` with every case of a folder, file after file by name. How many there were; a folder that is not there has
// none. INVALID_ARGUMENT: a line of the file that it names cannot be parsed.
Result<int> read_cases(const std::string& folder, const std::function<void(const RecordedCase&)>& take);
// The same for a test program: prints why there are none. Its exit code: 0; 1: a line cannot be parsed; 77: no cases.
int take_cases(const std::string& folder, const std::function<void(const RecordedCase&)>& take);

}  // namespace argosy
