#include "argosy/rpc/gate/http2_guard.h"

#include <algorithm>

namespace argosy::tf {

namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum Kind : unsigned char { kData, kHeaders, kPriority, kReset, kSettings, kPush, kPing, kGoAway, kWindow, kMore };
constexpr unsigned char kEndStream = 1, kAck = 1, kEndHeaders = 4;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLongestHello = 10 * kSecond, kLongestBlock = 10 * kSecond;
constexpr std::uint32_t kMostBlockBytes = 64 << 10, kMostBlockFrames = 16;
constexpr std::size_t kMostOpen = 4096;           // as the server's settings say
constexpr std::uint32_t kSmallBytes = 64;         // a part of a message smaller than this is odd
constexpr double kBytesAWindow = 1024;            // of answers, for which a client says once that it has room again
constexpr std::int64_t kPatience = 60 * kSecond;  // after which a message must have come at
constexpr std::int64_t kLeastRate = 1024;         // … bytes a second

}  // namespace

bool Allowance::take(std::int64_t now_nanos, double many) {
  if (last_ != 0) left_ = std::min(burst_, left_ + static_cast<double>(now_nanos - last_) * 1e-9 * a_second_);
  last_ = now_nanos;
  left_ -= many;
  return left_ >= 0;
}

OpenRequests::~OpenRequests() {
  of_peer_->now -= unfinished_;
  in_all_->now -= unfinished_;
}

void OpenRequests::end(std::uint32_t stream) {
  const auto found = open_.find(stream);
  if (found == open_.end()) return;
  unfinished_ -= found->second.bytes;
  of_peer_->now -= found->second.bytes;
  in_all_->now -= found->second.bytes;
  open_.erase(found);
}

const char* OpenRequests::add(std::uint32_t id, std::string_view bytes) {
  const auto found = open_.find(id);
  if (found == open_.end()) return nullptr;
  Stream& stream = found->second;
  for (std::size_t i = 0; i < bytes.size() && stream.bytes + static_cast<std::int64_t>(i) < 5; ++i) {
    const bool compressed = stream.bytes + static_cast<std::int64_t>(i) == 0;  // the first byte says whether it is
    if (!compressed) stream.length = stream.length << 8 | static_cast<unsigned char>(bytes[i]);
  }
  const auto more = static_cast<std::int64_t>(bytes.size());
  stream.bytes += more;
  unfinished_ += more;
  const std::int64_t of_peer = of_peer_->now += more, in_all = in_all_->now += more;
  if (stream.bytes >= 5 && stream.length > of_peer_->most) return "a message larger than one peer may have unfinished";
  if (of_peer > of_peer_->most) return "too many bytes of unfinished messages of one peer";
  return in_all > in_all_->most ? "too many bytes of unfinished messages" : nullptr;
}

bool OpenRequests::any_too_slow(std::int64_t now_nanos) const {
  for (const auto& [id, stream] : open_) {
    const std::int64_t age = now_nanos - stream.begin;
    if (age < kPatience) break;  // those that follow are younger
    if (stream.bytes < age / kSecond * kLeastRate) return true;
  }
  return false;
}

Http2Guard::Http2Guard(std::shared_ptr<UnfinishedBytes> of_peer, std::shared_ptr<UnfinishedBytes> in_all,
                       std::int64_t now_nanos)
    : begin_(now_nanos),
      open_(std::move(of_peer), std::move(in_all)),
      resets_(500, 50),
      pings_(100, 20),
      settings_(50, 5),
      windows_(10'000, 2000),
      small_(5000, 1000),
      others_(100, 10) {}

bool Http2Guard::no(const char* why) {
  why_ = why;
  return false;
}

bool Http2Guard::see(std::string_view bytes, std::int64_t now_nanos) {
  now_ = now_nanos;
  while (!bytes.empty()) {
    if (preface_ < kPreface.size()) {
      const std::size_t n = std::min(bytes.size(), kPreface.size() - preface_);
      if (bytes.substr(0, n) != kPreface.substr(preface_, n)) return no("it does not speak HTTP/2");
      preface_ += n;
      bytes.remove_prefix(n);
      continue;
    }
    if (payload_ == 0) {
      const std::size_t n = std::min(bytes.size(), sizeof head_ - head_bytes_);
      std::copy_n(bytes.data(), n, head_ + head_bytes_);
      head_bytes_ += n;
      bytes.remove_prefix(n);
      if (head_bytes_ < sizeof head_) return true;
      head_bytes_ = 0;
      if (!header()) return false;
      if (payload_ > 0) continue;
    } else {
      const std::size_t n = std::min<std::size_t>(bytes.size(), payload_);
      const std::string_view part = bytes.substr(0, n);
      payload_ -= static_cast<std::uint32_t>(n);
      bytes.remove_prefix(n);
      if (data_stream_ != 0) {
        if (const char* const why = open_.add(data_stream_, part); why != nullptr) return no(why);
      }
      if (payload_ > 0) return true;
    }
    // The frame is complete.
    if (data_stream_ != 0 && ends_stream_) open_.end(data_stream_);
    data_stream_ = 0;
  }
  return true;
}

bool Http2Guard::header() {
  const std::uint32_t length = head_[0] << 16 | head_[1] << 8 | head_[2];
  const unsigned char kind = head_[3], flags = head_[4];
  const std::uint32_t stream = (head_[5] & 0x7fu) << 24 | head_[6] << 16 | head_[7] << 8 | head_[8];
  payload_ = length;
  data_stream_ = 0;
  ends_stream_ = false;
  if (block_stream_ != 0 && (kind != kMore || stream != block_stream_)) return no("a block of headers was left open");
  if (!greeted_ && (kind != kSettings || (flags & kAck) != 0)) return no("its first frame is none of settings");
  switch (kind) {
    case kData:
      if (stream == 0) return no("data of no stream");
      data_stream_ = stream;
      ends_stream_ = (flags & kEndStream) != 0;
      if (length < kSmallBytes && !ends_stream_ && !small_.take(now_)) return no("a flood of small frames");
      return true;
    case kHeaders:
      if (stream == 0 || stream % 2 == 0) return no("headers of no stream");
      if (stream > last_stream_) {
        last_stream_ = stream;
        open_.begin(stream, now_);
        if (open_.size() > kMostOpen) return no("too many streams");
      } else if (!others_.take(now_)) {
        return no("a flood of trailers");
      }
      block_stream_ = stream;
      block_begin_ = now_;
      block_bytes_ = block_frames_ = 0;
      block_ends_stream_ = (flags & kEndStream) != 0;
      return block(length, (flags & kEndHeaders) != 0);
    case kMore:
      if (block_stream_ == 0) return no("headers go on that had not begun");
      return block(length, (flags & kEndHeaders) != 0);
    case kReset:
      if (!resets_.take(now_)) return no("a flood of resets");
      open_.end(stream);
      return length == 4 || no("a frame of the wrong size");
    case kSettings:
      greeted_ = true;
      if (length > 1024) return no("settings without end");
      return settings_.take(now_) || no("a flood of settings");
    case kPush: return no("clients push nothing");
    case kPing:
      if (length != 8) return no("a frame of the wrong size");
      return pings_.take(now_) || no("a flood of pings");
    case kWindow:
      if (length != 4) return no("a frame of the wrong size");
      return windows_.take(now_) || no("a flood of window updates");
    default: return others_.take(now_) || no("a flood of frames of little use");
  }
}

bool Http2Guard::block(std::uint32_t more, bool ends) {
  block_bytes_ += more;
  if (block_bytes_ > kMostBlockBytes || ++block_frames_ > kMostBlockFrames) return no("headers without end");
  if (!ends) return true;
  if (block_ends_stream_) open_.end(block_stream_);
  block_stream_ = 0;
  return true;
}

void Http2Guard::answered(std::size_t bytes) { windows_.give(static_cast<double>(bytes) / kBytesAWindow); }

bool Http2Guard::in_time(std::int64_t now_nanos) {
  if (!greeted_ && now_nanos - begin_ > kLongestHello) return no("it does not begin to speak");
  if (block_stream_ != 0 && now_nanos - block_begin_ > kLongestBlock) return no("headers that come too slowly");
  if (open_.any_too_slow(now_nanos)) return no("a message that comes too slowly");
  return true;
}

}  // namespace argosy::tf
