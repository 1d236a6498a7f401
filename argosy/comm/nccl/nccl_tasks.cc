#include "argosy/comm/nccl/nccl_tasks.h"

#include <cstring>
#include <optional>
#include <set>

#include "argosy/base/log.h"
#include "argosy/comm/native_gpu/gpu_group.h"
#include "argosy/comm/net/net_blobs.h"
#include "argosy/device/cuda/cuda_launch_queue.h"

namespace argosy::cuda {

namespace {

// What a task brings.
struct Offer {
  std::string against;  // why not; "": nothing
  std::string version;  // of NCCL
  std::string id;       // of the communicators; from the task with rank 0
  std::vector<std::string> gpus;

  std::string to_text() const {
    BlobWriter text;
    text.text(against);
    text.text(version);
    text.text(id);
    text.number(static_cast<std::int64_t>(gpus.size()));
    for (const std::string& gpu : gpus) text.text(gpu);
    return text.bytes();
  }
  // Nothing where the text is damaged.
  static std::optional<Offer> of(std::string_view text) {
    BlobReader reader(text);
    Offer offer{.against = reader.text(), .version = reader.text(), .id = reader.text()};
    for (std::int64_t left = reader.number(); left > 0 && reader.ok(); --left) offer.gpus.push_back(reader.text());
    return reader.at_end() ? std::optional(std::move(offer)) : std::nullopt;
  }
};

CudaDevice* gpu_of(const CollectiveCall& call) {
  return call.device == nullptr ? nullptr : dynamic_cast<CudaDevice*>(&call.device->physical());
}

std::vector<std::shared_ptr<DeviceCore>> cores_of(std::span<CudaDevice* const> devices) {
  std::vector<std::shared_ptr<DeviceCore>> cores;
  for (CudaDevice* const device : devices) cores.push_back(core_of(*device));
  return cores;
}

// Unique in the world.
Result<std::string> name_of(DeviceCore& core) {
  CuUuid uuid;
  ARGOSY_RETURN_IF_ERROR(core.check(core.driver()->cuDeviceGetUuid_v2(&uuid, core.gpu()), "cuDeviceGetUuid"));
  return std::string(reinterpret_cast<const char*>(uuid.bytes), sizeof uuid.bytes);
}

}  // namespace

NcclTasks::NcclTasks(std::vector<CudaDevice*> devices, const SpanningRanks& ranks, bool ordered,
                     const NcclOptions& options)
    : devices_(std::move(devices)), cores_(cores_of(devices_)), ranks_(ranks), ordered_(ordered) {
  const NcclAvailable& nccl = nccl_of(*devices_[0]);
  if (nccl.ok()) group_ = std::make_shared<NcclGroup>(*nccl, devices_, options, ranks);
}

std::string NcclTasks::offer() {
  Offer offer;
  const CollectiveChoice choice = GpuGroup::choose_over_tasks(devices_, ranks_.size, ordered_);
  wanted_ = choice.wanted;
  if (choice.backend != CollectiveBackend::kNccl) {
    offer.against = choice.reason;
    return offer.to_text();
  }
  offer.version = (*nccl_of(*devices_[0]))->version_text();
  for (const auto& core : cores_) {
    const Result<std::string> name = name_of(*core);
    if (!name.ok()) offer.against = name.status().message();
    offer.gpus.push_back(name.ok() ? *name : std::string());
  }
  NcclId id{};
  if (ranks_.first == 0) {
    const Nccl& nccl = **nccl_of(*devices_[0]);
    if (const int result = nccl->unique_id(&id); result != kNcclSuccess) {
      offer.against = str_cat("NCCL gives no id: ", nccl->error_text(result));
    }
    offer.id.assign(id.bytes, sizeof id.bytes);
  }
  return offer.to_text();
}

Status NcclTasks::connect(std::span<const std::string> offers) {
  Status connected = connect_all(offers);
  if (!connected.ok() && wanted_) {
    ARGOSY_LOG(kWarning, connected.message(), "; sums of GPUs go by the hosts' memories");
  }
  return connected;
}

Status NcclTasks::connect_all(std::span<const std::string> offers) {
  const auto refused = [](const auto&... why) { return unavailable(why...).with_id("ARG-COMM-006"); };
  std::set<std::string> gpus;
  std::vector<Offer> all;
  std::string id;
  for (std::size_t task = 0; task < offers.size(); ++task) {
    std::optional<Offer> offer = Offer::of(offers[task]);
    if (!offer) return refused("task ", task, " tells something else of its GPUs");
    if (!offer->against.empty()) return refused("task ", task, ": ", offer->against);
    if (!offer->id.empty()) id = offer->id;
    gpus.insert(offer->gpus.begin(), offer->gpus.end());
    all.push_back(*std::move(offer));
    const Offer &first = all.front(), &here = all.back();
    if (here.version != first.version) {
      return refused("task 0 has NCCL ", first.version, ", task ", task, " has ", here.version);
    }
    // With other numbers some versions of NCCL wait for ever.
    if (here.gpus.size() != first.gpus.size()) {
      return refused("task 0 has ", first.gpus.size(), " GPUs in the sum, task ", task, " has ", here.gpus.size());
    }
  }
  if (static_cast<int>(gpus.size()) != ranks_.size) return refused("two ranks are on one physical GPU");
  if (id.size() != sizeof(NcclId)) return refused("no task has an id of NCCL's");
  NcclId connection;
  std::memcpy(connection.bytes, id.data(), sizeof connection.bytes);
  return group_->connect_tasks(connection);
}

bool NcclTasks::is_of(std::span<const CollectiveCall> calls) const {
  if (calls.size() != cores_.size()) return false;
  for (std::size_t r = 0; r < calls.size(); ++r) {
    CudaDevice* const gpu = gpu_of(calls[r]);
    if (gpu == nullptr || core_of(*gpu) != cores_[r]) return false;
  }
  return true;
}

void NcclTasks::abort(const Status& cause) {
  if (group_ != nullptr) group_->fail_all(cause);
}

}  // namespace argosy::cuda
