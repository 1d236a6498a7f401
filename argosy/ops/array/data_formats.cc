// Axis numbers of one data format ("NHWC") in another.
#include <algorithm>

#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/array/array_registration.h"

namespace argosy {

Result<std::vector<int>> format_permutation(std::string_view op, const std::string& src, const std::string& dst) {
  if (src.size() != dst.size() || (src.size() != 4 && src.size() != 5)) {
    return invalid_argument(op, ": source and destination format must both have 4 letters, or 5, not ", src, " and ",
                            dst);
  }
  std::vector<int> to;
  for (const char letter : src) {
    const std::size_t at = dst.find(letter);
    if (at == std::string::npos || std::find(to.begin(), to.end(), static_cast<int>(at)) != to.end()) {
      return invalid_argument(op, ": destination and source format must determine a permutation, got ", src, " and ",
                              dst);
    }
    to.push_back(static_cast<int>(at));
  }
  return to;
}

namespace {

Status format_shape(ShapeContext& c) {
  const auto permutation =
      format_permutation(c.op().name, c.attrs().get_string("src_format"), c.attrs().get_string("dst_format"));
  ARGOSY_RETURN_IF_ERROR(permutation.status());
  c.set_output(0, c.input(0));
  if (c.op().name == "DataFormatDimMap" || !c.input(0).has_rank()) return ok_status();
  const PartialShape& x = c.input(0);
  const auto all = static_cast<std::int64_t>(permutation->size());
  if (x.rank() < 1 || x.rank() > 2 || (x[0] >= 0 && x[0] != all && x[0] != all - 2) ||
      (x.rank() == 2 && x[1] >= 0 && x[1] != 2)) {
    return invalid_argument("DataFormatVecPermute: the input must have ", all, " or ", all - 2,
                            " elements, or pairs, not shape ", x);
  }
  return ok_status();
}

}  // namespace

void define_data_formats(OpRegistry& ops) {
  for (const auto& [name, doc] : {std::pair{"DataFormatDimMap", "Axis numbers of one layout in another."},
                                  {"DataFormatVecPermute", "Numbers per axis of one layout in another's order."}}) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"x: T"},
             .outputs = {"y: T"},
             .attrs = {"T: index = int32", "src_format: string = 'NHWC'", "dst_format: string = 'NCHW'"},
             .shape = format_shape,
             .gradient = kNotDifferentiable,
             .blocks_gradient = true});
  }
}

}  // namespace argosy
