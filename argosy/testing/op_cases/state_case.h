// One case of an op that changes variables is data, as in op_case.h:
//
//   check_state({.op = "AssignAdd", .inputs = {Tensor::scalar(1.f), Tensor::scalar(2.f)}, .after =
//   {Tensor::scalar(3.f)}});
//
// Where the op takes a variable (a Ref(T) or a resource), its input is the variable's value before the op. The harness
// runs the shape function, the first and the last kernel of the op's list, in the case's dtype and every other that the
// op allows. It dumps the case for the oracle.
#pragma once

#include "argosy/op/definition/op_def.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {

struct StateCase {
  std::string op;
  std::vector<Tensor> inputs = {};  // a variable that has no value yet: an invalid Tensor
  AttrMap attrs = {};
  std::vector<Tensor> after = {};  // the variables' values, in order; empty: first kernel against reference kernel only
  std::vector<Tensor> expect = {};  // outputs that are no references
  Code error = Code::kOk;
  std::string error_contains = "";
  double tolerance = 1e-5;
  bool other_dtypes = true;
  std::string unlike_tensorflow = "";
};

// Whether this input of the op is a variable.
bool names_variable(const OpDef& op, std::size_t input);

// Reports through GoogleTest expectations.
void check_state(const StateCase& c);
// Checks the case, and the same case for the op's twin of the other kind: ApplyAdam and ResourceApplyAdam.
void check_both(const StateCase& c, std::string resource_op);

}  // namespace argosy
