#include "argosy/rpc/transport/call_context.h"

namespace argosy::tf {

Result<std::shared_ptr<DeferredReply>> keep_until_cancelled(CallContext& context) {
  std::shared_ptr<DeferredReply> call = context.defer_reply();
  if (call == nullptr) return unimplemented("this transport cannot answer later").with_id("ARG-RPC-009");
  Cancellation::Token token = 0;
  const std::weak_ptr<DeferredReply> weak = call;
  const bool watched = call->cancellation().add(
      [weak] {
        if (const auto open = weak.lock()) open->answer(open->cancellation().status());
      },
      &token);
  if (watched) return call;
  Status over = call->cancellation().status();
  call->answer(over);
  return over;
}

}  // namespace argosy::tf
