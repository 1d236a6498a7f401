// Strings: joined, made from numbers, formatted. Names and defaults are those of tf.strings.*.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Element by element, with `separator` between; scalars go with everything.
Value string_join(const std::vector<Value>& inputs, std::string_view separator = "");

// How numbers become texts.
struct AsStringOptions {
  int precision = -1;                         // digits behind the point; -1: six
  bool scientific = false, shortest = false;  // as printf's %e and %g; neither: %f
  int width = -1;                             // at least so many characters; -1: as many as it takes
  std::string fill = "";                      // "", "0", " ", "+", "-" or "#", as printf has them
};
Value as_string(Value x, const AsStringOptions& options = {});  // The numbers of x as texts, of x's shape.

// The template with each placeholder replaced by a value, of which `summarize` elements show at either end.
Value string_format(Graph& graph, std::string_view format, const std::vector<Value>& inputs,
                    std::string_view placeholder = "{}", int summarize = 3);

// x joined along axes, of which the first varies fastest.
Value reduce_join(Value x, const std::vector<int>& axes, std::string_view separator = "", bool keep_dims = false);

}  // namespace argosy
