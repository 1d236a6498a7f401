#include "argosy/op/kernel/kernel.h"
#include "argosy/op/kernel/rendezvous.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/send_recv/pack_values.h"
#include "argosy/ops/send_recv/send_recv.h"

namespace argosy {

namespace {

RendezvousKey key_of(const KernelInit& init) {
  return {.send_device = init.attrs.get_string("send_device"),
          .send_incarnation = static_cast<std::uint64_t>(init.attrs.get_int("send_device_incarnation")),
          .receive_device = init.attrs.get_string("recv_device"),
          .edge = init.attrs.get_string("tensor_name"),
          .frame = 0,
          .iteration = 0};
}

Result<Rendezvous*> rendezvous_of(const KernelContext& c) {
  Rendezvous* const rendezvous = c.step() != nullptr ? c.step()->rendezvous() : nullptr;
  if (rendezvous != nullptr) return rendezvous;
  return failed_precondition("'", c.node(), "' is of a step over several tasks, and this one runs on a single task")
      .with_id("ARG-SEND-005")
      .with_hint("send and receive nodes are made when a step is cut by tasks: take them out of the graph");
}

// The key of this run of the node: in a loop it has a frame and an iteration.
RendezvousKey key_now(const KernelContext& c, const RendezvousKey& key) {
  RendezvousKey now = key;
  const FrameIteration at = c.step()->frame_iteration();
  now.frame = at.frame;
  now.iteration = at.iteration;
  return now;
}

class Send final : public Kernel {
 public:
  explicit Send(RendezvousKey key) : key_(std::move(key)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Send>(key_of(init)));
  }
  // A dead input is no tensor.
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Rendezvous* const rendezvous, rendezvous_of(c));
    const Tensor& value = c.input(0);
    return rendezvous->send(key_now(c, key_), value.owned(), !value.valid());
  }
  bool capturable() const override { return false; }

 private:
  const RendezvousKey key_;
};

class Receive final : public AsyncKernel {
 public:
  Receive(RendezvousKey key, DType dtype) : key_(std::move(key)), dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Receive>(key_of(init), init.attrs.get<DType>("tensor_type")));
  }
  // A dead value leaves its output without a tensor. Whoever runs the step aborts the rendezvous when it is cancelled.
  void run_async(KernelContext& c, Done done) override {
    const auto rendezvous = rendezvous_of(c);
    if (!rendezvous.ok()) return done(rendezvous.status());
    (*rendezvous)->receive(key_now(c, key_), [this, &c, done = std::move(done)](Result<Rendezvous::Received> received) {
      done(received.ok() ? give(c, std::move(*received)) : std::move(received).status());
    });
  }

 private:
  Status give(KernelContext& c, Rendezvous::Received received) const {
    if (received.dead) return ok_status();
    if (received.value.dtype() != dtype_) {
      return internal_error("'", c.node(), "' is to receive ", dtype_name(dtype_), ", was sent ",
                            dtype_name(received.value.dtype()), received.value.shape())
          .with_id("ARG-SEND-006");
    }
    c.set_output(0, std::move(received.value));
    return ok_status();
  }

  const RendezvousKey key_;
  const DType dtype_;
};

}  // namespace

void add_kernels_cpu_send_recv(KernelRegistry& kernels) {
  for (const char* op : {"_Send", "_HostSend"}) kernels.add(op, "cpu", Send::make);
  for (const char* op : {"_Recv", "_HostRecv"}) kernels.add(op, "cpu", Receive::make);
  add_kernels_pack_values(kernels);
}

}  // namespace argosy
