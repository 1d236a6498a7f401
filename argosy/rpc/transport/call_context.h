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

// DeferredReply: a call that is answered after its handler has returned. Its owner calls answer() once. If it is
// destroyed without an answer, the call ends with CANCELLED. Thread-safe.
class DeferredReply {
 public:
  virtual ~DeferredReply() = default;
  // As CallContext::cancellation(). When it is cancelled, the owner must answer the call.
  virtual Cancellation& cancellation() = 0;
  virtual void answer(Result<std::vector<WirePiece>> reply) = 0;
};

// Lives as long as the handler runs. Threads: reply_early() and cancellation() from any, the rest from the handler's.
class CallContext {
 public:
  virtual ~CallContext() = default;
  // Cancelled when the client cancels, the call's deadline passes or the client is gone.
  virtual Cancellation& cancellation() = 0;
  // Announces that the handler will occupy this thread for about so many nanoseconds; negative: unknown. Call it before
  // the work. Throws std::system_error if the work is long and the system has no thread left to serve other calls. The
  // handler must then answer RESOURCE_EXHAUSTED.
  virtual void expect_duration(std::int64_t typical_nanos) = 0;
  // Answers the call now, while the handler still works. The handler's own reply is dropped.
  virtual void reply_early(Result<std::vector<WirePiece>> reply) { (void)reply; }
  // Keeps the call open after the handler returns; the handler's own reply is dropped. The request's memory is freed
  // when the handler returns. Null: this transport does not support it.
  virtual std::shared_ptr<DeferredReply> defer_reply() { return nullptr; }
  // The caller's connection. Null: the transport cannot tell when the caller is gone.
  virtual std::shared_ptr<const ClientLink> client() { return nullptr; }
};

// Keeps the call open, and answers it with its cancellation's status as soon as it is cancelled. Errors, which the
// handler returns: the cancellation's, if the call was cancelled before (it is answered then); UNIMPLEMENTED
// "ARG-RPC-009", if the transport does not support it.
Result<std::shared_ptr<DeferredReply>> keep_until_cancelled(CallContext& context);

}  // namespace argosy::tf
