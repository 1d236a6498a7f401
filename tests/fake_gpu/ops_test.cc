// Runs every op case of the harness on the CPU and on a GPU, in every dtype, forwards and backwards, and compares the
// results. The op tests of this build wrote the cases (argosy/testing/op_cases/op_dump.h). The GPU is the machine's; without
// one, a fake GPU runs our kernels as host code.
//
//   cuda_ops_test --cases build/release/op_cases [--fake] [--op NAME] [--few N] [--orders] [--list] [--spoil]
//
// --few: for an op with the same dtypes and flags, stops after N cases in a row that used no new kernel.
// --orders: runs the fake GPU twice with --reproducible, the second time with the threads of every kernel in another
// order; the bits must be equal.
// --fake: does not use the machine's GPU.
// --list: for every op, the number of cases, of cases on the GPU, and of gradient nodes.
// --spoil: changes the GPU's results; the test must report that.
// Exit code: 0; 1 a difference; 77 no cases.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "argosy/device/gpu_discovery.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/case_flags.h"
#include "argosy/testing/host_compiler.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/case_run.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

struct Flags : CaseFlags {
  bool fake = false, spoil = false, orders = false;
};

struct Tally {
  int cases = 0, on_gpu = 0;                // forwards
  int gradients = 0, nodes = 0, there = 0;  // backwards: nodes, and those of them on the GPU
  std::set<std::string> dtypes;             // of forward cases on the GPU
};

// Numbers that nobody can know: from a seed that the op takes for itself.
bool has_hidden_state(const OpDef& op, const AttrMap& attrs) {
  if (op.name == "NonDeterministicInts") return true;
  return op.stateful && attrs.find("seed") != nullptr && attrs.get_or<std::int64_t>("seed", 0) == 0 &&
         attrs.get_or<std::int64_t>("seed2", 0) == 0;
}

// Ops that refuse some values on the CPU, and on a GPU do not look, as TensorFlow's do not: that would take the step
// to the host and back. What lies outside a table gives zeros or is left out; a label outside gives NaN.
constexpr std::string_view kDoNotLook[] = {"Gather",
                                           "GatherV2",
                                           "GatherNd",
                                           "ReverseSequence",
                                           "CropAndResize",
                                           "SparseSegment",
                                           "SparseTensorDenseMatMul",
                                           "SparseToDense",
                                           "Div",
                                           "Mod",
                                           "Pow",
                                           "MaxPoolGradWithArgmax",
                                           "ResourceGather",
                                           "ScatterNd",
                                           "TensorScatter",
                                           "UnsortedSegment",
                                           "SparseSoftmaxCrossEntropyWithLogits",
                                           "ApplyProximalAdagrad",
                                           "SparseApplyFtrl"};
bool does_not_look(std::string_view op) {
  return std::any_of(std::begin(kDoNotLook), std::end(kDoNotLook),
                     [&](std::string_view one) { return op.find(one) != op.npos; });
}

// `got` with the elements of `expected` where both are complex and not finite. A GPU rounds a product and a sum as one:
// where parts overflow, one way finds inf, the other inf - inf.
Tensor with_overflow_of(const Tensor& got, const Tensor& expected) {
  if (!is_complex(got.dtype()) || got.dtype() != expected.dtype() || !(got.shape() == expected.shape())) return got;
  Tensor result = got.clone();
  const std::size_t bytes = element_bytes(got.dtype());
  const auto finite = [&](const Tensor& t, std::int64_t i) {
    const auto both = [i](const auto* parts) { return std::isfinite(parts[2 * i]) && std::isfinite(parts[2 * i + 1]); };
    return t.dtype() == DType::kComplex64 ? both(static_cast<const float*>(t.raw()))
                                          : both(static_cast<const double*>(t.raw()));
  };
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    if (finite(got, i) || finite(expected, i)) continue;
    const std::size_t at = static_cast<std::size_t>(i) * bytes;
    std::memcpy(static_cast<std::byte*>(result.raw()) + at, static_cast<const std::byte*>(expected.raw()) + at, bytes);
  }
  return result;
}

// Where the two differ; empty: nowhere. Values that the case does not look at are left out.
std::string difference(const RecordedCase& c, const CaseRun& gpu, const CaseRun& cpu, bool backwards) {
  if (gpu.status.ok() && cpu.status.code() == Code::kInvalidArgument && does_not_look(c.op)) return "";
  if (cpu.status.ok() != gpu.status.ok() || cpu.status.code() != gpu.status.code()) {
    return str_cat("on the GPU ", gpu.status.ok() ? "it runs" : gpu.status.to_string(), ", on the CPU ",
                   cpu.status.ok() ? "it runs" : cpu.status.to_string());
  }
  if (gpu.values.size() != cpu.values.size()) return "another number of values";
  for (std::size_t i = 0; i < gpu.values.size(); ++i) {
    const Tensor& expected = cpu.values[i];
    const bool looked_at = backwards || c.changes_variables || i >= c.outputs.size() || c.outputs[i].valid();
    if (!looked_at || !expected.valid()) continue;
    const double tolerance = dtype_tolerance(expected.dtype(), c.tolerance) * (backwards ? 2 : 1);
    const std::string wrong = argosy::difference(with_overflow_of(gpu.values[i], expected), expected, tolerance);
    if (!wrong.empty()) return str_cat("value ", i, ": ", wrong);
  }
  return "";
}

// Where two runs of the GPU differ in a bit.
std::string difference_of_bits(const RecordedCase& c, const CaseRun& a, const CaseRun& b, bool backwards) {
  if (a.status.code() != b.status.code()) return str_cat(a.status.to_string(), " and ", b.status.to_string());
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const Tensor &x = a.values[i], &y = b.values[i];
    const bool looked_at = backwards || c.changes_variables || i >= c.outputs.size() || c.outputs[i].valid();
    if (!looked_at || !x.valid() || !is_plain(x.dtype())) continue;
    if (x.bytes() != y.bytes() || std::memcmp(x.raw(), y.raw(), x.bytes()) != 0)
      return str_cat("value ", i, " has other bits: ", argosy::difference(x, y, 0));
  }
  return "";
}

std::string describe(const RecordedCase& c) {
  std::string text = str_cat(c.op, " (", c.test, ")");
  for (const Tensor& t : c.inputs) {
    if (t.valid()) text += str_cat(" ", dtype_name(t.dtype()), t.shape());
  }
  for (const auto& [name, value] : c.attrs) text += str_cat(" ", name, "=", attr_to_string(value));
  return text;
}

class Comparison {
 public:
  // `fake`: where there is one.
  Comparison(std::function<std::shared_ptr<DeviceSet>()> make, Flags flags, cuda::fake::FakeDriver* fake)
      : make_(std::move(make)), flags_(std::move(flags)), fake_(fake) {}

  void run(const RecordedCase& c) {
    const OpDef* op = builtin_ops().find(c.op);
    if (op == nullptr || op->async || (!flags_.op.empty() && flags_.op != c.op)) return;
    if (has_hidden_state(*op, c.attrs)) return;
    int* const old = flags_.few > 0 ? &old_[kind_of(c)] : nullptr;
    if (old != nullptr && *old >= flags_.few) return;
    const std::size_t kernels = fake_ != nullptr ? fake_->different_kernels() : 0;
    compare(c, *op);
    if (old != nullptr && fake_->different_kernels() == kernels) {
      ++*old;
    } else if (old != nullptr) {
      *old = 0;
    }
  }

  int differences() const { return differences_; }

  void print() const {
    Tally all;
    int ops = 0;
    if (flags_.list)
      std::printf("%-40s %6s %8s %9s %6s %8s  %s\n", "op", "cases", "on GPU", "gradients", "nodes", "on GPU",
                  "dtypes on the GPU");
    for (const auto& [op, t] : tallies_) {
      std::string dtypes;
      for (const std::string& d : t.dtypes) dtypes += d + " ";
      if (flags_.list) {
        std::printf("%-40s %6d %8d %9d %6d %8d  %s\n", op.c_str(), t.cases, t.on_gpu, t.gradients, t.nodes, t.there,
                    dtypes.c_str());
      }
      all.cases += t.cases;
      all.on_gpu += t.on_gpu;
      all.gradients += t.gradients;
      all.nodes += t.nodes;
      all.there += t.there;
      if (t.on_gpu > 0) ++ops;
    }
    std::printf(
        "%d cases of %zu ops, %d of them on the GPU (%d ops); %d gradients, %d of their %d nodes there; %d differ\n",
        all.cases, tallies_.size(), all.on_gpu, ops, all.gradients, all.there, all.nodes, differences_);
  }

 private:
  static std::string kind_of(const RecordedCase& c) {
    std::string kind = c.op;
    for (const Tensor& t : c.inputs) kind += t.valid() ? str_cat(" ", dtype_name(t.dtype())) : " none";
    for (const auto& [name, value] : c.attrs) {
      const bool flag = std::holds_alternative<bool>(value) && name != "use_locking";  // may choose another kernel
      if (flag || std::holds_alternative<DType>(value)) kind += str_cat(" ", attr_to_string(value));
    }
    return kind;
  }

  // The GPU beside the CPU.
  void compare(const RecordedCase& c, const OpDef& op) {
    if (compared_++ % kCasesOfAMachine == 0) {
      device_set_.reset();
      device_set_ = make_();
    }
    Tally& tally = tallies_[c.op];
    ++tally.cases;
    const bool known = c.error == Code::kOk;  // else the kernel shall see it, not the graph's builder
    const bool has_gradient = !c.changes_variables && op.gradient != kNotDifferentiable;
    const bool has_kernel = device_set_->kernels().has(c.op, "cuda");
    if (!has_kernel && !has_gradient) return;
    if (flags_.orders) return compare_orders(c, has_kernel, has_gradient, known);
    const CaseRun cpu = run_forward(device_set_, "/cpu:0", c, known);
    if (has_kernel) {
      CaseRun gpu = run_forward(device_set_, "/gpu:0", c, known);
      if (flags_.spoil) spoil(gpu);
      report(c, "", difference(c, gpu, cpu, false));
      if (gpu.on_device > 0) {
        ++tally.on_gpu;
        for (const Tensor& t : c.inputs) {
          if (t.valid()) tally.dtypes.insert(std::string(dtype_name(t.dtype())));
        }
      }
    }
    if (!cpu.status.ok() || !has_gradient) return;
    const CaseRun slopes = run_gradient(device_set_, "/cpu:0", c, cpu.values);
    if (slopes.status.ok() && slopes.values.empty()) return;
    CaseRun there = run_gradient(device_set_, "/gpu:0", c, cpu.values);
    if (flags_.spoil) spoil(there);
    ++tally.gradients;
    tally.nodes += there.on_device + there.elsewhere;
    tally.there += there.on_device;
    report(c, "gradient: ", difference(c, there, slopes, true));
  }

  // The GPU beside itself. What changes variables does so before its gradient is asked for.
  void compare_orders(const RecordedCase& c, bool has_kernel, bool has_gradient, bool known) {
    const auto in_order = [&](std::uint64_t seed, bool backwards, const std::vector<Tensor>& outputs) {
      fake_->set_order(seed);
      CaseRun run = backwards ? run_gradient(device_set_, "/gpu:0", c, outputs, true)
                              : run_forward(device_set_, "/gpu:0", c, known, true);
      if (flags_.spoil && seed != 0) spoil(run);
      return run;
    };
    const CaseRun first = in_order(0, false, {});
    Tally& tally = tallies_[c.op];
    if (has_kernel) {
      if (first.on_device > 0) ++tally.on_gpu;
      for (const std::uint64_t seed : kOrders)
        report(c, "", difference_of_bits(c, first, in_order(seed, false, {}), false));
    }
    if (!first.status.ok() || !has_gradient) return;
    const CaseRun slopes = in_order(0, true, first.values);
    if (slopes.on_device == 0) return;
    ++tally.gradients;
    tally.nodes += slopes.on_device + slopes.elsewhere;
    tally.there += slopes.on_device;
    for (const std::uint64_t seed : kOrders)
      report(c, "gradient: ", difference_of_bits(c, slopes, in_order(seed, true, first.values), true));
  }

  // As a wrong kernel would.
  static void spoil(CaseRun& run) {
    for (Tensor& t : run.values) {
      if (t.valid() && t.dtype() == DType::kFloat32 && t.elements() > 0) t.data<float>()[t.elements() - 1] += 1;
    }
  }

  void report(const RecordedCase& c, const char* which, const std::string& wrong) {
    if (wrong.empty()) return;
    ++differences_;
    std::printf("DIFFERS %s: %s%s\n", describe(c).c_str(), which, wrong.c_str());
  }

  // Memory of devices is given back now and then.
  static constexpr int kCasesOfAMachine = 500;
  static constexpr std::uint64_t kOrders[] = {1, 1000};
  const std::function<std::shared_ptr<DeviceSet>()> make_;
  std::shared_ptr<DeviceSet> device_set_;
  const Flags flags_;
  cuda::fake::FakeDriver* const fake_;
  std::map<std::string, int> old_;  // by kind, how many cases one after another showed no new kernel
  int compared_ = 0;
  std::map<std::string, Tally> tallies_;
  int differences_ = 0;
};

// The machine's GPUs, if any of them can be used.
std::shared_ptr<GpuBackend> real_gpus() {
  const GpuReport found = look_for_gpus({});
  const bool usable =
      std::any_of(found.facts.begin(), found.facts.end(), [](const GpuFacts& gpu) { return gpu.unusable.empty(); });
  if (usable) return found.backend;
  std::printf("no GPU of this machine is used: %s\n",
              found.problem.ok() ? "none can be" : found.problem.message().c_str());
  return nullptr;
}

int compare(const Flags& flags, const std::shared_ptr<GpuBackend>& backend, cuda::fake::FakeDriver* fake = nullptr) {
  const DeviceRequest request{.devices = "gpu:0", .deterministic = flags.orders, .gpus = backend};
  auto device_set = DeviceSet::make(request);
  if (!device_set.ok()) {
    std::printf("%s\n", device_set.status().to_string().c_str());
    return 1;
  }
  *device_set = nullptr;
  Comparison comparison([&] { return DeviceSet::make(request).value(); }, flags, fake);
  const int code = take_cases(flags.cases, [&](const RecordedCase& c) { comparison.run(c); });
  if (code != 0) return code;
  comparison.print();
  return comparison.differences() > 0 ? 1 : 0;
}

int main(const Flags& flags) {
  if (!flags.fake) {
    if (const auto backend = real_gpus()) {
      std::printf("on a real GPU: %s\n", backend->driver().c_str());
      return compare(flags, backend);
    }
  }
  std::printf("on a fake GPU\n");
  cuda::fake::Options fake = cuda::fake::gpus_with_kernels(1);
  fake.protect_memory = !flags.orders;  // a third of the time
  cuda::fake::FakeDriver fake_driver(std::move(fake));
  cuda::CudaBackend::Options options = cuda::fake::with_kernels();
  options.compiler = host_compiler;
  const int code =
      compare(flags, std::make_shared<cuda::CudaBackend>(fake_driver.driver(), std::move(options)), &fake_driver);
  const auto violations = fake_driver.violations();
  if (violations.empty()) return code;
  std::printf("the fake driver: %s\n", violations.front().c_str());
  return 1;
}

}  // namespace
}  // namespace argosy

int main(int count, char** arguments) {
  argosy::Flags flags;
  for (int i = 1; i < count; ++i) {
    const std::string_view flag = arguments[i];
    if (flag == "--fake") {
      flags.fake = true;
    } else if (flag == "--spoil") {
      flags.spoil = true;
    } else if (flag == "--orders") {
      flags.orders = true;
    } else if (!flags.take(count, arguments, i)) {
      std::fprintf(stderr, "cuda_ops_test: %s is no flag of it\n", arguments[i]);
      return 2;
    }
  }
  flags.fake = flags.fake || flags.orders || flags.few > 0;
  return argosy::main(flags);
}
