// A worker's methods, one request after the other: a byte that names the method, two of the length, the request. Bit 7 of
// the first byte adds the handle of the graph that was registered last.
#include <cstring>
#include <random>

#include "argosy/base/check.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/runtime/device_set/deadlines.h"
#include "argosy/tf/server/testing/request_mutator.h"
#include "argosy/tf/worker/worker_service.h"
#include "fuzz/input_file.h"

namespace {

using namespace argosy;
using namespace argosy::tf;

constexpr std::string_view kIncarnation = "incarnation00000";  // stands for the CPU's, as keys have it

class Open final : public DeferredReply {
 public:
  Cancellation& cancellation() override { return cancellation_; }
  void answer(Result<std::vector<WirePiece>>) override {}

 private:
  Cancellation cancellation_;
};

class Call final : public CallContext {
 public:
  explicit Call(Deadlines& deadlines) : deadlines_(deadlines) {
    token_ =
        deadlines.add(std::chrono::steady_clock::now() + std::chrono::milliseconds(30), cancellation_, "fuzz").value();
  }
  ~Call() override { deadlines_.remove(token_); }
  Cancellation& cancellation() override { return cancellation_; }
  void expect_duration(std::int64_t) override {}
  std::shared_ptr<DeferredReply> defer_reply() override { return std::make_shared<Open>(); }

 private:
  Deadlines& deadlines_;
  Cancellation cancellation_;
  Deadlines::Token token_ = 0;
};

struct Request {
  std::uint8_t method = 0;
  std::string bytes;
};

std::vector<Request> read_requests(std::string_view input) {
  std::vector<Request> requests;
  while (input.size() >= 3 && requests.size() < 8) {
    const std::size_t length = static_cast<unsigned char>(input[1]) | static_cast<unsigned char>(input[2]) << 8;
    requests.push_back({static_cast<std::uint8_t>(input[0]), std::string(input.substr(3, length))});
    input.remove_prefix(std::min(input.size(), 3 + length));
  }
  return requests;
}

std::string write_requests(const std::vector<Request>& requests) {
  std::string bytes;
  for (const Request& request : requests) {
    if (request.bytes.size() > 0xffff) continue;
    for (const std::size_t byte : {std::size_t{request.method}, request.bytes.size() & 255, request.bytes.size() >> 8})
      bytes += static_cast<char>(byte);
    bytes += request.bytes;
  }
  return bytes;
}

std::string with_handle(const std::string& path, std::string bytes, const std::string& handle) {
  if (handle.empty() || handle.size() > 127) return bytes;
  if (!path.ends_with("/RunGraph") && !path.ends_with("/DeregisterGraph")) return bytes;
  return str_cat(bytes, "\x0a", std::string(1, static_cast<char>(handle.size())),
                 handle);  // field 1: the last one holds
}

std::shared_ptr<DeviceSet> devices() {
  auto made = DeviceSet::make({.task = {"ps", 0, 0, "", std::nullopt}}).value();
  made->set_files(FilePolicy::within({}).value());
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Deadlines deadlines;
  static const std::shared_ptr<DeviceSet> device_set = devices();
  static const ClusterSpec cluster =
      ClusterSpec::parse(R"({"ps": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]})").value();
  const std::uint64_t incarnation = device_set->specs()[0].incarnation;
  std::string hexadecimal = RendezvousKey{.send_incarnation = incarnation}.to_string().substr(1, 16);
  const auto peers = std::make_shared<Peers>(cluster, TaskName{"ps", 0}, PeerCredentials{});
  WorkerService service({.device_set = device_set, .peers = peers});
  const std::vector<RpcMethod> methods = service.methods();
  std::string handle;
  for (const Request& request : read_requests(as_text(data, size))) {
    const RpcMethod& method = methods[(request.method & 127) % methods.size()];
    std::string bytes = request.bytes;
    for (std::size_t at = 0; (at = bytes.find(kIncarnation, at)) != std::string::npos;)
      bytes.replace(at, kIncarnation.size(), hexadecimal);
    if ((request.method & 128) != 0) bytes = with_handle(method.path, std::move(bytes), handle);
    const std::string_view pieces[] = {std::string_view(bytes).substr(0, bytes.size() / 2),
                                       std::string_view(bytes).substr(bytes.size() / 2)};
    Call context(deadlines);
    const RpcReply reply = method.handler(WireReader(pieces), context);
    tensorflow::RegisterGraphResponse registered;
    if (reply.ok() && method.path.ends_with("/RegisterGraph") && registered.ParseFromString(joined(*reply)))
      handle = registered.graph_handle();
  }
  for (int d = 0; d < device_set->size(); ++d) device_set->resources(d).clear();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Request> requests = read_requests(as_text(data, size));
  if (requests.empty()) return size;
  const auto any = [&]() -> Request& { return requests[random() % requests.size()]; };
  switch (random() % 16) {
    case 0: requests.push_back(any()); break;
    case 1: requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(random() % requests.size())); break;
    case 2: std::swap(any(), any()); break;
    case 3: any().method = static_cast<std::uint8_t>(random() % 16 | (random() % 2 << 7)); break;
    default: {
      Request& request = any();
      request.bytes = mutate(request.bytes, random);
    }
  }
  const std::string mutant = write_requests(requests);
  if (mutant.size() > most) return size;
  std::memcpy(data, mutant.data(), mutant.size());
  return mutant.size();
}
