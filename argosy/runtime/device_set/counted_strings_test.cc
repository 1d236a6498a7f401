#include "argosy/runtime/device_set/counted_strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/base/memory/host_budget.h"
#include "argosy/ops/ops.h"

namespace argosy {
namespace {

using testing::HasSubstr;

struct CopyCase {
  std::string op;
  std::vector<Tensor> inputs;
  AttrMap attrs = {};
};

struct Notes final : Kernel {
  explicit Notes(bool& does) : ran(does) {}
  Status run(KernelContext&) override { return ran = true, ok_status(); }
  bool& ran;
};

// The kernels themselves must not run: they would make all copies first.
TEST(CountedStrings, CopiesAreRefusedBeforeTheyAreMade) {
  const Tensor text = Tensor::scalar(std::string(1 << 20, 'x'));
  const Tensor row = text.reshaped({1});
  const Tensor two = Tensor::vector<std::string>({"", std::string(1 << 20, 'y')});
  const Tensor zero = Tensor::scalar(std::int32_t{0});
  const auto ones = [](std::int64_t n) {
    Tensor t = Tensor::zeros(DType::kInt32, {n});
    for (std::int32_t& i : t.values<std::int32_t>()) i = 1;
    return t;
  };
  const auto sizes = [](std::int32_t n) { return Tensor::vector<std::int32_t>({n}); };
  const Tensor one = Tensor::scalar(std::int32_t{1});
  const AttrMap batches = {{"batch_dims", std::int64_t{1}}};
  const auto empty = [](std::int64_t n) { return Tensor::zeros(DType::kString, {n}); };
  const auto copies = [&](std::int64_t n) {
    Tensor t = empty(n);
    for (std::string& s : t.values<std::string>()) s = *text.data<std::string>();
    return t;
  };
  const auto truths = [](std::int64_t n) {
    Tensor t = Tensor::zeros(DType::kBool, {n});
    for (bool& b : t.values<bool>()) b = true;
    return t;
  };
  const auto many = [&](int n) {
    std::vector<CopyCase> cases = {{"Fill", {sizes(n), text}},
                                   {"BroadcastTo", {row, sizes(n)}},
                                   {"Tile", {row, sizes(n)}},
                                   {"Pack", std::vector<Tensor>(static_cast<std::size_t>(n), text)},
                                   {"ConcatV2", std::vector<Tensor>(static_cast<std::size_t>(n), row)},
                                   {"GatherV2", {two, ones(n), zero}},
                                   {"GatherV2", {two.reshaped({1, 2}), ones(n).reshaped({1, n}), one}, batches},
                                   {"PadV2", {two, Tensor::of<std::int32_t>({1, 2}, {0, n - 1}), text}},
                                   {"AddV2", {text, empty(n)}},
                                   {"Select", {truths(n), copies(n), empty(n)}},
                                   {"Select", {truths(n), copies(n).reshaped({n, 1}), empty(n).reshaped({n, 1})}},
                                   {"SelectV2", {truths(n), text, two.rows(0, 1)}}};
    cases[4].inputs.push_back(zero);
    return cases;
  };
  const std::int64_t before = host_budget().in_use();
  const auto limit = host_budget().with_limit(before + (16 << 20));
  for (const int n : {3, 100}) {
    for (const CopyCase& k : many(n)) {
      bool ran = false;
      std::vector<DType> dtypes;
      std::vector<const Tensor*> inputs;
      for (const Tensor& t : k.inputs) {
        dtypes.push_back(t.dtype());
        inputs.push_back(&t);
      }
      const DType gives = DType::kString;
      const OpDef* const op = builtin_ops().find(k.op);
      ASSERT_NE(op, nullptr) << k.op;
      const KernelInit init{.op = *op,
                            .attrs = k.attrs,
                            .node = "n",
                            .input_dtypes = dtypes,
                            .output_dtypes = std::span(&gives, 1),
                            .input_shapes = {},
                            .output_shapes = {},
                            .constants = {}};
      const auto kernel = count_strings(std::make_unique<Notes>(ran), init);
      Tensor y;
      OutputSlot slot{.tensor = &y};
      KernelContext c({.inputs = inputs.data(),
                       .num_inputs = static_cast<int>(inputs.size()),
                       .outputs = &slot,
                       .num_outputs = 1,
                       .output_dtypes = &gives,
                       .node = "n"});
      const Status status = kernel->run(c);
      EXPECT_EQ(ran, n == 3) << k.op << ": " << status.to_string();
      EXPECT_EQ(status.id(), n == 3 ? "" : "ARG-MEM-004") << k.op << ": " << status.to_string();
      if (n == 3) continue;
      EXPECT_THAT(status.message(), HasSubstr("100.0 MiB")) << k.op;
    }
  }
  EXPECT_EQ(host_budget().in_use(), before);
}

}  // namespace
}  // namespace argosy
