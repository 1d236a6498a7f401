#include "argosy/cluster/check/pair_check.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "argosy/base/clock.h"
#include "argosy/cluster/network/host_port.h"
#include "argosy/rpc/transport/grpc_transport.h"
#include "argosy/rpc/transport/rpc_channel.h"

namespace argosy {

namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using tf::RpcReply;

constexpr const char* kEchoPath = "/argosy.cluster.v1.Check/Echo";
constexpr const char* kSinkPath = "/argosy.cluster.v1.Check/Sink";
constexpr milliseconds kWait{60'000};   // for other tasks
constexpr milliseconds kAnswer{5'000};  // of one call
constexpr int kEchoes = 20;
constexpr std::size_t kBlock = 4 << 20;
constexpr double kMeasureSeconds = 0.2;
constexpr double kSlow = 0.5;

std::int64_t wall_nanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Echo answers with its clock, Sink with nothing. Both ask for the token first.
std::vector<tf::RpcMethod> check_methods(const JobToken& token) {
  const auto method = [token](const char* path, bool clock) {
    return tf::RpcMethod{
        .path = path, .handler = [token, clock](tf::WireReader request, tf::CallContext&) -> RpcReply {
          char presented[JobToken::kBytes];
          if (!request.copy(sizeof presented, presented) || !token.equals({presented, sizeof presented})) {
            return permission_denied("the job token is another one").with_id("ARG-CLUSTER-034");
          }
          std::vector<tf::WirePiece> pieces(1);
          const std::int64_t now = wall_nanos();
          if (clock) pieces[0].bytes.assign(reinterpret_cast<const char*>(&now), sizeof now);
          return pieces;
        }};
  };
  return {method(kEchoPath, true), method(kSinkPath, false)};
}

class Pair {
 public:
  Pair(const JobToken& token, const std::string& address) : token_(token), channel_({.address = address}) {}

  Status measure(PairFacts& facts) {
    for (int i = 0; i < kEchoes; ++i) ARGOSY_RETURN_IF_ERROR(echo(facts));
    const std::string block(kBlock, 'x');
    ARGOSY_RETURN_IF_ERROR(send(kSinkPath, block).status());  // the window opens
    const std::int64_t began = now_nanos();
    std::size_t bytes = 0;
    while (seconds_since(began) < kMeasureSeconds) {
      ARGOSY_RETURN_IF_ERROR(send(kSinkPath, block).status());
      bytes += kBlock;
    }
    facts.bytes_per_second = static_cast<double>(bytes) / seconds_since(began);
    return ok_status();
  }

 private:
  Result<std::string> send(const char* path, std::string_view body) {
    std::vector<tf::WirePiece> pieces(1);
    pieces[0].bytes = str_cat(token_.bytes(), body);
    ARGOSY_ASSIGN_OR_RETURN(const tf::RpcResponse response, channel_.call(path, std::move(pieces), kAnswer));
    return response.reader().joined();
  }

  Status echo(PairFacts& facts) {
    const std::int64_t before = wall_nanos(), began = now_nanos();
    ARGOSY_ASSIGN_OR_RETURN(const std::string answer, send(kEchoPath, {}));
    const double round_trip = seconds_since(began);
    std::int64_t theirs = 0;
    if (answer.size() != sizeof theirs) return data_loss("an answer of ", answer.size(), " bytes");
    std::memcpy(&theirs, answer.data(), sizeof theirs);
    if (facts.round_trip_seconds != 0 && round_trip >= facts.round_trip_seconds) return ok_status();
    facts.round_trip_seconds = round_trip;
    facts.clock_seconds = (static_cast<double>(theirs) - static_cast<double>(before)) * 1e-9 - round_trip / 2;
    return ok_status();
  }

  const JobToken token_;
  tf::RpcChannel channel_;
};

PairFacts measure_pair(const JobToken& token, int from, int to, const std::string& address) {
  PairFacts facts{.from = from, .to = to};
  const auto at = HostPort::parse(address);
  const auto tried =
      at.ok() ? try_connection(at->host, at->port, milliseconds(2000)) : Result<TriedConnection>(at.status());
  if (!tried.ok()) {
    facts.error = tried.status().message();
    return facts;
  }
  const Status status = Pair(token, address).measure(facts);
  if (!status.ok()) facts.error = status.message();
  return facts;
}

std::string number(double value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string pairs_text(const std::vector<PairFacts>& pairs) {
  Json rows = Json::array();
  for (const PairFacts& p : pairs) {
    rows.push_back({p.from, p.to, p.round_trip_seconds, p.bytes_per_second, p.clock_seconds, p.error});
  }
  return rows.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<PairFacts>> read_pairs(std::string_view text, int size) {
  const auto damaged = [](std::string_view why) {
    return data_loss("a task's measurements cannot be read: ", why).with_id("ARG-CLUSTER-046");
  };
  const auto flat = [](int depth, Json::parse_event_t, Json&) { return depth <= 3; };
  const Json rows = Json::parse(text, flat, false);
  if (!rows.is_array()) return damaged("no list");
  const auto is_task = [&](const Json& n) { return n.is_number_integer() && n >= 0 && n < size; };
  const auto real = [](const Json& n) { return n.is_null() ? 0.0 : n.get<double>(); };  // JSON has no infinity
  std::vector<PairFacts> pairs;
  for (const Json& row : rows) {
    if (!row.is_array() || row.size() != 6) return damaged("a row is no list of six");
    if (!is_task(row[0]) || !is_task(row[1]) || !row[5].is_string()) return damaged("a row names no pair");
    for (const std::size_t i : {2u, 3u, 4u}) {
      if (!row[i].is_number() && !row[i].is_null()) return damaged("a row without numbers");
    }
    pairs.push_back({row[0], row[1], real(row[2]), real(row[3]), real(row[4]), row[5]});
  }
  return pairs;
}

Result<std::vector<PairFacts>> check_pairs(JobTasks& job, const JobToken& token,
                                           const std::vector<std::string>& insecure_networks) {
  ARGOSY_ASSIGN_OR_RETURN(tf::PeerFilter networks, tf::PeerFilter::parse(insecure_networks));
  ARGOSY_ASSIGN_OR_RETURN(
      const auto transport,
      tf::GrpcTransport::start(
          check_methods(token),
          {.host = job.local_address(), .port = 0, .rules = {.filter = true, .networks = std::move(networks)}}));
  const int own = job.rank(), size = job.size();
  const std::string address = HostPort{job.local_address(), transport->port()}.to_string();
  ARGOSY_RETURN_IF_ERROR(job.store().put(str_cat("check address ", own), address));
  std::vector<PairFacts> pairs;
  // In round d task r measures to r + d: every task sends to one and receives from one.
  for (int d = 1; d < size; ++d) {
    const int to = (own + d) % size;
    job.progress(d, str_cat("measures to task ", to));
    ARGOSY_RETURN_IF_ERROR(job.barrier(str_cat("check round ", d), kWait));
    ARGOSY_ASSIGN_OR_RETURN(const std::string theirs, job.store().get(str_cat("check address ", to), kWait));
    pairs.push_back(measure_pair(token, own, to, theirs));
  }
  ARGOSY_RETURN_IF_ERROR(job.store().put(str_cat("check pairs ", own), pairs_text(pairs)));
  ARGOSY_RETURN_IF_ERROR(job.barrier("check end", kWait));  // servers stay until nobody measures
  if (own != 0) return std::vector<PairFacts>();
  pairs.clear();
  for (int rank = 0; rank < size; ++rank) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string text, job.store().get(str_cat("check pairs ", rank), kWait));
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<PairFacts> theirs, read_pairs(text, size));
    pairs.insert(pairs.end(), theirs.begin(), theirs.end());
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const auto& a, const auto& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
  return pairs;
}

std::vector<std::string> bad_pairs(const std::vector<PairFacts>& pairs, const std::vector<JobTask>& tasks) {
  std::vector<double> rates;
  for (const PairFacts& pair : pairs) {
    if (pair.error.empty()) rates.push_back(pair.bytes_per_second);
  }
  std::sort(rates.begin(), rates.end());
  const double median = rates.empty() ? 0 : rates[rates.size() / 2];
  const auto name = [&](int rank) {
    return str_cat("task ", rank, " (", tasks[static_cast<std::size_t>(rank)].host, ")");
  };
  std::vector<std::string> lines;
  for (const PairFacts& pair : pairs) {
    const std::string who = str_cat(name(pair.from), " to ", name(pair.to), ": ");
    if (!pair.error.empty()) {
      lines.push_back(who + pair.error);
    } else if (pair.bytes_per_second < kSlow * median) {
      lines.push_back(str_cat(who, number(pair.bytes_per_second / 1e9, "%.2f"), " GB/s, the median of all pairs is ",
                              number(median / 1e9, "%.2f"), " GB/s"));
    } else if (std::abs(pair.clock_seconds) > 1 && pair.from < pair.to) {
      lines.push_back(str_cat(who, "the clocks are ", number(std::abs(pair.clock_seconds), "%.1f"), " s apart"));
    }
  }
  return lines;
}

}  // namespace argosy
