#include "argosy/train/model/metrics.h"

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"

namespace argosy {

namespace {

Metric over_rows(std::string name, Value hits) {
  const Value numbers = hits.valid() ? cast(hits, DType::kFloat32) : hits;
  return {std::move(name), reduce_sum(numbers), cast(size(numbers), DType::kFloat32)};
}

// False, and an error of the graph, unless labels have the shape of logits without the last axis.
bool one_label_per_row(std::string_view metric, Value logits, Value labels) {
  if (!logits.shape().has_rank()) return true;
  std::vector<std::int64_t> sizes(logits.shape().sizes().begin(), logits.shape().sizes().end());
  if (!sizes.empty()) {
    const std::int64_t classes = sizes.back();
    sizes.pop_back();
    const PartialShape rows{PartialShape::Sizes(sizes.begin(), sizes.end())};
    if (rows.compatible(labels.shape())) return true;
    const bool one_hot =
        labels.shape().rank() == logits.shape().rank() && classes != 1 && labels.shape().sizes().back() != 1;
    logits.graph().fail(
        invalid_argument(metric, ": labels '", labels.name(), "' have shape ", labels.shape(), ", logits ",
                         logits.shape(), ": give one class number per row, shape ", rows)
            .with_hint(one_hot ? "argmax() makes class numbers of one-hot labels" : "reshape() the labels"));
    return false;
  }
  logits.graph().fail(
      invalid_argument(metric, ": logits '", logits.name(), "' are a scalar: give one row per example"));
  return false;
}

}  // namespace

Metric accuracy(Value logits, Value labels) {
  if (!logits.valid() || !labels.valid()) return {"accuracy", {}, {}};
  if (!one_label_per_row("accuracy", logits, labels)) return {"accuracy", {}, {}};
  return over_rows("accuracy", equal(argmax(logits, -1, DType::kInt64), cast(labels, DType::kInt64)));
}

Metric top_k_accuracy(Value logits, Value labels, int k) {
  const std::string name = str_cat("top_", k, "_accuracy");
  if (!logits.valid() || !labels.valid() || !one_label_per_row(name, logits, labels)) return {name, {}, {}};
  const Value wide = cast(logits, DType::kFloat32);
  return over_rows(name, logits.graph().add("InTopK", {wide, labels}, {{"k", k}}));
}

Metric mean_metric(std::string name, Value per_example) { return over_rows(std::move(name), per_example); }

void MetricState::add(double total, double weight) {
  total_ += total;
  weight_ += weight;
}

}  // namespace argosy
