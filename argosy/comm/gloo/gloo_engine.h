// GlooEngine: NetEngine by Gloo over TCP. Internal to the plug-in.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "argosy/comm/gloo/sparse_context.h"
#include "argosy/comm/net/net_engine.h"

namespace argosy {

class GlooEngine final : public NetEngine {
 public:
  // Up to this many tasks every pair is connected: 120 connections for 16 tasks.
  static constexpr int kMostPairs = 16;

  static Result<std::unique_ptr<GlooEngine>> connect(const NetEngineOptions& options);
  ~GlooEngine() override;

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }
  bool all_pairs() const override { return size() <= kMostPairs; }
  std::chrono::milliseconds timeout() const override { return timeout_; }
  Status all_reduce(std::byte* data, std::size_t elements, std::size_t element_bytes, const Combine& combine,
                    std::uint32_t tag) override;
  Status exchange(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t tag) override;
  Status all_gather(const std::byte* in, std::byte* out, std::span<const std::size_t> bytes,
                    std::uint32_t tag) override;
  Status broadcast(std::byte* data, std::size_t bytes, int root, std::uint32_t tag) override;
  Status barrier(std::uint32_t tag) override;
  void abort() override;

 private:
  GlooEngine(std::shared_ptr<SparseContext> context, std::vector<int> peers, std::chrono::milliseconds timeout)
      : context_(std::move(context)), peers_(std::move(peers)), timeout_(timeout) {}

  const std::shared_ptr<SparseContext> context_;
  const std::vector<int> peers_;  // ranks that this task is connected to
  const std::chrono::milliseconds timeout_;
  std::atomic<bool> aborted_{false};
};

}  // namespace argosy
