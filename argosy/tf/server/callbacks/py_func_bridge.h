// PyFuncBridge: calls Python functions in the client's process (tf.py_func). The client listens at a Unix socket in a
// folder that both know (`argosy run`, tools/argosy/run/hook/argosy_py_func.py). It puts its process id into the tokens
// of its functions: "pyfunc_3@4711" is pyfunc_3 of the process at socket calls_4711.
//
// py_func_connection.h has the messages of a call and its answer.
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
  // Returns an idle connection, or a new one.
  Result<PyFuncConnection> take(const std::string& path) ARGOSY_EXCLUDES(mutex_);
  // Keeps a connection for the next call. Closes idle ones of processes that have ended.
  void keep(const std::string& path, PyFuncConnection connection) ARGOSY_EXCLUDES(mutex_);

  const std::string folder_;
  Mutex mutex_;
  std::map<std::string, std::vector<PyFuncConnection>> idle_ ARGOSY_GUARDED_BY(mutex_);  // by the socket's path
  BlockingPool threads_;  // last member, so destroyed first: its tasks use the others
};

}  // namespace argosy::tf
