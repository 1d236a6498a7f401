#include "argosy/cluster/network/own_interface.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>

#include "argosy/cluster/network/host_port.h"
#include "argosy/rpc/gate/peer_filter.h"

namespace argosy {

Result<std::string> own_address_in(const std::vector<std::string>& networks) {
  ARGOSY_ASSIGN_OR_RETURN(const tf::PeerFilter filter, tf::PeerFilter::parse(networks));
  ifaddrs* all = nullptr;
  std::vector<std::string> own;
  std::string found;
  if (::getifaddrs(&all) == 0) {
    for (const ifaddrs* it = all; it != nullptr; it = it->ifa_next) {
      const auto address = it->ifa_addr != nullptr ? tf::to_address(it->ifa_addr) : std::nullopt;
      if (!address || (it->ifa_flags & IFF_UP) == 0 || address->loopback()) continue;
      own.push_back(address->to_string());
      if (found.empty() && filter.names(*address)) found = own.back();
    }
    ::freeifaddrs(all);
  }
  if (!found.empty()) return found;
  return permission_denied("task 0 has to be reached from other hosts, but none of its addresses (", str_join(own),
                           ") is in a network that was named (", str_join(networks), ")")
      .with_id("ARG-CLUSTER-042")
      .with_where("task 0")
      .with_hint("--insecure-cluster 10.0.0.0/8: a network that you trust, on every task");
}

Result<std::vector<std::string>> addresses_to_try(const std::string& host, const std::vector<std::string>& networks) {
  ARGOSY_ASSIGN_OR_RETURN(std::vector<std::string> addresses, resolve(host));
  if (networks.empty() || is_mapped_host(host)) return addresses;
  return order_addresses(host, std::move(addresses), networks);
}

std::vector<std::string> order_addresses(const std::string& host, std::vector<std::string> addresses,
                                         const std::vector<std::string>& networks) {
  const auto filter = tf::PeerFilter::parse(networks);
  if (!filter.ok()) return addresses;  // who listens says so
  const auto is_named = [&](const std::string& text) {
    const auto address = tf::parse_address(text);
    return address && !address->loopback() && filter->names(*address);
  };
  const auto others = std::stable_partition(addresses.begin(), addresses.end(), is_named);
  const bool is_own_name = !tf::is_loopback(host) && std::any_of(addresses.begin(), addresses.end(), tf::is_loopback);
  if (others != addresses.begin() || !is_own_name) return addresses;
  if (auto own = own_address_in(networks); own.ok()) addresses.insert(addresses.begin(), *std::move(own));
  return addresses;
}

}  // namespace argosy
