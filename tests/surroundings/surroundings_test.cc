// Runs every op case of the harness in a branch, a loop and a function (surrounded_case.h).
// The op tests of this build wrote the cases (argosy/testing/op_cases/op_dump.h).
//
//   op_surroundings_test --cases build/release/op_cases [--op NAME] [--few N]
//
// --few: at most N cases for an op with the same dtypes, ranks and count of elements (none, one, more);
// ARGOSY_SURROUNDED_CASES=0 (all) or another number overrides it. Exit code: 0; 1 a difference; 77 no cases.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "argosy/op/definition/op_def.h"
#include "argosy/testing/case_flags.h"
#include "tests/surroundings/surrounded_case.h"

namespace argosy {
namespace {

class Comparison {
 public:
  explicit Comparison(CaseFlags flags) : flags_(std::move(flags)) {}

  void run(const RecordedCase& c) {
    if (!may_be_surrounded(c) || (!flags_.op.empty() && flags_.op != c.op)) return;
    if (flags_.few > 0 && ++seen_[kind_of(c)] > flags_.few) return;
    ++cases_;
    ops_.insert(c.op);
    const int n = static_cast<int>(c.inputs.size());
    compare(c, -1, true);
    compare(c, -1, false);
    for (int fed = 0; fed < n && n > 1 && fed < 4; ++fed) compare(c, fed, true);
  }

  int differences() const { return differences_; }
  void print() const {
    std::printf("%d cases of %zu ops run again in %d graphs: %d surroundings compared, %d fail alone; %d differ\n",
                cases_, ops_.size(), graphs_, forms_, failed_, differences_);
  }

 private:
  static std::string kind_of(const RecordedCase& c) {
    std::string kind = str_cat(c.op, c.error == Code::kOk ? "" : " fails");
    for (const Tensor& t : c.inputs)
      kind += str_cat(" ", dtype_name(t.dtype()), t.shape().rank(), ":", t.elements() < 2 ? t.elements() : 2);
    return kind;
  }

  void compare(const RecordedCase& c, int fed, bool inside) {
    if (graphs_++ % kRunsOfAMachine == 0) machine_ = DeviceSet::make({.cpu_threads = 2}).value();
    const SurroundedRun run = run_surrounded(machine_, c, fed, inside);
    forms_ += run.forms;
    if (!run.status.ok()) ++failed_;
    if (run.difference.empty()) return;
    ++differences_;
    std::string text = str_cat(c.op, " (", c.test, ")");
    for (const Tensor& t : c.inputs) text += str_cat(" ", dtype_name(t.dtype()), t.shape());
    std::printf("DIFFERS %s, %s: %s\n", text.c_str(),
                fed >= 0 ? str_cat("operand ", fed, " fed").c_str()
                : inside ? "constants"
                         : "captured constants",
                run.difference.c_str());
  }

  static constexpr int kRunsOfAMachine = 500;
  const CaseFlags flags_;
  std::shared_ptr<DeviceSet> machine_;
  std::map<std::string, int> seen_;
  std::set<std::string> ops_;
  int cases_ = 0, graphs_ = 0, forms_ = 0, failed_ = 0, differences_ = 0;
};

int compare_all(const CaseFlags& flags) {
  Comparison comparison(flags);
  const int code = take_cases(flags.cases, [&](const RecordedCase& c) { comparison.run(c); });
  if (code != 0) return code;
  comparison.print();
  return comparison.differences() > 0 ? 1 : 0;
}

}  // namespace
}  // namespace argosy

int main(int count, char** arguments) {
  argosy::CaseFlags flags;
  for (int i = 1; i < count; ++i) {
    if (flags.take(count, arguments, i)) continue;
    std::fprintf(stderr, "op_surroundings_test: %s is no flag of it\n", arguments[i]);
    return 2;
  }
  if (const char* const few = std::getenv("ARGOSY_SURROUNDED_CASES"); few != nullptr) flags.few = std::atoi(few);
  return argosy::compare_all(flags);
}
