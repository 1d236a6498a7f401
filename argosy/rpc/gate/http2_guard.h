// Http2Guard: reads the frame headers of one connection before the server does, and says when to cut it.
// It limits rapid resets, floods of pings and settings, header blocks without end and messages that are never finished.
// It knows no sockets. Limits are rates with a burst (Allowance), sizes and times; an honest gRPC client is far below.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace argosy::tf {

// Bytes of messages that have begun and not ended, of all connections of a peer, or of all peers. Thread-safe.
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

// The requests of one connection that have begun and not ended. The bytes of their messages count for the peer and for
// all peers, until the request or the connection ends. Not thread-safe.
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
  // Bytes of the request's message; of no request: nothing. Why that is too much, or null.
  const char* add(std::uint32_t stream, std::string_view bytes);
  // Is there one that comes too slowly?
  bool any_too_slow(std::int64_t now_nanos) const;

 private:
  struct Stream {
    std::int64_t begin = 0, bytes = 0;
    std::uint32_t length = 0;  // that its message says it has, from bytes 1 to 4
  };

  const std::shared_ptr<UnfinishedBytes> of_peer_, in_all_;
  std::map<std::uint32_t, Stream> open_;
  std::int64_t unfinished_ = 0;  // their bytes
};

class Http2Guard {
 public:
  Http2Guard(std::shared_ptr<UnfinishedBytes> of_peer, std::shared_ptr<UnfinishedBytes> in_all, std::int64_t now_nanos);

  // Takes bytes from the client, in order. False: cut the connection, see why(), and call no more.
  bool see(std::string_view bytes, std::int64_t now_nanos);
  // Takes bytes that the server sent: the client's window updates are compared with them.
  void answered(std::size_t bytes);
  // To be asked about once a second. False: as see().
  bool in_time(std::int64_t now_nanos);
  const char* why() const { return why_; }

 private:
  bool header();  // of a frame is complete
  bool block(std::uint32_t more, bool ends);
  bool no(const char* why);

  const std::int64_t begin_;
  std::int64_t now_ = 0;
  const char* why_ = "";

  std::size_t preface_ = 0;        // bytes of it that have come
  unsigned char head_[9] = {};     // of the frame that comes
  std::size_t head_bytes_ = 0;     // of it
  std::uint32_t payload_ = 0;      // bytes of the frame still to come
  std::uint32_t data_stream_ = 0;  // whose they are, where they are a message's; else 0
  bool ends_stream_ = false;       // with this frame
  bool greeted_ = false;           // the first SETTINGS have come

  std::uint32_t block_stream_ = 0;  // whose block of headers has not ended; else 0
  std::int64_t block_begin_ = 0;
  std::uint32_t block_bytes_ = 0, block_frames_ = 0;
  bool block_ends_stream_ = false;
  std::uint32_t last_stream_ = 0;
  OpenRequests open_;

  Allowance resets_, pings_, settings_, windows_, small_, others_;
};

}  // namespace argosy::tf
