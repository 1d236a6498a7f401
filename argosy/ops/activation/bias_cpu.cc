#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/activation/bias.h"
#include "argosy/ops/activation/bias_channels.h"
#include "argosy/ops/activation/column_sums.h"
#include "argosy/ops/collective/reduction_chunks.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy {

namespace {

Status check_bias(std::string_view op, const BiasChannels& at, const Shape& x, const Shape& bias) {
  if (bias.rank() == 1 && bias[0] == at.channels) return ok_status();
  return invalid_argument(op, ": bias of shape ", bias, " for ", at.channels, " channels of ", x)
      .with_id("ARG-SHAPE-014");
}

bool is_nchw(const KernelInit& init) { return init.attrs.get_or<std::string>("data_format", "NHWC") == "NCHW"; }

template <typename T>
void plain_add(const BiasChannels& at, const T* x, const T* bias, T* y) {
  using Sum = typename internal::Accumulator<T>::type;
  for (std::int64_t i = 0; i < at.outer * at.channels * at.inner; ++i) {
    y[i] = static_cast<T>(static_cast<Sum>(x[i]) + static_cast<Sum>(bias[i / at.inner % at.channels]));
  }
}

class PlainBiasAdd final : public Kernel {
 public:
  explicit PlainBiasAdd(bool nchw) : nchw_(nchw) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<PlainBiasAdd>(is_nchw(init)));
  }
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    ARGOSY_ASSIGN_OR_RETURN(const BiasChannels at, channels_of("BiasAdd", shape, nchw_));
    ARGOSY_RETURN_IF_ERROR(check_bias("BiasAdd", at, shape, c.input(1).shape()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape, {0}));
    return dispatch<NumberTypes>(y->dtype(), "BiasAdd", [&]<typename T>() {
      plain_add(at, c.input(0).data<T>(), c.input(1).data<T>(), y->data<T>());
      return ok_status();
    });
  }

 private:
  bool nchw_;
};

// BiasAdd by the vectorised addition of the elementwise ops: for rows of channels, or for runs of one channel.
class FastBiasAdd final : public Kernel {
 public:
  FastBiasAdd(bool nchw, const BinarySpans& add, std::int64_t bytes) : nchw_(nchw), add_(add), bytes_(bytes) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const DType dtype = init.input_dtypes[0];
    const bool fast = dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kInt32;
    const BinarySpans add = fast ? find_binary_spans("Add", dtype) : BinarySpans{};
    if (add.both == nullptr) return unimplemented("no vectorised addition of ", dtype_name(dtype));
    return std::unique_ptr<Kernel>(
        std::make_unique<FastBiasAdd>(is_nchw(init), add, static_cast<std::int64_t>(element_bytes(dtype))));
  }
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    ARGOSY_ASSIGN_OR_RETURN(const BiasChannels at, channels_of("BiasAdd", shape, nchw_));
    ARGOSY_RETURN_IF_ERROR(check_bias("BiasAdd", at, shape, c.input(1).shape()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape, {0}));
    if (y->elements() == 0) return ok_status();
    const auto* const x = static_cast<const std::byte*>(c.input(0).raw());
    const auto* const bias = static_cast<const std::byte*>(c.input(1).raw());
    auto* const to = static_cast<std::byte*>(y->raw());
    if (at.inner > 1) {
      parallel_for(at.outer * at.channels, std::max<std::int64_t>(1, grain_of(Work::kArithmetic) / at.inner),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t from = i * at.inner * bytes_;
                       add_.right_one(x + from, bias + i % at.channels * bytes_, to + from, at.inner);
                     }
                   });
      return ok_status();
    }
    add_rows(at, x, bias, to);
    return ok_status();
  }

 private:
  void add_rows(const BiasChannels& at, const std::byte* x, const std::byte* bias, std::byte* y) const {
    // Several short rows are added at once to a tile of repeated biases.
    constexpr std::int64_t kTile = 4096;
    alignas(64) std::byte tile[kTile];
    const std::int64_t row = at.channels * bytes_;
    const std::int64_t repeat = std::clamp<std::int64_t>(std::min(at.outer, kTile / row), 1, 64);
    if (repeat > 1) {
      for (std::int64_t i = 0; i < repeat; ++i) std::memcpy(tile + i * row, bias, static_cast<std::size_t>(row));
      bias = tile;
    }
    parallel_for(at.outer, std::max<std::int64_t>(repeat, grain_of(Work::kArithmetic) / at.channels),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; r += repeat) {
                     add_.both(x + r * row, bias, y + r * row, std::min(repeat, end - r) * at.channels);
                   }
                 });
  }

  bool nchw_;
  BinarySpans add_;
  std::int64_t bytes_;
};

template <typename T>
void plain_sums(const BiasChannels& at, const T* x, T* sums) {
  using Sum = typename internal::Accumulator<T>::type;
  for (std::int64_t ch = 0; ch < at.channels; ++ch) {
    Sum sum{};
    for (std::int64_t o = 0; o < at.outer; ++o) {
      const T* const run = x + (o * at.channels + ch) * at.inner;
      for (std::int64_t i = 0; i < at.inner; ++i) sum += static_cast<Sum>(run[i]);
    }
    sums[ch] = static_cast<T>(sum);
  }
}

// At most this many partial sums, and at least this many elements in each.
constexpr std::int64_t kParts = 32, kPartElements = 1 << 14;

std::int64_t parts_of(std::int64_t rows, std::int64_t columns) {
  return std::clamp<std::int64_t>(rows * columns / kPartElements, 1, std::min(kParts, std::max<std::int64_t>(rows, 1)));
}

std::uint64_t column_sums_bytes(std::int64_t rows, std::int64_t columns, std::size_t element_bytes) {
  const std::int64_t parts = columns == 0 ? 1 : parts_of(rows, columns);
  return parts == 1 ? 0 : static_cast<std::uint64_t>(parts * columns) * element_bytes;
}

template <typename T>
Status column_sums(KernelContext& c, std::int64_t rows, std::int64_t columns, const T* x, T* sums) {
  if (columns == 0) return ok_status();
  const std::int64_t parts = parts_of(rows, columns);
  if (parts == 1) {
    add_up_rows(rows, columns, x, sums);
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(parts * columns) * sizeof(T)));
  T* const partial = reinterpret_cast<T*>(memory.data());
  parallel_for(parts, 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t first = rows * p / parts, last = rows * (p + 1) / parts;
      add_up_rows(last - first, columns, x + first * columns, partial + p * columns);
    }
  });
  add_up_rows(parts, columns, partial, sums);
  return ok_status();
}

// Rows that are added up together, and where the units of each chunk end.
struct Units {
  struct Unit {
    std::int64_t first, last;
  };
  std::vector<Unit> all;
  std::array<std::size_t, kReductionChunks> end{};

  Units(std::int64_t rows, std::int64_t columns, std::int64_t examples, int parts) {
    const ChunkEnds ends = chunk_ends(examples, parts);
    const std::int64_t each = rows / examples;
    for (int p = 0; p < parts; ++p) {
      const std::int64_t begin = p > 0 ? ends[p - 1] * each : 0, count = ends[p] * each - begin;
      const std::int64_t pieces =
          std::clamp<std::int64_t>(count * columns / kPartElements, 1, kParts / kReductionChunks);
      for (std::int64_t i = 0; i < pieces; ++i) {
        all.push_back({begin + count * i / pieces, begin + count * (i + 1) / pieces});
      }
      end[p] = all.size();
    }
  }
};

// The same, as a batch of `examples` is summed on any number of devices.
template <typename T>
Status batch_column_sums(KernelContext& c, std::int64_t rows, std::int64_t columns, std::int64_t examples, int parts,
                         const T* x, T* sums) {
  const Units cut(rows, columns, examples, parts);
  const auto& units = cut.all;
  const auto& units_end = cut.end;
  ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch((units.size() + static_cast<std::size_t>(parts)) *
                                                         static_cast<std::size_t>(columns) * sizeof(T)));
  T* const pieces = reinterpret_cast<T*>(memory.data());
  T* const part_sums = pieces + static_cast<std::int64_t>(units.size()) * columns;
  const auto count = static_cast<std::int64_t>(units.size());
  parallel_for(count, std::max<std::int64_t>(1, 2 * kPartElements * count / (rows * columns)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   add_up_rows(units[i].last - units[i].first, columns, x + units[i].first * columns,
                               pieces + i * columns);
                 }
               });
  for (int p = 0; p < parts; ++p) {
    const auto begin = static_cast<std::int64_t>(p > 0 ? units_end[p - 1] : 0);
    add_up_rows(static_cast<std::int64_t>(units_end[p]) - begin, columns, pieces + begin * columns,
                part_sums + p * columns);
  }
  add_chunks_as_tree(part_sums, parts, columns);
  std::copy_n(part_sums, columns, sums);
  return ok_status();
}

// 16-bit floats are added up in float32: bfloat16 as it is read, float16 widened block by block where the cache holds
// it.
struct HalfSums {
  bool read;                  // as it is
  std::int64_t block, parts;  // rows of a block; parts that are added up apart
  std::int64_t each;          // elements of every part: its sums; and those of a block, the block

  HalfSums(DType dtype, std::int64_t rows, std::int64_t columns) : read(dtype == DType::kBfloat16) {
    constexpr std::int64_t kBlockElements = 1 << 12;
    const std::int64_t whole = std::max<std::int64_t>(rows, 1);
    block = read ? whole : std::clamp<std::int64_t>(kBlockElements / columns, 1, whole);
    parts = std::clamp<std::int64_t>(rows * columns / kPartElements, 1, kParts);
    each = read ? columns : (2 + block) * columns;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(parts * each) * sizeof(float); }
};

Status half_column_sums(KernelContext& c, std::int64_t rows, std::int64_t columns, const Tensor& x, Tensor& sums) {
  if (columns == 0) return ok_status();
  const HalfSums cut(x.dtype(), rows, columns);
  const auto [read, block, parts, each] = cut;
  ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(cut.bytes()));
  float* const all = reinterpret_cast<float*>(memory.data());
  const std::int64_t grain = read ? 1 << 18 : 1 << 15;  // elements that are worth a thread
  const std::int64_t some_parts = std::max<std::int64_t>(1, grain * parts / std::max<std::int64_t>(rows * columns, 1));
  parallel_for(parts, some_parts, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      float *const total = all + p * each, *const some = total + columns, *const wide = some + columns;
      const std::int64_t first = rows * p / parts, last = rows * (p + 1) / parts;
      if (read) {
        add_up_rows(last - first, columns, x.raw_as<bfloat16>() + first * columns, total);
        continue;
      }
      std::fill_n(total, columns, 0.0f);
      for (std::int64_t r = first; r < last; r += block) {
        const std::int64_t n = std::min(block, last - r);
        widen(x.dtype(), static_cast<const std::byte*>(x.raw()) + r * columns * 2, wide, n * columns);
        add_up_rows(n, columns, wide, some);
        for (std::int64_t i = 0; i < columns; ++i) total[i] += some[i];
      }
    }
  });
  for (std::int64_t p = 1; p < parts; ++p) {
    for (std::int64_t i = 0; i < columns; ++i) all[i] += all[p * each + i];
  }
  narrow(x.dtype(), all, sums.raw(), columns);
  return ok_status();
}

template <bool fast>
class BiasAddGrad final : public Kernel, public Workspace {
 public:
  BiasAddGrad(bool nchw, ReductionChunks batch) : nchw_(nchw), batch_(batch) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const DType dtype = init.input_dtypes[0];
    if (fast && !is_floating(dtype)) {
      return unimplemented("no vectorised column sums of ", dtype_name(dtype));
    }
    return std::unique_ptr<Kernel>(std::make_unique<BiasAddGrad>(is_nchw(init), ReductionChunks::of(init.attrs)));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const BiasChannels at, channels_of("BiasAddGrad", x.shape(), nchw_));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const sums, c.output(0, {at.channels}));
    if (fast && at.inner == 1) {
      if (x.dtype() == DType::kFloat32) return float_sums<float>(c, at, x, *sums);
      if (x.dtype() == DType::kFloat64) return float_sums<double>(c, at, x, *sums);
      return half_column_sums(c, at.outer, at.channels, x, *sums);
    }
    return dispatch<NumberTypes>(x.dtype(), "BiasAddGrad", [&]<typename T>() {
      plain_sums(at, x.data<T>(), sums->data<T>());
      return ok_status();
    });
  }

  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    if (!fast) return 0;
    const auto shape = init.input_shapes[0].full();
    if (!shape.ok()) return std::nullopt;
    const auto at = channels_of("BiasAddGrad", *shape, nchw_);
    if (!at.ok() || at->inner != 1 || at->channels == 0) return 0;
    const std::int64_t rows = at->outer, columns = at->channels;
    const DType dtype = init.input_dtypes[0];
    if (element_bytes(dtype) == 2) return HalfSums(dtype, rows, columns).bytes();
    const auto row = static_cast<std::uint64_t>(columns) * element_bytes(dtype);
    if (rows > 0 && batch_.sums((*shape)[0])) {
      return (Units(rows, columns, (*shape)[0], batch_.count).all.size() + static_cast<std::size_t>(batch_.count)) *
             row;
    }
    return column_sums_bytes(rows, columns, element_bytes(dtype));
  }

 private:
  template <typename T>
  Status float_sums(KernelContext& c, const BiasChannels& at, const Tensor& x, Tensor& sums) const {
    const std::int64_t examples = x.shape()[0];
    if (x.elements() > 0 && batch_.sums(examples)) {
      return batch_column_sums(c, at.outer, at.channels, examples, batch_.count, x.raw_as<T>(), sums.raw_as<T>());
    }
    return column_sums(c, at.outer, at.channels, x.raw_as<T>(), sums.raw_as<T>());
  }

  bool nchw_;
  ReductionChunks batch_;
};

}  // namespace

Status sum_columns(KernelContext& c, std::int64_t rows, std::int64_t columns, const float* x, float* sums) {
  return column_sums(c, rows, columns, x, sums);
}

void add_kernels_cpu_bias(KernelRegistry& kernels) {
  for (const char* op : {"BiasAdd", "BiasAddV1"}) {
    kernels.add(op, "cpu", FastBiasAdd::make);
    kernels.add(op, "cpu", PlainBiasAdd::make);
  }
  kernels.add("BiasAddGrad", "cpu", BiasAddGrad<true>::make);
  kernels.add("BiasAddGrad", "cpu", BiasAddGrad<false>::make);
}

}  // namespace argosy
