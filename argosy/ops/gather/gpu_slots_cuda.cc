#include "argosy/ops/gather/gpu_slots.h"

#include <limits>
#include <unordered_map>

#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy::cuda {

namespace {

constexpr const char* kModule = "slots";
// Up to this many slots, each slot reads all others, in one launch.
constexpr std::int64_t kFewSlots = 256;

Status outside(std::string_view op, const std::int32_t* path, std::int64_t i, const Ints& sizes) {
  if (sizes.size() == 1) {
    return invalid_argument(op, ": indices[", i, "] = ", path[0], " is not in [0, ", sizes[0], ")")
        .with_id("ARG-INDEX-001");
  }
  const std::vector<std::int32_t> numbers(path, path + sizes.size());
  return invalid_argument(op, ": indices[", i, "] = [", str_join(numbers), "] does not index into ", sizes)
      .with_id("ARG-INDEX-001");
}

void link(std::vector<GpuSlot>& slots) {
  std::unordered_map<std::int64_t, std::int32_t> last;
  last.reserve(slots.size());
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(slots.size()); ++i) {
    GpuSlot& slot = slots[static_cast<std::size_t>(i)];
    slot.next = -1;
    const auto [at, fresh] = last.try_emplace(slot.start, i);
    slot.first = fresh ? 1 : 0;
    if (fresh) continue;
    slots[static_cast<std::size_t>(at->second)].next = i;
    at->second = i;
  }
}

// Links slots that are on the GPU. The links are the same every time.
Status link_on_gpu(KernelContext& c, std::int64_t count, void* slots) {
  const LaunchShape shape = grid_for(count);
  if (count <= kFewSlots) return launch(c, {kModule, "slots_link"}, shape, count, slots);
  const auto bytes = static_cast<std::size_t>(count) * sizeof(std::int32_t);
  ARGOSY_ASSIGN_OR_RETURN(const Buffer one, c.scratch(bytes));
  ARGOSY_ASSIGN_OR_RETURN(const Buffer other, c.scratch(bytes));
  const void* from = nullptr;
  void *to = one.data(), *next = other.data();
  for (std::int64_t run = 1; run < count; run *= 2) {
    ARGOSY_RETURN_IF_ERROR(launch(c, {kModule, "slots_merge"}, shape, count, run, slots, from, to));
    from = to;
    std::swap(to, next);
  }
  return launch(c, {kModule, "slots_link_sorted"}, shape, count, slots, from);
}

Result<Buffer> uploaded(KernelContext& c, const std::vector<GpuSlot>& slots) {
  ARGOSY_ASSIGN_OR_RETURN(Buffer memory, c.scratch(slots.size() * sizeof(GpuSlot)));
  if (!slots.empty()) {
    ARGOSY_RETURN_IF_ERROR(device_of(*c.device()).upload(memory.data(), slots.data(), slots.size() * sizeof(GpuSlot)));
  }
  return memory;
}

}  // namespace

SlotPaths paths_to_rows(const Shape& tensor) {
  SlotPaths paths{.sizes = {tensor[0]}};
  for (int i = 1; i < tensor.rank(); ++i) paths.slice *= tensor[i];
  return paths;
}

Result<GpuSlots> GpuSlots::of(KernelContext& c, std::string_view op, int indices, const SlotPaths& paths, bool linked) {
  const Tensor& t = c.input(indices);
  const auto depth = static_cast<std::int64_t>(paths.sizes.size());
  GpuSlots slots;
  slots.slice_ = paths.slice;
  slots.on_host_ = t.dtype() == DType::kInt32;
  slots.count_ = depth == 0 ? t.shape().elements() : t.elements() / depth;
  if (depth == 0) {  // paths of no indices: each is the whole tensor
    slots.count_ = 1;
    for (int i = 0; i + 1 < t.shape().rank(); ++i) slots.count_ *= t.shape()[i];
  }
  if (paths.slice == 0) slots.count_ = 0;
  if (slots.count_ > std::numeric_limits<std::int32_t>::max() || depth > PathTable::kMostDepth) {
    return unimplemented(op, ": ", slots.count_, " paths of ", depth, " indices; a GPU follows at most 2^31 of ",
                         PathTable::kMostDepth)
        .with_hint("place the node on a CPU");
  }
  PathTable table{.depth = static_cast<int>(depth), .sizes = {}, .strides = {}};
  std::int64_t stride = paths.slice;
  for (int k = static_cast<int>(depth) - 1; k >= 0; --k) {
    table.sizes[k] = paths.sizes[k];
    table.strides[k] = paths.strides.size() == 0 ? stride : paths.strides[k];
    stride *= paths.sizes[k];
  }
  if (!slots.on_host_) {
    ARGOSY_ASSIGN_OR_RETURN(slots.memory_, c.scratch(static_cast<std::size_t>(slots.count_) * sizeof(GpuSlot)));
    ARGOSY_RETURN_IF_ERROR(launch(c, {kModule, "slots_follow"}, grid_for(slots.count_), slots.count_, table, t.raw(),
                                  slots.memory_.data()));
    if (linked) ARGOSY_RETURN_IF_ERROR(link_on_gpu(c, slots.count_, slots.memory_.data()));
    return slots;
  }
  std::vector<GpuSlot> here(static_cast<std::size_t>(slots.count_), GpuSlot{0, -1, 1});
  const std::int32_t* path = t.data<std::int32_t>();
  for (std::int64_t i = 0; i < slots.count_; ++i, path += depth) {
    std::int64_t start = 0;
    for (int k = 0; k < depth; ++k) {
      if (path[k] < 0 || path[k] >= paths.sizes[k]) {
        if (!paths.skip_bad) return outside(op, path, i, paths.sizes);
        start = -1;
        break;
      }
      start += path[k] * table.strides[k];
    }
    here[static_cast<std::size_t>(i)].start = start;
  }
  if (linked) link(here);
  ARGOSY_ASSIGN_OR_RETURN(slots.memory_, uploaded(c, here));
  return slots;
}

Result<GpuSlots> GpuSlots::at(KernelContext& c, std::span<const std::int64_t> starts, std::int64_t slice) {
  GpuSlots slots;
  slots.count_ = static_cast<std::int64_t>(starts.size());
  slots.slice_ = slice;
  slots.on_host_ = true;
  std::vector<GpuSlot> here;
  for (const std::int64_t start : starts) here.push_back({start, -1, 1});
  link(here);
  ARGOSY_ASSIGN_OR_RETURN(slots.memory_, uploaded(c, here));
  return slots;
}

Status gather_slices(KernelContext& c, const GpuSlots& slots, DType dtype, const void* from, void* to) {
  return launch(c, {kModule, str_cat("slots_gather_", size_suffix(dtype))}, grid_for(slots.count() * slots.slice()),
                slots.count(), slots.slice(), slots.data(), from, to);
}

Status update_slices(KernelContext& c, const GpuSlots& slots, DType dtype, const SliceUpdate& update, const void* from,
                     void* to) {
  const LaunchShape shape = grid_for(slots.count() * slots.slice());
  const int one_value = update.one_value ? 1 : 0;
  if (update.how == "Update") {
    return launch(c, {kModule, str_cat("slots_assign_", size_suffix(dtype))}, shape, slots.count(), slots.slice(),
                  slots.data(), from, one_value, to);
  }
  const std::string suffix = str_cat(update.how, "_", type_suffix(dtype));
  const bool sum = update.how == "Add" || update.how == "Sub";
  const bool atomic = sum && !update.fresh && (dtype == DType::kFloat32 || dtype == DType::kFloat64);
  if (atomic && !slots.on_host() && !device_of(*c.device()).math().deterministic) {
    return launch(c, {kModule, "slots_at_once_" + suffix}, shape, slots.count(), slots.slice(), slots.data(), from,
                  one_value, to);
  }
  return launch(c, {kModule, "slots_update_" + suffix}, shape, slots.count(), slots.slice(), slots.data(), from,
                one_value, update.fresh ? 1 : 0, to);
}

}  // namespace argosy::cuda
