// Copies beside compute: the next batch's way to the device while a step computes, and a snapshot's way back. The
// hidden share of a copy is the time by which both together are shorter than one after the other.
#include <algorithm>
#include <cmath>
#include <thread>

#include "argosy/ops/broadcast/broadcast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/bench/bench_gpus.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"

namespace argosy::cli {

namespace {

using benchmark::Times;

struct Options {
  DeviceRequest request;
  std::int64_t mebibytes = 256, size = 4096, rounds = 9;
};

// On one device: a batch that arrives and is kept, a chain of products, and what a snapshot takes.
struct Parts {
  Graph graph;
  Value batch, small, kept, products, first_values;
  VariableNode state;
};

void build(Parts& parts, const Options& options, const DeviceSpec& device, std::int64_t products) {
  Graph& graph = parts.graph;
  const auto on = graph.device(device.name.to_string());
  const std::int64_t elements = (options.mebibytes << 20) / 4;
  parts.batch = placeholder(graph, DType::kFloat32, {elements}, "batch");
  parts.small = placeholder(graph, DType::kFloat32, {}, "small");
  const VariableNode arrived = variable(graph, PartialShape{elements}, DType::kFloat32, "arrived");
  parts.state = variable(graph, PartialShape{elements}, DType::kFloat32, "state");
  const VariableNode m = variable(graph, PartialShape{options.size, options.size}, DType::kFloat32, "m");
  parts.kept = group(graph, {assign(arrived, parts.batch)});
  parts.first_values = group(graph, {assign(m, broadcast_to(parts.small, {options.size, options.size})),
                                     assign(parts.state, broadcast_to(parts.small, {elements}))});
  Value chain = m.read;
  for (std::int64_t i = 0; i < products; ++i) chain = matmul(chain, m.read);
  parts.products = chain;
}

struct Calls {
  std::unique_ptr<Session> session;
  std::unique_ptr<Session::Callable> copy_in, compute, both, copy_out;
  Tensor batch;

  Status in() { return copy_in->run({&batch, 1}, {}); }
  Status work() { return compute->run({}, {}); }
  Status in_and_work() { return both->run({&batch, 1}, {}); }
  Status out() {
    Tensor snapshot;
    return copy_out->run({}, {&snapshot, 1});
  }
};

Result<Calls> prepare(const Options& options, const Parts& parts) {
  Calls calls;
  calls.session = std::make_unique<Session>(parts.graph, SessionOptions{.devices = options.request});
  Session& session = *calls.session;
  ARGOSY_RETURN_IF_ERROR(Status(session.status()));
  ARGOSY_RETURN_IF_ERROR(session.run({{parts.small, Tensor::scalar(1e-4f)}}, {}, {parts.first_values}).status());
  ARGOSY_ASSIGN_OR_RETURN(calls.copy_in, session.prepare({parts.batch}, {}, {parts.kept}));
  ARGOSY_ASSIGN_OR_RETURN(calls.compute, session.prepare({}, {}, {parts.products}));
  ARGOSY_ASSIGN_OR_RETURN(calls.both, session.prepare({parts.batch}, {}, {parts.kept, parts.products}));
  ARGOSY_ASSIGN_OR_RETURN(calls.copy_out, session.prepare({}, {parts.state.read}));
  calls.batch = Tensor::zeros(DType::kFloat32, {(options.mebibytes << 20) / 4});
  return calls;
}

// Seconds of one call, many times, after some that compile and record.
template <typename Work>
Result<Times> time_each(std::int64_t rounds, Work&& work) {
  Times times;
  for (std::int64_t i = -4; i < rounds; ++i) {
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(work());
    if (i >= 0) times.add(seconds_since(start));
  }
  return times;
}

// Seconds a round of two threads that each do their part `rounds` times, beginning together; a few times.
template <typename One, typename Other>
Result<Times> time_pair(std::int64_t rounds, One&& one, Other&& other) {
  Times times;
  for (int repeat = -1; repeat < 3; ++repeat) {
    Status status, other_status;
    const std::int64_t start = now_nanos();
    std::thread beside([&] {
      for (std::int64_t i = 0; i < rounds && other_status.ok(); ++i) other_status = other();
    });
    for (std::int64_t i = 0; i < rounds && status.ok(); ++i) status = one();
    beside.join();
    const double seconds = seconds_since(start) / static_cast<double>(rounds);
    ARGOSY_RETURN_IF_ERROR(std::move(status));
    ARGOSY_RETURN_IF_ERROR(std::move(other_status));
    if (repeat >= 0) times.add(seconds);
  }
  return times;
}

Result<BenchResult> measure(const Options& options, Console&) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, chosen_devices(options.request));
  const DeviceSpec& device = devices[0];
  BenchResult result{.benchmark = "overlap"};
  // So many products that they take twice as long as either copy.
  constexpr std::int64_t kTrial = 8;
  std::int64_t products = kTrial;
  {
    Parts parts;
    build(parts, options, device, kTrial);
    ARGOSY_ASSIGN_OR_RETURN(Calls calls, prepare(options, parts));
    ARGOSY_ASSIGN_OR_RETURN(const Times in, time_each(3, [&] { return calls.in(); }));
    ARGOSY_ASSIGN_OR_RETURN(const Times out, time_each(3, [&] { return calls.out(); }));
    ARGOSY_ASSIGN_OR_RETURN(const Times work, time_each(3, [&] { return calls.work(); }));
    const double wanted = 2 * std::max(in.min(), out.min()) / work.min();
    products = std::clamp<std::int64_t>(std::llround(std::ceil(kTrial * wanted)), 1, 2000);
  }
  Parts parts;
  build(parts, options, device, products);
  ARGOSY_ASSIGN_OR_RETURN(Calls calls, prepare(options, parts));
  const std::int64_t n = options.rounds;
  ARGOSY_ASSIGN_OR_RETURN(const Times in, time_each(n, [&] { return calls.in(); }));
  ARGOSY_ASSIGN_OR_RETURN(const Times out, time_each(n, [&] { return calls.out(); }));
  ARGOSY_ASSIGN_OR_RETURN(const Times work, time_each(n, [&] { return calls.work(); }));
  ARGOSY_ASSIGN_OR_RETURN(const Times same, time_each(n, [&] { return calls.in_and_work(); }));
  // Two threads take turns: one's batch travels while the other's step computes.
  ARGOSY_ASSIGN_OR_RETURN(const Times next,
                          time_pair(
                              n, [&] { return calls.in_and_work(); }, [&] { return calls.in_and_work(); }));
  ARGOSY_ASSIGN_OR_RETURN(const Times snapshot, time_pair(
                                                    n, [&] { return calls.work(); }, [&] { return calls.out(); }));

  const auto limit = [&](bool inwards) -> std::optional<double> {
    if (device.kind != DeviceKind::kCuda) return std::nullopt;
    static const DeviceSpec host;
    const GpuLinks links = links_of_gpus(options.request);
    const auto rate = inwards ? link_limit(links, host, device) : link_limit(links, device, host);
    if (!rate) return std::nullopt;
    return *rate * 1e-9;
  };
  const double giga = static_cast<double>(options.mebibytes << 20) * 1e-9;
  result.rows.push_back({"batch to the device", "GB/s", giga / in.min(), giga / in.median(), limit(true)});
  result.rows.push_back({"snapshot from the device", "GB/s", giga / out.min(), giga / out.median(), limit(false)});
  const auto add = [&](const char* name, double apart, double copy, const Times& together, double steps) {
    const auto hidden = [&](double seconds) { return std::min(1.0, (apart - seconds / steps) / copy); };
    result.rows.push_back({name, "hidden", hidden(together.min()), hidden(together.median())});
  };
  add("batch under the same step", in.min() + work.min(), in.min(), same, 1);
  add("batch under the step before", in.min() + work.min(), in.min(), next, 2);
  add("snapshot under steps", out.min() + work.min(), out.min(), snapshot, 1);
  result.notes.push_back(str_cat(options.mebibytes, " MiB each way, ", products, " products of ", options.size,
                                 " beside it; hidden: 1 where the copy costs nothing, 0 where it might as well wait"));
  return result;
}

}  // namespace

void add_bench_overlap(Command& bench) {
  Options* options = nullptr;
  Command& command = add_benchmark(bench, "overlap", "Copies to and from a device while it computes", options, measure);
  add_device_flags(command, options->request);
  command.option("--mib N", options->mebibytes, "size of a batch, and of a snapshot", {.least = 1, .most = 4096})
      .option("--size N", options->size, "rows of the matrices that are multiplied meanwhile",
              {.least = 16, .most = 32768})
      .option("--rounds N", options->rounds, "of each", {.least = 1, .most = 1000})
      .example("argosy bench overlap --devices gpu:0", "batches and snapshots of 256 MiB");
}

}  // namespace argosy::cli
