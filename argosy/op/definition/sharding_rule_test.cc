// Rules from text, without a graph: the notation, its mistakes, and what becomes of it for one node.
#include "argosy/op/definition/sharding_rule.h"

#include <gtest/gtest.h>

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/definition/sharding_text.h"

namespace argosy {
namespace {

OpSpec toy(std::vector<std::string> inputs, std::vector<std::string> outputs, std::string sharding,
           std::vector<std::string> attrs = {}) {
  attrs.push_back("T: type");
  return {.name = "Toy",
          .doc = "",
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .attrs = std::move(attrs),
          .shape = unknown_output,
          .gradient = kNotDifferentiable,
          .sharding = std::move(sharding)};
}

struct Node {
  OpSpec op;
  std::vector<PartialShape> inputs, outputs;
  AttrMap attrs = {};
  std::vector<DType> dtypes = {};
};

std::string rule_of(Node n) {
  const auto op = parse_op(n.op);
  if (!op.ok()) return op.status().message();
  if (n.dtypes.empty()) n.dtypes.assign(n.inputs.size(), DType::kFloat32);
  if (n.attrs.find("T") == nullptr) n.attrs.set("T", DType::kFloat32);
  if (const Status s = complete_attrs(*op, n.dtypes, n.attrs); !s.ok()) return s.message();
  std::vector<const PartialShape*> inputs;
  for (const PartialShape& s : n.inputs) inputs.push_back(&s);
  const std::vector<const PartialInts*> ints(n.inputs.size());
  const ShapeContext c(*op, n.attrs, n.dtypes, inputs, ints, n.outputs);
  const auto rule = sharding_rule(c);
  return rule.ok() ? to_string(*rule) : rule.status().message();
}

TEST(ShardingText, GivesTheRuleOfANode) {
  const OpSpec product = toy({"a: T", "b: T"}, {"y: T"}, "i k, k j -> i j; sum k; linear each; flip ta 0; flip tb 1",
                             {"ta: bool = false", "tb: bool = false"});
  EXPECT_EQ(rule_of({product, {{4, 3}, {3, 5}}, {{4, 5}}}), "i k, k j -> i j; sum k; linear 0 | 1");
  EXPECT_EQ(rule_of({product, {{3, 4}, {3, 5}}, {{4, 5}}, {{"ta", true}}}), "k i, k j -> i j; sum k; linear 0 | 1");
  EXPECT_EQ(rule_of({product, {{3, 4}, {5, 3}}, {{4, 5}}, {{"ta", true}, {"tb", true}}}),
            "k i, j k -> i j; sum k; linear 0 | 1");
  EXPECT_EQ(rule_of({product, {{2, 4, 3}, {3, 5}}, {{4, 5}}}),
            "whole: input 0 (a) has rank 3, which its rule does not cover");
  EXPECT_EQ(rule_of({product, {PartialShape::unknown(), {3, 5}}, {{4, 5}}}),
            "whole: the rank of input 0 (a) is not known");
  EXPECT_EQ(rule_of({product, {{4, 2}, {3, 5}}, {{4, 5}}}),
            "whole: input 1 (b) has 3 along dimension 0, another operand 2");
}

TEST(ShardingText, AnyNumberOfDimensionsAlignsFromTheEnd) {
  const OpSpec add = toy({"x: T", "y: T"}, {"z: T"}, "i.., i.. -> i..; broadcasts; linear jointly");
  EXPECT_EQ(rule_of({add, {{4, 3}, {4, 3}}, {{4, 3}}}), "i0 i1, i0 i1 -> i0 i1; linear 0 1");
  EXPECT_EQ(rule_of({add, {{4, 3}, {3}}, {{4, 3}}}), "i0 i1, i1 -> i0 i1; linear 0 1");
  EXPECT_EQ(rule_of({add, {{4, 1}, {3}}, {{4, 3}}}), "i0 1, i1 -> i0 i1; linear 0 1");
  EXPECT_EQ(rule_of({add, {{1, 1}, PartialShape::scalar()}, {{1, 1}}}), "i0 i1, - -> i0 i1; linear 0 1");
  EXPECT_EQ(rule_of({add, {{0, 2}, {1, 2}}, {{0, 2}}}), "i0 i1, 1 i1 -> i0 i1; linear 0 1");
  // A size that is not known may be 1.
  EXPECT_EQ(rule_of({add, {{-1, 3}, {4, 3}}, {{-1, 3}}}), "1 i1, 1 i1 -> 1 i1; linear 0 1");
  EXPECT_EQ(rule_of({add, {{-1, 3}, {3}}, {{-1, 3}}}), "i0 i1, i1 -> i0 i1; linear 0 1");
  OpSpec plain = add;
  plain.sharding = {};
  plain.elementwise = true;
  EXPECT_EQ(rule_of({plain, {{4, 3}, {3}}, {{4, 3}}}), "i0 i1, i1 -> i0 i1");
  plain.elementwise = false;
  EXPECT_EQ(rule_of({plain, {{4, 3}, {3}}, {{4, 3}}}), "whole: no rule says how Toy is sharded");
}

TEST(ShardingText, TwoRestsInOneOperand) {
  const OpSpec gather = toy({"p: T", "i: int32"}, {"y: T"}, "v d.., n.. -> n.. d..; rows v; linear first", {});
  EXPECT_EQ(rule_of({gather, {{9, 2, 3}, {4, 5}}, {{4, 5, 2, 3}}, {}, {DType::kFloat32, DType::kInt32}}),
            "v d0 d1, n0 n1 -> n0 n1 d0 d1; rows v; linear 0");
  EXPECT_EQ(
      rule_of({gather, {{9}, PartialShape::scalar()}, {PartialShape::scalar()}, {}, {DType::kFloat32, DType::kInt32}}),
      "v, - -> -; rows v; linear 0");
}

TEST(ShardingText, ListsSizesAndLayouts) {
  const OpSpec pack = toy({"values: N * T"}, {"y: T"}, "i.. * -> 1 i..; linear jointly", {"N: int >= 1"});
  EXPECT_EQ(rule_of({pack, {{2, 3}, {2, 3}}, {{2, 2, 3}}}), "i0 i1, i0 i1 -> 1 i0 i1; linear 0 1");
  const OpSpec fill = toy({"dims: int32", "v: T"}, {"y: T"}, "size(0), - -> i..");
  EXPECT_EQ(rule_of({fill, {{2}, PartialShape::scalar()}, {{4, 3}}, {}, {DType::kInt32, DType::kFloat32}}),
            "size(0), - -> i0 i1");
  const OpSpec bias =
      toy({"v: T", "b: T"}, {"y: T"}, "n i.. c, c -> n i.. c; layout df; linear jointly", {"df: string = 'NHWC'"});
  EXPECT_EQ(rule_of({bias, {{8, 5, 3}, {3}}, {{8, 5, 3}}}), "n i0 c, c -> n i0 c; linear 0 1");
  EXPECT_EQ(rule_of({bias, {{8, 3, 5}, {3}}, {{8, 3, 5}}, {{"df", std::string("NCHW")}}}),
            "n c i0, c -> n c i0; linear 0 1");
  EXPECT_EQ(rule_of({bias, {{8, 3, 5}, {3}}, {{8, 3, 5}}, {{"df", std::string("NCHW_VECT_C")}}}),
            "whole: df is NCHW_VECT_C");
  const OpSpec split = toy({"x: T"}, {"y: T"}, "(b t) d -> b t d");
  EXPECT_EQ(rule_of({split, {{6, 4}}, {{2, 3, 4}}}), "(b t) d -> b t d");
  EXPECT_EQ(rule_of({split, {{-1, 4}}, {{2, 3, 4}}}), "(b t) d -> b t d");
  EXPECT_EQ(rule_of({split, {{7, 4}}, {{2, 3, 4}}}), "whole: input 0 (x) has 7 along dimension 0, no multiple of 6");
}

TEST(ShardingText, RolesAndDTypes) {
  const OpSpec sum = toy({"x: T"}, {"y: T"}, "i a -> i; sum a; linear jointly; monotone 0");
  EXPECT_EQ(rule_of({sum, {{4, 3}}, {{4}}}), "i a -> i; sum a; linear 0; monotone 0");
  // Strings do not add up.
  EXPECT_EQ(rule_of({sum, {{4, 3}}, {{4}}, {{"T", DType::kString}}, {DType::kString}}), "i a -> i; whole a");
  const OpSpec quotient = toy({"x: T", "y: T"}, {"z: T"}, "i.., i.. -> i..; linear first");
  EXPECT_EQ(rule_of({quotient, {{4}, {4}}, {{4}}}), "i0, i0 -> i0; linear 0");
  EXPECT_EQ(rule_of({quotient, {{4}, {4}}, {{4}}, {{"T", DType::kInt32}}, {DType::kInt32, DType::kInt32}}),
            "i0, i0 -> i0");
  const OpSpec norm =
      toy({"x: T", "s: T"}, {"y: T", "m: T", "r: T"}, "n i.. c, c -> n i.. c, c, .; whole n i..; local n i..");
  EXPECT_EQ(rule_of({norm, {{8, 3, 2}, {2}}, {{8, 3, 2}, {2}, {0}}}),
            "n i0 c, c -> n i0 c, c, .; whole n i0; local n i0");
  EXPECT_EQ(rule_of({toy({"v: T", "g: T", "lr: T"}, {"y: T"}, "i.., i.., . -> i..; updates 0"),
                     {{2}, {2}, PartialShape::scalar()},
                     {{2}}}),
            "i0, i0, . -> i0; updates 0");
  EXPECT_EQ(rule_of({toy({}, {"y: T"}, "once: a queue is in one place"), {}, {{2}}}), "once: a queue is in one place");
  EXPECT_EQ(rule_of({toy({"x: T"}, {"y: T"}, "whole: it sorts"), {{2}}, {{2}}}), "whole: it sorts");
}

TEST(ShardingText, MistakesAreFoundWhenTheOpIsDefined) {
  const auto wrong = [](std::string text) {
    const auto op = parse_op(toy({"x: T", "l: N * T"}, {"y: T"}, std::move(text), {"N: int", "f: bool = false"}));
    return op.ok() ? std::string("none") : std::string(op.status().message());
  };
  EXPECT_EQ(wrong("i.., i.. * -> i.."), "none");
  EXPECT_EQ(wrong("i.., i.. *"), "op Toy: sharding \"i.., i.. *\": \"->\" is missing");
  EXPECT_EQ(wrong("i.. -> i.."), "op Toy: sharding \"i.. -> i..\": it has 1 inputs, the op 2");
  EXPECT_EQ(wrong("i.., i.. -> i.."), "op Toy: sharding \"i.., i.. -> i..\": input 1 is a list: \"*\"");
  EXPECT_EQ(wrong("i *, . -> i"), "op Toy: sharding \"i *, . -> i\": input 0 is no list");
  EXPECT_EQ(wrong("i k, . -> i"), "op Toy: sharding \"i k, . -> i\": output 0 lacks factor k, which has no role");
  EXPECT_EQ(wrong("i, . -> i j"), "op Toy: sharding \"i, . -> i j\": factor j is in no input");
  EXPECT_EQ(wrong("i, . -> i; sum q"), "op Toy: sharding \"i, . -> i; sum q\": there is no factor q");
  EXPECT_EQ(wrong("i, . -> i; linear 2"), "op Toy: sharding \"i, . -> i; linear 2\": there is no input 2");
  EXPECT_EQ(wrong("i, . -> i; linear fast"), "op Toy: sharding \"i, . -> i; linear fast\": \"linear fast\"");
  EXPECT_EQ(wrong("i j, . -> i j; flip g 0"),
            "op Toy: sharding \"i j, . -> i j; flip g 0\": \"g\" is no bool attribute");
  EXPECT_EQ(wrong("i.., . -> i..; flip f 0"),
            "op Toy: sharding \"i.., . -> i..; flip f 0\": input 0 has no two last dimensions to flip");
  EXPECT_EQ(wrong("i, . -> i; layout f"), "op Toy: sharding \"i, . -> i; layout f\": \"f\" is no string attribute");
  EXPECT_EQ(wrong("i, . -> i; often"), "op Toy: sharding \"i, . -> i; often\": \"often\" is no clause");
  EXPECT_EQ(wrong("size(1), . -> i"), "op Toy: sharding \"size(1), . -> i\": size(1) in input 0");
  EXPECT_EQ(wrong("height, . -> i"), "op Toy: sharding \"height, . -> i\": \"height\" is no factor");
  EXPECT_EQ(wrong("whole"), "op Toy: sharding \"whole\": it gives no reason");
}

}  // namespace
}  // namespace argosy
