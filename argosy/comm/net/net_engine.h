// NetEngine: moves bytes between the tasks of a group. One implementation is a plug-in (comm/gloo).
//
// Every call is a rendezvous of all tasks, by its tag: the tasks' n-th calls of one kind and tag are one operation.
// Calls of other tags may run at the same time, from other threads, in any order. When a call returns, the engine does
// not use its memory any more. After an error every later call fails.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy {

// Thread-safe.
class NetEngine {
 public:
  // out[i] = a[i] . b[i]; `out` may be `a` or `b`.
  using Combine = std::function<void(std::byte* out, const std::byte* a, const std::byte* b, std::size_t elements)>;
  // Bytes that are sent to one peer, or received from it.
  struct Piece {
    int peer = 0;
    std::byte* data = nullptr;  // a sent piece is only read
    std::size_t bytes = 0;
  };

  virtual ~NetEngine() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // True if every pair of tasks has a connection. If false, exchange() must not be called.
  virtual bool all_pairs() const = 0;
  // The limit of every call, waits for slow tasks included.
  virtual std::chrono::milliseconds timeout() const { return std::chrono::minutes(5); }

  // In place, by recursive halving and doubling: groups of 2^k neighbours are combined before groups of 2^(k+1).
  // REQUIRES: size() is a power of two.
  virtual Status all_reduce(std::byte* data, std::size_t elements, std::size_t element_bytes, const Combine& combine,
                            std::uint32_t tag) = 0;
  // Sends and receives at once. REQUIRES: all_pairs(), and the sizes that a task sends to a peer are those that the
  // peer receives from it.
  virtual Status exchange(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t tag) = 0;
  // As exchange(), but peers may read the sent pieces still when it returns, until they begin the next exchange of the
  // tag. REQUIRES: this task makes another one with all the peers that it sends to, and does not write to the pieces
  // before. What that one receives from a peer may go where that peer's pieces are.
  virtual Status exchange_before_another(std::span<const Piece> sent, std::span<const Piece> received,
                                         std::uint32_t tag) {
    return exchange(sent, received, tag);
  }
  // Bytes of an array that are worth an exchange of their own, so that sums and transfers overlap.
  virtual std::size_t chunk_bytes() const { return std::size_t{16} << 20; }
  // `bytes`: the size of each task's part. The parts lie one after another in `out`.
  virtual Status all_gather(const std::byte* in, std::byte* out, std::span<const std::size_t> bytes,
                            std::uint32_t tag) = 0;
  virtual Status broadcast(std::byte* data, std::size_t bytes, int root, std::uint32_t tag) = 0;
  virtual Status barrier(std::uint32_t tag) = 0;

  // Ends every call, on this task and soon on the others, with an error. Waits for none of them.
  virtual void abort() = 0;
};

// A key-value store through which tasks exchange their addresses. Both functions may be called from any thread until
// the engine is made.
struct NetAddressBook {
  std::function<Status(std::string_view key, std::string_view value)> put;
  // Waits until the key is there.
  std::function<Result<std::string>(std::string_view key, std::chrono::milliseconds timeout)> get;
};

struct NetEngineOptions {
  int rank = 0, size = 1;
  std::string address;  // of the network interface that this task is to use: "10.0.0.7"
  std::string group;    // prefix of its keys in the book; unique to this engine
  NetAddressBook book;
  std::chrono::milliseconds timeout{300'000};  // of every call, and of connecting
};

// What a plug-in exports, with C linkage, as `argosy_net_plugin`. `build` is compared before anything is called.
struct NetPlugin {
  const char* build;  // net_plugin_build() of the plug-in
  // Connects the tasks, all of which must call it. Null and an error in `*error` otherwise.
  NetEngine* (*make)(const NetEngineOptions& options, Status* error);
};
inline constexpr char kNetPluginSymbol[] = "argosy_net_plugin";

// "0.1.0 g++ 12.2 net-3": version, compiler, number of this interface.
std::string net_plugin_build();

// Opens libargosy_gloo.so ($ARGOSY_GLOO_PLUGIN, else beside the program, in ../lib of it, or beside this library) and
// connects. NOT_FOUND (ARG-COMM-020): there is none. UNAVAILABLE (ARG-COMM-021): it cannot be opened, and what to
// install. FAILED_PRECONDITION (ARG-COMM-022): of another build. UNAVAILABLE, DEADLINE_EXCEEDED (ARG-COMM-023): no
// connection.
Result<std::unique_ptr<NetEngine>> open_gloo(const NetEngineOptions& options);

}  // namespace argosy
