#include "argosy/comm/nccl/nccl.h"

#include <cstdlib>

#include "argosy/device/cuda/cuda_launch_queue.h"
#include "argosy/device/cuda/driver/library.h"
#include "argosy/device/cuda/links.h"

namespace argosy::cuda {

namespace {

constexpr int kOldest = 2140;  // as check_library_version() counts

NcclCalls calls_of(const Library& library) {
  NcclCalls calls;
  // What is missing stays null, and over() says so.
  library.find(&calls.version, "ncclGetVersion");
  library.find(&calls.error_text, "ncclGetErrorString");
  library.find(&calls.last_error, "ncclGetLastError");
  library.find(&calls.unique_id, "ncclGetUniqueId");
  library.find(&calls.init, "ncclCommInitRankConfig");
  library.find(&calls.async_error, "ncclCommGetAsyncError");
  library.find(&calls.abort, "ncclCommAbort");
  library.find(&calls.group_start, "ncclGroupStart");
  library.find(&calls.group_end, "ncclGroupEnd");
  library.find(&calls.all_reduce, "ncclAllReduce");
  library.find(&calls.reduce_scatter, "ncclReduceScatter");
  library.find(&calls.all_gather, "ncclAllGather");
  library.find(&calls.broadcast, "ncclBroadcast");
  library.find(&calls.send, "ncclSend");
  library.find(&calls.recv, "ncclRecv");
  return calls;
}

}  // namespace

const NcclAvailable& nccl_of(CudaDevice& device) {
  const auto held = links_of(device)->shared("nccl", [&] {
    return std::make_shared<NcclAvailable>(
        device.vendor_libraries() ? Nccl::open()
                                  : NcclAvailable(unavailable("no library of NVIDIA's is looked for here")));
  });
  return *static_cast<const NcclAvailable*>(held.get());
}

Result<std::shared_ptr<const Nccl>> Nccl::over(const NcclCalls& calls, const std::string& path) {
  std::shared_ptr<Nccl> nccl(new Nccl(calls));
  if (calls.version == nullptr || calls.version(&nccl->version_) != kNcclSuccess) {
    return unavailable("NCCL in ", path, " does not say its version").with_id("ARG-GPU-012");
  }
  const int v = nccl->version_;
  ARGOSY_RETURN_IF_ERROR(check_library_version(nccl_wanted(), path, v / 10000 * 1000 + v / 100 % 100 * 10, kOldest));
  const auto missing = [&](const char* name) {
    return unavailable("NCCL ", nccl->version_text(), " in ", path, " lacks ", name).with_id("ARG-GPU-012");
  };
  if (calls.init == nullptr) return missing("ncclCommInitRankConfig");
  if (calls.error_text == nullptr || calls.unique_id == nullptr || calls.async_error == nullptr ||
      calls.abort == nullptr || calls.group_start == nullptr || calls.group_end == nullptr) {
    return missing("a function that makes communicators");
  }
  if (calls.all_reduce == nullptr || calls.reduce_scatter == nullptr || calls.all_gather == nullptr ||
      calls.broadcast == nullptr || calls.send == nullptr || calls.recv == nullptr) {
    return missing("a collective");
  }
  return std::shared_ptr<const Nccl>(std::move(nccl));
}

Result<std::shared_ptr<const Nccl>> Nccl::open() {
  std::shared_ptr<const Nccl> nccl;
  const auto fits = [&](const Library& library) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(nccl, over(calls_of(library), library.path()));
    return ok_status();
  };
  ARGOSY_RETURN_IF_ERROR(Library::open(nccl_wanted(), fits).status());
  return nccl;
}

std::string Nccl::version_text() const {
  return str_cat(version_ / 10000, ".", version_ / 100 % 100, ".", version_ % 100);
}

NcclOptions nccl_options() {
  NcclOptions options;
  const char* const text = std::getenv("ARGOSY_COLLECTIVE_TIMEOUT");
  const double seconds = text != nullptr ? std::strtod(text, nullptr) : 0;
  options.timeout_is_asked = seconds > 0;
  if (seconds > 0) options.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  return options;
}

}  // namespace argosy::cuda
