// Requests of every method, damaged at random: each is answered, nothing of it ends the process or the job.
#include "argosy/cluster/coordinator/coordinator_methods.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "argosy/cluster/coordinator/wire_messages.h"
#include "argosy/cluster/proto/cluster.pb.h"

namespace argosy {
namespace {

// A call whose client is gone already: what would wait for others ends.
class GoneCall final : public tf::CallContext {
 public:
  GoneCall() { cancellation_.cancel(cancelled("gone")); }
  Cancellation& cancellation() override { return cancellation_; }
  void expect_duration(std::int64_t) override {}

 private:
  Cancellation cancellation_;
};

JoinCall join_call() {
  return {.job = "j",
          .version = "1",
          .size = 2,
          .task = {.rank = 1, .host = "b", .address = "b:0", .incarnation = 7, .devices = {"gpu:0"}},
          .program = {{"--batch", "64"}}};
}

// A right request of each method, by its name.
std::string right_request(const std::string& method, const Coordinator& coordinator) {
  const CallerId caller{.rank = 1, .incarnation = 7, .coordinator = coordinator.incarnation()};
  if (method == "Join") {
    cluster::v1::JoinRequest request;
    to_message(join_call(), request);
    return request.SerializeAsString();
  }
  if (method == "Status") return {};
  cluster::v1::BarrierRequest request;  // has a sender, a text and a time, as the others have
  to_message(caller, *request.mutable_sender());
  request.set_name("name");
  request.set_timeout_ms(1);
  return request.SerializeAsString();
}

std::string mutate(std::string bytes, std::mt19937_64& random) {
  for (std::uint64_t i = 0, times = random() % 4; i < times && !bytes.empty(); ++i) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 3) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes.erase(at, 1 + random() % 8); break;
      default: bytes.insert(at, std::string(1 + random() % 8, static_cast<char>(random())));
    }
  }
  return bytes;
}

TEST(CoordinatorMethods, DamagedRequestsAreAnswered) {
  const JobToken token = JobToken::draw();
  std::mt19937_64 random(34);
  int refused = 0, answered = 0;
  // Fail and Leave are right requests that end a job: each round has a coordinator of its own.
  for (int round = 0; round < 3000; ++round) {
    const auto coordinator =
        std::make_shared<Coordinator>(CoordinatorOptions{.own = join_call(), .hosts = {}}, system_clock());
    for (const tf::RpcMethod& method : coordinator_methods(coordinator, token)) {
      const std::string name = method.path.substr(std::string(kCoordinatorPath).size());
      if (name == "Fail") continue;  // of a task that has joined it waits for tick()
      const std::string bytes = std::string(token.bytes()) + right_request(name, *coordinator);
      const std::string damaged = mutate(bytes, random);
      GoneCall call;
      const std::array<std::string_view, 1> pieces = {damaged};
      const tf::RpcReply reply = method.handler(tf::WireReader(pieces), call);
      if (!reply.ok()) {
        ASSERT_EQ(reply.status().id(), "ARG-CLUSTER-034");
        ASSERT_NE(damaged.substr(0, JobToken::kBytes), token.bytes());
        ++refused;
        continue;
      }
      cluster::v1::Envelope envelope;
      ASSERT_TRUE(envelope.ParseFromString(tf::joined(*reply))) << name;
      ++answered;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(answered, 1000);
}

TEST(WireMessages, ErrorsThatQuoteAnyBytesComeBack) {
  const Status told =
      data_loss("record \xff\xfe\x01 is damaged").with_id("ARG-X").with_where("a\xc3").with_hint("b\x80");
  cluster::v1::Failure message, again;
  to_message(told, message);
  ASSERT_TRUE(again.ParseFromString(message.SerializeAsString()));
  EXPECT_EQ(from_message(again).to_string(), told.to_string());
}

}  // namespace
}  // namespace argosy
