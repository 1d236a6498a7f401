#include <algorithm>
#include <cstring>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/state/scatter_kernels.h"
#include "argosy/ops/state/slices.h"

namespace argosy::state {

namespace {

Status copy_slices(const Tensor& to, const Tensor& from, std::span<const std::int64_t> starts, std::int64_t slice) {
  if (from.dtype() == DType::kString) {
    std::string* out = to.data<std::string>();
    for (const std::int64_t start : starts) out = std::copy_n(from.data<std::string>() + start, slice, out);
    return ok_status();
  }
  if (!is_plain(from.dtype())) return unsupported_dtype("ResourceGather", from.dtype());
  const std::size_t bytes = element_bytes(from.dtype());
  const std::size_t row = bytes * static_cast<std::size_t>(slice);
  if (row == 0) return ok_status();
  parallel_for(static_cast<std::int64_t>(starts.size()),
               std::max<std::int64_t>(1, static_cast<std::int64_t>(65536 / row)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   std::memcpy(to.buffer().data() + row * static_cast<std::size_t>(i),
                               from.buffer().data() + bytes * static_cast<std::size_t>(starts[i]), row);
                 }
               });
  return ok_status();
}

Result<Tensor> variable_value(const KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
  if (v->dtype() != c.output_dtype(0)) {
    return invalid_argument("the variable is ", dtype_name(v->dtype()), ", not ", dtype_name(c.output_dtype(0)));
  }
  return v->read(c.input(0).data<ResourceHandle>()->name());
}

// With batch_dims b, the first b axes of variable and indices go together: row r of batch k is row
// k * rows + r of the variable seen as [batches * rows, ...].
class Gather final : public Kernel {
 public:
  explicit Gather(std::int64_t batch_dims) : batch_dims_(batch_dims) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::int64_t batch_dims = init.attrs.get_int("batch_dims");
    if (batch_dims < 0) return invalid_argument("ResourceGather: batch_dims must not be negative");
    return std::unique_ptr<Kernel>(std::make_unique<Gather>(batch_dims));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Tensor from, variable_value(c));
    const Shape& v = from.shape();
    const Shape& indices = c.input(1).shape();
    if (v.rank() < 1 || batch_dims_ >= v.rank() || batch_dims_ > indices.rank() ||
        !std::equal(v.sizes().begin(), v.sizes().begin() + batch_dims_, indices.sizes().begin())) {
      return invalid_argument("ResourceGather: batch_dims ", batch_dims_, " does not fit a variable of shape ", v,
                              " and indices of shape ", indices);
    }
    std::vector<std::int64_t> sizes(indices.sizes().begin(), indices.sizes().end());
    sizes.insert(sizes.end(), v.sizes().begin() + batch_dims_ + 1, v.sizes().end());
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    const auto b = static_cast<std::size_t>(batch_dims_);
    std::int64_t batches = 1;
    for (const std::int64_t size : v.sizes().first(b)) batches *= size;
    if (batches == 0 || y->elements() == 0) return ok_status();
    std::int64_t slice = 1;
    const Shape rows{std::span<const std::int64_t>(v.sizes().subspan(b))};
    ARGOSY_ASSIGN_OR_RETURN(const Starts starts, row_starts(c, c.input(1), rows, slice));
    auto* const at = reinterpret_cast<std::int64_t*>(starts.memory.data());
    const std::int64_t each = starts.count / batches;
    for (std::int64_t i = 0; b > 0 && i < starts.count; ++i) at[i] += i / each * rows.elements();
    return copy_slices(*y, from, starts.span(), slice);
  }

 private:
  const std::int64_t batch_dims_;
};

Status gather_nd(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Tensor from, variable_value(c));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, nd_result_shape(c.input(1).shape(), from.shape()));
  if (from.elements() == 0 && c.input(1).elements() > 0) {
    return invalid_argument("Requested more than 0 entries, but params is empty.  Params shape: ", from.shape());
  }
  std::int64_t slice = 1;
  ARGOSY_ASSIGN_OR_RETURN(const Starts starts, nd_starts(c, c.input(1), from.shape(), false, slice));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return copy_slices(*y, from, starts.span(), slice);
}

}  // namespace

void add_gather_kernels(KernelRegistry& kernels) {
  kernels.add("ResourceGather", "cpu", with_workspace<Gather::make, for_elements_of_input<1, 8>>);
  kernels.add("ResourceGatherNd", "cpu", with_workspace<gather_nd, for_paths_of_input<1, 8>>);
}

}  // namespace argosy::state
