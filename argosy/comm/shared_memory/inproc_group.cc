#include "argosy/comm/shared_memory/inproc_group.h"

#include "argosy/comm/shared_memory/inproc_state.h"

namespace argosy {

InprocGroup::InprocGroup(int size, const InprocOptions& options) {
  ARGOSY_CHECK(size >= 1);
  state_ = std::make_unique<State>(size, options);
}
InprocGroup::~InprocGroup() = default;
int InprocGroup::size() const { return state_->size(); }
Communicator& InprocGroup::rank(int rank) { return state_->rank(rank); }
void InprocGroup::abort(Status cause) { state_->abort(std::move(cause)); }
Status InprocGroup::reset() { return state_->reset(); }

template <typename Call>
Status InprocGroup::Rank::alone(const CollectiveOptions& options, const Call& call) {
  std::atomic<bool>& inside = state_.seat(rank()).inside;
  if (inside.exchange(true, std::memory_order_acq_rel)) {
    return failed_precondition("rank ", rank(), " is already inside a call: one thread at a time")
        .with_id("ARG-COMM-003");
  }
  Status status = guarded(options, [&] { return state_.aborted() ? state_.cause() : call(); });
  inside.store(false, std::memory_order_release);
  return status;
}

Status InprocGroup::Rank::collective(const CollectiveCall& call, const CollectiveOptions& options) {
  return alone(options, [&] { return state_.collective(rank(), epoch_++, call, options); });
}

Status InprocGroup::Rank::exchange(bool sends, int other, const Tensor& tensor, const CollectiveOptions& options) {
  return alone(options, [&] {
    return sends ? state_.send(rank(), other, tensor, options) : state_.recv(rank(), other, tensor, options);
  });
}

}  // namespace argosy
