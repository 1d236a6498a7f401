// Strings: joined, made from numbers, formatted. Names and defaults are those of tf.strings.*.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Joins the inputs element by element, with `separator` between. Scalars are joined to every element.
Value string_join(const std::vector<Value>& inputs, std::string_view separator = "");

// Options of as_string().
struct AsStringOptions {
  int precision = -1;                         // digits after the point; -1: six
  bool scientific = false, shortest = false;  // as printf's %e and %g; neither: %f
  int width = -1;                             // the least number of characters; -1: none
  std::string fill = "";                      // "", "0", " ", "+", "-" or "#", as printf has them
};
Value as_string(Value x, const AsStringOptions& options = {});  // the numbers of x as strings, in x's shape

// The template with each placeholder replaced by a value, of which `summarize` elements show at either end.
Value string_format(Graph& graph, std::string_view format, const std::vector<Value>& inputs,
                    std::string_view placeholder = "{}", int summarize = 3);

// Joins the strings of x along axes. The first axis of the list varies fastest.
Value reduce_join(Value x, const std::vector<int>& axes, std::string_view separator = "", bool keep_dims = false);

}  // namespace argosy
