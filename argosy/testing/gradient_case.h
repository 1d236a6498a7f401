// Gradients of any function written with graph ops, held against central finite differences:
//
//   check_gradients({.ops = {"Complex", "Real"}, .at = {a, b}, .f = [](Graph& g, const Values& x) { … }});
//
// op_case.h does it for single ops; this is for ops that need company (complex numbers, float32 alone).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

struct GradientCase {
  std::vector<std::string> ops;  // whose gradients this tries: noted for scripts/check_op_cases.py
  std::vector<Tensor> at;        // the point: real floating-point inputs, every element varied
  // Called once. Outputs that are no real floating-point numbers are left out.
  std::function<std::vector<Value>(Graph& graph, const std::vector<Value>& xs)> f;
  double step = 1e-5;
  double tolerance = 1e-5;  // relative to max(1, |slope|)
};

// Reports through GoogleTest expectations. The outputs are weighted at random and added up.
void check_gradients(const GradientCase& c);

}  // namespace argosy
