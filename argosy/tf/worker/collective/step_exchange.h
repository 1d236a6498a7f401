// StepExchange: sends and receives the pieces of one member's collective: offers them in StepPieces, and fetches the
// other members' by RecvBuf. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "argosy/comm/keyed/piece_exchange.h"
#include "argosy/tf/worker/collective/group_table.h"
#include "argosy/tf/worker/peers/peers.h"

namespace argosy::tf {

class TaskCollectives;

class StepExchange final : public PieceExchange {
 public:
  // `rank`: this member of `group`.
  StepExchange(std::shared_ptr<TaskCollectives> collectives, std::int64_t step_id, std::shared_ptr<const Group> group,
               int rank);

  void send(const std::string& key, std::span<const std::byte> bytes, Done done) override;
  void receive(int from, const std::string& key, std::span<std::byte> to, Done done) override;
  void abort(const Status& cause) override;

 private:
  void receive_here(const std::string& key, std::span<std::byte> to, Done done);

  const std::shared_ptr<TaskCollectives> collectives_;
  const std::int64_t step_id_;
  const std::shared_ptr<const Group> group_;
  const int rank_;
};

}  // namespace argosy::tf
