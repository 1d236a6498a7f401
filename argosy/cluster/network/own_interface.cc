#include "argosy/cluster/network/own_interface.h"

#include <ifaddrs.h>
#include <net/if.h>

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

}  // namespace argosy
