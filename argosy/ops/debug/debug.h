// Ops that print values while a graph runs, or stop it if they are wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Ends the step with INVALID_ARGUMENT "assertion failed: …" and the first `summarize` values of each of `data` if
// condition (bool[]) is false. Returns a control value: nodes that depend on it run only if the condition holds.
Value assert_true(Value condition, const std::vector<Value>& data, int summarize = 3, std::string_view name = "Assert");

// Options of print().
struct PrintOptions {
  std::string message = "";  // before the values
  int first_n = -1;          // only this many times; -1: always
  int summarize = 3;         // how many elements of each value
};
// Returns x. When it is computed, prints a line on stderr with the first values of each of `data`.
Value print(Value x, const std::vector<Value>& data, const PrintOptions& options = {}, std::string_view name = "Print");

// Prints a scalar string on "stderr", "stdout", "log(info)", "log(warning)" or "log(error)". Returns a control value.
Value print_text(Value text, std::string_view output_stream = "stderr", std::string_view name = "PrintV2");

// Seconds since 1970 (float64), when it is run.
Value timestamp(Graph& graph, std::string_view name = "Timestamp");

}  // namespace argosy
