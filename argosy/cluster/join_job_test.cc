// Jobs whose tasks are threads of this process, over real connections on loopback.
#include "argosy/cluster/join_job.h"

#include <gmock/gmock.h>

#include <future>
#include <thread>

#include "argosy/cluster/coordinator/coordinator_client.h"
#include "argosy/cluster/coordinator/wire_messages.h"
#include "argosy/cluster/proto/cluster.pb.h"
#include "argosy/rpc/gate/listening_socket.h"

namespace argosy {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

using Joined = Result<std::unique_ptr<JobTasks>>;

int free_port() {
  const auto socket = tf::listening_socket("127.0.0.1", 0);
  return tf::port_of(socket->get());
}

JoinOptions options(int rank, int size, int port) {
  JoinOptions options{.place = {.rank = rank, .size = size},
                      .devices = {str_cat("gpu:", rank)},
                      .version = "1",
                      .program = {{"--batch", "64"}},
                      .start_timeout = milliseconds(20'000),
                      .heartbeat = milliseconds(200)};
  options.place.coordinators = {str_cat("127.0.0.1:", port)};
  options.place.job = "test";
  return options;
}

std::vector<Joined> join_all(const std::vector<JoinOptions>& options, milliseconds apart = milliseconds(0)) {
  std::vector<std::future<Joined>> joining;
  for (const JoinOptions& one : options) {
    joining.push_back(std::async(std::launch::async, [&one] { return join_job(one); }));
    std::this_thread::sleep_for(apart);
  }
  std::vector<Joined> joined;
  for (auto& one : joining) joined.push_back(one.get());
  return joined;
}

// Runs `work` as every task, each on a thread.
void run_job(int size, const std::function<void(JobTasks&)>& work) {
  const int port = free_port();
  std::vector<JoinOptions> all;
  for (int rank = 0; rank < size; ++rank) all.push_back(options(rank, size, port));
  std::vector<Joined> joined = join_all(all);
  std::vector<std::thread> threads;
  for (Joined& one : joined) {
    ASSERT_TRUE(one.ok()) << one.status().to_string();
    threads.emplace_back([&work, job = std::shared_ptr<JobTasks>(*std::move(one))] { work(*job); });
  }
  joined.clear();
  for (std::thread& thread : threads) thread.join();
}

TEST(JoinJob, JobOfOneNeedsNothing) {
  const Joined job = join_job({.devices = {"cpu:0"}});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ((*job)->size(), 1);
  EXPECT_TRUE((*job)->store().put("a", "1").ok());
  EXPECT_EQ(*(*job)->store().get("a", milliseconds(0)), "1");
  EXPECT_TRUE((*job)->barrier("b", milliseconds(0)).ok());
  Status told;
  (*job)->on_abort([&](const Status& cause) { told = cause; });
  EXPECT_EQ((*job)->fail(internal_error("x")).message(), "x");
  EXPECT_EQ((*job)->fail(internal_error("y")).message(), "x");
  EXPECT_EQ(told.message(), "x");
}

TEST(JoinJob, TasksComeInAnyOrderAndKnowEachOther) {
  const int port = free_port();
  std::vector<Joined> joined =
      join_all({options(2, 3, port), options(0, 3, port), options(1, 3, port)}, milliseconds(150));
  for (const Joined& one : joined) {
    ASSERT_TRUE(one.ok()) << one.status().to_string();
    ASSERT_EQ((*one)->tasks().size(), 3u);
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ((*one)->tasks()[static_cast<std::size_t>(rank)].rank, rank);
      EXPECT_THAT((*one)->tasks()[static_cast<std::size_t>(rank)].devices, testing::ElementsAre(str_cat("gpu:", rank)));
    }
    EXPECT_EQ((*one)->tasks()[0].address, str_cat("127.0.0.1:", port));
    EXPECT_EQ((*one)->local_address(), "127.0.0.1");
  }
  auto last = std::async(std::launch::async, [&] { return (*joined[1])->leave(); });  // task 0 waits
  EXPECT_TRUE((*joined[0])->leave().ok());
  EXPECT_TRUE((*joined[2])->leave().ok());
  EXPECT_TRUE(last.get().ok());
}

TEST(JoinJob, StoreAndBarriersAreShared) {
  run_job(4, [](JobTasks& job) {
    const std::string own = std::to_string(job.rank());
    EXPECT_TRUE(job.store().put("address " + own, "value " + own).ok());
    for (int rank = 0; rank < job.size(); ++rank) {
      EXPECT_EQ(*job.store().get(str_cat("address ", rank), milliseconds(10'000)), str_cat("value ", rank));
    }
    EXPECT_EQ(job.store().get("never", milliseconds(10)).status().id(), "ARG-CLUSTER-003");
    for (int i = 0; i < 20; ++i) {
      job.progress(i, "barrier");
      EXPECT_TRUE(job.barrier(str_cat("step ", i), milliseconds(10'000)).ok());
    }
    EXPECT_TRUE(job.leave().ok());
  });
}

TEST(JoinJob, FailureReachesEveryTaskWithOneCause) {
  std::promise<void> told[3];
  run_job(3, [&](JobTasks& job) {
    Status cause;
    std::promise<void>& mine = told[job.rank()];
    job.on_abort([&](const Status& c) { cause = c, mine.set_value(); });
    const auto began = std::chrono::steady_clock::now();
    if (job.rank() == 1) {
      EXPECT_THAT(job.fail(invalid_argument("nan").with_where("node 'loss'")).message(), HasSubstr("nan"));
    } else {
      EXPECT_THAT(job.barrier("never", milliseconds(30'000)).message(), HasSubstr("nan"));
    }
    ASSERT_EQ(mine.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
    EXPECT_EQ(cause.message(), "nan");
    EXPECT_THAT(cause.where(), HasSubstr("node 'loss', task 1"));
    EXPECT_EQ(job.store().put("late", "1").message(), "nan");
    EXPECT_EQ(job.leave().message(), "nan");
  });
}

TEST(JoinJob, TaskThatGoesWithoutLeavingIsLost) {
  const int port = free_port();
  std::vector<Joined> joined = join_all({options(0, 2, port), options(1, 2, port)});
  ASSERT_TRUE(joined[0].ok() && joined[1].ok());
  const auto began = std::chrono::steady_clock::now();
  (*joined[1]).reset();
  const Status cause = (*joined[0])->barrier("b", milliseconds(20'000));
  EXPECT_EQ(cause.id(), "ARG-CLUSTER-044") << cause.to_string();
  EXPECT_THAT(cause.message(), HasSubstr("task 1"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(3));
}

TEST(JoinJob, CoordinatorThatGoesIsLost) {
  const int port = free_port();
  std::vector<Joined> joined = join_all({options(0, 2, port), options(1, 2, port)});
  ASSERT_TRUE(joined[0].ok() && joined[1].ok());
  (*joined[0]).reset();
  const Status cause = (*joined[1])->barrier("b", milliseconds(20'000));
  EXPECT_EQ(cause.id(), "ARG-CLUSTER-044") << cause.to_string();
  EXPECT_THAT(cause.message(), HasSubstr("task 0"));
}

TEST(JoinJob, WrongTokenIsRefusedAtOnceAndEndsNothing) {
  const int port = free_port();
  JoinOptions zero = options(0, 2, port), one = options(1, 2, port), stranger = options(1, 2, port);
  zero.place.token = one.place.token = std::string(64, 'a');
  stranger.place.token = std::string(64, 'b');
  auto first = std::async(std::launch::async, [&] { return join_job(zero); });
  Joined refused = join_job(stranger);
  while (!refused.ok() && refused.status().id() != "ARG-CLUSTER-034") refused = join_job(stranger);
  EXPECT_EQ(refused.status().code(), Code::kPermissionDenied);
  const Joined second = join_job(one);
  EXPECT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_TRUE(first.get().ok());
}

TEST(JoinJob, OtherVersionIsTheCauseOnBothSides) {
  const int port = free_port();
  JoinOptions other = options(1, 2, port);
  other.version = "2";
  const std::vector<Joined> joined = join_all({options(0, 2, port), other});
  for (const Joined& one : joined) EXPECT_EQ(one.status().id(), "ARG-CLUSTER-035") << one.status().to_string();
  EXPECT_EQ(joined[0].status().to_string(), joined[1].status().to_string());
}

TEST(JoinJob, DeadlineNamesWhoIsMissing) {
  JoinOptions alone = options(0, 3, free_port());
  alone.start_timeout = milliseconds(2500);
  alone.place.hosts = {"127.0.0.1", "127.0.0.1", "no-such-host.invalid"};
  std::vector<std::string> lines;
  alone.note = [&](std::string_view line) { lines.emplace_back(line); };
  const Status late = join_job(alone).status();
  EXPECT_EQ(late.id(), "ARG-CLUSTER-038") << late.to_string();
  EXPECT_THAT(late.message(), HasSubstr("2 of 3 tasks are missing: task 1"));
  EXPECT_THAT(late.message(), HasSubstr("task 2  no-such-host.invalid"));
  EXPECT_THAT(str_join(lines, "\n"), HasSubstr("for 2 of 3 tasks at 127.0.0.1"));
}

// A task that had started before the coordinator gave up before it, with a text of its own.
TEST(JoinJob, TaskThatStartedFirstTellsTheCoordinatorsCause) {
  const int port = free_port();
  JoinOptions first = options(1, 3, port), zero = options(0, 3, port);
  first.start_timeout = zero.start_timeout = milliseconds(1200);
  auto early = std::async(std::launch::async, [&] { return join_job(first).status(); });
  std::this_thread::sleep_for(milliseconds(600));
  const Status cause = join_job(zero).status();
  EXPECT_EQ(cause.id(), "ARG-CLUSTER-038") << cause.to_string();
  EXPECT_EQ(early.get().to_string(), cause.to_string());
}

TEST(JoinJob, TaskThatFindsNoCoordinatorSaysTheNetworksError) {
  JoinOptions lost = options(1, 2, free_port());
  lost.start_timeout = milliseconds(300);
  const Status late = join_job(lost).status();
  EXPECT_EQ(late.id(), "ARG-CLUSTER-038");
  EXPECT_THAT(late.message(), HasSubstr("connection refused"));
}

TEST(JoinJob, TakenPortIsNamedOrTheNextIsTaken) {
  const auto taken = tf::listening_socket("127.0.0.1", 0);
  const int port = tf::port_of(taken->get());
  const Status refused = join_job(options(0, 2, port)).status();
  EXPECT_EQ(refused.id(), "ARG-CLUSTER-041") << refused.to_string();
  EXPECT_THAT(refused.to_string(), HasSubstr(std::to_string(port)));
  const int next = free_port();
  std::vector<JoinOptions> all = {options(0, 2, port), options(1, 2, port)};
  for (JoinOptions& one : all) one.place.coordinators.push_back(str_cat("127.0.0.1:", next));
  for (const Joined& one : join_all(all)) EXPECT_TRUE(one.ok()) << one.status().to_string();
}

TEST(JoinJob, ListensBeyondLoopbackOnlyWithANetworkAndAToken) {
  JoinOptions far = options(0, 2, free_port());
  far.place.coordinators = {"192.0.2.1:4000"};  // of documentation, on no host
  EXPECT_EQ(join_job(far).status().id(), "ARG-CLUSTER-041");
}

TEST(JoinJob, DamagedRequestsAreErrors) {
  const int port = free_port();
  auto zero = std::async(std::launch::async, [&] {
    JoinOptions alone = options(0, 2, port);
    alone.start_timeout = milliseconds(3000);
    return join_job(alone).status();
  });
  tf::RpcChannel channel({.address = str_cat("127.0.0.1:", port)});
  const auto send = [&](const std::string& bytes) {
    std::vector<tf::WirePiece> pieces(1);
    pieces[0].bytes = bytes;
    return channel.call(str_cat(kCoordinatorPath, "Join"), std::move(pieces), milliseconds(2000));
  };
  Result<tf::RpcResponse> answer = send("");
  while (answer.status().code() == Code::kUnavailable) answer = send("");
  EXPECT_EQ(answer.status().code(), Code::kPermissionDenied);
  EXPECT_EQ(send(std::string(31, 0)).status().code(), Code::kPermissionDenied);
  answer = send(std::string(32, 0) + "\xff\xff\xff");
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  cluster::v1::Envelope envelope;
  ASSERT_TRUE(envelope.ParseFromString(answer->reader().joined()));
  EXPECT_EQ(from_message(envelope.error()).id(), "ARG-CLUSTER-046");
  EXPECT_EQ(zero.get().id(), "ARG-CLUSTER-038");
}

}  // namespace
}  // namespace argosy
