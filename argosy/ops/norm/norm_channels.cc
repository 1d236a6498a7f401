#include "argosy/ops/norm/norm_channels.h"

#include <vector>

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"

namespace argosy {

Channels::Channels(Graph& graph, const std::string& format) : graph_(graph), first_(format[1] == 'C') {
  const auto rank = static_cast<std::int32_t>(format.size());
  const std::int32_t channel = first_ ? 1 : rank - 1;
  std::vector<std::int32_t> axes, beside = {-1};
  for (std::int32_t i = 0; i < rank; ++i) {
    if (i != channel) axes.push_back(i);
    if (i > channel) beside.push_back(1);
  }
  axes_ = constant(graph, Tensor::vector(axes));
  beside_ = constant(graph, Tensor::vector(beside));
  all_ = constant(graph, Tensor::vector<std::int32_t>({-1}));
}

Value Channels::mean(Value x) const { return graph_.add("Mean", {x, axes_}, {{"keep_dims", true}}); }
Value Channels::sum(Value x) const { return graph_.add("Sum", {x, axes_}); }
Value Channels::spread(Value v) const { return first_ ? graph_.add("Reshape", {v, beside_}) : v; }
Value Channels::together(Value x) const { return graph_.add("Reshape", {x, all_}); }

Value widened(Value x) { return x.dtype() == DType::kFloat32 ? x : cast(x, DType::kFloat32); }

}  // namespace argosy
