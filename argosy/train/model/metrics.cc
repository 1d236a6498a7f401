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

}  // namespace

Metric accuracy(Value logits, Value labels) {
  if (!logits.valid() || !labels.valid()) return {"accuracy", {}, {}};
  return over_rows("accuracy", equal(argmax(logits, -1, DType::kInt64), cast(labels, DType::kInt64)));
}

Metric top_k_accuracy(Value logits, Value labels, int k) {
  const std::string name = str_cat("top_", k, "_accuracy");
  if (!logits.valid() || !labels.valid()) return {name, {}, {}};
  const Value wide = cast(logits, DType::kFloat32);
  return over_rows(name, logits.graph().add("InTopK", {wide, labels}, {{"k", k}}));
}

Metric mean_metric(std::string name, Value per_example) { return over_rows(std::move(name), per_example); }

void MetricState::add(double total, double weight) {
  total_ += total;
  weight_ += weight;
}

}  // namespace argosy
