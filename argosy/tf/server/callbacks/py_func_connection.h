// PyFuncConnection: a connection from a session server to a client process whose Python it calls (py_func_bridge.h).
// One call at a time. Numbers are in native byte order: both sides run on this machine. The messages:
//
//   call      text token, tensors
//   answer    u32 code, then tensors, or the text of the error
//   tensors   u32 how many; of each: u32 dtype, u32 rank, i64 sizes, u64 bytes, the bytes (of strings: texts)
//   text      u64 bytes, the bytes
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/base/threads/cancellation.h"
#include "argosy/tensor/tensor.h"

namespace argosy::tf {

class PyFuncConnection {
 public:
  // Connects to the process at this socket. UNAVAILABLE: nobody listens.
  static Result<PyFuncConnection> open(const std::string& path);
  PyFuncConnection(PyFuncConnection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  PyFuncConnection& operator=(PyFuncConnection&&) = delete;
  ~PyFuncConnection();

  // Calls a function and returns its results, or its error. After an error of the connection itself (UNAVAILABLE, or
  // the status of `cancellation`) it cannot be used again: good() is false.
  Result<std::vector<Tensor>> call(std::string_view token, const std::vector<Tensor>& arguments,
                                   Cancellation* cancellation);
  bool good() const { return good_; }
  // True if the process has not closed the connection. To be called between calls.
  bool open_still() const;

 private:
  explicit PyFuncConnection(int socket) : socket_(socket) {}
  Status send(std::string_view token, const std::vector<Tensor>& arguments);
  Result<std::vector<Tensor>> receive();
  Result<Tensor> receive_tensor();
  Status write(const void* bytes, std::size_t size);
  Status read(void* bytes, std::size_t size);
  Status read_text(std::string& text);

  int socket_;
  bool good_ = true;
};

}  // namespace argosy::tf
