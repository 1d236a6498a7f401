#include "argosy/ops/queue/queue_options.h"

namespace argosy {

namespace {

std::string shapes_to_string(const std::vector<PartialShape>& shapes) {
  std::string text;
  for (const PartialShape& s : shapes) text += str_cat(text.empty() ? "" : ",", s);
  return "[" + text + "]";
}

std::string dtypes_to_string(const std::vector<DType>& dtypes) {
  std::string text;
  for (const DType d : dtypes) text += str_cat(text.empty() ? "" : ", ", dtype_name(d));
  return text;
}

}  // namespace

std::string_view QueueOptions::kind_name() const {
  switch (kind) {
    case QueueKind::kShuffle: return "RandomShuffleQueue";
    case QueueKind::kPadding: return "PaddingFIFOQueue";
    case QueueKind::kPriority: return "PriorityQueue";
    default: return "FIFOQueue";
  }
}

Status QueueOptions::check_same(std::string_view name, const QueueOptions& asked) const {
  const auto differs = [&](std::string_view what, const auto& have, const auto& want) {
    return invalid_argument("Shared queue '", name, "' has ", what, " ", have, " but requested ", what, " was ", want);
  };
  if (asked.kind != kind) {
    return invalid_argument("Shared queue '", name, "' is a ", kind_name(),
                            ", and a queue of another kind was requested");
  }
  if (asked.capacity != capacity) return differs("capacity", capacity, asked.capacity);
  if (asked.dtypes != dtypes) {
    return differs("component types", dtypes_to_string(dtypes), dtypes_to_string(asked.dtypes));
  }
  if (asked.shapes != shapes) {
    return differs("component shapes", shapes_to_string(shapes), shapes_to_string(asked.shapes));
  }
  if (asked.min_after_dequeue != min_after_dequeue) {
    return differs("min_after_dequeue", min_after_dequeue, asked.min_after_dequeue);
  }
  const bool is_random = asked.seed == 0 && asked.seed2 == 0;
  if (!is_random && (asked.seed != seed || asked.seed2 != seed2)) {
    return differs("random seeds", str_cat("(", seed, ", ", seed2, ")"),
                   str_cat("(", asked.seed, ", ", asked.seed2, ")"));
  }
  return ok_status();
}

Status QueueOptions::check_element(const QueueItems::Tuple& tuple) const {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i].compatible(tuple[i].shape())) {
      return invalid_argument("Shape mismatch in tuple component ", i, ". Expected ", shapes[i], ", got ",
                              tuple[i].shape());
    }
  }
  return ok_status();
}

Status QueueOptions::check_rows(const QueueItems::Tuple& tuple) const {
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    if (tuple[i].shape().rank() < 1) {
      return invalid_argument("tuple component ", i, " is a scalar, which has no rows to enqueue");
    }
  }
  const std::int64_t count = tuple[0].shape()[0];
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    const Shape& shape = tuple[i].shape();
    if (!shapes.empty()) {
      std::vector<std::int64_t> sizes = shapes[i].sizes();
      sizes.insert(sizes.begin(), count);
      const PartialShape expected(std::move(sizes));
      if (!expected.compatible(shape)) {
        return invalid_argument("Shape mismatch in tuple component ", i, ". Expected ", expected, ", got ", shape);
      }
    } else if (shape[0] != count) {
      return invalid_argument("All input tensors must have the same size in the 0th dimension. Component ", i, " has ",
                              shape[0], ", and should have ", count);
    }
  }
  return ok_status();
}

}  // namespace argosy
