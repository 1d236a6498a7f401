#include "argosy/ops/reduction/reduce_gpu.h"

#include <algorithm>

namespace argosy::cuda {

namespace {

using reduction::Group;

constexpr const char* kModule = "reduce";
// A long fold is cut until this many blocks (or threads, of columns) have work, into chunks no shorter than these.
constexpr std::int64_t kBlocks = 1024, kThreads = 1 << 17, kRowChunk = 4096, kColumnChunk = 64;

struct Middle {
  std::int64_t outer, count, inner;
};

int chunks_of(const Middle& m) {
  const bool rows = m.inner == 1;
  const std::int64_t wanted =
      rows ? kBlocks / std::max<std::int64_t>(m.outer, 1) : kThreads / std::max<std::int64_t>(m.outer * m.inner, 1);
  const std::int64_t most = m.count / (rows ? kRowChunk : kColumnChunk);
  return static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, most), 1, 1024));
}

Status reduce_middle(KernelContext& c, std::string_view fold, DType in, DType out, const void* x, const Middle& m,
                     int chunks, void* y, const Finish& finish) {
  const std::string kernel =
      str_cat(m.inner == 1 ? "reduce_rows_" : "reduce_columns_", fold, "_", number_suffix(in), "_", number_suffix(out));
  if (m.inner == 1) {
    const std::int64_t each = (m.count + chunks - 1) / chunks;
    const unsigned threads =
        each >= 256 ? 256 : static_cast<unsigned>(std::max<std::int64_t>(32, (each + 31) / 32 * 32));
    LaunchShape shape{.block = {threads}};
    shape.grid.x = static_cast<unsigned>(std::min<std::int64_t>(m.outer * chunks, kMostBlocks));
    return launch(c, {kModule, kernel}, shape, m.outer, m.count, chunks, x, y, finish);
  }
  return launch(c, {kModule, kernel}, grid_for(m.outer * chunks * m.inner), m.outer, m.count, m.inner, chunks, x, y,
                finish);
}

}  // namespace

Status reduce_on_gpu(KernelContext& c, std::string_view fold, DType dtype, const void* x, std::vector<Group> groups,
                     void* y, Finish finish) {
  // Partial results of 16-bit floats are float32.
  const bool half = dtype == DType::kFloat16 || dtype == DType::kBfloat16;
  const DType between = half ? DType::kFloat32 : dtype;
  DType in = dtype;
  Buffer held;
  std::int64_t inner = 1;
  bool any = false;
  while (!groups.empty()) {
    const Group last = groups.back();
    groups.pop_back();
    if (!last.folded) {
      inner *= last.size;
      continue;
    }
    any = true;
    std::int64_t outer = 1;
    bool more = false;
    for (const Group& g : groups) {
      outer *= g.size;
      more = more || g.folded;
    }
    Middle middle{outer, last.size, inner};
    for (int chunks = chunks_of(middle);; chunks = 1) {
      const bool final = !more && chunks == 1;
      Buffer next;
      if (!final) {
        ARGOSY_ASSIGN_OR_RETURN(next,
                                c.scratch(static_cast<std::size_t>(outer * chunks * inner) * element_bytes(between)));
      }
      void* const to = final ? y : static_cast<void*>(next.data());
      ARGOSY_RETURN_IF_ERROR(
          reduce_middle(c, fold, in, final ? dtype : between, x, middle, chunks, to, final ? finish : Finish{}));
      in = between;
      x = to;
      held = std::move(next);
      if (fold == "sumsq") fold = "sum";
      if (chunks == 1) break;
      middle.count = chunks;
    }
  }
  if (any) return ok_status();
  return reduce_middle(c, fold, dtype, dtype, x, {1, 1, inner}, 1, y, finish);
}

}  // namespace argosy::cuda
