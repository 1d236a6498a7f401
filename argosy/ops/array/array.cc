#include "argosy/ops/array/array.h"

#include "argosy/ops/array/array_registration.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

static void add_array_ops(OpRegistry& ops) {
  define_array_copies(ops);
  define_array_combinations(ops);
  define_data_formats(ops);
  define_array_searches(ops);
  define_array_assignments(ops);
  define_bit_masks(ops);
}

void define_array(OpRegistry& ops) {
  with_sharding(ops, add_array_ops,
                {{"DataFormatDimMap", "i.. -> i.."},
                 {"DataFormatVecPermute", "whole: it permutes all elements"},
                 {"LowerBound", "r s, r n -> r n; whole s"},
                 {"UpperBound", "r s, r n -> r n; whole s"}});
}

Value ensure_shape(Value x, PartialShape shape) {
  return x.valid() ? x.graph().add("EnsureShape", {x}, {{"shape", std::move(shape)}}) : x;
}
Value cross(Value a, Value b) { return a.valid() ? a.graph().add("Cross", {a, b}) : a; }
Value histogram_fixed_width(Value values, Value value_range, Value nbins) {
  return values.valid() ? values.graph().add("HistogramFixedWidth", {values, value_range, nbins}) : values;
}
Value lower_bound(Value sorted, Value values) {
  return sorted.valid() ? sorted.graph().add("LowerBound", {sorted, values}) : sorted;
}
Value upper_bound(Value sorted, Value values) {
  return sorted.valid() ? sorted.graph().add("UpperBound", {sorted, values}) : sorted;
}
Value nth_element(Value x, Value n, bool reverse) {
  return x.valid() ? x.graph().add("NthElement", {x, n}, {{"reverse", reverse}}) : x;
}
}  // namespace argosy
