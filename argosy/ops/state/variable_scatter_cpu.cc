// Scatter into a variable. Indices are checked before anything is written. Updates are applied in their order, so that
// the last of several for one place wins; threads share the columns of the slices, never the rows.
#include <algorithm>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/state/scatter_kernels.h"
#include "argosy/ops/state/slices.h"

namespace argosy::state {

namespace {

Status wrong_updates(const KernelContext& c, const Tensor& variable) {
  const Shape &indices = c.input(1).shape(), &updates = c.input(2).shape();
  return invalid_argument("Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got ",
                          "updates.shape ", updates, ", indices.shape ", indices, ", params.shape ", variable.shape(),
                          ": updates of shape ", updates, " do not fit indices of shape ", indices,
                          " into a variable of shape ", variable.shape())
      .with_id("ARG-SHAPE-007");
}

// updates must be a scalar, or indices.shape + variable.shape[1:].
Status check_rows(const KernelContext& c, const Tensor& variable) {
  const Shape& v = variable.shape();
  const Shape& updates = c.input(2).shape();
  if (v.rank() < 1) return invalid_argument("a scatter needs a variable of at least one axis, not shape ", v);
  if (updates.rank() == 0) return ok_status();
  const auto indices = c.input(1).shape().sizes();
  const auto u = updates.sizes();
  const auto rest = v.sizes().subspan(1);
  const bool fits = u.size() == indices.size() + rest.size() && std::equal(indices.begin(), indices.end(), u.begin()) &&
                    std::equal(rest.begin(), rest.end(), u.begin() + static_cast<std::ptrdiff_t>(indices.size()));
  return fits ? ok_status() : wrong_updates(c, variable);
}

template <typename Update, typename T>
void apply(T* to, const T* from, std::span<const std::int64_t> starts, std::int64_t slice, bool one_value) {
  const auto n = static_cast<std::int64_t>(starts.size());
  const std::int64_t grain = std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(n, 1));
  parallel_for(slice, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (starts[i] < 0) continue;
      T* const row = to + starts[i];
      const T* const by = one_value ? from : from + i * slice;
      for (std::int64_t k = begin; k < end; ++k) row[k] = Update::template of<T>(row[k], by[one_value ? 0 : k]);
    }
  });
}

// Integers cannot be divided by zero; said before the first is divided.
template <typename Update, typename T>
Status check_divisors(const Tensor& updates) {
  if constexpr (std::is_same_v<Update, Div> && std::is_integral_v<T>) {
    const auto values = updates.values<T>();
    if (std::find(values.begin(), values.end(), T(0)) != values.end()) return invalid_argument("division by zero");
  }
  return ok_status();
}

template <typename Update>
Status update_slices(Tensor& variable, const Tensor& updates, std::span<const std::int64_t> starts,
                     std::int64_t slice) {
  const bool one_value = updates.shape().rank() == 0 && slice * static_cast<std::int64_t>(starts.size()) != 1;
  if constexpr (std::is_same_v<Update, Assign>) {
    if (variable.dtype() == DType::kString) {
      apply<Assign>(variable.data<std::string>(), updates.data<std::string>(), starts, slice, one_value);
      return ok_status();
    }
    return dispatch_size(variable.dtype(), "ScatterUpdate", [&]<typename T>() {
      apply<Assign>(variable.raw_as<T>(), updates.raw_as<T>(), starts, slice, one_value);
      return ok_status();
    });
  } else {
    using Types =
        std::conditional_t<std::is_same_v<Update, Min> || std::is_same_v<Update, Max>, RealTypes, NumberTypes>;
    return dispatch<Types>(variable.dtype(), "Scatter", [&]<typename T>() {
      ARGOSY_RETURN_IF_ERROR((check_divisors<Update, T>(updates)));
      apply<Update>(variable.data<T>(), updates.data<T>(), starts, slice, one_value);
      return ok_status();
    });
  }
}

// Finds, under the variable's lock, where slices start; then updates them.
template <typename Update, typename Find>
Status scatter(KernelContext& c, const Find& find) {
  ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
  const std::string_view name = c.input(0).data<ResourceHandle>()->name();
  if (v->dtype() != c.input(2).dtype()) {
    return invalid_argument("variable ", name, " is ", dtype_name(v->dtype()), ", the updates are ",
                            dtype_name(c.input(2).dtype()));
  }
  ARGOSY_RETURN_IF_ERROR(v->update(name, [&](Tensor& variable) -> Status {
    std::int64_t slice = 1;
    ARGOSY_ASSIGN_OR_RETURN(const Starts starts, find(variable, slice));
    return update_slices<Update>(variable, c.input(2), starts.span(), slice);
  }));
  if (c.num_outputs() > 0) c.set_output(0, c.input(0));
  return ok_status();
}

template <typename Update>
Status scatter_rows(KernelContext& c) {
  return scatter<Update>(c, [&](const Tensor& variable, std::int64_t& slice) -> Result<Starts> {
    ARGOSY_RETURN_IF_ERROR(check_rows(c, variable));
    return row_starts(c, c.input(1), variable.shape(), slice);
  });
}

template <typename Update>
class ScatterNd final : public Kernel {
 public:
  explicit ScatterNd(bool skip_bad) : skip_bad_(skip_bad) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(
        std::make_unique<ScatterNd>(init.attrs.get_string("bad_indices_policy") == "IGNORE"));
  }
  Status run(KernelContext& c) override {
    return scatter<Update>(c, [&](const Tensor& variable, std::int64_t& slice) -> Result<Starts> {
      const Shape& indices = c.input(1).shape();
      ARGOSY_ASSIGN_OR_RETURN(const Shape wanted, nd_result_shape(indices, variable.shape()));
      if (!(c.input(2).shape() == wanted)) return wrong_updates(c, variable);
      return nd_starts(c, c.input(1), variable.shape(), skip_bad_, slice);
    });
  }

 private:
  const bool skip_bad_;
};

template <typename Update>
void add(KernelRegistry& kernels, const std::string& name) {
  for (const char* prefix : {"Scatter", "ResourceScatter"})
    kernels.add(prefix + name, "cpu", with_workspace<scatter_rows<Update>, for_elements_of_input<1, 8>>);
  if constexpr (std::is_same_v<Update, Mul> || std::is_same_v<Update, Div>) return;
  for (const char* prefix : {"ScatterNd", "ResourceScatterNd"}) {
    kernels.add(prefix + name, "cpu", with_workspace<ScatterNd<Update>::make, for_paths_of_input<1, 8>>);
  }
}

}  // namespace

void add_scatter_kernels(KernelRegistry& kernels) {
  add<Assign>(kernels, "Update");
  add<Add>(kernels, "Add");
  add<Sub>(kernels, "Sub");
  add<Mul>(kernels, "Mul");
  add<Div>(kernels, "Div");
  add<Min>(kernels, "Min");
  add<Max>(kernels, "Max");
}

}  // namespace argosy::state
