// Scans the two requests that contain tensors, RunStepRequest and RunCallableRequest. Names are views into the request.
// Tensors are not read: a WireReader refers to each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/rpc/wire/wire_reader.h"

namespace argosy::tf {

struct StepRequest {
  struct Feed {
    std::string_view name;
    WireReader tensor;
  };
  std::string_view session;
  std::vector<Feed> feeds;
  std::vector<std::string_view> fetches, targets;
  std::string options;  // serialised RunOptions; mostly empty
  std::string_view partial_run;
  bool errors_in_body = false;
  std::int64_t request_id = 0;
  WireScratch scratch;

  // Writes the key of a resolved step: the names that are fed, fetched and run, in the request's order.
  void signature(std::string& key) const;
};

struct CallRequest {
  std::string_view session;
  std::int64_t callable = 0;
  std::vector<WireReader> feeds;
  std::int64_t request_id = 0;
  WireScratch scratch;
};

// INVALID_ARGUMENT: the request is damaged. `to` must be newly constructed; it borrows the memory that `in` reads.
Status scan(WireReader in, StepRequest& to);
Status scan(WireReader in, CallRequest& to);

// Appends one name to the key of a signature, with its kind and length.
void add_to_signature(char kind, std::string_view name, std::string& key);

}  // namespace argosy::tf
