#include "argosy/comm/gloo/gloo_engine.h"

#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/transport/tcp/device.h>
#include <signal.h>

#include <exception>
#include <string>
#include <vector>

#include "argosy/base/str.h"

namespace argosy {

namespace {

// Gloo's own prefixes end at 0x08.
constexpr std::uint64_t kExchangeSlot = std::uint64_t{0x40} << 56;

// Gloo puts its file and line in front.
std::string plain(const std::exception& error) {
  std::string text = error.what();
  if (text.starts_with('[')) {
    const std::size_t end = text.find("] ");
    if (end != std::string::npos) text.erase(0, end + 2);
  }
  return text;
}

Status status_of(std::string_view what, const std::exception& error) {
  const std::string why = plain(error);
  // Gloo's words for an operation that waited too long; those of a connection that abort() ended are others.
  if (why.find("imed out") != std::string::npos) {
    return deadline_exceeded(what, ": ", why)
        .with_id("ARG-COMM-024")
        .with_hint("look at what the other tasks do: an earlier error, another program, or just slow work");
  }
  return unavailable(what, ": a connection to another task is lost: ", why)
      .with_id("ARG-COMM-025")
      .with_hint("the first cause is in the log of the task that ended first");
}

template <typename Run>
Status guarded_call(std::string_view what, const Run& run) {
  try {
    run();
    return ok_status();
  } catch (const std::exception& error) {
    return status_of(what, error);
  }
}

// Gloo writes to sockets whose other end may be gone: by default that would end this process.
void ignore_broken_pipes() {
  struct sigaction now = {};
  if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

}  // namespace

Result<std::unique_ptr<GlooEngine>> GlooEngine::connect(const NetEngineOptions& options) {
  const std::vector<int> peers = peers_of(options.rank, options.size, kMostPairs);
  ignore_broken_pipes();
  auto context = std::make_shared<SparseContext>(options.rank, options.size);
  Status connected;
  const Status made = guarded_call("connecting the tasks", [&] {
    ::gloo::transport::tcp::attr attr;
    attr.hostname = options.address;
    connected = context->connect(peers, ::gloo::transport::tcp::CreateDevice(attr), options);
  });
  for (const Status& status : {made, connected}) {
    if (status.ok()) continue;
    return Status(status.code(), status.message())
        .with_id("ARG-COMM-023")
        .with_where(str_cat("task ", options.rank, " of ", options.size, " at ", options.address))
        .with_hint(
            "argosy cluster check; on hosts with several networks, name task 0 by its address in the one they share");
  }
  return std::unique_ptr<GlooEngine>(new GlooEngine(std::move(context), peers, options.timeout));
}

GlooEngine::~GlooEngine() {
  try {
    context_->closeConnections();
  } catch (const std::exception&) {  // they are closed already
  }
}

Status GlooEngine::all_reduce(std::byte* data, std::size_t elements, std::size_t element_bytes, const Combine& combine,
                              std::uint32_t tag) {
  if (elements == 0) return ok_status();
  return guarded_call("all_reduce", [&] {
    ::gloo::AllreduceOptions options(context_);
    options.setAlgorithm(::gloo::AllreduceOptions::Algorithm::BCUBE);
    const auto of = [&]<typename T>() { options.setOutput(reinterpret_cast<T*>(data), elements); };
    switch (element_bytes) {
      case 1: of.template operator()<std::uint8_t>(); break;
      case 2: of.template operator()<std::uint16_t>(); break;
      case 4: of.template operator()<std::uint32_t>(); break;
      default: of.template operator()<std::uint64_t>(); break;
    }
    options.setReduceFunction([&combine](void* out, const void* a, const void* b, std::size_t n) {
      combine(static_cast<std::byte*>(out), static_cast<const std::byte*>(a), static_cast<const std::byte*>(b), n);
    });
    options.setTag(tag);
    options.setTimeout(timeout_);
    ::gloo::allreduce(options);
  });
}

Status GlooEngine::exchange(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t tag) {
  return guarded_call("exchange", [&] {
    const std::uint64_t slot = kExchangeSlot | std::uint64_t{tag} << 16;
    std::vector<std::unique_ptr<::gloo::transport::UnboundBuffer>> in, out;
    for (const Piece& piece : received) {
      if (piece.bytes == 0) continue;
      in.push_back(context_->createUnboundBuffer(piece.data, piece.bytes));
      in.back()->recv(piece.peer, slot);
    }
    for (const Piece& piece : sent) {
      if (piece.bytes == 0) continue;
      out.push_back(context_->createUnboundBuffer(piece.data, piece.bytes));
      out.back()->send(piece.peer, slot);
    }
    // The receives first: a lost connection ends them, and may leave a send that is half done.
    for (const auto& buffer : in) buffer->waitRecv(timeout_);
    for (const auto& buffer : out) buffer->waitSend(timeout_);
  });
}

Status GlooEngine::all_gather(const std::byte* in, std::byte* out, std::span<const std::size_t> bytes,
                              std::uint32_t tag) {
  std::size_t total = 0;
  for (const std::size_t b : bytes) total += b;
  if (total == 0) return ok_status();
  return guarded_call("all_gather", [&] {
    ::gloo::AllgathervOptions options(context_);
    const std::size_t mine = bytes[static_cast<std::size_t>(rank())];
    options.setInput(reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(in)), mine);
    options.setOutput(reinterpret_cast<std::uint8_t*>(out), std::vector<std::size_t>(bytes.begin(), bytes.end()));
    options.setTag(tag);
    options.setTimeout(timeout_);
    ::gloo::allgatherv(options);
  });
}

Status GlooEngine::broadcast(std::byte* data, std::size_t bytes, int root, std::uint32_t tag) {
  if (bytes == 0) return ok_status();
  return guarded_call("broadcast", [&] {
    ::gloo::BroadcastOptions options(context_);
    options.setOutput(reinterpret_cast<std::uint8_t*>(data), bytes);
    options.setRoot(root);
    options.setTag(tag);
    options.setTimeout(timeout_);
    ::gloo::broadcast(options);
  });
}

Status GlooEngine::barrier(std::uint32_t tag) {
  return guarded_call("barrier", [&] {
    ::gloo::BarrierOptions options(context_);
    options.setTag(tag);
    options.setTimeout(timeout_);
    ::gloo::barrier(options);
  });
}

void GlooEngine::abort() {
  if (!aborted_.exchange(true)) context_->transport().abort(peers_);
}

}  // namespace argosy
