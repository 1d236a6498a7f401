#include "argosy/base/status.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

TEST(Status, SaysWhatWhereAndNext) {
  const Status s = invalid_argument("inner dimensions differ: ", 784, " x ", 785)
                       .with_id("ARG-SHAPE-001")
                       .with_where("node 'dense/MatMul'")
                       .with_hint("transpose the weights");
  EXPECT_EQ(s.to_string(),
            "INVALID_ARGUMENT [ARG-SHAPE-001] inner dimensions differ: 784 x 785 (node 'dense/MatMul')\n"
            "  try: transpose the weights");
}

TEST(Status, InnermostPlaceWins) {
  Status s = not_found("no such file").with_where("inner");
  s = std::move(s).with_where("outer");
  EXPECT_EQ(s.where(), "inner");
  const Status copy = s;
  EXPECT_EQ(copy.code(), Code::kNotFound);
  EXPECT_EQ(copy.id(), "ARG-MISSING");
}

Result<int> half(int n) {
  if (n % 2 != 0) return invalid_argument(n, " is odd");
  return n / 2;
}
Result<int> quarter(int n) {
  ARGOSY_ASSIGN_OR_RETURN(const int h, half(n));
  return half(h);
}

TEST(Result, HandsErrorsOn) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
}

TEST(Str, Bytes) {
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(parse_bytes("4GiB"), std::int64_t{4} << 30);
  EXPECT_EQ(parse_bytes("1.5 MB"), 1500000);
  EXPECT_EQ(parse_bytes("fast"), -1);
  EXPECT_EQ(nearest_word("--bacth", {"--batch", "--data"}), "--batch");
}

}  // namespace
}  // namespace argosy
