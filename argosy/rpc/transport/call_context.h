// CallContext: the call that a handler serves, as its transport sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/base/threads/cancellation.h"
#include "argosy/rpc/gate/client_link.h"
#include "argosy/rpc/wire/wire_writer.h"

namespace argosy::tf {

// A call that is answered after its handler has returned. Its owner answers once; destroyed without an answer, the call
// ends with CANCELLED. Thread-safe.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  // As CallContext::cancellation(): who owns the call must answer when it is cancelled.
  virtual Cancellation& cancellation() = 0;
  virtual void answer(Result<std::vector<WirePiece>> reply) = 0;
};

// Lives as long as the handler runs. Threads: give_up() and cancellation() from any, the rest from the handler's.
class CallContext {
 public:
  virtual ~CallContext() = default;
  // Cancelled when the client cancels, the call's deadline passes or the client is gone.
  virtual Cancellation& cancellation() = 0;
  // The handler will keep this thread busy for about so many nanoseconds; negative: unknown. Call it before the work.
  // Throws std::system_error if the work is long and the system gives no thread to serve others. The handler must
  // answer RESOURCE_EXHAUSTED then.
  virtual void expect_duration(std::int64_t typical_nanos) = 0;
  // Answers the call now, while the handler still works. The handler's own reply is dropped.
  virtual void give_up(Result<std::vector<WirePiece>> reply) { (void)reply; }
  // The call stays open when the handler returns, whose own reply is dropped. The request goes when it returns. Null:
  // this transport cannot do it.
  virtual std::shared_ptr<OpenCall> keep_open() { return nullptr; }
  // The caller's connection. Null: the transport cannot tell when the caller is gone.
  virtual std::shared_ptr<const ClientLink> client() { return nullptr; }
};

// Keeps the call open. Once it is cancelled it is answered so, whoever still works on it.
// An error: it is over already, and was answered; UNIMPLEMENTED "ARG-RPC-009": the transport cannot keep it. The handler
// returns the error.
Result<std::shared_ptr<OpenCall>> keep_until_cancelled(CallContext& context);

}  // namespace argosy::tf
