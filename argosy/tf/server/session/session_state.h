// SessionState: what steps of a session change, set aside, looked at and put back: the values of variables, what ops
// keep between runs (random streams), and queues and tables where asked for. Used while nobody else changes them.
// Internal to the session server.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/op/state/restorable.h"
#include "argosy/op/state/variable.h"
#include "argosy/runtime/session/session.h"

namespace argosy::tf {

// "w" of "w/replica_1": what a copy was made of. The name itself where it is of no copy.
std::string_view original_of(std::string_view name);

class SessionState {
 public:
  // By name: of variables their values, of others what they hold, piece by piece ("queue[3]"). In the host's memory.
  using Values = std::map<std::string, Tensor>;

  // As it is now. Mirrors of variables are left out: they follow. FAILED_PRECONDITION: steps wait at a queue that would
  // have to be put back. `containers`: queues and tables, too.
  static Result<SessionState> set_aside(Session& session, bool containers);

  Status put_back() const;
  // Those of these names that are variables become what nudged() (argosy/strategy/data_parallel/step_equivalence.h) makes of what they were.
  Status nudge(const Values& names, DType computed_in, int run = 0) const;

  // What was written since, as it is now.
  Result<Values> changed() const;
  // These as they are now, and what they were.
  Result<Values> now(const Values& names) const;
  Result<Values> before(const Values& names) const;
  // Their mirrors on other devices: (name, device's name, value).
  struct Mirror {
    std::string name, device;
    Tensor value;
  };
  Result<std::vector<Mirror>> mirrors(const Values& names) const;

 private:
  struct Held {
    std::string name;
    int device = 0;
    std::shared_ptr<Variable> variable;
    Tensor value;  // shares its memory; not valid(): it had none
  };
  struct Other {
    std::string name;
    std::shared_ptr<Resource> resource;
    std::function<Status()> put_back;
    std::vector<Tensor> contents;
  };
  explicit SessionState(Session& session) : session_(&session) {}
  // Written since.
  static bool is_changed(const Held& held);
  Status add(const std::string& name, const std::shared_ptr<Resource>& resource, int device, bool containers);
  Status add_others(Values& values) const;
  Result<Tensor> on_host(const Held& held, const Tensor& value) const;

  Session* session_;
  std::vector<Held> variables_;
  std::vector<Other> others_;
};

}  // namespace argosy::tf
