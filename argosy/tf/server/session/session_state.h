// SessionState: saves the state that steps of a session change, compares it with the present state, and restores it.
// The state: variables, what ops keep between runs (random streams) and, if requested, queues and tables. Not
// thread-safe: no step may change the state meanwhile. Internal to the session server.
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

// Returns the name of the original of a mirror: "w" for "w/replica_1". Any other name is returned unchanged.
std::string_view original_of(std::string_view name);

class SessionState {
 public:
  // Values by name, in host memory: of a variable its value; of another resource its contents ("queue[3]").
  using Values = std::map<std::string, Tensor>;

  // Saves the present state, without mirrors of variables: those follow their originals. `containers`: also saves
  // queues and tables. FAILED_PRECONDITION: steps are waiting at a queue, so it could not be restored.
  static Result<SessionState> snapshot(Session& session, bool containers);

  Status put_back() const;
  // Sets the floating-point and complex variables among these names to perturbed() values of the saved ones
  // (argosy/strategy/data_parallel/step_equivalence.h).
  Status perturb(const Values& names, DType computed_in, int run = 0) const;

  // Returns the present values of the variables written since the save, and the present contents of all other saved
  // resources.
  Result<Values> changed() const;
  // now() returns the present values of these variables, and the contents of all other saved resources. before()
  // returns the saved values of these variables.
  Result<Values> now(const Values& names) const;
  Result<Values> before(const Values& names) const;
  // Returns the mirrors of these variables on other devices: (name, device's name, value).
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
    Tensor value;  // the saved value, which shares the variable's memory; not valid(): it had none
  };
  struct Other {
    std::string name;
    std::shared_ptr<Resource> resource;
    std::function<Status()> put_back;
    std::vector<Tensor> contents;
  };
  explicit SessionState(Session& session) : session_(&session) {}
  // True if the variable was written since the save.
  static bool is_changed(const Held& held);
  Status add(const std::string& name, const std::shared_ptr<Resource>& resource, int device, bool containers);
  Status add_others(Values& values) const;
  Result<Tensor> on_host(const Held& held, const Tensor& value) const;

  Session* session_;
  std::vector<Held> variables_;
  std::vector<Other> others_;
};

}  // namespace argosy::tf
