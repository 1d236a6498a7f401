#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/forward_input.h"
#include "argosy/ops/broadcast/broadcast_rules.h"
#include "argosy/ops/broadcast/broadcast_to.h"
#include "argosy/ops/elementwise/broadcast_plan.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy {

namespace {

// Strings, handles, variants.
template <typename T>
Status copy_objects(const BroadcastPlan& plan, const Tensor& x, Tensor& y) {
  BroadcastCursor at(plan, 0);
  for (std::int64_t i = 0; i < plan.elements; ++i) {
    y.data<T>()[i] = x.data<T>()[at.offset(0)];
    at.advance(1);
  }
  return ok_status();
}

Status broadcast_to(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, check_broadcast_to(c));
  if (shape == x.shape()) return forward_input(c, 0, x);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const Shape* const shapes[] = {&x.shape()};
  const BroadcastPlan plan(shape, shapes);
  switch (x.dtype()) {
    case DType::kString: return copy_objects<std::string>(plan, x, *y);
    case DType::kResource: return copy_objects<ResourceHandle>(plan, x, *y);
    case DType::kVariant: return copy_objects<Variant>(plan, x, *y);
    default: break;
  }
  const std::size_t bytes = element_bytes(x.dtype());
  parallel_for(plan.elements, grain_of(Work::kMove), [&](std::int64_t begin, std::int64_t end) {
    gather(plan, 0, x.raw(), begin, end - begin, y->raw_as<std::byte>() + static_cast<std::size_t>(begin) * bytes,
           bytes);
  });
  return ok_status();
}

Result<internal::BroadcastAxes> axes_of_inputs(KernelContext& c, std::string_view op) {
  std::vector<std::int64_t> shapes[2];
  for (const int i : {0, 1}) {
    if (c.input(i).shape().rank() != 1) {
      return invalid_argument(op, ": input ", i, " must be a vector, not of shape ", c.input(i).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(shapes[i], to_int64s(c.input(i), op));
  }
  auto axes = internal::broadcast_axes(shapes[0], shapes[1]);
  if (!axes) {
    return invalid_argument(op, ": shapes [", str_join(shapes[0], ","), "] and [", str_join(shapes[1], ","),
                            "] do not broadcast")
        .with_id("ARG-SHAPE-002");
  }
  return *std::move(axes);
}

Status write(KernelContext& c, int index, const std::vector<std::int64_t>& numbers) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(index, {static_cast<std::int64_t>(numbers.size())}));
  return dispatch<IndexTypes>(y->dtype(), "broadcast", [&]<typename T>() {
    T* to = y->data<T>();
    for (const std::int64_t n : numbers) *to++ = static_cast<T>(n);
    return ok_status();
  });
}

Status gradient_args(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto axes, axes_of_inputs(c, "BroadcastGradientArgs"));
  ARGOSY_RETURN_IF_ERROR(write(c, 0, axes.x_reduced));
  return write(c, 1, axes.y_reduced);
}

Status broadcast_args(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto axes, axes_of_inputs(c, "BroadcastArgs"));
  return write(c, 0, axes.shape);
}

}  // namespace

void add_kernels_cpu_broadcast(KernelRegistry& kernels) {
  kernels.add("BroadcastTo", "cpu", broadcast_to);
  kernels.add("BroadcastGradientArgs", "cpu", gradient_args);
  kernels.add("BroadcastArgs", "cpu", broadcast_args);
}

}  // namespace argosy
