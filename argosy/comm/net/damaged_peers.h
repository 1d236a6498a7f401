// DamagedPeers: a NetEngine for rank 1 of 3 tasks, whose simulated peers send data of a script. For tests and fuzzers.
//
// The script has an order byte for each piece that a peer sends:
// * 0: the peer sends the data that this task sends.
// * 1: the same data with one 8-byte word changed. A byte for the word's index and eight bytes for its value follow.
// * n: the peer sends up to n bytes, which follow in the script.
//
// After the end of the script every order is 0. A piece of more than 1 MiB is an error.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "argosy/base/check.h"
#include "argosy/comm/net/net_engine.h"

namespace argosy {

class DamagedPeers final : public NetEngine {
 public:
  DamagedPeers(std::string orders, bool all_pairs) : text_(std::move(orders)), orders_(text_), all_pairs_(all_pairs) {}

  int rank() const override { return 1; }
  int size() const override { return 3; }
  bool all_pairs() const override { return all_pairs_; }
  Status all_reduce(std::byte*, std::size_t, std::size_t, const Combine&, std::uint32_t) override {
    return unavailable("three tasks are no power of two");
  }
  Status exchange(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t) override {
    for (std::size_t i = 0; i < received.size(); ++i) {
      const Piece own = sent.empty() ? Piece{} : sent[i % sent.size()];
      ARGOSY_RETURN_IF_ERROR(receive(received[i].data, received[i].bytes, own.data, own.bytes));
    }
    return ok_status();
  }
  Status all_gather(const std::byte*, std::byte* out, std::span<const std::size_t> bytes, std::uint32_t) override {
    ARGOSY_CHECK(bytes.size() == 3);
    const std::byte* const own = out + bytes[0];
    ARGOSY_RETURN_IF_ERROR(receive(out, bytes[0], own, bytes[1]));
    return receive(out + bytes[0] + bytes[1], bytes[2], own, bytes[1]);
  }
  Status broadcast(std::byte* data, std::size_t bytes, int root, std::uint32_t) override {
    return root == rank() ? ok_status() : receive(data, bytes, nullptr, 0);
  }
  Status barrier(std::uint32_t) override { return ok_status(); }
  void abort() override {}

 private:
  static constexpr std::size_t kMostBytes = 1 << 20;  // of a piece, at most

  std::uint8_t order() {
    if (orders_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(orders_[0]);
    orders_.remove_prefix(1);
    return first;
  }
  void take(std::byte* to, std::size_t bytes) {
    const std::size_t some = std::min(bytes, orders_.size());
    if (some > 0) std::memcpy(to, orders_.data(), some);
    orders_.remove_prefix(some);
  }
  Status receive(std::byte* to, std::size_t bytes, const std::byte* own, std::size_t own_bytes) {
    if (++pieces_ > 64 || bytes > kMostBytes) return unavailable("the peer ended meanwhile");
    const std::uint8_t what = order();
    if (what > 1) {
      take(to, std::min<std::size_t>(bytes, what));
      return ok_status();
    }
    const std::size_t same = std::min(bytes, own_bytes);
    if (own != nullptr && to != own) std::memmove(to, own, same);
    if (what == 1 && bytes >= 8) {
      const std::size_t words = bytes / 8;
      take(to + 8 * (order() % words), 8);
    }
    return ok_status();
  }

  const std::string text_;
  std::string_view orders_;  // the unread part of `text_`
  const bool all_pairs_;
  int pieces_ = 0;
};

}  // namespace argosy
