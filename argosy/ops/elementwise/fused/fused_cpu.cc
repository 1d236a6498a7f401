// Terms. A *block* is a range of contiguous elements that all steps process before the next range. A *place* is a
// block's size of scratch memory in L1. It holds one of: a step's result that is no output; a repeated operand,
// expanded to a block (a *tile*); a result held back because its memory is that of an input still to be read.
#include <algorithm>
#include <cstring>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/elementwise/fused/fused.h"

namespace argosy {

namespace {

constexpr std::int64_t kScratchBytes = 32 << 10;  // of one thread, in its L1
constexpr std::int64_t kStep = 64;  // blocks are multiples of this: vectors begin where they would unfused
constexpr std::int64_t kLargestBlock = 2048;
constexpr std::size_t kMostValues = 64;

// z[i] = condition[i] ? t[i] : e[i], by size of the element.
template <typename T>
void select_span(const bool* condition, const void* t, const void* e, void* z, std::int64_t n) {
  const auto *const yes = static_cast<const T*>(t), *const no = static_cast<const T*>(e);
  auto* const to = static_cast<T*>(z);
  for (std::int64_t i = 0; i < n; ++i) to[i] = condition[i] ? yes[i] : no[i];
}

void select(std::int64_t bytes, const void* condition, const void* t, const void* e, void* z, std::int64_t n) {
  const auto* const c = static_cast<const bool*>(condition);
  switch (bytes) {
    case 1: return select_span<std::uint8_t>(c, t, e, z, n);
    case 2: return select_span<std::uint16_t>(c, t, e, z, n);
    case 4: return select_span<std::uint32_t>(c, t, e, z, n);
    default: return select_span<std::uint64_t>(c, t, e, z, n);
  }
}

// Writes elements first to first + n of an operand whose elements each repeat `size` times; by element size.
template <typename T>
void lay_runs_of(const std::byte* from, std::int64_t size, std::int64_t first, std::int64_t n, std::byte* to) {
  const T* one = reinterpret_cast<const T*>(from) + first / size;
  T *at = reinterpret_cast<T*>(to), *const end = at + n;
  for (T* next = at + std::min(n, size - first % size); at < end; next = std::min(end, at + size), ++one) {
    for (const T value = *one; at < next; ++at) *at = value;
  }
}
void lay_runs(std::int64_t bytes, const std::byte* from, std::int64_t size, std::int64_t first, std::int64_t n,
              std::byte* to) {
  switch (bytes) {
    case 1: return lay_runs_of<std::uint8_t>(from, size, first, n, to);
    case 2: return lay_runs_of<std::uint16_t>(from, size, first, n, to);
    case 4: return lay_runs_of<std::uint32_t>(from, size, first, n, to);
    default: return lay_runs_of<std::uint64_t>(from, size, first, n, to);
  }
}

class FusedKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const int inputs = static_cast<int>(init.input_dtypes.size());
    ARGOSY_ASSIGN_OR_RETURN(const FusedProgram program, FusedProgram::read(init.attrs, inputs));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, program.shape.full());
    if (program.steps.size() + static_cast<std::size_t>(inputs) > kMostValues) {
      return invalid_argument("_FusedElementwise: more than ", kMostValues, " values");
    }
    auto kernel = std::make_unique<FusedKernel>(shape, program.inputs);
    for (int i = 0; i < inputs; ++i) {
      const PartialShape& from = program.inputs[static_cast<std::size_t>(i)];
      const auto operand = fused_operand(from, program.shape);
      if (!operand) {
        return invalid_argument("_FusedElementwise: input ", i, " of shape ", from, " does not broadcast to ", shape);
      }
      kernel->values_.push_back({.bytes = bytes_of(init.input_dtypes[i]), .operand = *operand});
    }
    std::vector<DType> dtypes(init.input_dtypes.begin(), init.input_dtypes.end());
    for (const FusedStep& s : program.steps) {
      ARGOSY_RETURN_IF_ERROR(kernel->add_step(s, dtypes));
      dtypes.push_back(s.dtype);
    }
    if (program.results.size() != init.output_dtypes.size()) {
      return invalid_argument("_FusedElementwise: ", program.results.size(), " results for ", init.output_dtypes.size(),
                              " outputs");
    }
    for (std::size_t o = 0; o < program.results.size(); ++o) {
      kernel->values_[inputs + program.results[o]].output = static_cast<int>(o);
    }
    ARGOSY_RETURN_IF_ERROR(kernel->give_places(inputs));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  FusedKernel(Shape shape, std::vector<PartialShape> inputs) : shape_(std::move(shape)), inputs_(std::move(inputs)) {}

  Status run(KernelContext& c) override {
    ARGOSY_RETURN_IF_ERROR(check_fused_inputs(c, inputs_));
    Run r;
    const int inputs = c.num_inputs();
    for (int i = 0; i < inputs; ++i) r.memory[i] = static_cast<const std::byte*>(c.input(i).raw());
    for (std::size_t v = static_cast<std::size_t>(inputs); v < values_.size(); ++v) {
      if (values_[v].output < 0) continue;
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(values_[v].output, shape_));
      r.memory[v] = static_cast<std::byte*>(out->raw());
      for (const int input : values_[v].hazards) r.held[v] |= r.memory[input] == r.memory[v];
    }
    const std::int64_t n = shape_.elements();
    parallel_for((n + block_ - 1) / block_, grain_, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) std::byte scratch[kScratchBytes];
      lay_tiles(r, 0, block_, scratch, /*changing=*/false);
      for (std::int64_t b = begin; b < end; ++b) {
        run_block(r, b * block_, std::min(block_, n - b * block_), scratch);
      }
    });
    return ok_status();
  }

 private:
  struct ValueInfo {
    std::int64_t bytes = 0;   // of an element
    FusedOperand operand;     // of an input
    std::int64_t place = -1;  // offset in the scratch of a block
    bool tile = false;        // an input that is read from its place
    bool direct = false;      // … but for this one, whose period no block crosses
    int output = -1;
    int last_use = -1;         // step
    std::vector<int> hazards;  // of an output: inputs still read after it is written
  };
  struct StepInfo {
    FusedFunction function;
    std::array<int, 3> operands{};
    DType half = DType::kInvalid;  // the 16-bit dtype that goes through float32
    bool half_result = false;
    int result = 0;
  };
  // The data of one call: the memory of inputs and outputs, and which outputs are held back.
  struct Run {
    std::array<const std::byte*, kMostValues> memory{};
    std::array<bool, kMostValues> held{};
  };

  static std::int64_t bytes_of(DType d) { return static_cast<std::int64_t>(element_bytes(d)); }

  Status add_step(const FusedStep& s, const std::vector<DType>& dtypes) {
    std::vector<DType> operands;
    const int index = static_cast<int>(steps_.size());
    StepInfo info{.operands = s.operands, .result = static_cast<int>(values_.size())};
    for (const int v : s.operands) {
      if (v < 0) break;
      operands.push_back(dtypes[v]);
      values_[v].last_use = index;
    }
    const auto function = fused_function(s.op, operands, s.dtype);
    if (!function) return unimplemented("_FusedElementwise: no span for ", s.op, " of ", dtype_name(operands[0]));
    info.function = *function;
    if (function->as_float) {
      info.half = operands[0];
      info.half_result = s.dtype == operands[0];
      halves_ = true;
    }
    work_ += function->work == Work::kFunction ? 8 : 1;
    // A binary span takes a constant operand as it is, if the other one steps; else as a tile.
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const int v = s.operands[k];
      if (values_[v].operand.kind == FusedOperand::Kind::kFull) continue;
      const bool as_it_is =
          is_still(v) && function->unary == nullptr && !function->select &&
          (k == 0 ? !is_still(s.operands[1]) : !is_still(s.operands[0]) || values_[s.operands[0]].tile);
      values_[v].tile |= !as_it_is;
    }
    steps_.push_back(info);
    values_.push_back({.bytes = bytes_of(s.dtype)});
    return ok_status();
  }
  bool is_still(int v) const { return values_[v].operand.kind == FusedOperand::Kind::kOne; }

  // Assigns places to the values that need one; the place of a value that is not read any more is reused.
  Status give_places(int inputs) {
    const auto take = [&](std::int64_t bytes) {
      const std::int64_t at = per_element_;
      per_element_ += bytes;
      return at;
    };
    for (int v = 0; v < inputs; ++v) {
      if (values_[v].tile) values_[v].place = take(values_[v].bytes);
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> free;  // (bytes of an element, place)
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      ValueInfo& result = values_[steps_[s].result];
      if (result.output >= 0) {
        for (int v = 0; v < inputs; ++v) {
          const bool full = values_[v].operand.kind == FusedOperand::Kind::kFull || shape_.elements() == 1;
          const bool whole = full && values_[v].bytes == result.bytes;
          if (whole && values_[v].last_use > static_cast<int>(s)) result.hazards.push_back(v);
        }
        if (!result.hazards.empty()) result.place = take(result.bytes);
      } else {
        const auto fit = std::find_if(free.begin(), free.end(), [&](auto& f) { return f.first == result.bytes; });
        result.place = fit != free.end() ? fit->second : take(result.bytes);
        if (fit != free.end()) free.erase(fit);
      }
      for (const int v : steps_[s].operands) {
        if (v < inputs || values_[v].output >= 0 || values_[v].last_use != static_cast<int>(s)) continue;
        const std::pair<std::int64_t, std::int64_t> place{values_[v].bytes, values_[v].place};
        if (std::find(free.begin(), free.end(), place) == free.end()) free.push_back(place);
      }
    }
    if (halves_) {
      wide_ = take(4);
      take(4);
    }
    const std::int64_t most = per_element_ == 0 ? kLargestBlock : kScratchBytes / per_element_ / kStep * kStep;
    block_ = std::min(kLargestBlock, most);
    if (block_ == 0) return unimplemented("_FusedElementwise: too many values at once");
    for (ValueInfo& v : values_) {
      v.direct = v.tile && v.operand.kind == FusedOperand::Kind::kPeriodic && v.operand.size % block_ == 0;
    }
    grain_ = std::max<std::int64_t>(1, grain_of(Work::kArithmetic) / work_ / block_);
    return ok_status();
  }

  // True if the operand's tile differs between blocks.
  bool changes(const FusedOperand& o) const {
    return o.kind == FusedOperand::Kind::kRuns || (o.kind == FusedOperand::Kind::kPeriodic && block_ % o.size != 0);
  }
  void lay_tiles(const Run& r, std::int64_t first, std::int64_t n, std::byte* scratch, bool changing) const {
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const ValueInfo& value = values_[v];
      if (value.tile && !value.direct && changes(value.operand) == changing) {
        lay_tile(value, r.memory[v], first, n, scratch + value.place * block_);
      }
    }
  }
  static void lay_tile(const ValueInfo& value, const std::byte* from, std::int64_t first, std::int64_t n,
                       std::byte* to) {
    const std::int64_t bytes = value.bytes, size = value.operand.size;
    if (value.operand.kind == FusedOperand::Kind::kRuns) return lay_runs(bytes, from, size, first, n, to);
    // Writes one period, from the right offset on, then doubles it until the tile is full.
    const std::int64_t start = first % size, head = std::min(n, size - start);
    std::memcpy(to, from + start * bytes, static_cast<std::size_t>(head * bytes));
    std::int64_t done = head;
    const std::int64_t rest = std::min(n, size) - head;
    if (rest > 0) std::memcpy(to + done * bytes, from, static_cast<std::size_t>(rest * bytes));
    done += std::max<std::int64_t>(rest, 0);
    while (done < n) {
      const std::int64_t more = std::min(n - done, done);
      std::memcpy(to + done * bytes, to, static_cast<std::size_t>(more * bytes));
      done += more;
    }
  }

  void run_block(const Run& r, std::int64_t first, std::int64_t n, std::byte* scratch) const {
    lay_tiles(r, first, n, scratch, /*changing=*/true);
    const auto at = [&](int v) -> const std::byte* {
      const ValueInfo& value = values_[v];
      if (value.direct) return r.memory[v] + first % value.operand.size * value.bytes;
      if (value.tile || r.memory[v] == nullptr || r.held[v]) return scratch + value.place * block_;
      return is_still(v) ? r.memory[v] : r.memory[v] + first * value.bytes;
    };
    for (const StepInfo& s : steps_) {
      auto* const to = const_cast<std::byte*>(at(s.result));
      const std::byte* const x = at(s.operands[0]);
      const std::byte* const y = s.operands[1] >= 0 ? at(s.operands[1]) : nullptr;
      if (s.function.select) {
        select(values_[s.result].bytes, x, y, at(s.operands[2]), to, n);
      } else if (y == nullptr) {
        s.half == DType::kInvalid ? s.function.unary(x, to, n) : wide_unary(s, x, to, n, scratch);
      } else {
        const bool x_steps = values_[s.operands[0]].tile || !is_still(s.operands[0]);
        const bool y_steps = values_[s.operands[1]].tile || !is_still(s.operands[1]);
        const BinarySpans& spans = s.function.binary;
        const BinarySpan span = !x_steps ? spans.left_one : !y_steps ? spans.right_one : spans.both;
        s.half == DType::kInvalid ? span(x, y, to, n) : wide_binary(s, span, x, x_steps, y, y_steps, to, n, scratch);
      }
    }
    for (std::size_t v = 0; v < values_.size(); ++v) {
      if (!r.held[v]) continue;
      std::memcpy(const_cast<std::byte*>(r.memory[v]) + first * values_[v].bytes, scratch + values_[v].place * block_,
                  static_cast<std::size_t>(n * values_[v].bytes));
    }
  }

  float* wide(std::byte* scratch, int which) const {
    return reinterpret_cast<float*>(scratch + (wide_ + 4 * which) * block_);
  }
  void wide_unary(const StepInfo& s, const std::byte* x, std::byte* to, std::int64_t n, std::byte* scratch) const {
    float* const xs = wide(scratch, 0);
    widen(s.half, x, xs, n);
    s.function.unary(xs, s.half_result ? static_cast<void*>(xs) : to, n);
    if (s.half_result) narrow(s.half, xs, to, n);
  }
  void wide_binary(const StepInfo& s, BinarySpan span, const std::byte* x, bool x_steps, const std::byte* y,
                   bool y_steps, std::byte* to, std::int64_t n, std::byte* scratch) const {
    float *const xs = wide(scratch, 0), *const ys = wide(scratch, 1);
    widen(s.half, x, xs, x_steps ? n : 1);
    widen(s.half, y, ys, y_steps ? n : 1);
    float* const zs = x_steps ? xs : ys;
    span(xs, ys, s.half_result ? static_cast<void*>(zs) : to, n);
    if (s.half_result) narrow(s.half, zs, to, n);
  }

  const Shape shape_;
  const std::vector<PartialShape> inputs_;  // shapes of
  std::vector<ValueInfo> values_;
  std::vector<StepInfo> steps_;
  std::int64_t work_ = 0;         // of an element, in arithmetic steps
  std::int64_t per_element_ = 0;  // bytes of scratch
  std::int64_t wide_ = 0;         // place of two blocks of float32
  std::int64_t block_ = 0, grain_ = 1;
  bool halves_ = false;
};

}  // namespace

void add_kernels_cpu_fused(KernelRegistry& kernels) { kernels.add("_FusedElementwise", "cpu", FusedKernel::make); }

}  // namespace argosy
