// What the oracle reads: op cases with our results, one JSON object a line, appended to the file that
// $ARGOSY_DUMP_CASES names; or, where it names a folder by a last '/', to <program>.jsonl there, written afresh.
// tests/oracle/ops/compare_ops.py runs each through TensorFlow and reports where the two differ; scripts/check_op_cases.py asks
// whether every op is among them.
#pragma once

#include <vector>

#include "argosy/testing/op_case.h"

namespace argosy {

// Nothing happens without the environment variable, or for tensors that cannot be written down (resources, variants).
// `outputs` is what our first kernel gave; empty for a case that must fail. An output the case does not look at (an
// invalid tensor in its `expect`) is left out of the comparison.
void dump_case(const OpCase& c, const std::vector<Tensor>& outputs);

// The same with what the case's variables held afterwards; outputs that are references are left out.
struct StateCase;
void dump_case(const StateCase& c, const std::vector<Tensor>& outputs, const std::vector<Tensor>& after);

// Notes that this op's gradient was held against finite differences.
void dump_gradient(const std::string& op);

}  // namespace argosy
