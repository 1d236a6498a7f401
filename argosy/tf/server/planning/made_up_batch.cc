#include "argosy/tf/server/planning/made_up_batch.h"

#include <algorithm>
#include <optional>

#include "argosy/base/str.h"

namespace argosy::tf {

namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 32;

template <typename... Parts>
Status open_size(const Value& feed, const PartialShape& shape, const Parts&... parts) {
  return invalid_argument("'", feed.node_name(), "' ", shape, ": ", parts...)
      .with_id("ARG-PLAN-043")
      .with_where("--shape")
      .with_hint(str_cat("--shape ", feed.node_name(), "=SIZES (such as 32,28,28), or --feed ", feed.node_name(),
                         "=FILE.npy"));
}

template <typename... Parts>
Status other_shape(const Value& feed, const Parts&... parts) {
  return invalid_argument("'", feed.node_name(), "' ", parts...).with_id("ARG-PLAN-044").with_where("--feed");
}

// Of a feed that is made up.
Result<Shape> shape_of(const PartialShape& shape, const Value& feed, const GraphStepRequest& request) {
  const auto said = request.shapes.find(std::string(feed.node_name()));
  if (said != request.shapes.end()) {
    if (shape.compatible(PartialShape(said->second))) return said->second;
    return other_shape(feed, "has the shape ", shape, ", not ", said->second);
  }
  if (!shape.has_rank()) return open_size(feed, shape, "its shape is not known before it is fed");
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  const auto open = std::count_if(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; });
  if (open > 1) return open_size(feed, shape, open, " of its sizes are not known before it is fed");
  const std::int64_t batch = request.batch > 0 ? request.batch : GraphStepRequest::kBatch;
  for (std::int64_t& size : sizes) size = size < 0 ? batch : size;
  return Shape(std::span<const std::int64_t>(sizes));
}

Result<Tensor> make_up(DType dtype, const Shape& shape, const Value& feed) {
  if (shape.elements() > kMostElements) return other_shape(feed, "would have ", shape.elements(), " elements");
  Tensor value = Tensor::zeros(dtype, shape);
  if (dtype == DType::kBool) std::fill(value.values<bool>().begin(), value.values<bool>().end(), true);
  if (!is_floating(dtype)) return value;
  ARGOSY_RETURN_IF_ERROR(dispatch<FloatTypes>(dtype, "a feed", [&]<typename T>() {
    const std::span<T> values = value.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(static_cast<float>(i % 13 + 1) / 16.0f);
    return ok_status();
  }));
  return value;
}

}  // namespace

Result<std::vector<Tensor>> made_up_batch(const Graph& graph, const std::vector<Value>& feeds,
                                          const std::vector<Tensor>& given, const GraphStepRequest& request) {
  std::vector<Tensor> batch = given;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const PartialShape& shape = graph.shape(feeds[i].endpoint());
    if (given[i].dtype() != feeds[i].dtype()) {
      return other_shape(feeds[i], "has ", dtype_name(feeds[i].dtype()), ", and is fed ", dtype_name(given[i].dtype()));
    }
    if (!shape.compatible(PartialShape(given[i].shape()))) {
      return other_shape(feeds[i], "has the shape ", shape, ", and is fed ", given[i].shape());
    }
  }
  for (std::size_t i = given.size(); i < feeds.size(); ++i) {
    const PartialShape& shape = graph.shape(feeds[i].endpoint());
    ARGOSY_ASSIGN_OR_RETURN(const Shape sizes, shape_of(shape, feeds[i], request));
    ARGOSY_ASSIGN_OR_RETURN(Tensor made, make_up(feeds[i].dtype(), sizes, feeds[i]));
    batch.push_back(std::move(made));
  }
  return batch;
}

}  // namespace argosy::tf
