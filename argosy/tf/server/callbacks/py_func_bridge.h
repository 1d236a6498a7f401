// PyFuncBridge: calls Python functions of the server's clients (tf.py_func). A client program listens at a socket in a
// folder that both know (`argosy run`, tools/argosy/run/hook/argosy_py_func.py). It puts its process id into the names
// of its functions: "pyfunc_3@4711" is pyfunc_3 of the program at socket calls_4711.
//
// A call is a message, its answer another (py_func_connection.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/blocking_pool.h"
#include "argosy/op/kernel/host_callbacks.h"
#include "argosy/tf/server/callbacks/py_func_connection.h"

namespace argosy::tf {

class PyFuncBridge final : public HostCallbacks {
 public:
  explicit PyFuncBridge(std::string folder) : folder_(std::move(folder)) {}

  void call(const std::string& token, std::vector<Tensor> arguments, Cancellation* cancellation, Done done) override;

 private:
  Result<std::vector<Tensor>> ask(const std::string& token, const std::vector<Tensor>& arguments,
                                  Cancellation* cancellation);
  // An unused connection, or a new one.
  Result<PyFuncConnection> take(const std::string& path) ARGOSY_EXCLUDES(mutex_);
  // For the next call. Those of programs that are gone go.
  void keep(const std::string& path, PyFuncConnection connection) ARGOSY_EXCLUDES(mutex_);

  const std::string folder_;
  Mutex mutex_;
  std::map<std::string, std::vector<PyFuncConnection>> idle_ ARGOSY_GUARDED_BY(mutex_);  // by their sockets' paths
  BlockingPool threads_;  // goes first: its tasks use the rest
};

}  // namespace argosy::tf
