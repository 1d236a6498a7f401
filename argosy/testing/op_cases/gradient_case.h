// Compares the gradients of any function of graph ops with central finite differences:
//
//   check_gradients({.ops = {"Complex", "Real"}, .at = {a, b}, .f = [](Graph& g, const Values& x) { … }});
//
// op_case.h does this for single ops. Use this for ops that need others (complex numbers, float32 only).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

struct GradientCase {
  std::vector<std::string> ops;  // the ops under test: recorded for scripts/check_op_cases.py
  std::vector<Tensor> at;        // the point: real floating-point inputs, every element varied
  // Called once. Outputs that are not real floating-point numbers are ignored.
  std::function<std::vector<Value>(Graph& graph, const std::vector<Value>& xs)> f;
  double step = 1e-5;
  double tolerance = 1e-5;  // relative to max(1, |slope|)
};

// Reports through GoogleTest expectations. The checked scalar is a random weighted sum of the outputs.
void check_gradients(const GradientCase& c);

}  // namespace argosy
