// Elementwise kernels and reductions through the full kernel interface, beside the memory limit of the same bytes,
// interleaved in one run: what memcpy takes for them. Also the cost of an op on one element.
//   bench_kernels_elementwise [THREADS [ROUNDS]]
#include <cstdlib>
#include <cstring>
#include <memory>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/ops.h"
#include "benchmarks/measure.h"

namespace {

using namespace argosy;
using benchmark::Times;

// One op on given inputs, made once and run as a step would: into planned memory.
class Run {
 public:
  Run(const char* op, std::vector<Tensor> inputs, DType dtype, Shape output)
      : op_(*builtin_ops().find(op)), inputs_(std::move(inputs)), output_(Tensor::zeros(dtype, std::move(output))) {
    for (const Tensor& t : inputs_) {
      pointers_.push_back(&t);
      dtypes_.push_back(t.dtype());
      shapes_.emplace_back(t.shape());
    }
    AttrMap attrs;
    if (op == std::string_view("Cast")) attrs.set("DstT", dtype);
    ARGOSY_CHECK(complete_attrs(op_, dtypes_, attrs).ok());
    const std::vector<DType> outputs = {dtype};
    const std::vector<PartialShape> output_shapes = {output_.shape()};
    const KernelInit init{.op = op_,
                          .attrs = attrs,
                          .node = op,
                          .input_dtypes = dtypes_,
                          .output_dtypes = outputs,
                          .input_shapes = shapes_,
                          .output_shapes = output_shapes};
    kernel_ = cpu_kernels().make(init, "cpu").value();
    slot_ = {&output_, true};
    output_dtype_ = dtype;
  }

  void operator()() {
    slot_.planned = true;
    KernelContext context({.inputs = pointers_.data(),
                           .num_inputs = static_cast<int>(pointers_.size()),
                           .outputs = &slot_,
                           .num_outputs = 1,
                           .output_dtypes = &output_dtype_,
                           .allocator = &host_allocator()});
    ARGOSY_CHECK(kernel_->run(context).ok());
  }

  std::size_t bytes() const {
    std::size_t sum = output_.bytes();
    for (const Tensor& t : inputs_) sum += t.bytes();
    return sum;
  }

 private:
  const OpDef& op_;
  std::vector<Tensor> inputs_;
  Tensor output_;
  std::vector<const Tensor*> pointers_;
  std::vector<DType> dtypes_;
  std::vector<PartialShape> shapes_;
  DType output_dtype_;
  OutputSlot slot_;
  std::unique_ptr<Kernel> kernel_;
};

// memcpy that moves as many bytes, read and written together, on as many cores.
class Copy {
 public:
  explicit Copy(std::size_t bytes) : from_(bytes / 2 + 1, 1), to_(bytes / 2 + 1, 0) {}
  void operator()() {
    parallel_for(static_cast<std::int64_t>(from_.size()), 1 << 17, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to_.data() + begin, from_.data() + begin, static_cast<std::size_t>(end - begin));
    });
  }

 private:
  std::vector<char> from_, to_;
};

void row(const char* name, std::int64_t elements, Run run, int rounds) {
  Copy copy(run.bytes());
  Times ours, limit;
  const int repeats = static_cast<int>(std::max<std::int64_t>(1, 2'000'000 / elements));
  for (int round = 0; round < rounds; ++round) {
    ours.add(benchmark::time_of(repeats, run));
    limit.add(benchmark::time_of(repeats, copy));
  }
  const double per_element = 1e9 / static_cast<double>(elements);
  std::printf("%-22s %9lld  %8.3f %8.3f ns   limit %8.3f ns   ratio %5.2f\n", name, static_cast<long long>(elements),
              ours.min() * per_element, ours.median() * per_element, limit.min() * per_element,
              ours.min() / limit.min());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_thread_budget(std::atoi(argv[1]));
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  const auto floats = [](Shape shape) {  // in (0.5, 1.5): where every function below is itself
    Tensor t = Tensor::zeros(DType::kFloat32, std::move(shape));
    std::uint32_t bits = 1;
    for (float& v : t.values<float>())
      v = 0.5f + static_cast<float>((bits = bits * 1664525u + 1013904223u) >> 8) * 0x1p-24f;
    return t;
  };
  std::printf("%d thread(s); ns per element, smallest and median of %d rounds; limit: memcpy of as many bytes\n",
              thread_budget(), rounds);
  row("scalar AddV2", 1, Run("AddV2", {floats({}), floats({})}, DType::kFloat32, {}), rounds);
  row("scalar Tanh", 1, Run("Tanh", {floats({})}, DType::kFloat32, {}), rounds);
  row("scalar Less", 1, Run("Less", {floats({}), floats({})}, DType::kBool, {}), rounds);
  for (const std::int64_t n : {1'000, 10'000, 100'000, 1'000'000, 10'000'000}) {
    for (const char* op : {"Neg", "Sqrt", "Exp", "Log", "Tanh", "Sigmoid", "Erf", "Sin"}) {
      row(op, n, Run(op, {floats({n})}, DType::kFloat32, {n}), rounds);
    }
    row("AddV2", n, Run("AddV2", {floats({n}), floats({n})}, DType::kFloat32, {n}), rounds);
    row("RealDiv", n, Run("RealDiv", {floats({n}), floats({n})}, DType::kFloat32, {n}), rounds);
    row("Mul by one", n, Run("Mul", {floats({n}), floats({})}, DType::kFloat32, {n}), rounds);
    row("AddV2 row of 100", n, Run("AddV2", {floats({n / 100, 100}), floats({100})}, DType::kFloat32, {n / 100, 100}),
        rounds);
    row("AddV2 row of 4", n, Run("AddV2", {floats({n / 4, 4}), floats({4})}, DType::kFloat32, {n / 4, 4}), rounds);
    row("Less", n, Run("Less", {floats({n}), floats({n})}, DType::kBool, {n}), rounds);
    row("Cast to bfloat16", n, Run("Cast", {floats({n})}, DType::kBfloat16, {n}), rounds);
    const auto axes = [](std::int32_t a) { return Tensor::vector<std::int32_t>({a}); };
    row("Sum", n, Run("Sum", {floats({n}), axes(0)}, DType::kFloat32, {}), rounds);
    row("Sum rows of 100", n, Run("Sum", {floats({n / 100, 100}), axes(1)}, DType::kFloat32, {n / 100}), rounds);
    row("Sum columns of 100", n, Run("Sum", {floats({n / 100, 100}), axes(0)}, DType::kFloat32, {100}), rounds);
    row("Sum columns of 10", n, Run("Sum", {floats({n / 10, 10}), axes(0)}, DType::kFloat32, {10}), rounds);
    row("Max", n, Run("Max", {floats({n}), axes(0)}, DType::kFloat32, {}), rounds);
  }
  return 0;
}
