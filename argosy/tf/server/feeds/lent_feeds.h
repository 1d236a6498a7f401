// LentFeeds: fed tensors in memory that a client process shares with this server, so that no message carries their
// bytes. Programs under `argosy run` lend their large feeds (tools/argosy/run/hook/argosy_feeds.py).
//
// In place of a lent tensor a request has a string scalar, the token:
//
//   token     "argosy-feed " SECRET " " PID " " FD " " NAME " " DTYPE { " " SIZE }
//   memory    file FD of process PID, a memfd called NAME ("argosy-feed-…"), sealed against shrinking
//     int32   how many tensors of this server use the memory, at 0
//     bytes   the elements, at 4096
//
// The client writes to the memory only while no call that names it is open and no tensor uses it. NAME is never used
// twice. SECRET is in a file of the folder of `argosy run`, which other users cannot read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "argosy/base/mutex.h"
#include "argosy/tensor/tensor.h"

namespace argosy::tf {

class LentFeeds {
 public:
  // Null: the folder has no secret.
  static std::shared_ptr<LentFeeds> of_folder(const std::string& folder);
  explicit LentFeeds(const std::string& secret) : prefix_("argosy-feed " + secret + " ") {}

  // Returns the tensor of a token. It shares the client's memory.
  // nullopt: `text` is no token. FAILED_PRECONDITION (ARG-FEED-005, "a lent feed cannot be used"): the client is to
  // send the elements instead.
  // Any thread.
  std::optional<Result<Tensor>> find(std::string_view text) ARGOSY_EXCLUDES(mutex_);
  // Unmaps files that their process has closed. The owner calls it periodically.
  void sweep() ARGOSY_EXCLUDES(mutex_);

 private:
  struct Token;
  class Memory;  // of one file, mapped
  struct Known {
    std::shared_ptr<Memory> memory;
    std::int64_t process = 0, file = 0;
    std::uint64_t last_use = 0;
  };

  Result<std::shared_ptr<Memory>> memory(const Token& token) ARGOSY_EXCLUDES(mutex_);
  // Makes room for a file of so many bytes: forgets those that were not used for longest.
  void make_room(std::size_t bytes) ARGOSY_REQUIRES(mutex_);

  const std::string prefix_;
  Mutex mutex_;
  std::map<std::string, Known, std::less<>> known_ ARGOSY_GUARDED_BY(mutex_);  // by name
  std::uint64_t uses_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy::tf
