// Every op there is, on arguments nobody thought of: a kernel gives an error or outputs that its shape function agrees
// with, whatever memory it writes to. ARGOSY_FUZZ_CASES sets how many per op (default 24), ARGOSY_FUZZ_OP one op,
// ARGOSY_FUZZ_VERBOSE=1 prints each case before it runs, so that the last line is the one that crashed. Cases go to
// $ARGOSY_DUMP_CASES like all others (op_dump.h): tests/oracle/ops/compare_ops.py says what TensorFlow makes of them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_dump.h"
#include "argosy/testing/op_cases/random_case.h"

namespace argosy {
namespace {

const char* setting(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (!is_plain(a.dtype()) && a.dtype() != DType::kString) return true;
  return attr_equal(AttrValue(a), AttrValue(b));
}

std::int64_t integer_at(const Tensor& t, std::size_t i) {
  return t.dtype() == DType::kInt32 ? t.data<std::int32_t>()[i] : t.data<std::int64_t>()[i];
}

bool is_reference(const OpDef& op, std::size_t output) {
  return output < op.output_args.size() && op.output_args[output].is_ref;
}

class OpFuzz : public testing::Test {
 protected:
  // What Switch sends nowhere has no value.
  static bool may_be_dead(const OpDef& op) { return op.name == "Switch" || op.name == "RefSwitch"; }

  void agree(const RandomCase& c, const Inferred& inferred, const std::vector<Tensor>& outputs) {
    if (!inferred.status.ok()) {
      ADD_FAILURE() << "the kernel runs what its shape function refuses: " << inferred.status.to_string() << "\n  "
                    << c.describe();
      return;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (is_reference(*c.op, i) || (!outputs[i].valid() && may_be_dead(*c.op))) continue;
      ASSERT_TRUE(outputs[i].valid()) << "output " << i << " was not set\n  " << c.describe();
      EXPECT_TRUE(inferred.shapes[i].compatible(outputs[i].shape()))
          << "output " << i << ": inferred " << inferred.shapes[i].to_string() << ", got "
          << outputs[i].shape().to_string() << "\n  " << c.describe();
      if (!inferred.ints[i]) continue;
      ASSERT_EQ(static_cast<std::int64_t>(inferred.ints[i]->size()), outputs[i].elements()) << c.describe();
      for (std::size_t k = 0; k < inferred.ints[i]->size(); ++k) {
        if (!(*inferred.ints[i])[k]) continue;
        EXPECT_EQ(*(*inferred.ints[i])[k], integer_at(outputs[i], k)) << c.describe();
      }
    }
  }

  // Once more into memory of a plan: its own, or that of an input the op says it may overwrite.
  void repeat_in_planned_memory(const RandomCase& c, const std::vector<Tensor>& outputs) {
    if (c.op->stateful || c.op->has_ref_input()) return;
    std::vector<Tensor> planned;
    for (const Tensor& t : outputs)
      planned.push_back(is_plain(t.dtype()) ? Tensor::zeros(t.dtype(), t.shape()) : Tensor());
    expect_same(c, run_kernel(c, cpu_kernels(), false, planned), outputs, "in planned memory");
    for (const InPlace& pair : c.op->in_place) {
      const auto i = static_cast<std::size_t>(pair.input), o = static_cast<std::size_t>(pair.output);
      if (i >= c.inputs.size() || o >= outputs.size()) continue;
      if (c.inputs[i].shape() != outputs[o].shape() || !is_plain(outputs[o].dtype())) continue;
      if (element_bytes(c.inputs[i].dtype()) != element_bytes(outputs[o].dtype())) continue;
      RandomCase copy = c;
      copy.inputs[i] = c.inputs[i].clone();
      std::vector<Tensor> aliased(outputs.size());
      aliased[o] = copy.inputs[i].bitcast(outputs[o].dtype());
      expect_same(c, run_kernel(copy, cpu_kernels(), false, aliased), outputs, "over its own input");
      if (pair.others_may_alias) repeat_over_twins(c, i, o, outputs);
    }
  }

  // Other inputs are the same memory as the one that is overwritten.
  static void repeat_over_twins(const RandomCase& c, std::size_t i, std::size_t o, const std::vector<Tensor>& outputs) {
    RandomCase apart = c;
    bool has_twin = false;
    for (std::size_t k = 0; k < c.inputs.size(); ++k) {
      const bool twin =
          k != i && c.inputs[k].dtype() == c.inputs[i].dtype() && c.inputs[k].elements() == c.inputs[i].elements();
      if (twin) apart.inputs[k] = c.inputs[i].clone().reshaped(c.inputs[k].shape());
      has_twin = has_twin || twin;
    }
    if (!has_twin) return;
    const auto expected = run_kernel(apart, cpu_kernels(), false);
    if (!expected.ok()) return;
    RandomCase together = apart;
    together.inputs[i] = c.inputs[i].clone();
    for (std::size_t k = 0; k < c.inputs.size(); ++k) {
      if (k == i || c.inputs[k].dtype() != c.inputs[i].dtype()) continue;
      if (c.inputs[k].elements() == c.inputs[i].elements()) {
        together.inputs[k] = together.inputs[i].reshaped(c.inputs[k].shape());
      }
    }
    std::vector<Tensor> aliased(outputs.size());
    aliased[o] = together.inputs[i].bitcast(outputs[o].dtype());
    expect_same(apart, run_kernel(together, cpu_kernels(), false, aliased), *expected, "over inputs that are one");
  }

  static void expect_same(const RandomCase& c, const Result<std::vector<Tensor>>& again,
                          const std::vector<Tensor>& outputs, const char* where) {
    ASSERT_TRUE(again.ok()) << where << ": " << again.status().to_string() << "\n  " << c.describe();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(same_bytes((*again)[i], outputs[i]))
          << where << ", output " << i << ": " << (*again)[i].to_string(32) << " instead of "
          << outputs[i].to_string(32) << "\n  " << c.describe();
    }
  }
};

std::uint64_t seed_of(const std::string& op, int k) {
  std::uint64_t h = 1469598103934665603u;
  for (const char ch : op) h = (h ^ static_cast<unsigned char>(ch)) * 1099511628211u;
  return h + static_cast<std::uint64_t>(k);
}

// Random numbers from a seed that nobody knows.
bool has_hidden_state(const RandomCase& c) {
  return c.op->stateful && c.attrs.get_or<std::int64_t>("seed", 1) == 0 &&
         c.attrs.get_or<std::int64_t>("seed2", 1) == 0;
}

TEST_F(OpFuzz, AnyArgumentsGiveAnErrorOrWhatTheShapeFunctionSays) {
  const int cases = *setting("ARGOSY_FUZZ_CASES") ? std::atoi(setting("ARGOSY_FUZZ_CASES")) : 24;
  const std::string only = setting("ARGOSY_FUZZ_OP");
  const bool verbose = *setting("ARGOSY_FUZZ_VERBOSE") == '1';
  int ran = 0, gave = 0;
  for (const auto& op : builtin_ops().all()) {
    // Kernels that wait would wait for ever.
    if (!cpu_kernels().has(op->name, "cpu") || op->async || (!only.empty() && op->name != only)) continue;
    for (int k = 0; k < cases; ++k) {
      const auto c = random_case(*op, seed_of(op->name, k));
      if (!c) break;
      if (verbose) std::fprintf(stderr, "%d %s\n", k, c->describe().c_str());
      if (!infer(*c, kAll).status.ok()) continue;
      const Inferred all = infer(*c, 0);
      const Inferred part = infer(*c, 2);
      const auto start = std::chrono::steady_clock::now();
      const auto outputs = run_kernel(*c, cpu_kernels(), false);
      const auto plain = run_kernel(*random_case(*op, seed_of(op->name, k)), cpu_kernels(), true);  // variables afresh
      const auto took = std::chrono::steady_clock::now() - start;
      EXPECT_LT(took, std::chrono::seconds(20)) << c->describe();
      ++ran;
      if (!has_hidden_state(*c)) {
        dump_case({.op = op->name, .inputs = c->inputs, .attrs = c->attrs, .error = outputs.status().code()},
                  outputs.ok() ? *outputs : std::vector<Tensor>());
      }
      if (!outputs.ok()) {
        EXPECT_FALSE(outputs.status().message().empty()) << c->describe();
        continue;
      }
      ++gave;
      agree(*c, all, *outputs);
      if (part.status.ok() || all.status.ok()) agree(*c, part, *outputs);
      EXPECT_TRUE(plain.ok() || plain.status().code() == Code::kUnimplemented ||
                  plain.status().code() == Code::kResourceExhausted)
          << "the reference kernel: " << plain.status().to_string() << "\n  " << c->describe();
      repeat_in_planned_memory(*c, *outputs);
    }
  }
  RecordProperty("cases", ran);
  RecordProperty("ran_through", gave);
  std::printf("%d cases, %d of them ran through\n", ran, gave);
}

}  // namespace
}  // namespace argosy
