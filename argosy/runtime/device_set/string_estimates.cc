#include "argosy/runtime/device_set/string_estimates.h"

#include <algorithm>

#include "argosy/device/device.h"
#include "argosy/ops/elementwise/broadcast_plan.h"

namespace argosy {

namespace {

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

std::int64_t plus(std::int64_t a, std::int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

std::int64_t bytes_of(std::span<const std::string> strings) {
  std::int64_t bytes = 0;
  for (const std::string& s : strings) bytes += static_cast<std::int64_t>(s.size());
  return bytes;
}

std::int64_t product_of(const Tensor& sizes) {
  const auto numbers = to_int64s(sizes, "sizes");
  std::int64_t product = numbers.ok() ? 1 : 0;
  for (std::size_t i = 0; numbers.ok() && i < numbers->size(); ++i) product = times(product, (*numbers)[i]);
  return std::max<std::int64_t>(product, 0);
}

std::int64_t filled(const KernelContext& c) {
  return c.input(1).elements() == 1 ? times(product_of(c.input(0)), bytes_of(c.input(1).values<std::string>())) : 0;
}

std::int64_t broadcast_bytes(const KernelContext& c) {
  const Tensor& x = c.input(0);
  const std::int64_t elements = product_of(c.input(1));
  if (x.elements() == 0 || elements <= x.elements()) return 0;
  return times(elements / x.elements(), bytes_of(x.values<std::string>()));
}

std::int64_t tiled(const KernelContext& c) {
  return times(product_of(c.input(1)), bytes_of(c.input(0).values<std::string>()));
}

// The strings of all inputs; the same tensor may be several of them.
std::int64_t joined(const KernelContext& c) {
  std::int64_t bytes = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).dtype() == DType::kString) bytes = plus(bytes, bytes_of(c.input(i).values<std::string>()));
  }
  return bytes;
}

// The slices that indices name along an axis; with batch_dims, each batch has its own indices.
std::int64_t gathered(const KernelContext& c, std::int64_t axis, std::int64_t batch_dims) {
  const Tensor &x = c.input(0), &indices = c.input(1);
  const std::int64_t rank = x.shape().rank(), index_rank = indices.shape().rank();
  if (axis < 0) axis += rank;
  if (batch_dims < 0) batch_dims += index_rank;
  if (axis < 0 || axis >= rank || batch_dims < 0 || batch_dims > axis || batch_dims > index_rank) return 0;
  std::int64_t batch = 1, outer = 1, inner = 1;
  for (int i = 0; i < batch_dims; ++i) {
    if (x.shape()[i] != indices.shape()[i]) return 0;
    batch *= x.shape()[i];
  }
  for (auto i = static_cast<int>(batch_dims); i < axis; ++i) outer *= x.shape()[i];
  for (auto i = static_cast<int>(axis) + 1; i < rank; ++i) inner *= x.shape()[i];
  const std::int64_t size = x.shape()[static_cast<int>(axis)];
  if (batch == 0 || inner == 0) return 0;
  const std::int64_t count = indices.elements() / batch;
  const std::span<const std::string> strings = x.values<std::string>();
  std::int64_t bytes = 0;
  const auto add = [&](std::int64_t place, std::int64_t index) {
    if (index < 0 || index >= size) return;
    for (std::int64_t o = 0; o < outer; ++o) {
      const std::int64_t at = ((place / count * outer + o) * size + index) * inner;
      bytes = plus(bytes, bytes_of(strings.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(inner))));
    }
  };
  (void)dispatch<TypeList<std::int32_t, std::int64_t, std::int16_t>>(indices.dtype(), "Gather", [&]<typename I>() {
    for (std::int64_t i = 0; i < indices.elements(); ++i) add(i, indices.data<I>()[i]);
    return ok_status();
  });
  return bytes;
}

std::int64_t gathered_along_axis(const KernelContext& c, std::int64_t batch_dims) {
  const auto axis = to_int64(c.input(2), "axis");
  return axis.ok() && c.input(2).shape().rank() == 0 ? gathered(c, *axis, batch_dims) : 0;
}

// The paddings before and after along each axis, flat: [2 * rank]. Empty where they do not fit x.
std::vector<std::int64_t> frame_of(const KernelContext& c) {
  const Shape &x = c.input(0).shape(), &given = c.input(1).shape();
  if (given.rank() != 2 || given[0] != x.rank() || given[1] != 2) return {};
  auto sizes = to_int64s(c.input(1).reshaped({2 * given[0]}), "paddings");
  const auto wrong = [](std::int64_t n) { return n < 0; };
  if (!sizes.ok() || std::any_of(sizes->begin(), sizes->end(), wrong)) return {};
  return *std::move(sizes);
}

// The strings of x, and one string for each element of padding.
std::int64_t padded(const KernelContext& c) {
  const Tensor& x = c.input(0);
  const std::vector<std::int64_t> frame = frame_of(c);
  if (frame.empty() || c.input(2).elements() != 1) return 0;
  std::int64_t elements = 1;
  for (int i = 0; i < x.shape().rank(); ++i) {
    const auto k = static_cast<std::size_t>(2 * i);
    elements = times(elements, plus(x.shape()[i], plus(frame[k], frame[k + 1])));
  }
  return plus(bytes_of(x.values<std::string>()),
              times(elements - x.elements(), static_cast<std::int64_t>(c.input(2).data<std::string>()->size())));
}

// Broadcast addition: each element of an operand is in (elements of the result / elements of the operand) sums.
std::int64_t added(const KernelContext& c) {
  const Tensor &x = c.input(0), &y = c.input(1);
  const auto shape = broadcast(x.shape(), y.shape());
  if (!shape.ok() || shape->elements() == 0) return 0;
  return plus(times(shape->elements() / x.elements(), bytes_of(x.values<std::string>())),
              times(shape->elements() / y.elements(), bytes_of(y.values<std::string>())));
}

std::int64_t longest(const Tensor& t) {
  std::size_t most = 0;
  for (const std::string& s : t.values<std::string>()) most = std::max(most, s.size());
  return static_cast<std::int64_t>(most);
}

// One string for each element of the result. `of_rows`: a vector of conditions chooses among rows.
std::int64_t selected(const KernelContext& c, bool of_rows) {
  const Shape &t = c.input(1).shape(), &e = c.input(2).shape();
  Shape condition = c.input(0).shape();
  if (of_rows && condition.rank() == 1 && t.rank() > 1) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(t.rank()), 1);
    rows[0] = condition[0];
    condition = Shape(rows);
  }
  const auto values = broadcast(t, e);
  const auto shape = values.ok() ? broadcast(condition, *values) : values;
  if (!shape.ok() || shape->elements() == 0) return 0;
  // Most results are small, and need no count.
  constexpr std::int64_t kSmall = 1 << 20;
  if (times(shape->elements(), std::max(longest(c.input(1)), longest(c.input(2)))) <= kSmall) return 0;
  const Shape* const shapes[] = {&condition, &t, &e};
  const BroadcastPlan plan(*shape, shapes);
  const bool* const truths = c.input(0).data<bool>();
  const std::string *const yes = c.input(1).data<std::string>(), *const no = c.input(2).data<std::string>();
  std::int64_t bytes = 0;
  BroadcastCursor at(plan, 0);
  for (std::int64_t i = 0; i < plan.elements; ++i) {
    if (i > 0) at.advance(1);
    const std::string& one = truths[at.offset(0)] ? yes[at.offset(1)] : no[at.offset(2)];
    bytes = plus(bytes, static_cast<std::int64_t>(one.size()));
  }
  return bytes;
}

}  // namespace

StringEstimate string_estimate_of(const KernelInit& init) {
  if (init.device != nullptr && !init.device->allocator().on_host()) return {};
  const std::string_view op = init.op.name;
  if (op == "Fill") return filled;
  if (op == "BroadcastTo") return broadcast_bytes;
  if (op == "Tile") return tiled;
  if (op == "PadV2") return padded;
  if (op == "AddV2" || op == "Add") return added;
  if (op == "Select" || op == "SelectV2")
    return [of_rows = op == "Select"](const KernelContext& c) { return selected(c, of_rows); };
  if ((op == "Pack" || op == "Concat" || op == "ConcatV2") && init.input_dtypes.size() > 2) return joined;
  if (op == "Gather") return [](const KernelContext& c) { return gathered(c, 0, 0); };
  if (op == "GatherV2") {
    return [batch_dims = init.attrs.get_or<std::int64_t>("batch_dims", 0)](const KernelContext& c) {
      return gathered_along_axis(c, batch_dims);
    };
  }
  return {};
}

}  // namespace argosy
