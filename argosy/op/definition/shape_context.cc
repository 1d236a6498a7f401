#include "argosy/op/definition/shape_context.h"

namespace argosy {

PartialShape ShapeContext::input_as_shape(int i) const {
  if (const PartialInts* known = ints(i)) {
    std::vector<std::int64_t> sizes;
    sizes.reserve(known->size());
    for (const auto& n : *known) sizes.push_back(n && *n >= 0 ? *n : PartialShape::kUnknown);
    return PartialShape(std::move(sizes));
  }
  const PartialShape& shape = input(i);
  if (shape.rank() == 1 && shape[0] >= 0 && shape[0] <= Shape::kMaxRank) {
    return PartialShape::unknown_of_rank(static_cast<int>(shape[0]));
  }
  return PartialShape::unknown();
}

std::optional<std::int64_t> ShapeContext::input_as_int(int i) const {
  const PartialInts* known = ints(i);
  return known && known->size() == 1 ? (*known)[0] : std::nullopt;
}

std::optional<std::int64_t> ShapeContext::int_at(int i, int k) const {
  const PartialInts* known = ints(i);
  return known && k >= 0 && k < static_cast<int>(known->size()) ? (*known)[k] : std::nullopt;
}

Result<PartialShape> ShapeContext::with_rank(int i, int rank) const {
  const PartialShape& shape = input(i);
  if (!shape.has_rank()) return PartialShape::unknown_of_rank(rank);
  if (shape.rank() != rank) {
    const std::string& arg = i < static_cast<int>(op_.input_args.size()) ? op_.input_args[i].name : op_.name;
    return invalid_argument("Shape must be rank ", rank, " but is rank ", shape.rank(), ": ", op_.name, ": input ", i,
                            " (", arg, ") must have rank ", rank, ", not shape ", shape)
        .with_id("ARG-SHAPE-004");
  }
  return shape;
}

Status same_as_input(ShapeContext& c) {
  c.set_all_outputs(c.input(0));
  return ok_status();
}

Status broadcast_inputs(ShapeContext& c) {
  PartialShape shape = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(shape, broadcast(shape, c.input(i)));
  }
  c.set_output(0, std::move(shape));
  return ok_status();
}

Status merged_inputs(ShapeContext& c) {
  PartialShape shape = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(shape, shape.merge(c.input(i)));
  }
  c.set_all_outputs(shape);
  return ok_status();
}

Status scalar_output(ShapeContext& c) {
  c.set_all_outputs(PartialShape::scalar());
  return ok_status();
}

Status unknown_output(ShapeContext&) { return ok_status(); }
Status no_output(ShapeContext&) { return ok_status(); }

std::optional<PartialInts> input_ints(const ShapeContext& c, int) {
  if (const PartialInts* known = c.ints(0)) return *known;
  return std::nullopt;
}

Cost elementwise_cost(const ShapeContext& c) {
  const auto count = [](const PartialShape& s) {
    double n = 1;
    if (s.has_rank()) {
      for (const std::int64_t size : s.sizes()) n *= static_cast<double>(size < 0 ? 1 : size);
    }
    return n;
  };
  Cost cost;
  for (int i = 0; i < c.num_inputs(); ++i) {
    cost.bytes += count(c.input(i)) * static_cast<double>(element_bytes(c.input_dtype(i)));
  }
  const std::size_t element = c.num_inputs() > 0 ? element_bytes(c.input_dtype(0)) : 4;
  for (int i = 0; i < c.num_outputs(); ++i) {
    cost.flops += count(c.output(i));
    cost.bytes += count(c.output(i)) * static_cast<double>(element);
  }
  return cost;
}

Cost free_cost(const ShapeContext&) { return {}; }

}  // namespace argosy
