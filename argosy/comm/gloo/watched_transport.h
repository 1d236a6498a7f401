// WatchedTransport: a transport of Gloo whose waits abort() ends. Internal to the plug-in.
//
// A connection of Gloo that ends tells the operations that wait for their turn. It does not tell the one whose bytes are
// half sent or half received: that one would wait until its time is over. So this transport knows its buffers.
#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

namespace argosy {

class WatchedBuffer;

// Thread-safe once its pairs are made.
class WatchedTransport final : public ::gloo::transport::Context,
                               public std::enable_shared_from_this<WatchedTransport> {
 public:
  explicit WatchedTransport(std::shared_ptr<::gloo::transport::Context> inner);

  std::unique_ptr<::gloo::transport::Pair>& getPair(int peer) override { return inner_->getPair(peer); }
  std::unique_ptr<::gloo::transport::Pair>& createPair(int peer) override { return inner_->createPair(peer); }
  std::unique_ptr<::gloo::transport::UnboundBuffer> createUnboundBuffer(void* data, std::size_t bytes) override;

  // Closes the connections to `peers`. Every operation that waits, and every later one, throws a ::gloo::IoException.
  // Waits for none of them.
  void abort(const std::vector<int>& peers);

 private:
  friend class WatchedBuffer;
  bool aborted();
  void close(const std::vector<int>& peers);

  const std::shared_ptr<::gloo::transport::Context> inner_;
  std::mutex mutex_;  // before any lock of Gloo's
  std::unordered_set<WatchedBuffer*> buffers_;
  bool aborted_ = false;
};

// One thread starts operations on it and waits for them.
class WatchedBuffer final : public ::gloo::transport::UnboundBuffer {
 public:
  WatchedBuffer(std::shared_ptr<WatchedTransport> transport, std::unique_ptr<UnboundBuffer> inner);
  ~WatchedBuffer() override;

  void send(int peer, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->send(peer, slot, offset, bytes);
  }
  void recv(int peer, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->recv(peer, slot, offset, bytes);
  }
  void recv(std::vector<int> peers, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->recv(std::move(peers), slot, offset, bytes);
  }
  bool waitSend(int* peer, std::chrono::milliseconds timeout) override;
  bool waitRecv(int* peer, std::chrono::milliseconds timeout) override;
  void abortWaitSend() override { inner_->abortWaitSend(); }
  void abortWaitRecv() override { inner_->abortWaitRecv(); }

 private:
  const std::shared_ptr<WatchedTransport> transport_;
  const std::unique_ptr<UnboundBuffer> inner_;
};

}  // namespace argosy
