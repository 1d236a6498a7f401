#include "argosy/comm/gloo/watched_transport.h"

#include <gloo/common/error.h>

#include <exception>

namespace argosy {

namespace {

// No operation uses it. Gloo's own prefixes end at 0x08, GlooEngine's is 0x40.
constexpr std::uint64_t kUnusedSlot = std::uint64_t{0x41} << 56;

[[noreturn]] void throw_ended() { throw ::gloo::IoException("the group was ended"); }

}  // namespace

WatchedTransport::WatchedTransport(std::shared_ptr<::gloo::transport::Context> inner)
    : Context(inner->rank, inner->size), inner_(std::move(inner)) {
  setTimeout(inner_->getTimeout());
}

std::unique_ptr<::gloo::transport::UnboundBuffer> WatchedTransport::createUnboundBuffer(void* data, std::size_t bytes) {
  return std::make_unique<WatchedBuffer>(shared_from_this(), inner_->createUnboundBuffer(data, bytes));
}

bool WatchedTransport::aborted() {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

// A wait that times out closes all connections. One that is lost already refuses the wait: then the next one is tried.
void WatchedTransport::close(const std::vector<int>& peers) {
  for (const int peer : peers) {
    try {
      char byte = 0;
      const auto buffer = inner_->createUnboundBuffer(&byte, 1);
      buffer->recv(peer, kUnusedSlot);
      buffer->waitRecv(std::chrono::milliseconds(1));
    } catch (const std::exception&) {  // which is what was wanted
    }
  }
}

void WatchedTransport::abort(const std::vector<int>& peers) {
  close(peers);
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  for (WatchedBuffer* const buffer : buffers_) {
    buffer->abortWaitSend();
    buffer->abortWaitRecv();
  }
}

WatchedBuffer::WatchedBuffer(std::shared_ptr<WatchedTransport> transport, std::unique_ptr<UnboundBuffer> inner)
    : UnboundBuffer(inner->ptr, inner->size), transport_(std::move(transport)), inner_(std::move(inner)) {
  const std::lock_guard lock(transport_->mutex_);
  transport_->buffers_.insert(this);
}

WatchedBuffer::~WatchedBuffer() {
  const std::lock_guard lock(transport_->mutex_);
  transport_->buffers_.erase(this);
}

// abort() ends one wait of each buffer: the flag is for the next ones, and for buffers that are made later.
bool WatchedBuffer::waitSend(int* peer, std::chrono::milliseconds timeout) {
  if (transport_->aborted() || !inner_->waitSend(peer, timeout)) throw_ended();
  return true;
}

bool WatchedBuffer::waitRecv(int* peer, std::chrono::milliseconds timeout) {
  if (transport_->aborted() || !inner_->waitRecv(peer, timeout)) throw_ended();
  return true;
}

}  // namespace argosy
