// Facts every op owes, and the ops' signatures written down for the oracle: with $ARGOSY_DUMP_OPS set, one JSON object
// a line goes to that file, which tests/oracle/ops/compare_signatures.py holds against TensorFlow's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "argosy/ops/ops.h"

namespace argosy {
namespace {

using Json = nlohmann::json;

Json to_json(const std::vector<ArgDef>& args) {
  Json all = Json::array();
  for (const ArgDef& a : args) {
    all.push_back({{"name", a.name},
                   {"type", static_cast<int>(a.dtype)},
                   {"type_attr", a.type_attr},
                   {"type_list_attr", a.type_list_attr},
                   {"number_attr", a.number_attr},
                   {"is_ref", a.is_ref}});
  }
  return all;
}

const char* kind_name(AttrKind kind) {
  static constexpr const char* kNames[] = {"int",        "float",       "bool",         "string",
                                           "type",       "shape",       "tensor",       "func",
                                           "list(int)",  "list(float)", "list(bool)",   "list(string)",
                                           "list(type)", "list(shape)", "list(tensor)", "list(func)"};
  return kNames[static_cast<int>(kind)];
}

Json to_json(const AttrDef& a) {
  Json json{{"name", a.name}, {"kind", kind_name(a.kind)}, {"strings", a.strings}, {"types", Json::array()}};
  for (const DType d : a.types) json["types"].push_back(static_cast<int>(d));
  if (!std::holds_alternative<std::monostate>(a.value)) json["default"] = attr_to_string(a.value);
  if (a.minimum) json["minimum"] = *a.minimum;
  return json;
}

TEST(OpSignatures, AreWrittenDownForTheOracle) {
  const char* const path = std::getenv("ARGOSY_DUMP_OPS");
  if (path == nullptr || *path == 0) GTEST_SKIP() << "ARGOSY_DUMP_OPS names no file";
  std::error_code failed;  // told by the stream
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  std::ofstream out(path);
  for (const auto& op : builtin_ops().all()) {
    Json json{{"name", op->name},
              {"inputs", to_json(op->input_args)},
              {"outputs", to_json(op->output_args)},
              {"attrs", Json::array()},
              {"stateful", op->stateful},
              {"commutative", op->commutative},
              {"differentiable", op->gradient != kNotDifferentiable},
              {"blocks_gradient", op->blocks_gradient}};
    for (const AttrDef& a : op->attr_defs) json["attrs"].push_back(to_json(a));
    out << json.dump() << "\n";
  }
  EXPECT_TRUE(out.good()) << path;
}

TEST(OpSignatures, HoldTogether) {
  for (const auto& op : builtin_ops().all()) {
    SCOPED_TRACE(op->name);
    EXPECT_FALSE(op->doc.empty());
    const bool lowered = op->calls != Calls::kNothing;  // before it runs
    EXPECT_NE(cpu_kernels().has(op->name, "cpu"), lowered) << "no CPU kernel, or one that never runs";
    // A last argument of any number of tensors has as many positions as the node says.
    const auto open_ended = [](const std::vector<ArgDef>& args) {
      return !args.empty() && !(args.back().number_attr.empty() && args.back().type_list_attr.empty());
    };
    for (const auto& [input, output, others_may_alias] : op->in_place) {
      EXPECT_TRUE(open_ended(op->input_args) || input < static_cast<int>(op->input_args.size())) << input;
      EXPECT_TRUE(open_ended(op->output_args) || output < static_cast<int>(op->output_args.size())) << output;
    }
    for (const int i : op->host_inputs) EXPECT_LT(i, static_cast<int>(op->input_args.size()));
    for (const int i : op->host_outputs) EXPECT_LT(i, static_cast<int>(op->output_args.size()));
    if (op->commutative) {
      EXPECT_TRUE(op->input_args.size() >= 2 || !op->input_args[0].number_attr.empty());
    }
  }
  for (const std::string& name : cpu_kernels().ops("cpu")) {
    EXPECT_NE(builtin_ops().find(name), nullptr) << "a kernel for " << name << ", which is no op";
  }
}

}  // namespace
}  // namespace argosy
