// NetBlobs: an all-gather of byte strings of any length; short ones travel in one message. Internal to argosy/comm/net.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/comm/net/net_engine.h"

namespace argosy {

// Serialises numbers and byte strings into one byte string.
class BlobWriter {
 public:
  void number(std::int64_t n) { bytes_.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void text(std::string_view s) {
    number(static_cast<std::int64_t>(s.size()));
    bytes_.append(s);
  }
  void raw(const void* data, std::size_t bytes) { bytes_.append(static_cast<const char*>(data), bytes); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads what a BlobWriter wrote. Past the end it reads zeros, and ok() is false.
class BlobReader {
 public:
  explicit BlobReader(std::string_view bytes) : bytes_(bytes) {}
  std::int64_t number() {
    std::int64_t n = 0;
    raw(&n, sizeof n);
    return n;
  }
  std::string text() {
    const std::int64_t size = number();
    if (size < 0 || static_cast<std::size_t>(size) > bytes_.size()) return ok_ = false, std::string();
    std::string s(bytes_.substr(0, static_cast<std::size_t>(size)));
    bytes_.remove_prefix(s.size());
    return s;
  }
  void raw(void* to, std::size_t bytes) {
    if (bytes > bytes_.size()) {
      ok_ = false;
      return;
    }
    if (bytes > 0) std::memcpy(to, bytes_.data(), bytes);
    bytes_.remove_prefix(bytes);
  }
  std::size_t remaining() const { return bytes_.size(); }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

class NetBlobs {
 public:
  // `engine` outlives this.
  explicit NetBlobs(NetEngine& engine) : engine_(engine) {}
  // Returns the byte strings of all tasks, by task. Every task calls it. DATA_LOSS ARG-COMM-029: a task announced more
  // than 1 GiB.
  Result<std::vector<std::string>> gather(std::string_view own, std::uint32_t tag);

 private:
  NetEngine& engine_;
};

// An all-gather in place: `out` holds the tasks' parts, one after another, of `bytes[task]` bytes each. This task's
// part is filled in before the call. Every task calls it.
Status gather_in_place(NetEngine& engine, std::byte* out, std::span<const std::size_t> bytes, std::uint32_t tag);

}  // namespace argosy
