#include "argosy/ops/layout/strided/strided_copy.h"

#include <utility>

#include <cstring>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/layout/strided/region_walk.h"
#include "argosy/ops/layout/strided/transpose_tiles.h"

namespace argosy {

namespace {

constexpr std::int64_t kGrainBytes = 64 << 10;  // about 10 µs of moving

void copy_rows(const RegionAxes& outer, char* to, const char* from, std::int64_t bytes) {
  const std::int64_t rows = outer.product();
  if (rows == 1) {
    parallel_for(bytes, kGrainBytes, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
    return;
  }
  parallel_for(rows, std::max<std::int64_t>(1, kGrainBytes / (bytes + 16)), [&](std::int64_t begin, std::int64_t end) {
    walk(outer, to, from, begin, end,
         [&](char* t, const char* f) { std::memcpy(t, f, static_cast<std::size_t>(bytes)); });
  });
}

template <int kBytes>
void copy_strided(const RegionAxes& outer, Axis inner, char* to, const char* from,
                  std::int64_t grain_bytes = kGrainBytes) {
  const std::int64_t grain = std::max<std::int64_t>(1, grain_bytes / (inner.size * std::max(kBytes, 4) + 16));
  parallel_for(outer.product(), grain, [&](std::int64_t begin, std::int64_t end) {
    walk(outer, to, from, begin, end, [&](char* t, const char* f) {
      for (std::int64_t i = 0; i < inner.size; ++i) std::memcpy(t + i * inner.to, f + i * inner.from, kBytes);
    });
  });
}

// The last axis is dense where it goes, axis `dense` where it comes from: tiles of both at a time.
template <int kBytes>
void copy_transposed(RegionAxes axes, int dense, char* to, const char* from) {
  const Axis column = axes.axis[dense];
  const Axis row = axes.axis[axes.n - 1];
  --axes.n;
  axes.remove(dense);
  constexpr std::int64_t kTile = kTransposeTile;
  const std::int64_t strips = (column.size + kTile - 1) / kTile;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainBytes / (kTile * row.size * kBytes));
  const std::int64_t outer = axes.product();
  parallel_for(outer * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin / strips; o * strips < end; ++o) {
      const std::int64_t first = std::max(begin, o * strips) - o * strips;
      const std::int64_t last = std::min(end, (o + 1) * strips) - o * strips;
      const std::int64_t columns = std::min(last * kTile, column.size) - first * kTile;
      walk(axes, to, from, o, o + 1, [&](char* t, const char* f) {
        transpose<kBytes>(t + first * kTile * column.to, column.to, f + first * kTile * kBytes, row.from, columns,
                          row.size);
      });
    }
  });
}

template <int kBytes>
void copy_elements_of(RegionAxes& axes, char* to, const char* from) {
  if (axes.n == 0) {
    std::memcpy(to, from, kBytes);
    return;
  }
  const Axis inner = axes.axis[axes.n - 1];
  if (inner.to == kBytes) {
    for (int i = axes.n - 2; i >= 0; --i) {
      if (axes.axis[i].from == kBytes) return copy_transposed<kBytes>(axes, i, to, from);
    }
  }
  --axes.n;
  copy_strided<kBytes>(axes, inner, to, from);
}

// Rows of so few bytes that a call for each would be most of the work.
template <int kBytes>
void copy_short_rows(RegionAxes& axes, char* to, const char* from) {
  if (axes.n == 0) {
    std::memcpy(to, from, kBytes);
    return;
  }
  const Axis inner = axes.axis[axes.n - 1];
  --axes.n;
  copy_strided<kBytes>(axes, inner, to, from, 4 * kGrainBytes);
}

void copy_plain(RegionAxes& axes, std::int64_t bytes, char* to, const char* from) {
  if (axes.n > 0) {
    const Axis inner = axes.axis[axes.n - 1];
    if (inner.to == bytes && inner.from == bytes) {
      --axes.n;
      bytes *= inner.size;
    }
  }
  switch (bytes) {
    case 1: return copy_elements_of<1>(axes, to, from);
    case 2: return copy_elements_of<2>(axes, to, from);
    case 4: return copy_elements_of<4>(axes, to, from);
    case 8: return copy_elements_of<8>(axes, to, from);
    case 16: return copy_elements_of<16>(axes, to, from);
    case 32: return copy_short_rows<32>(axes, to, from);
    case 64: return copy_short_rows<64>(axes, to, from);
    case 128: return copy_short_rows<128>(axes, to, from);
    default: return copy_rows(axes, to, from, bytes);
  }
}

}  // namespace

namespace {

thread_local CopyEngine* copy_engine_in_scope = nullptr;

void move_by(CopyEngine& copy_engine, const Tensor& to, std::int64_t to_offset, const Tensor& from,
             std::int64_t from_offset, const Region& region) {
  const std::size_t bytes = element_bytes(to.dtype());
  const auto step = static_cast<std::int64_t>(bytes);
  copy_engine.move(to.raw_as<char>() + to_offset * step, from.raw_as<char>() + from_offset * step, bytes, region);
}

}  // namespace

bool CopyEngine::add(void*, const void*, const void*, std::int64_t, DType) { return false; }
CopyEngine* CopyEngine::in_scope() { return copy_engine_in_scope; }
CopyEngine::Scope::Scope(CopyEngine& copy_engine) : outer_(std::exchange(copy_engine_in_scope, &copy_engine)) {}
CopyEngine::Scope::~Scope() { copy_engine_in_scope = outer_; }

void copy_region(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
                 const Region& region) {
  if (!is_plain(to.dtype())) return copy_region_plainly(to, to_offset, from, from_offset, region);
  if (copy_engine_in_scope != nullptr) [[unlikely]]
    return move_by(*copy_engine_in_scope, to, to_offset, from, from_offset, region);
  const auto bytes = static_cast<std::int64_t>(element_bytes(to.dtype()));
  RegionAxes axes(region, bytes);
  if (axes.nothing) return;
  copy_plain(axes, bytes, to.raw_as<char>() + to_offset * bytes, from.raw_as<char>() + from_offset * bytes);
}

void copy_region_plainly(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
                         const Region& region) {
  dispatch_moved(to.dtype(), [&]<typename T>() {
    const RegionAxes axes(region, 1);
    if (axes.nothing) return;
    walk(axes, to.raw_as<T>() + to_offset, static_cast<const T*>(from.raw_as<T>()) + from_offset, 0, axes.product(),
         [](T* t, const T* f) { *t = *f; });
  });
}

void fill_elements(const Tensor& to, const void* value) {
  if (copy_engine_in_scope != nullptr && is_plain(to.dtype())) [[unlikely]]
    return copy_engine_in_scope->fill(to.raw(), to.elements(), element_bytes(to.dtype()), value);
  dispatch_moved(to.dtype(), [&]<typename T>() {
    T* const t = to.raw_as<T>();
    const T& v = *static_cast<const T*>(value);
    parallel_for(to.elements(), kGrainBytes / static_cast<std::int64_t>(sizeof(T)),
                 [&](std::int64_t begin, std::int64_t end) { std::fill(t + begin, t + end, v); });
  });
}

void fill_zeros(const Tensor& to) {
  dispatch_moved(to.dtype(), [&]<typename T>() {
    const T zero{};
    fill_elements(to, &zero);
  });
}

void copy_span(const Tensor& to, std::int64_t to_offset, const Tensor& from, std::int64_t from_offset,
               std::int64_t elements) {
  if (elements == 0) return;
  if (copy_engine_in_scope != nullptr && is_plain(to.dtype())) [[unlikely]]
    return move_by(*copy_engine_in_scope, to, to_offset, from, from_offset, {{elements}, {1}, {1}});
  dispatch_moved(to.dtype(), [&]<typename T>() {
    std::copy_n(from.raw_as<T>() + from_offset, elements, to.raw_as<T>() + to_offset);
  });
}

}  // namespace argosy
