#include "argosy/comm/inproc_group.h"

#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/str.h"
#include "argosy/comm/inproc_rendezvous.h"
#include "argosy/device/event.h"

namespace argosy {

namespace {

class InprocRank final : public Communicator {
 public:
  InprocRank(std::shared_ptr<InprocRendezvous> rendezvous, int rank, Device* device, GroupBackend* backend)
      : rendezvous_(std::move(rendezvous)), place_{rank, device, backend} {}

  int rank() const override { return place_.rank; }
  int size() const override { return rendezvous_->size(); }
  void abort(Status cause) override { rendezvous_->abort(cause); }
  void start(const CollectiveCall& call, Done done) override {
    if (Status peer = check_peer(call); !peer.ok()) return done(std::move(peer));
    rendezvous_->start(call, place_, std::move(done));
  }

 private:
  // Around a call: its cancellation aborts the group, its error says which rank's it was.
  Status run_checked(const CollectiveCall& call, const CollectiveOptions& options) override {
    std::atomic<bool>& inside = rendezvous_->waiter(rank()).inside;
    if (inside.exchange(true, std::memory_order_acq_rel)) {
      return failed_precondition("rank ", rank(), " is already inside a call: one thread at a time")
          .with_id("ARG-COMM-003");
    }
    const auto abort_group = [&] { abort(options.cancellation->status()); };
    CancelLink link(options.cancellation, abort_group);
    if (link.too_late()) abort_group();
    Status status = wait_for(call, options);
    link.end();
    inside.store(false, std::memory_order_release);
    if (status.ok()) return status;
    return std::move(status).with_where(
        str_cat("rank ", rank(), " of ", size(), options.name.empty() ? "" : ", ", options.name));
  }

  Status wait_for(const CollectiveCall& call, const CollectiveOptions& options) {
    LaunchQueue* const queue = place_.device != nullptr ? place_.device->launch_queue() : nullptr;
    Event ready;
    if (queue != nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(ready, queue->record());
    }
    const std::int64_t deadline = rendezvous_->deadline(options.timeout);
    ARGOSY_ASSIGN_OR_RETURN(const Event end, rendezvous_->run(call, place_, ready, options.timeout, deadline));
    if (end.state() == nullptr) return {};
    // Nobody waits for a device that hangs.
    while (!end.state()->reached()) {
      if (deadline != 0 && now_nanos() > deadline) {
        abort(deadline_exceeded(call.describe(), " was started and does not end").with_id("ARG-COMM-004"));
      }
      ARGOSY_RETURN_IF_ERROR(rendezvous_->cause());
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return queue != nullptr ? queue->failure() : ok_status();
  }

  const std::shared_ptr<InprocRendezvous> rendezvous_;
  const InprocPlace place_;
};

}  // namespace

InprocGroup::InprocGroup(int size, const InprocOptions& options)
    : rendezvous_(std::make_shared<InprocRendezvous>(size, options)),
      cancelled_(options.cancellation, [rendezvous = rendezvous_.get(), cancellation = options.cancellation] {
        rendezvous->abort(cancellation->status());
      }) {
  if (cancelled_.too_late()) rendezvous_->abort(options.cancellation->status());
  for (int r = 0; r < size; ++r) ranks_.push_back(on_device(r, nullptr, nullptr));
}

InprocGroup::~InprocGroup() {
  cancelled_.end();
  rendezvous_->disarm();
}

int InprocGroup::size() const { return rendezvous_->size(); }
Communicator& InprocGroup::rank(int rank) {
  ARGOSY_CHECK(rank >= 0 && rank < size());
  return *ranks_[static_cast<std::size_t>(rank)];
}
std::unique_ptr<Communicator> InprocGroup::on_device(int rank, Device* device, GroupBackend* backend) const {
  ARGOSY_CHECK(rank >= 0 && rank < size());
  return std::make_unique<InprocRank>(rendezvous_, rank, device, backend);
}
void InprocGroup::abort(Status cause) { rendezvous_->abort(cause); }
Status InprocGroup::reset() { return rendezvous_->reset(); }

}  // namespace argosy
