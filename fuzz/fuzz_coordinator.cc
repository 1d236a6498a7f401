// The coordinator's methods: the first byte names the method, the rest follows the job token. The same bytes as the
// coordinator's answer, as frames of an agent of `argosy launch`, and as PMI-1's answers.
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "argosy/base/check.h"
#include "argosy/cluster/coordinator/coordinator_methods.h"
#include "argosy/cluster/coordinator/wire_messages.h"
#include "argosy/cluster/environment/launcher_exchange.h"
#include "argosy/cluster/proto/cluster.pb.h"
#include "fuzz/input_file.h"
#include "tools/argosy/launch/frames.h"

namespace {

using namespace argosy;

// Its client is gone already: what would wait for others ends.
class GoneCall final : public tf::CallContext {
 public:
  GoneCall() { cancellation_.cancel(cancelled("gone")); }
  Cancellation& cancellation() override { return cancellation_; }
  void expect_duration(std::int64_t) override {}

 private:
  Cancellation cancellation_;
};

constexpr std::uint64_t kIncarnation = 7;

JoinCall join_call(int rank) {
  return {.job = "j",
          .version = "1",
          .size = 2,
          .task = {.rank = rank, .host = "b", .address = "b:0", .incarnation = kIncarnation, .devices = {"gpu:0"}},
          .program = {{"--batch", "64"}}};
}

void call_coordinator(std::uint8_t which, std::string_view body) {
  static const JobToken token = JobToken::draw();
  const auto coordinator =
      std::make_shared<Coordinator>(CoordinatorOptions{.own = join_call(0), .hosts = {}}, system_clock());
  GoneCall gone;
  if (which % 2 == 0) (void)coordinator->join(join_call(1), gone.cancellation(), {});
  const auto methods = coordinator_methods(coordinator, token);
  const tf::RpcMethod& method = methods[which / 2 % methods.size()];
  if (method.path.ends_with("Fail")) return;  // of a task that has joined it waits for tick()
  std::string request = str_cat(token.bytes(), body);
  // The coordinator's incarnation is drawn: "COORDIN8" stands for it.
  const std::uint64_t incarnation = coordinator->incarnation();
  for (std::size_t at = 0; (at = request.find("COORDIN8", at)) != std::string::npos;)
    request.replace(at, 8, reinterpret_cast<const char*>(&incarnation), 8);
  const std::array<std::string_view, 2> pieces = {std::string_view(request).substr(0, request.size() / 2),
                                                  std::string_view(request).substr(request.size() / 2)};
  const tf::RpcReply reply = method.handler(tf::WireReader(pieces), gone);
  ARGOSY_CHECK(reply.ok());
  cluster::v1::Envelope envelope;
  ARGOSY_CHECK(envelope.ParseFromString(tf::joined(*reply)));
  coordinator->tick();
  cluster::v1::StatusResponse status;
  to_message(*coordinator, status);
}

// What a task reads from a coordinator.
void read_answer(const std::string& bytes) {
  cluster::v1::Envelope envelope;
  if (!envelope.ParseFromString(bytes)) return;
  (void)from_message(envelope.error()).to_string();
  cluster::v1::JoinResponse joined;
  if (!joined.ParseFromString(envelope.body())) return;
  for (const auto& task : joined.tasks()) (void)from_message(task);
}

void read_frames(std::string_view bytes) {
  cli::FrameReader reader;
  std::size_t taken = 0;
  const std::size_t half = bytes.size() / 2;
  for (const std::string_view piece : {bytes.substr(0, half), bytes.substr(half)}) {
    const Status status = reader.feed(piece, [&](cli::FrameKind, std::string_view body) { taken += body.size(); });
    if (!status.ok()) break;
  }
  ARGOSY_CHECK(taken <= bytes.size());
}

void ask_launcher(std::string_view answers) {
  int ends[2];
  if (answers.size() > 4096 || ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  ARGOSY_CHECK(::write(ends[1], answers.data(), answers.size()) == static_cast<ssize_t>(answers.size()));
  ::shutdown(ends[1], SHUT_WR);
  const auto shared = share_by_pmi1(ends[0], answers.size() % 2, "value");
  ARGOSY_CHECK(shared.ok() || shared.status().id() == "ARG-CLUSTER-049");
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body = as_text(data + 1, size - 1);
  switch (data[0] >> 6) {
    case 0: read_answer(std::string(body)); break;
    case 1: read_frames(body); break;
    case 2: ask_launcher(body); break;
    default: call_coordinator(data[0] & 63, body);
  }
  return 0;
}
