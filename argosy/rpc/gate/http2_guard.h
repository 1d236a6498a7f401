// Http2Guard: reads the HTTP/2 frame headers of one connection before the server does, and tells when to cut it.
// It limits rapid resets, floods of pings and settings, endless header blocks and messages that are never finished.
// It uses no sockets. Limits are token buckets (Allowance), sizes and times; a well-behaved gRPC client is far below.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace argosy::tf {

// Counts the bytes of unfinished messages: over all connections of one peer, or over all peers. Thread-safe.
struct UnfinishedBytes {
  explicit UnfinishedBytes(std::int64_t most_bytes) : most(most_bytes) {}
  const std::int64_t most;
  std::atomic<std::int64_t> now{0};
};

// A token bucket: `burst` at once, then `a_second` each second.
class Allowance {
 public:
  Allowance(double burst, double a_second) : burst_(burst), a_second_(a_second), left_(burst) {}
  bool take(std::int64_t now_nanos, double many = 1);
  void give(double many) { left_ = left_ + many < burst_ ? left_ + many : burst_; }

 private:
  double burst_, a_second_, left_;
  std::int64_t last_ = 0;
};

// The unfinished requests of one connection. Their bytes count in the peer's and in the global UnfinishedBytes, until
// the request or the connection ends. Not thread-safe.
class OpenRequests {
 public:
  OpenRequests(std::shared_ptr<UnfinishedBytes> of_peer, std::shared_ptr<UnfinishedBytes> in_all)
      : of_peer_(std::move(of_peer)), in_all_(std::move(in_all)) {}
  ~OpenRequests();
  OpenRequests(const OpenRequests&) = delete;
  OpenRequests& operator=(const OpenRequests&) = delete;

  void begin(std::uint32_t stream, std::int64_t now_nanos) { open_[stream] = {.begin = now_nanos}; }
  void end(std::uint32_t stream);
  std::size_t size() const { return open_.size(); }
  // Counts bytes of a request's message; does nothing for an unknown stream. Returns why they exceed a limit; null:
  // they do not.
  const char* add(std::uint32_t stream, std::string_view bytes);
  // True if a request that began 60 s ago or earlier has sent less than 1024 bytes a second.
  bool any_too_slow(std::int64_t now_nanos) const;

 private:
  struct Stream {
    std::int64_t begin = 0, bytes = 0;
    std::uint32_t length = 0;  // the message's length by its gRPC prefix (bytes 1 to 4)
  };

  const std::shared_ptr<UnfinishedBytes> of_peer_, in_all_;
  std::map<std::uint32_t, Stream> open_;
  std::int64_t unfinished_ = 0;  // bytes of all open_ streams
};

class Http2Guard {
 public:
  Http2Guard(std::shared_ptr<UnfinishedBytes> of_peer, std::shared_ptr<UnfinishedBytes> in_all, std::int64_t now_nanos);

  // Checks the client's next bytes. False: the connection must be cut; why() tells the reason. Then call nothing else.
  bool see(std::string_view bytes, std::int64_t now_nanos);
  // Counts bytes that the server sent. They allow the client a proportional number of window updates.
  void answered(std::size_t bytes);
  // Checks the time limits. Call it about once a second. False: as for see().
  bool in_time(std::int64_t now_nanos);
  const char* why() const { return why_; }

 private:
  bool header();  // called when a frame's header is complete
  bool block(std::uint32_t more, bool ends);
  bool no(const char* why);

  const std::int64_t begin_;
  std::int64_t now_ = 0;
  const char* why_ = "";

  std::size_t preface_ = 0;        // received bytes of the connection preface
  unsigned char head_[9] = {};     // header of the current frame
  std::size_t head_bytes_ = 0;     // received bytes of head_
  std::uint32_t payload_ = 0;      // bytes of the frame not yet received
  std::uint32_t data_stream_ = 0;  // stream of a DATA frame; 0: another frame
  bool ends_stream_ = false;       // the frame has END_STREAM
  bool greeted_ = false;           // the first SETTINGS frame was received

  std::uint32_t block_stream_ = 0;  // stream of an unfinished header block; 0: there is none
  std::int64_t block_begin_ = 0;
  std::uint32_t block_bytes_ = 0, block_frames_ = 0;
  bool block_ends_stream_ = false;
  std::uint32_t last_stream_ = 0;
  OpenRequests open_;

  Allowance resets_, pings_, settings_, windows_, small_, others_;
};

}  // namespace argosy::tf
