#include <algorithm>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/optimizer/apply_many.h"

namespace argosy {

namespace {

constexpr std::int64_t kGrain = 1 << 17;  // elements worth a thread

class ApplyMany final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const OpDef* const op = builtin_ops().find(init.attrs.get_string("op"));
    const auto parts = op != nullptr ? apply_parts(*op) : std::nullopt;
    const auto vars = init.attrs.get_int("N"), values = init.attrs.get_int("M");
    if (!parts || vars % parts->variables != 0 ||
        values != static_cast<std::int64_t>(parts->scalars.size()) + vars / parts->variables) {
      return invalid_argument(init.op.name, ": ", vars, " variables and ", values, " values do not fit ",
                              init.attrs.get_string("op"));
    }
    AttrMap attrs{{"T", init.attrs.get_type("T")}};
    for (const AttrDef& a : op->attr_defs) {  // one is true unless it is said: update_slots
      if (a.kind == AttrKind::kBool && a.name != "use_locking")
        attrs.set(a.name, a.name == init.attrs.get_string("flag"));
    }
    std::vector<DType> dtypes(op->input_args.size(), init.attrs.get_type("T"));
    if (!op->has_ref_input()) std::fill_n(dtypes.begin(), parts->variables, DType::kResource);
    ARGOSY_RETURN_IF_ERROR(complete_attrs(*op, dtypes, attrs));
    const std::vector<PartialShape> unknown(dtypes.size());
    ARGOSY_ASSIGN_OR_RETURN(auto one, cpu_kernels().make({.op = *op,
                                                          .attrs = attrs,
                                                          .node = init.node,
                                                          .input_dtypes = dtypes,
                                                          .output_dtypes = {},
                                                          .input_shapes = unknown,
                                                          .output_shapes = {},
                                                          .constants = {},
                                                          .device = init.device,
                                                          .resources = init.resources},
                                                         "cpu"));
    return std::unique_ptr<Kernel>(
        std::make_unique<ApplyMany>(std::move(one), *parts, static_cast<int>(vars / parts->variables)));
  }

  ApplyMany(std::unique_ptr<Kernel> one, ApplyParts parts, int updates)
      : one_(std::move(one)), parts_(std::move(parts)), updates_(updates) {}

  Status run(KernelContext& c) override {
    std::int64_t elements = 0;
    for (int u = 0; u < updates_; ++u) elements += gradient(c, u).elements();
    Status first;
    Mutex mutex;
    parallel_for(std::max<std::int64_t>(elements, 1), kGrain, [&](std::int64_t begin, std::int64_t end) {
      const ThreadLimit alone(1);  // the team is at work already
      std::int64_t at = 0;
      for (int u = 0; u < updates_; ++u) {
        const std::int64_t mine = at;
        at += gradient(c, u).elements();
        if (mine < begin || mine >= end) continue;
        if (Status status = update(c, u); !status.ok()) {
          MutexLock lock(mutex);
          if (first.ok()) first = std::move(status);
        }
      }
    });
    return first;
  }

 private:
  int first_value() const { return updates_ * parts_.variables; }
  const Tensor& gradient(const KernelContext& c, int u) const {
    return c.input(first_value() + static_cast<int>(parts_.scalars.size()) + u);
  }

  // The update's own kernel, shown the inputs it would have had.
  Status update(const KernelContext& c, int u) const {
    std::array<const Tensor*, 16> inputs{};
    int count = 0;
    for (; count < parts_.variables; ++count) inputs[count] = &c.input(u * parts_.variables + count);
    for (std::size_t s = 0; s < parts_.scalars.size(); ++s, ++count) {
      inputs[parts_.scalars[s]] = &c.input(first_value() + static_cast<int>(s));
    }
    inputs[parts_.gradient] = &gradient(c, u);
    KernelContext::Fields fields = c.fields();
    fields.inputs = inputs.data();
    fields.num_inputs = count + 1;
    fields.num_outputs = 0;
    fields.may_donate = nullptr;
    KernelContext one(fields);
    return one_->run(one);
  }

  const std::unique_ptr<Kernel> one_;
  const ApplyParts parts_;
  const int updates_;
};

}  // namespace

// Called by add_kernels_cpu_optimizer.
void add_kernels_cpu_apply_many(KernelRegistry& kernels) {
  kernels.add("_ApplyMany", "cpu", ApplyMany::make);
  kernels.add("_ResourceApplyMany", "cpu", ApplyMany::make);
}

}  // namespace argosy
