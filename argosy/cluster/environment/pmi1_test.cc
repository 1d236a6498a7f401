// PMI-1 against a launcher of the test's own, in order and out of order.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "argosy/cluster/environment/launcher_exchange.h"
#include "argosy/rpc/gate/descriptor.h"

namespace argosy {
namespace {

struct Line {
  const char* asked;   // the start of what must come
  const char* answer;  // what is said to it
};

Result<std::string> share(int rank, const std::vector<Line>& lines) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  tf::Descriptor ours(ends[0]), theirs(ends[1]);
  std::thread launcher([&] {
    for (const Line& line : lines) {
      std::string got;
      for (char c = 0; ::read(theirs.get(), &c, 1) == 1 && c != '\n';) got += c;
      EXPECT_TRUE(got.starts_with(line.asked)) << got;
      const std::string answer = std::string(line.answer) + "\n";
      EXPECT_EQ(::write(theirs.get(), answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    }
    theirs.reset();
  });
  Result<std::string> shared = share_by_pmi1(ours.get(), rank, "10.0.0.1:4711/ab");
  launcher.join();
  return shared;
}

const Line kInit = {"cmd=init pmi_version=1", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"};
const Line kName = {"cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kvs_1_0"};
const Line kPut = {"cmd=put kvsname=kvs_1_0 key=argosy-coordinator value=10.0.0.1:4711/ab",
                   "cmd=put_result rc=0 msg=success"};
const Line kBarrier = {"cmd=barrier_in", "cmd=barrier_out"};
const Line kGet = {"cmd=get kvsname=kvs_1_0 key=argosy-coordinator",
                   "cmd=get_result rc=0 msg=success value=10.0.0.1:4711/ab"};
const Line kEnd = {"cmd=finalize", "cmd=finalize_ack"};

TEST(Pmi1, SharesWhatTask0Says) {
  EXPECT_EQ(*share(0, {kInit, kName, kPut, kBarrier, kGet, kEnd}), "10.0.0.1:4711/ab");
  EXPECT_EQ(*share(1, {kInit, kName, kBarrier, kGet, kEnd}), "10.0.0.1:4711/ab");
}

TEST(Pmi1, ALauncherThatIsGoneIsAnError) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const tf::Descriptor ours(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(share_by_pmi1(ours.get(), 1, "10.0.0.1:4711/ab").status().id(), "ARG-CLUSTER-049");
}

TEST(Pmi1, OtherAnswersAreErrors) {
  EXPECT_EQ(share(1, {}).status().id(), "ARG-CLUSTER-049");
  EXPECT_EQ(share(1, {{"cmd=init", "cmd=response_to_init rc=-1"}}).status().id(), "ARG-CLUSTER-049");
  EXPECT_EQ(share(1, {{"cmd=init", "cmd=fullinit_response rc=0"}}).status().id(), "ARG-CLUSTER-049");
  EXPECT_EQ(share(1, {{"cmd=init", ""}}).status().id(), "ARG-CLUSTER-049");
  EXPECT_EQ(share(1, {kInit, kName, kBarrier, {"cmd=get", "cmd=get_result rc=1"}}).status().id(), "ARG-CLUSTER-049");
}

}  // namespace
}  // namespace argosy
