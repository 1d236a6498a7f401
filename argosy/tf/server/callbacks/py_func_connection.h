// PyFuncConnection: the messages between a session server and a program whose Python it calls (py_func_bridge.h). One
// call at a time. Numbers are in this machine's byte order: both sides run on it.
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
  // Connects to the program at the socket. UNAVAILABLE: none listens.
  static Result<PyFuncConnection> open(const std::string& path);
  PyFuncConnection(PyFuncConnection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  PyFuncConnection& operator=(PyFuncConnection&&) = delete;
  ~PyFuncConnection();

  // The program's answer: tensors, or the error of its function. An error of the connection itself
  // (UNAVAILABLE; what `cancellation` was pulled with) leaves it unusable: good() is false.
  Result<std::vector<Tensor>> call(std::string_view token, const std::vector<Tensor>& arguments,
                                   Cancellation* cancellation);
  bool good() const { return good_; }
  // Between calls: the program has not closed it.
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
