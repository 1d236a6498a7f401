// Every kernel takes the device memory that it says it takes, and no more. Tried are the cases that the op tests of this
// build write down, and those cases made larger. ctest `op_workspaces` runs after the op tests. ARGOSY_WORKSPACE_CASES
// names the folder of cases, ARGOSY_WORKSPACE_OP one op, ARGOSY_WORKSPACE_LIST=1 prints what each op takes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/recorded_case.h"
#include "argosy/testing/op_cases/workspace_trial.h"
#include "argosy/testing/shards/shard_trial.h"

namespace argosy {
namespace {

constexpr std::int64_t kElements = 1 << 17;  // of the largest tensor of a case that is made larger
// Cases of an op that are tried, and made larger; with ARGOSY_LONG=1 all are.
constexpr int kCases = 150, kEnlarged = 8;

// Never less than is taken. A little more, where a kernel has nothing to do or ends early.
bool is_fair(const WorkspaceTrial& trial) {
  return *trial.said >= trial.taken && *trial.said <= trial.taken + trial.taken / 20 + 4096;
}

struct OfOp {
  int cases = 0, runs = 0, unknown = 0;
  std::uint64_t most = 0;
  std::vector<std::string> wrong;
};

void try_case(OfOp& op, const RandomCase& c, const std::string& test) {
  const auto trial = try_workspace(c);
  if (!trial.ok()) return;
  ++op.runs;
  op.most = std::max(op.most, trial->taken);
  if (!trial->said) {
    ++op.unknown;
  } else if (!is_fair(*trial) && op.wrong.size() < 5) {
    op.wrong.push_back(str_cat("takes ", trial->taken, " and says ", *trial->said, ": ", test, " ", c.describe()));
  }
}

TEST(OpWorkspaces, AreWhatKernelsSay) {
  const char* const folder = std::getenv("ARGOSY_WORKSPACE_CASES");
  if (folder == nullptr) GTEST_SKIP() << "ARGOSY_WORKSPACE_CASES names no folder of recorded cases";
  const char* const only = std::getenv("ARGOSY_WORKSPACE_OP");
  const bool all = std::getenv("ARGOSY_LONG") != nullptr;
  std::map<std::string, OfOp> ops;
  const auto read = read_cases(folder, [&](const RecordedCase& recorded) {
    if (recorded.error != Code::kOk || (only != nullptr && recorded.op != only)) return;
    const OpDef* const op = builtin_ops().find(recorded.op);
    if (op == nullptr || op->async || op->calls != Calls::kNothing || op->flow != Flow::kNone) return;
    const auto c = as_random_case(*op, recorded);
    if (!c) return;
    OfOp& of = ops[op->name];
    if (++of.cases > kCases && !all) return;
    try_case(of, *c, recorded.test);
    if (of.cases > kEnlarged && !all) return;
    for (const RandomCase& larger : enlarged_cases(*c, kElements)) try_case(of, larger, recorded.test);
  });
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  int runs = 0, take = 0, unknown = 0;
  for (const auto& [name, op] : ops) {
    EXPECT_TRUE(op.wrong.empty()) << name << ": " << str_join(op.wrong, "\n");
    runs += op.runs;
    take += op.most > 0 ? 1 : 0;
    unknown += op.unknown > 0 ? 1 : 0;
    if (op.most > 0 && std::getenv("ARGOSY_WORKSPACE_LIST") != nullptr) {
      std::printf("%-40s %5d runs, %5d unknown, at most %llu bytes\n", name.c_str(), op.runs, op.unknown,
                  static_cast<unsigned long long>(op.most));
    }
  }
  std::printf("%d runs of %zu ops; %d take workspaces, %d of them as their values say\n", runs, ops.size(), take,
              unknown);
  EXPECT_GT(runs, 0) << "no cases in " << folder;
}

}  // namespace
}  // namespace argosy
