#include "argosy/cluster/environment/variables.h"

#include <charconv>

#include "argosy/cluster/network/host_port.h"

namespace argosy {

std::string_view text_of(const EnvironmentMap& environment, std::string_view name) {
  const auto at = environment.find(name);
  return at == environment.end() ? std::string_view() : std::string_view(at->second);
}

bool has(const EnvironmentMap& environment, std::string_view name) { return !text_of(environment, name).empty(); }

Result<int> number_of(const EnvironmentMap& environment, std::string_view name, int least, int most) {
  const std::string_view text = text_of(environment, name);
  if (text.empty()) {
    return invalid_argument("the environment speaks of several tasks, but ", name, " is not set")
        .with_id("ARG-CLUSTER-032")
        .with_where(std::string(name))
        .with_hint(str_cat("export ", name, "=…, or unset the variables that belong to it"));
  }
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    return invalid_argument(name, "=", text.substr(0, 64), " is no number from ", least, " to ", most)
        .with_id("ARG-CLUSTER-030")
        .with_where(std::string(name))
        .with_hint(str_cat("export ", name, "=", least));
  }
  return number;
}

Result<int> number_or(const EnvironmentMap& environment, std::string_view name, int otherwise, int least, int most) {
  if (!has(environment, name)) return otherwise;
  return number_of(environment, name, least, most);
}

Status check_numbers(const JobPlace& place) {
  const auto wrong = [&](const std::string& why) {
    return invalid_argument(place.source, ": ", why)
        .with_id("ARG-CLUSTER-030")
        .with_where(place.source)
        .with_hint("ranks from 0 to the number of tasks - 1");
  };
  if (place.rank < 0 || place.rank >= place.size)
    return wrong(str_cat("rank ", place.rank, " of ", place.size, " tasks"));
  if (place.local_rank < 0 || place.local_rank >= place.local_size) {
    return wrong(str_cat("local rank ", place.local_rank, " of ", place.local_size, " tasks of this host"));
  }
  if (place.local_size > place.size) {
    return wrong(str_cat(place.local_size, " tasks of this host, but ", place.size, " in all"));
  }
  return ok_status();
}

std::vector<std::string> eight_ports(const std::string& host, int first) {
  std::vector<std::string> ports;
  for (int port = first; port < first + kPortsTried && port <= 65535; ++port) {
    ports.push_back(HostPort{host, port}.to_string());
  }
  return ports;
}

int port_of_job(std::string_view id) {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a: the same on every host
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  constexpr int kFirst = 20'000, kGroups = 1'500;
  return kFirst + static_cast<int>((hash ^ (hash >> 32)) % kGroups) * kPortsTried;
}

}  // namespace argosy
