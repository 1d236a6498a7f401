#include "argosy/tf/server/callbacks/py_func_bridge.h"

#include <unistd.h>

#include <algorithm>

namespace argosy::tf {

namespace {

// TensorFlow's code for a function that the process does not have. Not UNAVAILABLE: who tries again gets no further.
Status not_of_here(const std::string& token) {
  return invalid_argument("'", token, "' is no function of a program that this server knows")
      .with_id("ARG-CALL-002")
      .with_hint(
          "build the graph in the program that runs it; of several tasks, put the op on the program's own: "
          "tf.device(\"/job:worker/task:0\")");
}

}  // namespace

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
    return not_of_here(token);
  }
  const std::string path = str_cat(folder_, "/calls_", process);
  if (::access(path.c_str(), F_OK) != 0) return not_of_here(token);
  ARGOSY_ASSIGN_OR_RETURN(PyFuncConnection connection, take(path));
  Result<std::vector<Tensor>> answer = connection.call(token, arguments, cancellation);
  if (connection.good()) keep(path, std::move(connection));
  return answer;
}

void PyFuncBridge::keep(const std::string& path, PyFuncConnection connection) {
  std::map<std::string, std::vector<PyFuncConnection>> gone;  // closed without the lock
  MutexLock lock(mutex_);
  if (!idle_.contains(path)) {  // another program: programs come and go
    for (auto at = idle_.begin(); at != idle_.end();) {
      const auto known = at++;
      if (known->second.empty() || !known->second.back().open_still()) gone.insert(idle_.extract(known));
    }
  }
  idle_[path].push_back(std::move(connection));
}

Result<PyFuncConnection> PyFuncBridge::take(const std::string& path) {
  {
    MutexLock lock(mutex_);
    const auto idle = idle_.find(path);
    while (idle != idle_.end() && !idle->second.empty()) {
      PyFuncConnection connection = std::move(idle->second.back());
      idle->second.pop_back();
      if (connection.open_still()) return connection;
    }
  }
  return PyFuncConnection::open(path);
}

}  // namespace argosy::tf
