#include "argosy/tf/worker/peers/rpc_error.h"

#include <gtest/gtest.h>

#include "argosy/base/utf8.h"
#include "argosy/op/kernel/derived_status.h"

namespace argosy::tf {
namespace {

// A step's error may quote what a user fed. A client reads it as UTF-8, also where it was cut.
TEST(RpcError, IsTextWhateverBytesItQuotes) {
  const Status status = at_node(invalid_argument("no number: \xfd\x8c"), "n");
  EXPECT_EQ(worker_message(status), "no number: \\xfd\\x8c\n\t [[{{node n}}]]");
  std::string euros;
  for (std::size_t i = 0; i < kMaxErrorBytes; ++i) euros += "\xe2\x82\xac";
  for (const char* before : {"", ".", ".."}) {
    const std::string cut = worker_message(at_node(invalid_argument(before, euros), "n"));
    EXPECT_LE(cut.size(), kMaxErrorBytes);
    EXPECT_EQ(escape_non_utf8(cut), cut);
  }
}

// The error of a node that failed since another task had: peers find the mark, and people never read it.
TEST(RpcError, KeepsTheMarkOfADerivedErrorFirst) {
  const Status cause = at_node(invalid_argument("out of range"), "n");
  const Status arrived(Code::kInvalidArgument, client_message(derived_status(cause), "/job:ps/replica:0/task:0"));
  EXPECT_TRUE(is_derived(arrived)) << arrived.message();
  EXPECT_EQ(without_derived_mark(arrived).message(), client_message(cause, "/job:ps/replica:0/task:0"));
}

}  // namespace
}  // namespace argosy::tf
