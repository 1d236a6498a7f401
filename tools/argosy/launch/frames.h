// Frames that an agent sends to its launcher over a pipe or ssh: a kind, a length and bytes. So standard output,
// standard error and the exit status of a program share one stream, and stay separate.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy::cli {

enum class FrameKind : char { kHello = 'h', kOut = 'o', kErr = 'e', kExit = 'x' };

std::string make_frame(FrameKind kind, std::string_view bytes);

// Cuts a stream into frames. Used by one thread.
class FrameReader {
 public:
  static constexpr std::size_t kMostBytes = 1 << 20;  // of one frame

  // Calls `take` for each frame that is complete. DATA_LOSS "ARG-CLUSTER-052": these are no frames; `rest` says what
  // came.
  Status feed(std::string_view bytes, const std::function<void(FrameKind, std::string_view)>& take);

 private:
  std::string waiting_;
};

}  // namespace argosy::cli
