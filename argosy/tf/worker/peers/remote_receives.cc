#include "argosy/tf/worker/peers/remote_receives.h"

#include "argosy/base/guard.h"
#include "argosy/base/system/random_source.h"
#include "argosy/tf/worker/peers/recv_tensor.h"

namespace argosy::tf {

namespace {
constexpr const char* kRecvTensor = "/tensorflow.WorkerService/RecvTensor";
}

void RemoteReceives::begin(std::int64_t step_id, std::shared_ptr<Peers> peers) {
  if (peers == peers_) return;
  MutexLock lock(state_->mutex);
  state_->steps[step_id].peers = std::move(peers);
}

void RemoteReceives::receive(std::int64_t step_id, const RendezvousKey& key, Rendezvous::Done done) {
  std::shared_ptr<Peers> peers = peers_;
  {
    MutexLock lock(state_->mutex);
    const auto step = state_->steps.find(step_id);
    if (step != state_->steps.end() && step->second.peers != nullptr) peers = step->second.peers;
  }
  auto sender = task_of(key.send_device);
  if (!sender.ok()) return done(std::move(sender).status());
  auto channel = peers->channel(*sender);
  if (!channel.ok()) return done(std::move(channel).status());
  std::int64_t number = 0;
  {
    MutexLock lock(state_->mutex);
    number = state_->next++;
    state_->steps[step_id].calls[number] = nullptr;
  }
  const RecvTensorRequest request{.step_id = step_id,
                                  .key = key.to_string(),
                                  .request_id = static_cast<std::int64_t>(system_random_source().next() >> 1 | 1)};
  const auto call = (*channel)->start(
      kRecvTensor, write_recv_request(request),
      [state = state_, devices = device_set_, step_id, number, done = std::move(done)](Result<RpcResponse> response) {
        {
          MutexLock lock(state->mutex);
          const auto step = state->steps.find(step_id);
          if (step != state->steps.end()) {
            step->second.calls.erase(number);
            if (step->second.calls.empty() && step->second.peers == nullptr) state->steps.erase(step);
          }
        }
        if (!response.ok()) return done(std::move(response).status());
        done(guarded([&] { return read_recv_response(response->reader(), &devices->device(0).allocator()); }));
      });
  MutexLock lock(state_->mutex);
  const auto step = state_->steps.find(step_id);
  if (step == state_->steps.end()) return call->cancel();  // over already, or the step has ended
  const auto at = step->second.calls.find(number);
  if (at != step->second.calls.end()) at->second = call;
}

void RemoteReceives::end(std::int64_t step_id) {
  Step step;
  {
    MutexLock lock(state_->mutex);
    const auto at = state_->steps.find(step_id);
    if (at == state_->steps.end()) return;
    step = std::move(at->second);
    state_->steps.erase(at);
  }
  for (const auto& [number, call] : step.calls) {
    if (call != nullptr) call->cancel();
  }
}

void RemoteReceives::end_all() {
  std::map<std::int64_t, Step> steps;
  {
    MutexLock lock(state_->mutex);
    steps.swap(state_->steps);
  }
  for (const auto& [id, step] : steps) {
    for (const auto& [number, call] : step.calls) {
      if (call != nullptr) call->cancel();
    }
  }
}

}  // namespace argosy::tf
