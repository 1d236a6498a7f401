#include "argosy/comm/native_gpu/collective_choice.h"

namespace argosy::cuda {

CollectiveChoice choose_collectives(const CollectiveSituation& situation) {
  if (!situation.only_cards) return {CollectiveWay::kHost, "some of the ranks are CPUs"};
  if (situation.ranks <= 1) return {CollectiveWay::kOwn, "there is one rank"};
  if (situation.cards < situation.ranks) return {CollectiveWay::kOwn, "NCCL cannot have two ranks on one card"};
  if (situation.fixed_order) return {CollectiveWay::kOwn, "the order of the sum is fixed"};
  if (situation.setting == "own") return {CollectiveWay::kOwn, "ARGOSY_COLLECTIVES=own"};
  if (!situation.nccl.ok()) return {CollectiveWay::kOwn, situation.nccl.message()};
  return {CollectiveWay::kNccl, situation.setting == "nccl" ? "ARGOSY_COLLECTIVES=nccl" : "it is there"};
}

}  // namespace argosy::cuda
