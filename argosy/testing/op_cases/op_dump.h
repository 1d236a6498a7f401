// Writes op cases and our results for the oracle: one JSON object a line, appended to the file $ARGOSY_DUMP_CASES. If
// that name ends in '/', it is a folder: the cases go to a new file <program>.jsonl in it.
// * tests/oracle/ops/compare_ops.py runs each case through TensorFlow and reports differences.
// * scripts/check_op_cases.py checks that every op has a case.
#pragma once

#include <vector>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {

// Writes one case. No effect without the environment variable, or for tensors that have no text form (resources,
// variants). `outputs`: the results of our first kernel; empty for a case that must fail. The oracle skips an output
// that the case does not check (an invalid tensor in its `expect`).
void dump_case(const OpCase& c, const std::vector<Tensor>& outputs);

// The same with the values of the case's variables after the op; outputs that are references are omitted.
struct StateCase;
void dump_case(const StateCase& c, const std::vector<Tensor>& outputs, const std::vector<Tensor>& after);

// Records that this op's gradient was compared with finite differences.
void dump_gradient(const std::string& op);

}  // namespace argosy
