#include "argosy/tf/worker/collective/step_exchange.h"

#include <algorithm>
#include <utility>

#include "argosy/base/system/random_source.h"
#include "argosy/tf/worker/collective/recv_buf.h"
#include "argosy/tf/worker/collective/task_collectives.h"

namespace argosy::tf {

StepExchange::StepExchange(std::shared_ptr<TaskCollectives> collectives, std::int64_t step_id,
                           std::shared_ptr<const Group> group, int rank)
    : collectives_(std::move(collectives)), step_id_(step_id), group_(std::move(group)), rank_(rank) {}

void StepExchange::send(const std::string& key, std::span<const std::byte> bytes, Done done) {
  collectives_->pieces().offer(step_id_, key, bytes, std::move(done));
}

void StepExchange::receive(int from, const std::string& key, std::span<std::byte> to, Done done) {
  const DeviceSpec& sender = group_->members[static_cast<std::size_t>(from)];
  const TaskName task = task_of_member(sender);
  const Peers& peers = collectives_->peers();
  if (task == peers.own()) return receive_here(key, to, std::move(done));
  if (Status cause = collectives_->pieces().cause(step_id_); !cause.ok()) return done(std::move(cause));
  const auto channel = collectives_->peers().channel(task);
  if (!channel.ok()) return done(channel.status());
  const DeviceSpec& own = group_->members[static_cast<std::size_t>(rank_)];
  const RecvBufRequest request{.step_id = step_id_,
                               .key = key,
                               .num_bytes = static_cast<std::int64_t>(to.size()),
                               .source = sender.name.to_string(),
                               .destination = own.name.to_string(),
                               .request_id = static_cast<std::int64_t>(system_random_source().next() >> 1 | 1),
                               .source_incarnation = sender.incarnation};
  const StepCalls::Token token = collectives_->calls().add(step_id_, nullptr);
  const auto call = (*channel)->start(
      "/tensorflow.WorkerService/RecvBuf", write_recv_buf(request),
      [collectives = collectives_, step = step_id_, task, token, to,
       done = std::move(done)](const Result<RpcResponse>& answer) {
        collectives->calls().remove(token);
        if (answer.ok()) return done(read_recv_buf_response(answer->reader(), to));
        Status cause = collectives->pieces().cause(step);
        done(cause.ok() ? error_of_call(collectives->peers(), answer.status(), task) : std::move(cause));
      });
  collectives_->calls().set_call(token, call);
  if (!collectives_->pieces().cause(step_id_).ok()) call->cancel();
}

void StepExchange::abort(const Status& cause) { collectives_->abort(step_id_, cause); }

void StepExchange::receive_here(const std::string& key, std::span<std::byte> to, Done done) {
  (void)collectives_->pieces().take(step_id_, key,
                                    [to, done = std::move(done)](Result<std::span<const std::byte>> bytes) {
                                      if (!bytes.ok()) return done(std::move(bytes).status());
                                      if (bytes->size() != to.size())
                                        return done(other_piece_size(bytes->size(), to.size()));
                                      std::ranges::copy(*bytes, to.begin());
                                      done(ok_status());
                                    });
}

}  // namespace argosy::tf
