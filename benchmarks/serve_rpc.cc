// The session server with a lean C++ client, beside a raw unary call of the same bytes: bench_serve_rpc [ROUNDS].
//
// Server and raw server are processes of their own (this program, started again). Each row is the smallest time of many
// calls, servers in turn.
#include <absl/synchronization/mutex.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <malloc.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstring>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/server/testing/raw_client.h"
#include "argosy/tf/server/transport/session_server.h"
#include "benchmarks/measure.h"

namespace {

using namespace argosy;
using argosy::benchmark::format_time;
using argosy::benchmark::Times;

// Answers every unary call with `answer` bytes, the number in the method's name: /raw/64.
class RawServer {
 public:
  int start() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(INT_MAX);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterAsyncGenericService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    return port;
  }
  void serve() {
    wait();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) static_cast<Call*>(tag)->advance(*this, ok);
  }

 private:
  struct Call {
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream{&context};
    grpc::ByteBuffer request;
    int state = 0;
    void advance(RawServer& server, bool ok) {
      if (!ok || state == 2) {
        delete this;
      } else if (state++ == 0) {
        server.wait();
        stream.Read(&request, this);
      } else {
        stream.WriteAndFinish(server.answer(std::atoi(context.method().c_str() + 5)), {}, grpc::Status::OK, this);
      }
    }
  };
  void wait() {
    auto* const call = new Call;
    service_.RequestCall(&call->context, &call->stream, queue_.get(), queue_.get(), call);
  }
  grpc::ByteBuffer answer(int bytes) {
    if (static_cast<int>(slice_.size()) != bytes)
      slice_ = grpc::Slice(std::string(static_cast<std::size_t>(bytes), 'x'));
    return grpc::ByteBuffer(&slice_, 1);
  }
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  grpc::Slice slice_;
};

// This program again, as a server; its port comes through a pipe.
class Child {
 public:
  explicit Child(const char* role) {
    int ends[2];
    ARGOSY_CHECK(pipe(ends) == 0);
    const std::string fd = str_cat(ends[1]);
    const char* const argv[] = {"bench_serve_rpc", role, fd.c_str(), nullptr};
    ARGOSY_CHECK(posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(argv), environ) == 0);
    close(ends[1]);
    ARGOSY_CHECK(read(ends[0], &port_, sizeof port_) == sizeof port_);
    close(ends[0]);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::string address() const { return str_cat("127.0.0.1:", port_); }

 private:
  pid_t pid_ = 0;
  int port_ = 0;
};

int be_server(const char* role, int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever measures may be killed
  // As argosy serve does, for both.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const auto tell = [fd](int port) { return write(fd, &port, sizeof port) == sizeof port; };
  if (std::strcmp(role, "raw") == 0) {
    RawServer server;
    if (!tell(server.start())) return 1;
    server.serve();
    return 0;
  }
  auto server = tf::SessionServer::start({.port = 0});
  ARGOSY_CHECK(server.ok());
  if (!tell((*server)->port())) return 1;
  pause();
  return 0;
}

tensorflow::NodeDef& add_node(tensorflow::GraphDef& graph, const char* name, const char* op,
                              std::initializer_list<const char*> inputs, const char* type) {
  tensorflow::NodeDef& node = *graph.add_node();
  node.set_name(name);
  node.set_op(op);
  for (const char* input : inputs) node.add_input(input);
  if (*type != 0) (*node.mutable_attr())[type].set_type(tensorflow::DT_FLOAT);
  return node;
}

std::string graph() {
  tensorflow::GraphDef def;
  (*add_node(def, "x", "Placeholder", {}, "dtype").mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
  add_node(def, "y", "AddV2", {"x", "x"}, "T");
  add_node(def, "size", "Size", {"x"}, "T");
  add_node(def, "nothing", "NoOp", {}, "");
  (*add_node(def, "v", "VarHandleOp", {}, "dtype").mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
  add_node(def, "assign", "AssignVariableOp", {"v", "x"}, "dtype");
  add_node(def, "read", "ReadVariableOp", {"v"}, "dtype");
  return def.SerializeAsString();
}

struct Row {
  const char* name;
  std::string request;
  int answer;  // bytes
  int repeats;
  Times ours{}, raw{};
};

int measure(int rounds) {
  const Child ours("ours"), raw("raw");
  tf::RawClient to_ours(ours.address()), to_raw(raw.address());
  const std::string session = to_ours.create(graph());
  ARGOSY_CHECK(!session.empty());
  const Tensor small = Tensor::scalar(1.0f), big = Tensor::zeros(DType::kFloat32, {16 << 20});
  ARGOSY_CHECK(to_ours.run(session, {.feeds = {{"x:0", big}}, .targets = {"assign"}}).code == 0);
  std::vector<Row> rows = {
      {"run a NoOp", tf::run_step_request(session, {.targets = {"nothing"}}), 0, 200},
      {"feed, add, fetch 4 bytes", tf::run_step_request(session, {.feeds = {{"x:0", small}}, .fetches = {"y:0"}}), 20,
       200},
      {"feed 64 MiB", tf::run_step_request(session, {.feeds = {{"x:0", big}}, .fetches = {"size:0"}}), 20, 1},
      {"fetch 64 MiB", tf::run_step_request(session, {.fetches = {"read:0"}}), 64 << 20, 1},
  };
  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows) {
      const std::string path = str_cat("/raw/", row.answer);
      row.raw.add(benchmark::time_of(1, [&] { ARGOSY_CHECK(to_raw.repeat(path, row.request, row.repeats) >= 0); }) /
                  row.repeats);
      row.ours.add(benchmark::time_of(1,
                                      [&] {
                                        ARGOSY_CHECK(to_ours.repeat("/tensorflow.MasterService/RunStep", row.request,
                                                                    row.repeats) >= 0);
                                      }) /
                   row.repeats);
    }
  }
  for (const Row& row : rows) {
    std::printf("%-26s argosy %s (median %s)   raw unary %s (median %s)   x %.2f, of medians %.2f\n", row.name,
                format_time(row.ours.min()).c_str(), format_time(row.ours.median()).c_str(),
                format_time(row.raw.min()).c_str(), format_time(row.raw.median()).c_str(),
                row.ours.min() / row.raw.min(), row.ours.median() / row.raw.median());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return be_server(argv[1], std::atoi(argv[2]));
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  if (rounds > 0) return measure(rounds);
  std::fprintf(stderr, "bench_serve_rpc: '%s' is no number of rounds; usage: bench_serve_rpc [ROUNDS]\n", argv[1]);
  return 2;
}
