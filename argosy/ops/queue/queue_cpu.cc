#include <limits>

#include "argosy/op/kernel/step_context.h"
#include "argosy/op/state/named_resource.h"
#include "argosy/ops/list/tensor_list.h"
#include "argosy/ops/queue/queue_state.h"

namespace argosy {

namespace {

// --- handles ---------------------------------------------------------------------------------------------------------

Result<QueueOptions> options_of(const KernelInit& init) {
  QueueOptions options;
  options.dtypes = init.attrs.get<std::vector<DType>>("component_types");
  options.shapes = init.attrs.get<std::vector<PartialShape>>("shapes");
  options.capacity = init.attrs.get_int("capacity");
  if (options.capacity < 0) options.capacity = std::numeric_limits<std::int32_t>::max();
  const std::string_view op = init.op.name;
  if (op.starts_with("Random")) {
    options.kind = QueueKind::kShuffle;
    options.min_after_dequeue = init.attrs.get_int("min_after_dequeue");
    options.seed = init.attrs.get_int("seed");
    options.seed2 = init.attrs.get_int("seed2");
    if (options.min_after_dequeue < 0) {
      return invalid_argument("min_after_dequeue ", options.min_after_dequeue, " must be >= 0");
    }
    if (options.min_after_dequeue >= options.capacity) {
      return invalid_argument("min_after_dequeue ", options.min_after_dequeue, " must be < capacity ",
                              options.capacity);
    }
  } else if (op.starts_with("Padding")) {
    options.kind = QueueKind::kPadding;
    for (const PartialShape& s : options.shapes) {
      if (!s.has_rank()) return invalid_argument("shape ", s, " must have known rank.");
    }
  } else if (op.starts_with("Priority")) {
    options.kind = QueueKind::kPriority;
  }
  const bool shaped = options.kind == QueueKind::kPadding || options.kind == QueueKind::kPriority;
  if ((shaped || !options.shapes.empty()) && options.shapes.size() != options.dtypes.size()) {
    return invalid_argument("Shapes must be provided for all components, but received ", options.dtypes.size(),
                            " dtypes and ", options.shapes.size(), " shapes.");
  }
  if (options.kind == QueueKind::kPriority) {
    if (options.dtypes.empty()) return invalid_argument("a priority queue has no components but the priority");
    options.dtypes.insert(options.dtypes.begin(), DType::kInt64);
    options.shapes.insert(options.shapes.begin(), PartialShape::scalar());
  }
  for (const PartialShape& s : options.shapes) {
    if (options.kind != QueueKind::kPadding && !s.is_full()) {
      return invalid_argument("Shape ", s, " is not fully defined");
    }
  }
  return options;
}

class Handle final : public Kernel {
 public:
  Handle(QueueOptions options, NamedResource place) : options_(std::move(options)), place_(std::move(place)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(QueueOptions options, options_of(init));
    return std::unique_ptr<Kernel>(std::make_unique<Handle>(std::move(options), NamedResource(init)));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(auto queue, place_.find_or_make<QueueState>(c.resources(), [&] {
      return std::make_shared<QueueState>(place_.name(), options_);
    }));
    ARGOSY_RETURN_IF_ERROR(queue->check_same(options_));
    c.set_output(0, place_.handle(std::move(queue)));
    return ok_status();
  }

 private:
  const QueueOptions options_;
  NamedResource place_;
};

// --- operations ------------------------------------------------------------------------------------------------------

std::string joined_names(const std::vector<DType>& dtypes) {
  std::string names;
  for (const DType d : dtypes) names += str_cat(names.empty() ? "" : ", ", dtype_name(d));
  return names;
}

// What all operations do: find the queue, check its dtypes against the node's, say who asks.
class Operation : public AsyncKernel {
 public:
  void run_async(KernelContext& c, Done done) final {
    auto queue = c.resource<QueueState>(0);
    if (!queue.ok()) return done(std::move(queue).status());
    if (Status fits = check_dtypes(c, **queue); !fits.ok()) return done(std::move(fits));
    const QueueState::Caller caller{.cancellation = c.step() != nullptr ? &c.step()->cancellation() : nullptr,
                                    .memory = &c.allocator()};
    start(c, **queue, caller, [&c, done = std::move(done)](Status status, QueueState::Tuple tuple) {
      for (std::size_t i = 0; i < tuple.size(); ++i) c.set_output(static_cast<int>(i), std::move(tuple[i]));
      done(std::move(status));
    });
  }

 protected:
  virtual Status check_dtypes(const KernelContext&, const QueueState&) const { return ok_status(); }
  // `done` is called in every case.
  virtual void start(KernelContext& c, QueueState& queue, const QueueState::Caller& caller, QueueState::Done done) = 0;

  static Status mismatch(const QueueState& queue, const std::vector<DType>& have, bool entering) {
    const std::vector<DType>& want = queue.options().dtypes;
    if (have == want) return ok_status();
    const auto signature = [&](const std::vector<DType>& dtypes) {
      const std::string names = joined_names(dtypes);
      return entering ? str_cat("resource, ", names, "->") : str_cat("resource->", names);
    };
    return invalid_argument("Signature mismatch, have: ", signature(have), " expected: ", signature(want));
  }
};

template <bool kMany>
class Enqueue final : public Operation {
 protected:
  Status check_dtypes(const KernelContext& c, const QueueState& queue) const override {
    std::vector<DType> have;
    for (int i = 1; i < c.num_inputs(); ++i) have.push_back(c.input(i).dtype());
    return mismatch(queue, have, true);
  }
  void start(KernelContext& c, QueueState& queue, const QueueState::Caller& caller, QueueState::Done done) override {
    QueueState::Tuple tuple;
    for (int i = 1; i < c.num_inputs(); ++i) {
      auto own = kept(c, c.input(i));
      if (!own.ok()) return done(std::move(own).status(), {});
      tuple.push_back(*std::move(own));
    }
    kMany ? queue.enqueue_many(std::move(tuple), caller, std::move(done))
          : queue.enqueue(std::move(tuple), caller, std::move(done));
  }
};

class Dequeue : public Operation {
 protected:
  Status check_dtypes(const KernelContext& c, const QueueState& queue) const override {
    std::vector<DType> have;
    for (int i = 0; i < c.num_outputs(); ++i) have.push_back(c.output_dtype(i));
    return mismatch(queue, have, false);
  }
  void start(KernelContext&, QueueState& queue, const QueueState::Caller& caller, QueueState::Done done) override {
    queue.dequeue(caller, std::move(done));
  }
};

template <bool kUpTo>
class DequeueMany final : public Dequeue {
 protected:
  void start(KernelContext& c, QueueState& queue, const QueueState::Caller& caller, QueueState::Done done) override {
    const auto n = scalar_input(c.input(1), "n");
    if (!n.ok()) return done(n.status(), {});
    if (*n < 0) {
      return done(invalid_argument(kUpTo ? "DequeueUpToOp" : "DequeueManyOp", " requested ", *n, " < 0 elements"), {});
    }
    queue.dequeue_many(*n, kUpTo, caller, std::move(done));
  }
};

class Close final : public Operation {
 public:
  explicit Close(bool cancel_pending) : cancel_pending_(cancel_pending) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Close>(init.attrs.get_bool("cancel_pending_enqueues")));
  }

 protected:
  void start(KernelContext&, QueueState& queue, const QueueState::Caller& caller, QueueState::Done done) override {
    queue.close(cancel_pending_, caller, std::move(done));
  }

 private:
  const bool cancel_pending_;
};

Status size(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto queue, c.resource<QueueState>(0));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int32_t>() = static_cast<std::int32_t>(queue->size());
  return ok_status();
}

Status is_closed(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto queue, c.resource<QueueState>(0));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<bool>() = queue->closed();
  return ok_status();
}

// Whoever wants to wait for a time only is told, as by TensorFlow: the wait would have no end.
template <typename K>
Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
  if (init.attrs.get_int("timeout_ms") != -1) return invalid_argument("Timeout not supported yet.");
  return std::unique_ptr<Kernel>(std::make_unique<K>());
}

}  // namespace

void add_kernels_cpu_queue(KernelRegistry& kernels) {
  for (const char* op : {"FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue"}) {
    kernels.add(op, "cpu", Handle::make);
    kernels.add(str_cat(op, "V2"), "cpu", Handle::make);
  }
  for (const char* v : {"", "V2"}) {
    kernels.add(str_cat("QueueEnqueue", v), "cpu", make<Enqueue<false>>);
    kernels.add(str_cat("QueueEnqueueMany", v), "cpu", make<Enqueue<true>>);
    kernels.add(str_cat("QueueDequeue", v), "cpu", make<Dequeue>);
    kernels.add(str_cat("QueueDequeueMany", v), "cpu", make<DequeueMany<false>>);
    kernels.add(str_cat("QueueDequeueUpTo", v), "cpu", make<DequeueMany<true>>);
    kernels.add(str_cat("QueueClose", v), "cpu", Close::make);
    kernels.add(str_cat("QueueSize", v), "cpu", size);
    kernels.add(str_cat("QueueIsClosed", v), "cpu", is_closed);
  }
}

}  // namespace argosy
