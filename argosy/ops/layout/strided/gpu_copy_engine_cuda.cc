#include "argosy/ops/layout/strided/gpu_copy_engine.h"

#include <cstring>

#include "argosy/ops/layout/strided/region_walk.h"
#include "argosy/ops/ops.h"

namespace argosy::cuda {

namespace {

constexpr const char* kModule = "move";

// As in sums_and_checks_cuda.cu.
struct EightPointers {
  const void* at[8];
};

std::string_view suffix_of(std::size_t bytes) {
  switch (bytes) {
    case 1: return "b1";
    case 2: return "b2";
    case 4: return "b4";
    case 8: return "b8";
    default: return "b16";
  }
}

// Matrices turned over: to[b][c][r] = from[b][r][c], both sides dense. The sizes, or nothing.
struct Turn {
  std::int64_t batches = 1, rows = 0, columns = 0;
};
std::optional<Turn> as_turn(const RegionAxes& axes) {
  if (axes.n != 2 && axes.n != 3) return std::nullopt;
  const Axis &c = axes.axis[static_cast<std::size_t>(axes.n - 2)], &r = axes.axis[static_cast<std::size_t>(axes.n - 1)];
  if (r.to != 1 || c.to != r.size || c.from != 1 || r.from != c.size) return std::nullopt;
  Turn turn{1, r.size, c.size};
  if (axes.n == 3) {
    const Axis& b = axes.axis[0];
    if (b.to != r.size * c.size || b.from != b.to) return std::nullopt;
    turn.batches = b.size;
  }
  return turn;
}

// Neighbours that stay neighbours go together, as elements of twice the size: fewer and longer reads and writes.
bool goes_in_pairs(const StridedIndex<2>& strided, std::size_t bytes, const void* to, const void* from) {
  const int inner = strided.rank - 1;
  if (bytes > 8 || strided.sizes[inner] % 2 != 0) return false;
  for (const auto& strides : strided.strides) {
    if (strides[inner] != 1) return false;
    for (int axis = 0; axis < inner; ++axis) {
      if (strides[axis] % 2 != 0) return false;
    }
  }
  const auto lies = [&](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % (2 * bytes) == 0; };
  return lies(to) && lies(from);
}
void pair_up(StridedIndex<2>& strided) {
  const int inner = strided.rank - 1;
  strided.sizes[inner] /= 2;
  for (auto& strides : strided.strides) {
    for (int axis = 0; axis < inner; ++axis) strides[axis] /= 2;
  }
  if (inner > 0 && strided.sizes[inner] == 1) strided.rank = inner;
}

class Moving final : public Kernel {
 public:
  Moving(std::unique_ptr<Kernel> moved, bool capturable) : moved_(std::move(moved)), capturable_(capturable) {}
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override { return run_with_copy_engine(*moved_, c); }

 private:
  const std::unique_ptr<Kernel> moved_;
  const bool capturable_;
};

}  // namespace

Status run_with_copy_engine(Kernel& kernel, KernelContext& c) {
  GpuCopyEngine copy_engine(c);
  KernelContext::Fields fields = c.fields();
  fields.copy_engine = &copy_engine;
  KernelContext with_copy_engine(fields);
  ARGOSY_RETURN_IF_ERROR(kernel.run(with_copy_engine));
  return copy_engine.status();
}

void GpuCopyEngine::move(void* to, const void* from, std::size_t bytes, const Region& region) {
  Status done = try_move(to, from, bytes, region);
  if (status_.ok()) status_ = std::move(done);
}

Status GpuCopyEngine::try_move(void* to, const void* from, std::size_t bytes, const Region& region) {
  const RegionAxes axes(region, 1);
  if (axes.nothing) return ok_status();
  const std::int64_t n = axes.product();
  if (axes.n == 0 || (axes.n == 1 && axes.axis[0].to == 1 && axes.axis[0].from == 1)) {
    return device_of(*context_.device()).copy(to, from, static_cast<std::size_t>(n) * bytes);
  }
  const std::string suffix(suffix_of(bytes));
  if (const auto turn = as_turn(axes)) {
    LaunchShape shape{.block = {32, 8, 1}};
    const std::int64_t tiles = turn->batches * ((turn->rows + 31) / 32) * ((turn->columns + 31) / 32);
    shape.grid.x = static_cast<unsigned>(std::min<std::int64_t>(tiles, kMostBlocks));
    return launch(context_, {kModule, "turn_" + suffix}, shape, turn->batches, turn->rows, turn->columns, to, from);
  }
  StridedIndex<2> strided{};
  if (axes.n > StridedIndex<2>::kMaxRank) {
    return unimplemented("a copy over ", axes.n, " axes that cannot be merged; a GPU walks at most ",
                         StridedIndex<2>::kMaxRank)
        .with_hint("place the node on a CPU");
  }
  strided.rank = axes.n;
  for (int i = 0; i < axes.n; ++i) {
    const Axis& a = axes.axis[static_cast<std::size_t>(i)];
    strided.sizes[i] = a.size;
    strided.strides[0][i] = a.to;
    strided.strides[1][i] = a.from;
  }
  std::int64_t moves = n;
  while (goes_in_pairs(strided, bytes, to, from)) {
    pair_up(strided);
    bytes *= 2;
    moves /= 2;
  }
  return launch(context_, {kModule, str_cat("move_", suffix_of(bytes))}, grid_for(moves), moves, to, from, strided);
}

void GpuCopyEngine::fill(void* to, std::int64_t elements, std::size_t bytes, const void* value) {
  if (elements == 0) return;
  const std::string kernel = str_cat("fill_", suffix_of(bytes));
  const auto start = [&]<typename T>(T v) {
    std::memcpy(&v, value, sizeof v);
    Status done = launch(context_, {kModule, kernel}, grid_for(elements), elements, to, v);
    if (status_.ok()) status_ = std::move(done);
  };
  switch (bytes) {
    case 1: return start(std::uint8_t{});
    case 2: return start(std::uint16_t{});
    case 4: return start(std::uint32_t{});
    case 8: return start(std::uint64_t{});
    default: return start(Bytes16{});
  }
}

Status broadcast_on_gpu(KernelContext& c, const Tensor& x, const Tensor& y) {
  if (y.elements() == 0) return ok_status();
  const Shape& shape = y.shape();
  Region region{Ints(shape.sizes()), row_major(shape.sizes()), Ints::filled(shape.rank(), 0)};
  const Ints strides = row_major(x.shape().sizes());
  const int missing = shape.rank() - x.shape().rank();
  for (int i = missing; i < shape.rank(); ++i) region.from[i] = x.shape()[i - missing] == 1 ? 0 : strides[i - missing];
  GpuCopyEngine copy_engine(c);
  copy_engine.move(y.raw(), x.raw(), element_bytes(x.dtype()), region);
  return copy_engine.status();
}

bool GpuCopyEngine::add(void* to, const void* a, const void* b, std::int64_t elements, DType dtype) {
  if (!is_floating(dtype) && !is_complex(dtype)) return false;
  const EightPointers both{{a, b}};
  Status done = launch(context_, {"sums_and_checks", str_cat("add_n_", number_suffix(dtype))},
                       grid_for_vecs(elements, element_bytes(dtype)), elements, 2, both, to, 0);
  if (status_.ok()) status_ = std::move(done);
  return true;
}

Result<std::unique_ptr<Kernel>> make_layout(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(auto moved, cpu_kernels().make(init, "layout"));
  return std::unique_ptr<Kernel>(std::make_unique<Moving>(std::move(moved), reads_constants_only(init)));
}

}  // namespace argosy::cuda
