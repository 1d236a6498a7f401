// Lists of shapes, strings, floats and functions that are shorter than TensorFlow's ">= N" were taken: only those of
// types and of integers were counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "argosy/ops/ops.h"
#include "tests/session/attr_values_test.h"

namespace argosy {
namespace {

Status complete(const OpDef& op, const AttrDef& tried, const AttrValue& value) {
  AttrMap attrs;
  for (const AttrDef& def : op.attr_defs) attrs.set(def.name, value_of(def, def.minimum.value_or(0)));
  attrs.set(tried.name, value);
  const auto inputs = arg_dtypes(op.input_args, attrs);
  if (!inputs.ok()) return inputs.status();
  return complete_attrs(op, *inputs, attrs);
}

TEST(Issue31Minimums, EveryListOfEveryOpHasItsShortestLength) {
  int lists = 0;
  for (const auto& op : builtin_ops().all()) {
    for (const AttrDef& def : op->attr_defs) {
      if (def.kind < AttrKind::kInts || !def.minimum) continue;
      SCOPED_TRACE(op->name + " " + def.name);
      const Status least = complete(*op, def, value_of(def, *def.minimum));
      EXPECT_TRUE(least.ok()) << least.to_string();
      if (*def.minimum == 0) continue;
      ++lists;
      const Status fewer = complete(*op, def, value_of(def, *def.minimum - 1));
      EXPECT_EQ(fewer.code(), Code::kInvalidArgument);
      EXPECT_THAT(fewer.message(), testing::HasSubstr(str_cat("Length for attr '", def.name, "' of ", *def.minimum - 1,
                                                              " must be at least minimum ", *def.minimum)));
    }
  }
  EXPECT_GT(lists, 50);
}

TEST(Issue31Minimums, EveryIntegerOfEveryOpHasItsLeastValue) {
  int integers = 0;
  for (const auto& op : builtin_ops().all()) {
    for (const AttrDef& def : op->attr_defs) {
      if (def.kind != AttrKind::kInt || !def.minimum) continue;
      SCOPED_TRACE(op->name + " " + def.name);
      const auto counts = [&](const ArgDef& a) { return a.number_attr == def.name; };
      const bool counted = std::any_of(op->input_args.begin(), op->input_args.end(), counts);
      if (counted && *def.minimum <= 0) continue;  // fewer inputs than none
      ++integers;
      EXPECT_THAT(complete(*op, def, *def.minimum - 1).message(),
                  testing::HasSubstr(str_cat("Value for attr '", def.name, "' of ", *def.minimum - 1,
                                             " must be at least minimum ", *def.minimum)));
    }
  }
  EXPECT_GT(integers, 50);
}

// A value of another kind than the definition's is refused, whichever the two are.
TEST(Issue31Minimums, EveryAttributeHasItsKind) {
  int tried = 0;
  for (const auto& op : builtin_ops().all()) {
    for (const AttrDef& def : op->attr_defs) {
      for (int kind = 0; kind <= static_cast<int>(AttrKind::kFunctions); ++kind) {
        AttrDef other;
        other.kind = static_cast<AttrKind>(kind);
        if (other.kind == def.kind) continue;
        ++tried;
        const Status status = complete(*op, def, value_of(other, 1));
        EXPECT_EQ(status.code(), Code::kInvalidArgument) << op->name << " " << def.name << " as kind " << kind;
      }
    }
  }
  EXPECT_GT(tried, 10000);
}

}  // namespace
}  // namespace argosy
