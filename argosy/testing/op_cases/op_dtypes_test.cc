// Every dtype that an op claims for a type attribute has a CPU kernel: some random case of it runs. Where random cases
// never get through to a kernel, the op's own cases speak (scripts/check_op_cases.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/random_case.h"

namespace argosy {
namespace {

bool is_quantised(DType d) {
  using enum DType;
  return d == kQint8 || d == kQuint8 || d == kQint16 || d == kQuint16 || d == kQint32;
}

// Claimed because TensorFlow's signature says so.
bool goes_without_kernel(const OpDef& op, DType d) {
  if (is_quantised(d) || d == DType::kVariant) return true;
  // Updates of integers, and of complex numbers by their order or sign: TensorFlow has no kernels either.
  if (op.name.find("Apply") != std::string::npos) {
    constexpr std::string_view kOfReals[] = {"Proximal", "AdagradDA", "Ftrl", "AdaMax", "Sign", "Amsgrad"};
    return is_integer(d) || (is_complex(d) && std::any_of(std::begin(kOfReals), std::end(kOfReals), [&](auto name) {
                               return op.name.find(name) != std::string::npos;
                             }));
  }
  // None in TensorFlow either.
  if (op.name.starts_with("BatchNormWithGlobalNormalization")) return is_integer(d) || is_complex(d);
  if (op.name == "Reciprocal" || op.name == "Inv") return is_integer(d);
  if (op.name == "Round" || op.name == "FloorDiv" || op.name == "TruncateDiv") return is_complex(d);
  return op.name == "ClipByValue" && is_complex(d);  // complex numbers have no order
}

enum class Outcome { kRuns, kNoKernel, kNeverRan };

// The other type attributes are float32 or int32 where they may be, or this dtype too.
Outcome outcome_of(const OpDef& op, const AttrDef& attr, DType dtype) {
  using enum DType;
  constexpr int kCases = 100;
  Outcome outcome = Outcome::kNeverRan;
  for (const std::initializer_list<DType>& wishes :
       {std::initializer_list<DType>{kFloat32, kInt32}, {dtype, kFloat32}, {dtype, kInt32}}) {
    AttrMap fixed;
    fixed.set(attr.name, dtype);
    for (const AttrDef& other : op.attr_defs) {
      if (other.kind != AttrKind::kType || other.name == attr.name) continue;
      const auto allows = [&](DType d) {
        return other.types.empty() || std::find(other.types.begin(), other.types.end(), d) != other.types.end();
      };
      const auto* const wish = std::find_if(wishes.begin(), wishes.end(), allows);
      fixed.set(other.name, wish != wishes.end() ? *wish : other.types.front());
    }
    for (int k = 0; k < kCases; ++k) {
      const auto c = random_case(op, static_cast<std::uint64_t>(k), fixed);
      if (!c || !infer(*c, kAll).status.ok()) continue;
      const auto outputs = run_kernel(*c, cpu_kernels(), false);
      if (outputs.ok()) return Outcome::kRuns;
      if (outputs.status().code() == Code::kUnimplemented) outcome = Outcome::kNoKernel;
    }
  }
  return outcome;
}

// No random case holds a variant: such ops have tests of their own.
bool takes_variants(const OpDef& op) {
  return std::any_of(op.input_args.begin(), op.input_args.end(),
                     [](const ArgDef& arg) { return arg.dtype == DType::kVariant; });
}

TEST(OpDtypes, EachClaimedHasACpuKernel) {
  int pairs = 0, ran = 0, attributes = 0;
  std::set<std::string> never;
  for (const auto& op : builtin_ops().all()) {
    if (op->async || takes_variants(*op)) continue;
    if (!cpu_kernels().has(op->name, "cpu")) continue;  // HoldTogether tells of them
    for (const AttrDef& attr : op->attr_defs) {
      if (attr.kind != AttrKind::kType || attr.types.empty()) continue;
      std::vector<std::pair<DType, Outcome>> outcomes;
      for (const DType dtype : attr.types) {
        if (!goes_without_kernel(*op, dtype)) outcomes.emplace_back(dtype, outcome_of(*op, attr, dtype));
      }
      const auto runs = [](const auto& o) { return o.second == Outcome::kRuns; };
      const auto some = std::count_if(outcomes.begin(), outcomes.end(), runs);
      ++attributes;
      pairs += static_cast<int>(outcomes.size());
      ran += static_cast<int>(some);
      for (const auto& [dtype, outcome] : outcomes) {
        if (outcome == Outcome::kNeverRan || some == 0) never.insert(op->name + "." + attr.name);
        EXPECT_FALSE(outcome == Outcome::kNoKernel && some > 0)
            << op->name << " " << attr.name << "=" << dtype_name(dtype) << " has no kernel";
      }
    }
  }
  std::string names;
  for (const std::string& name : never) names += " " + name;
  EXPECT_LT(static_cast<int>(never.size()), attributes * 26 / 100) << "random cases say too little:" << names;
  std::printf("%d of %d dtypes of attributes ran; no random case gets through:%s\n", ran, pairs, names.c_str());
}

}  // namespace
}  // namespace argosy
