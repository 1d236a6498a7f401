#include "tools/argosy/cli/exit_code.h"

namespace argosy::cli {

int exit_code(const Status& status) {
  const bool computed = status.where().starts_with("node ");
  const bool of_files = status.id().starts_with("ARG-FILE") || status.id().starts_with("ARG-CKPT");
  switch (status.code()) {
    case Code::kOk: return kDone;
    case Code::kDataLoss: return kCorrupt;
    case Code::kUnavailable: return kPeerLost;
    // Memory unless the error says that it was another thing that ran out (a disk, descriptors).
    case Code::kResourceExhausted: return of_files ? kMissing : kOutOfMemory;
    case Code::kAborted: return of_files ? kMissing : kFailed;  // a folder that another run holds
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kFailedPrecondition: return computed ? kFailed : kUsage;
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kUnimplemented: return computed ? kFailed : kMissing;
    case Code::kCancelled:
    case Code::kUnknown:
    case Code::kDeadlineExceeded:
    case Code::kInternal:
    case Code::kUnauthenticated: return kFailed;
  }
  return kFailed;
}

}  // namespace argosy::cli
