// Runs every op case of the harness again with operands that share memory. They share it as one value, as equal nodes
// that a pass merges, as views of one buffer, or as a variable that changes while it is read. The results must have the
// bits of a run with separate operands, on the CPU, an emulated GPU and a fake GPU, in static order and by dataflow.
// The op tests of this build wrote the cases (argosy/testing/op_cases/op_dump.h).
//
//   op_aliases_test --cases build/release/op_cases [--op NAME] [--few N] [--list]
//
// --few: at most N cases for an op with the same ranks and sizes of elements; ARGOSY_ALIASED_CASES=0 (all) or another
// number overrides it. Exit code: 0; 1 a difference; 77 no cases.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "argosy/ops/ops.h"
#include "argosy/testing/case_flags.h"
#include "argosy/testing/host_compiler.h"
#include "tests/fake_gpu/support/aliased_case.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

// Numbers that nobody can know: from a seed that the op takes for itself.
bool has_hidden_state(const OpDef& op, const AttrMap& attrs) {
  if (op.name == "NonDeterministicInts") return true;
  return op.stateful && attrs.find("seed") != nullptr && attrs.get_or<std::int64_t>("seed", 0) == 0 &&
         attrs.get_or<std::int64_t>("seed2", 0) == 0;
}

class Comparison {
 public:
  Comparison(DeviceRequest emulated, DeviceRequest real, CaseFlags flags)
      : requests_{std::move(emulated), std::move(real)}, flags_(std::move(flags)) {}

  void run(const RecordedCase& c) {
    const OpDef* const op = builtin_ops().find(c.op);
    if (op == nullptr || op->async || c.error != Code::kOk || (!flags_.op.empty() && flags_.op != c.op)) return;
    if (has_hidden_state(*op, c.attrs) || op->calls != Calls::kNothing || op->flow != Flow::kNone) return;
    const std::vector<Aliases> all = aliases_of(c);
    if (all.empty()) return;
    if (flags_.few > 0 && ++seen_[kind_of(c)] > flags_.few) return;
    ++cases_;
    ops_.insert(c.op);
    for (const Aliases& aliases : all) {
      for (int m = 0; m < 2; ++m) {
        if (m == 1 && !on_gpus(*op, c)) continue;
        if (runs_[m]++ % kRunsOfAMachine == 0) {
          machines_[m].reset();
          machines_[m] = DeviceSet::make(requests_[m]).value();
        }
        for (const bool by_dataflow : {false, true}) compare(c, aliases, m, false, by_dataflow);
        compare(c, aliases, m, true, false);
      }
    }
  }

  int differences() const { return differences_; }
  void print() const {
    std::printf(
        "%d cases of %zu ops run again: %d sets of operands made one, %d runs compared, %d failed alike; %d differ\n",
        cases_, ops_.size(), sets_, forms_, failed_, differences_);
    if (!flags_.list) return;
    for (const std::string& op : ops_) std::printf("%s\n", op.c_str());
  }

 private:
  static std::string kind_of(const RecordedCase& c) {
    std::string kind = c.op;
    for (const Tensor& t : c.inputs)
      kind += t.valid() ? str_cat(" ", element_bytes(t.dtype()), ":", t.shape().rank()) : " none";
    return kind;
  }
  bool on_gpus(const OpDef& op, const RecordedCase& c) const {
    static const KernelRegistry* const kernels = [] {
      auto* all = new KernelRegistry;
      add_cuda_kernels(*all);
      return all;
    }();
    return kernels->has(op.name, "cuda") && kernels->refused(op.name, "cuda", c.attrs) == DType::kInvalid;
  }

  void compare(const RecordedCase& c, const Aliases& aliases, int m, bool optimize, bool by_dataflow) {
    const AliasedRun run = run_aliased(machines_[m], c, aliases, optimize, by_dataflow);
    ++sets_;
    forms_ += run.forms;
    if (!run.status.ok()) {
      ++failed_;
      if (flags_.list) std::printf("failed: %s: %s\n", c.op.c_str(), run.status.to_string().c_str());
    }
    if (run.difference.empty()) return;
    ++differences_;
    std::string text = str_cat(c.op, " (", c.test, ")");
    for (const Tensor& t : c.inputs) {
      if (t.valid()) text += str_cat(" ", dtype_name(t.dtype()), t.shape());
    }
    std::printf("DIFFERS %s: %s, %s%s\n", text.c_str(), describe(aliases).c_str(), m == 1 ? "fake GPU, " : "",
                run.difference.c_str());
  }

  static constexpr int kRunsOfAMachine = 500;
  const DeviceRequest requests_[2];
  const CaseFlags flags_;
  std::shared_ptr<DeviceSet> machines_[2];
  std::map<std::string, int> seen_;
  std::set<std::string> ops_;
  int runs_[2] = {0, 0};
  int cases_ = 0, sets_ = 0, forms_ = 0, failed_ = 0, differences_ = 0;
};

int compare_all(const CaseFlags& flags) {
  cuda::fake::Options fake = cuda::fake::gpus_with_kernels(1);
  fake.protect_memory = false;  // cuda_ops_test looks at that
  cuda::fake::FakeDriver fake_driver(std::move(fake));
  cuda::CudaBackend::Options options = cuda::fake::with_kernels();
  options.compiler = host_compiler;
  const auto backend = std::make_shared<cuda::CudaBackend>(fake_driver.driver(), std::move(options));
  Comparison comparison({.emulate = "gpu:1GiB", .cpu_threads = 2},
                        {.devices = "gpu:0", .cpu_threads = 2, .gpus = backend}, flags);
  const int code = take_cases(flags.cases, [&](const RecordedCase& c) { comparison.run(c); });
  if (code != 0) return code;
  comparison.print();
  for (const std::string& violation : fake_driver.violations()) std::printf("the fake driver: %s\n", violation.c_str());
  return comparison.differences() > 0 || !fake_driver.violations().empty() ? 1 : 0;
}

}  // namespace
}  // namespace argosy

int main(int count, char** arguments) {
  argosy::CaseFlags flags;
  for (int i = 1; i < count; ++i) {
    if (flags.take(count, arguments, i)) continue;
    std::fprintf(stderr, "op_aliases_test: %s is no flag of it\n", arguments[i]);
    return 2;
  }
  if (const char* const few = std::getenv("ARGOSY_ALIASED_CASES"); few != nullptr) flags.few = std::atoi(few);
  return argosy::compare_all(flags);
}
