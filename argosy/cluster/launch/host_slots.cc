#include "argosy/cluster/launch/host_slots.h"

#include <algorithm>
#include <charconv>

namespace argosy {

namespace {

constexpr int kMostSlots = 4096;
constexpr std::size_t kMostHosts = 65'536;

Status unreadable(std::string_view text, std::string_view why) {
  return invalid_argument("\"", text.substr(0, 80), "\": ", why)
      .with_id("ARG-CLUSTER-050")
      .with_where("hosts")
      .with_hint("-H gpu-a:4,gpu-b:4");
}

Result<int> read_slots(std::string_view text, std::string_view digits) {
  int slots = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), slots);
  if (error != std::errc() || end != digits.data() + digits.size() || slots < 1 || slots > kMostSlots) {
    return unreadable(text, str_cat("slots are a number from 1 to ", kMostSlots));
  }
  return slots;
}

// "a:2", "[fd00::1]:2", "a".
Result<HostSlots> read_host(std::string_view text) {
  std::string_view host = text;
  HostSlots read;
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return unreadable(text, "a bracket is not closed");
  if (const std::size_t colon = text.find(':', bracket); colon != std::string_view::npos) {
    ARGOSY_ASSIGN_OR_RETURN(read.slots, read_slots(text, text.substr(colon + 1)));
    host = text.substr(0, colon);
  }
  if (host.starts_with('[')) host = host.substr(1, bracket - 1);
  // The name goes to ssh: nothing that it could take for an option, nothing that a shell reads.
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '@';
  };
  const std::size_t at = host.find('@');  // a user before it
  const bool half = at != std::string_view::npos && (at == 0 || at + 1 == host.size() || at != host.rfind('@'));
  if (host.empty() || half || host.front() == '-' || !std::all_of(host.begin(), host.end(), plain)) {
    return unreadable(text, "no name of a host");
  }
  read.host = std::string(host);
  return read;
}

// Tasks of two users of one host would have the same addresses.
Status add(std::vector<HostSlots>& hosts, HostSlots host) {
  const std::string name = without_user(host.host);
  const bool twice =
      std::any_of(hosts.begin(), hosts.end(), [&](const HostSlots& h) { return without_user(h.host) == name; });
  if (twice) return unreadable(host.host, "this host stands there twice; give it more slots");
  if (hosts.size() == kMostHosts) return unreadable(host.host, str_cat("more than ", kMostHosts, " hosts"));
  hosts.push_back(std::move(host));
  return ok_status();
}

}  // namespace

std::string without_user(const std::string& host) { return host.substr(host.find('@') + 1); }

Result<std::vector<HostSlots>> parse_hosts(std::string_view text) {
  std::vector<HostSlots> hosts;
  for (const std::string& part : str_split(text, ',')) {
    ARGOSY_ASSIGN_OR_RETURN(HostSlots host, read_host(str_trim(part)));
    ARGOSY_RETURN_IF_ERROR(add(hosts, std::move(host)));
  }
  return hosts;
}

Result<std::vector<HostSlots>> parse_host_file(std::string_view text) {
  std::vector<HostSlots> hosts;
  int number = 0;
  for (const std::string& row : str_split(text, '\n')) {
    ++number;
    const std::string_view line = str_trim(std::string_view(row).substr(0, row.find('#')));
    if (line.empty()) continue;
    const std::size_t space = line.find_first_of(" \t");
    auto host = read_host(line.substr(0, space));
    Status status = host.ok() ? ok_status() : host.status();
    if (status.ok() && space != std::string_view::npos) {
      const std::string_view rest = str_trim(line.substr(space));
      if (rest.starts_with("slots=")) {
        auto slots = read_slots(line, rest.substr(6));
        if (slots.ok()) host->slots = *slots;
        if (!slots.ok()) status = slots.status();
      } else {
        status = unreadable(line, "after the host comes slots=N");
      }
    }
    if (status.ok()) status = add(hosts, *std::move(host));
    if (!status.ok()) {
      return Status(status.code(), str_cat("line ", number, ": ", status.message()))
          .with_id(std::string(status.id()))
          .with_where("host file")
          .with_hint("gpu-a slots=4");
    }
  }
  if (hosts.empty()) return unreadable(text, "no host");
  return hosts;
}

}  // namespace argosy
