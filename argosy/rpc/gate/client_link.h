// ClientLink: the connection of a client, for leases: is it still open?
#pragma once

#include <cstdint>

namespace argosy::tf {

class ClientLink {
 public:
  virtual ~ClientLink() = default;
  // When the connection ended, as now_nanos() has it; 0 while it is there.
  virtual std::int64_t gone_at() const = 0;
};

}  // namespace argosy::tf
