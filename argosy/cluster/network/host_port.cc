#include "argosy/cluster/network/host_port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "argosy/rpc/gate/peer_address.h"

namespace argosy {

namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

bool make_endpoint(const std::string& address, int port, SocketAddress& to) {
  auto* const four = reinterpret_cast<sockaddr_in*>(&to.storage);
  if (::inet_pton(AF_INET, address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<std::uint16_t>(port));
    to.size = sizeof *four;
    return true;
  }
  auto* const six = reinterpret_cast<sockaddr_in6*>(&to.storage);
  if (::inet_pton(AF_INET6, address.c_str(), &six->sin6_addr) != 1) return false;
  six->sin6_family = AF_INET6;
  six->sin6_port = htons(static_cast<std::uint16_t>(port));
  to.size = sizeof *six;
  return true;
}

std::string lower(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

std::string mapped(const std::string& host) {
  const char* const map = std::getenv("ARGOSY_HOST_MAP");
  if (map == nullptr) return {};
  for (const std::string& row : str_split(map, ',')) {
    if (row.size() > host.size() && row.starts_with(host) && row[host.size()] == '=') {
      return row.substr(host.size() + 1);
    }
  }
  return {};
}

}  // namespace

Result<HostPort> HostPort::parse(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return invalid_argument("\"", text, "\" is no host and port: ", why)
        .with_id("ARG-CLUSTER-030")
        .with_hint("gpu-a:29500, or [fd00::1]:29500");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong("it has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  HostPort result;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.port);
  if (error != std::errc() || end != digits.data() + digits.size() || result.port < 0 || result.port > 65535) {
    return wrong("the port is a number up to 65535");
  }
  if (host.front() == '[') {
    if (host.size() < 4 || host.back() != ']') return wrong("a bracket is not closed");
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong("an IPv6 address stands in brackets");
  }
  const bool plain = std::all_of(host.begin(), host.end(), [](unsigned char c) { return c > ' ' && c < 127; });
  if (!plain || host.find_first_of("/@,[]\"'\\") != std::string_view::npos) return wrong("no host has such a name");
  result.host = std::string(host);
  return result;
}

std::string HostPort::to_string() const {
  return host.find(':') != std::string::npos ? str_cat("[", host, "]:", port) : str_cat(host, ":", port);
}

Result<std::vector<std::string>> resolve(const std::string& host) {
  const std::string instead = mapped(host);
  const std::string& asked = instead.empty() ? host : instead;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(asked.c_str(), nullptr, &hints, &found);
  if (failed != 0) {
    return unavailable(lower(failed == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(failed)))
        .with_id("ARG-CLUSTER-047")
        .with_where(str_cat("host ", host))
        .with_hint(str_cat("getent hosts ", host));
  }
  std::vector<std::string> four, six;
  for (const addrinfo* it = found; it != nullptr; it = it->ai_next) {
    const auto address = tf::to_address(it->ai_addr);
    if (!address) continue;
    std::vector<std::string>& list = address->family == AF_INET ? four : six;
    const std::string text = address->to_string();
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  }
  ::freeaddrinfo(found);
  four.insert(four.end(), six.begin(), six.end());
  if (four.empty()) return unavailable("it has no address").with_where(str_cat("host ", host));
  return four;
}

bool is_mapped_host(const std::string& host) { return !mapped(host).empty(); }

Result<TriedConnection> try_connection(const std::string& address, int port, std::chrono::milliseconds timeout) {
  SocketAddress to;
  if (!make_endpoint(address, port, to)) return invalid_argument("\"", address, "\" is no address");
  const int raw = ::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (raw < 0) return unavailable(lower(std::strerror(errno)));
  tf::Descriptor socket(raw);
  const auto failed = [&](int error) { return unavailable(lower(std::strerror(error))); };
  if (::connect(raw, to.get(), to.size) != 0) {
    if (errno != EINPROGRESS) return failed(errno);
    pollfd event{.fd = raw, .events = POLLOUT, .revents = 0};
    int ready = 0;
    while ((ready = ::poll(&event, 1, static_cast<int>(timeout.count()))) < 0 && errno == EINTR) {
    }
    if (ready == 0) {
      return unavailable("no answer in ", static_cast<double>(timeout.count()) / 1000, " s");
    }
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(raw, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return failed(errno);
    if (error != 0) return failed(error);
  }
  SocketAddress own;
  own.size = sizeof own.storage;
  if (::getsockname(raw, reinterpret_cast<sockaddr*>(&own.storage), &own.size) != 0) return failed(errno);
  const auto local = tf::to_address(own.get());
  if (!local) return unavailable("the connection has no address of its own");
  return TriedConnection{local->to_string(), std::move(socket)};
}

bool is_own_address(const std::string& address) {
  SocketAddress to;
  if (!make_endpoint(address, 0, to)) return false;
  const int raw = ::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (raw < 0) return false;
  const tf::Descriptor socket(raw);
  return ::bind(raw, to.get(), to.size) == 0;
}

}  // namespace argosy
