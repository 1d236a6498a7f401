#include "argosy/op/kernel/step_context.h"
#include "argosy/op/state/named_resource.h"
#include "argosy/ops/list/tensor_list.h"
#include "argosy/ops/staging/staged.h"
#include "argosy/ops/staging/wait_queue.h"

namespace argosy {

namespace {

template <typename Held>
using StagingArea = WaitQueue<Held>;

// What all nodes of an area have: its place and its limits.
struct Place {
  explicit Place(const KernelInit& init)
      : named(init),
        limits{.capacity = init.attrs.get_int("capacity"), .bytes = init.attrs.get_int("memory_limit")},
        width(static_cast<std::int64_t>(init.attrs.get<std::vector<DType>>("dtypes").size())) {}

  template <typename Held>
  Result<std::shared_ptr<StagingArea<Held>>> area(KernelContext& c) {
    return named.find_or_make<StagingArea<Held>>(c.resources(), [&] {
      return std::make_shared<StagingArea<Held>>(str_cat("staging area '", named.name(), "'"));
    });
  }

  NamedResource named;  // without a shared name the area is the node's own
  const StagingLimits limits;
  const std::int64_t width;
};

Cancellation* cancellation_of(KernelContext& c) { return c.step() != nullptr ? &c.step()->cancellation() : nullptr; }

// The values of inputs `first` on, in memory of their own.
Result<Tuple> values_from(KernelContext& c, int first) {
  Tuple values;
  for (int i = first; i < c.num_inputs(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor own, kept(c, c.input(i)));
    values.push_back(std::move(own));
  }
  return values;
}

Status give(KernelContext& c, Tuple& values, int first) {
  const int wanted = c.num_outputs() - first;
  if (static_cast<int>(values.size()) != wanted) {
    return invalid_argument("Mismatch stage/unstage: ", values.size(), " vs. ", wanted);
  }
  for (int i = 0; i < wanted; ++i) {
    const Tensor& value = values[static_cast<std::size_t>(i)];
    if (value.dtype() != c.output_dtype(first + i)) {
      return internal_error("Output ", first + i, " of type ", dtype_name(value.dtype()),
                            " does not match declared output type ", dtype_name(c.output_dtype(first + i)));
    }
  }
  for (int i = 0; i < wanted; ++i) c.set_output(first + i, std::move(values[static_cast<std::size_t>(i)]));
  return ok_status();
}

// An operation on an area that may have to wait.
template <typename Held>
class Operation : public AsyncKernel {
 public:
  explicit Operation(const KernelInit& init) : place_(init) {}
  void run_async(KernelContext& c, Done done) final {
    auto area = place_.template area<Held>(c);
    if (!area.ok()) return done(std::move(area).status());
    auto try_complete = prepare(c);
    if (!try_complete.ok()) return done(std::move(try_complete).status());
    (*area)->start(*std::move(try_complete), cancellation_of(c), std::move(done));
  }

 protected:
  using TryComplete = typename StagingArea<Held>::TryComplete;
  virtual Result<TryComplete> prepare(KernelContext& c) = 0;
  Place place_;
};

template <typename K>
Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
  return std::unique_ptr<Kernel>(std::make_unique<K>(init));
}

// --- first in, first out ---------------------------------------------------------------------------------------------

class Stage final : public Operation<StagedTuples> {
 public:
  using Operation::Operation;

 protected:
  Result<TryComplete> prepare(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Tuple values, values_from(c, 0));
    return TryComplete([values = std::make_shared<Tuple>(std::move(values)),
                        limits = place_.limits](StagedTuples& held) { return held.put(*values, limits); });
  }
};

class Unstage final : public Operation<StagedTuples> {
 public:
  using Operation::Operation;

 protected:
  Result<TryComplete> prepare(KernelContext& c) override {
    return TryComplete([&c](StagedTuples& held) -> std::optional<Status> {
      Tuple values;
      std::optional<Status> taken = held.take(values);
      return taken && taken->ok() ? give(c, values, 0) : taken;
    });
  }
};

class StagePeek final : public Operation<StagedTuples> {
 public:
  using Operation::Operation;

 protected:
  Result<TryComplete> prepare(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t index, scalar_input(c.input(0), "index"));
    return TryComplete([&c, index](StagedTuples& held) -> std::optional<Status> {
      Tuple values;
      std::optional<Status> found = held.peek(index, values);
      return found && found->ok() ? give(c, values, 0) : found;
    });
  }
};

// --- by key ----------------------------------------------------------------------------------------------------------

class MapStage final : public Operation<StagedMap> {
 public:
  using Operation::Operation;

 protected:
  Result<TryComplete> prepare(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t key, scalar_input(c.input(0), "key"));
    ARGOSY_ASSIGN_OR_RETURN(auto indices, vector_input(c.input(1), "indices"));
    ARGOSY_ASSIGN_OR_RETURN(Tuple values, values_from(c, 2));
    if (indices.size() != values.size()) {
      return invalid_argument("MapStage: ", indices.size(), " indices for ", values.size(), " values");
    }
    return TryComplete(
        [key, indices = std::move(indices), values = std::make_shared<Tuple>(std::move(values)), width = place_.width,
         limits = place_.limits](StagedMap& held) { return held.put(key, indices, *values, width, limits); });
  }
};

template <bool kTake>
class MapGet final : public Operation<StagedMap> {
 public:
  using Operation::Operation;

 protected:
  Result<TryComplete> prepare(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t key, scalar_input(c.input(0), "key"));
    ARGOSY_ASSIGN_OR_RETURN(auto indices, vector_input(c.input(1), "indices"));
    return TryComplete([&c, key, indices = std::move(indices)](StagedMap& held) -> std::optional<Status> {
      Tuple values;
      std::optional<Status> found = held.get(key, indices, kTake, values);
      return found && found->ok() ? give(c, values, 0) : found;
    });
  }
};

class MapUnstageNoKey final : public Operation<StagedMap> {
 public:
  using Operation::Operation;

 protected:
  Result<TryComplete> prepare(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(auto indices, vector_input(c.input(0), "indices"));
    return TryComplete([&c, indices = std::move(indices)](StagedMap& held) -> std::optional<Status> {
      Tuple values;
      std::int64_t key = 0;
      std::optional<Status> found = held.take_any(indices, key, values);
      if (!found || !found->ok()) return found;
      c.set_output(0, Tensor::scalar(key));
      return give(c, values, 1);
    });
  }
};

// --- what never waits ------------------------------------------------------------------------------------------------

enum class Asked { kSize, kIncomplete, kClear };

template <typename Held, Asked kAsked>
class Now final : public Kernel {
 public:
  explicit Now(const KernelInit& init) : place_(init) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto area, place_.template area<Held>(c));
    const std::int64_t count = area->now([](Held& held) -> std::int64_t {
      if constexpr (kAsked == Asked::kSize) return held.size();
      if constexpr (kAsked == Asked::kIncomplete) return held.incomplete();
      held.clear();
      return 0;
    });
    if (kAsked != Asked::kClear) c.set_output(0, Tensor::scalar(static_cast<std::int32_t>(count)));
    return ok_status();
  }

 private:
  Place place_;
};

}  // namespace

void add_kernels_cpu_staging(KernelRegistry& kernels) {
  kernels.add("Stage", "cpu", make<Stage>);
  kernels.add("Unstage", "cpu", make<Unstage>);
  kernels.add("StagePeek", "cpu", make<StagePeek>);
  kernels.add("StageSize", "cpu", make<Now<StagedTuples, Asked::kSize>>);
  kernels.add("StageClear", "cpu", make<Now<StagedTuples, Asked::kClear>>);
  for (const std::string kind : {"Map", "OrderedMap"}) {
    kernels.add(kind + "Stage", "cpu", make<MapStage>);
    kernels.add(kind + "Peek", "cpu", make<MapGet<false>>);
    kernels.add(kind + "Unstage", "cpu", make<MapGet<true>>);
    kernels.add(kind + "UnstageNoKey", "cpu", make<MapUnstageNoKey>);
    kernels.add(kind + "Size", "cpu", make<Now<StagedMap, Asked::kSize>>);
    kernels.add(kind + "IncompleteSize", "cpu", make<Now<StagedMap, Asked::kIncomplete>>);
    kernels.add(kind + "Clear", "cpu", make<Now<StagedMap, Asked::kClear>>);
  }
}

}  // namespace argosy
