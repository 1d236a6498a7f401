#include "argosy/tf/server/callbacks/py_func_bridge.h"

#include <algorithm>

namespace argosy::tf {

void PyFuncBridge::call(const std::string& token, std::vector<Tensor> arguments, Cancellation* cancellation,
                        Done done) {
  // Shared, for the pool's tasks are copied.
  const auto given = std::make_shared<std::vector<Tensor>>(std::move(arguments));
  Status status = threads_.schedule([this, token, given, cancellation, done] {
    Result<std::vector<Tensor>> answer = ask(token, *given, cancellation);
    given->clear();
    done(std::move(answer));
  });
  if (!status.ok()) done(std::move(status));
}

Result<std::vector<Tensor>> PyFuncBridge::ask(const std::string& token, const std::vector<Tensor>& arguments,
                                              Cancellation* cancellation) {
  const std::size_t at = token.rfind('@');
  const std::string process = at == token.npos ? "" : token.substr(at + 1);
  if (process.empty() || !std::ranges::all_of(process, [](char c) { return c >= '0' && c <= '9'; })) {
    return invalid_argument("'", token, "' is no function of a program that this server knows")
        .with_id("ARG-CALL-002")
        .with_hint("build the graph in the program that runs it");
  }
  const std::string path = str_cat(folder_, "/calls_", process);
  ARGOSY_ASSIGN_OR_RETURN(PyFuncConnection connection, take(path));
  Result<std::vector<Tensor>> answer = connection.call(token, arguments, cancellation);
  if (connection.good()) {
    MutexLock lock(mutex_);
    idle_[path].push_back(std::move(connection));
  }
  return answer;
}

Result<PyFuncConnection> PyFuncBridge::take(const std::string& path) {
  {
    MutexLock lock(mutex_);
    std::vector<PyFuncConnection>& idle = idle_[path];
    if (!idle.empty()) {
      PyFuncConnection connection = std::move(idle.back());
      idle.pop_back();
      return connection;
    }
  }
  return PyFuncConnection::open(path);
}

}  // namespace argosy::tf
