#include "tools/argosy/launch/frames.h"

#include <algorithm>

namespace argosy::cli {

namespace {

constexpr std::size_t kHead = 5;  // the kind, then the length, least significant byte first

}  // namespace

std::string make_frame(FrameKind kind, std::string_view bytes) {
  std::string frame(1, static_cast<char>(kind));
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>(bytes.size() >> shift & 255);
  return frame += bytes;
}

Status FrameReader::feed(std::string_view bytes, const std::function<void(FrameKind, std::string_view)>& take) {
  waiting_ += bytes;
  std::size_t at = 0;
  while (waiting_.size() - at >= kHead) {
    const char kind = waiting_[at];
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i)
      size |= std::size_t{static_cast<unsigned char>(waiting_[at + 1 + i])} << (8 * i);
    if ((kind != 'h' && kind != 'o' && kind != 'e' && kind != 'x') || size > kMostBytes) {
      std::string what = waiting_.substr(at, 80);
      std::replace_if(
          what.begin(), what.end(), [](unsigned char c) { return c < ' '; }, ' ');
      return data_loss("not what an agent sends: \"", what, "\"")
          .with_id("ARG-CLUSTER-052")
          .with_hint("no output from shell start-up files of that host; the same argosy there");
    }
    if (waiting_.size() - at - kHead < size) break;
    take(static_cast<FrameKind>(kind), std::string_view(waiting_).substr(at + kHead, size));
    at += kHead + size;
  }
  waiting_.erase(0, at);
  return ok_status();
}

}  // namespace argosy::cli
