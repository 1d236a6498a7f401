#include "argosy/comm/native_gpu/collective_choice.h"

namespace argosy::cuda {

namespace {

CollectiveChoice choose(const CollectiveRequest& request) {
  if (!request.only_gpus) return {CollectiveBackend::kHostStaged, "some of the ranks are CPUs"};
  if (request.ranks <= 1) return {CollectiveBackend::kNative, "there is one rank"};
  if (request.physical_gpus < request.ranks)
    return {CollectiveBackend::kNative, "NCCL cannot have two ranks on one physical GPU"};
  if (request.deterministic) return {CollectiveBackend::kNative, "the run is deterministic"};
  if (request.ordered && request.setting != "nccl") {
    return {CollectiveBackend::kNative, "the order of the sum is fixed"};
  }
  if (request.setting == "own") return {CollectiveBackend::kNative, "ARGOSY_COLLECTIVES=own"};
  if (!request.nccl.ok()) return {CollectiveBackend::kNative, request.nccl.message()};
  return {CollectiveBackend::kNccl, request.setting == "nccl" ? "ARGOSY_COLLECTIVES=nccl" : "it is there"};
}

}  // namespace

CollectiveChoice choose_collectives(const CollectiveRequest& request) {
  CollectiveChoice choice = choose(request);
  choice.wanted = request.only_gpus && request.ranks > 1 && !request.deterministic && request.setting != "own" &&
                  (!request.ordered || request.setting == "nccl");
  return choice;
}

}  // namespace argosy::cuda
