#include "argosy/tf/server/callbacks/py_func_connection.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "argosy/base/threads/cancel_link.h"

namespace argosy::tf {

namespace {

template <typename T>
void put(std::string& to, T number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void put_text(std::string& to, std::string_view text) {
  put<std::uint64_t>(to, text.size());
  to.append(text);
}

constexpr std::uint32_t kMostValues = 65536;  // beyond, it is no message

Status broken() { return unavailable("the program's answer is not understood: it runs with another version's hook"); }

}  // namespace

Result<PyFuncConnection> PyFuncConnection::open(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return unavailable("the path of a socket is too long: ", path);
  std::memcpy(address.sun_path, path.data(), path.size());
  PyFuncConnection connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connection.socket_ < 0 ||
      ::connect(connection.socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return unavailable("the program does not answer at ", path, ": ", std::strerror(errno));
  }
  return connection;
}

PyFuncConnection::~PyFuncConnection() {
  if (socket_ >= 0) ::close(socket_);
}

Result<std::vector<Tensor>> PyFuncConnection::call(std::string_view token, const std::vector<Tensor>& arguments,
                                                   Cancellation* cancellation) {
  CancelLink link(cancellation, [this] { ::shutdown(socket_, SHUT_RDWR); });
  if (link.too_late()) return cancellation->status();
  good_ = false;  // until there is an answer
  Status status = send(token, arguments);
  Result<std::vector<Tensor>> answer = status.ok() ? receive() : Result<std::vector<Tensor>>(std::move(status));
  if (cancellation != nullptr) {
    link.end();
    if (cancellation->cancelled()) {
      good_ = false;
      return cancellation->status();
    }
  }
  return answer;
}

bool PyFuncConnection::open_still() const {
  char unasked = 0;
  const ssize_t got = ::recv(socket_, &unasked, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EINTR);  // bytes that nobody asked for are no good either
}

Status PyFuncConnection::send(std::string_view token, const std::vector<Tensor>& arguments) {
  std::string head;
  put_text(head, token);
  put<std::uint32_t>(head, static_cast<std::uint32_t>(arguments.size()));
  for (const Tensor& t : arguments) {
    put<std::uint32_t>(head, static_cast<std::uint32_t>(t.dtype()));
    put<std::uint32_t>(head, static_cast<std::uint32_t>(t.shape().rank()));
    for (const std::int64_t size : t.shape().sizes()) put(head, size);
    if (t.dtype() == DType::kString) {
      std::uint64_t bytes = 0;
      for (const std::string& text : t.values<std::string>()) bytes += sizeof(std::uint64_t) + text.size();
      put(head, bytes);
      for (const std::string& text : t.values<std::string>()) put_text(head, text);
    } else if (is_plain(t.dtype())) {
      put<std::uint64_t>(head, t.bytes());
      ARGOSY_RETURN_IF_ERROR(write(head.data(), head.size()));
      head.clear();
      ARGOSY_RETURN_IF_ERROR(write(t.raw(), t.bytes()));
    } else {
      return unimplemented("a ", dtype_name(t.dtype()), " cannot be given to a function of the program");
    }
  }
  return write(head.data(), head.size());
}

Result<std::vector<Tensor>> PyFuncConnection::receive() {
  std::uint32_t code = 0, count = 0;
  ARGOSY_RETURN_IF_ERROR(read(&code, sizeof(code)));
  if (code != 0) {
    std::string message;
    ARGOSY_RETURN_IF_ERROR(read_text(message));
    if (code > static_cast<std::uint32_t>(Code::kUnauthenticated)) return broken();
    good_ = true;
    return Status(static_cast<Code>(code), std::move(message));
  }
  ARGOSY_RETURN_IF_ERROR(read(&count, sizeof(count)));
  if (count > kMostValues) return broken();
  std::vector<Tensor> tensors;
  for (std::uint32_t i = 0; i < count; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor tensor, receive_tensor());
    tensors.push_back(std::move(tensor));
  }
  good_ = true;
  return tensors;
}

Result<Tensor> PyFuncConnection::receive_tensor() {
  std::uint32_t number = 0, rank = 0;
  ARGOSY_RETURN_IF_ERROR(read(&number, sizeof(number)));
  ARGOSY_RETURN_IF_ERROR(read(&rank, sizeof(rank)));
  const auto dtype = static_cast<DType>(number);
  if (number > static_cast<std::uint32_t>(DType::kUint64) || rank > Shape::kMaxRank) return broken();
  if (!is_plain(dtype) && dtype != DType::kString) return broken();
  std::vector<std::int64_t> sizes(rank);
  ARGOSY_RETURN_IF_ERROR(read(sizes.data(), sizes.size() * sizeof(std::int64_t)));
  ARGOSY_ASSIGN_OR_RETURN(Shape shape, Shape::make(sizes));
  std::uint64_t bytes = 0;
  ARGOSY_RETURN_IF_ERROR(read(&bytes, sizeof(bytes)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, std::move(shape), host_allocator()));
  if (dtype == DType::kString) {
    for (std::string& text : tensor.values<std::string>()) ARGOSY_RETURN_IF_ERROR(read_text(text));
    return tensor;
  }
  if (bytes != tensor.bytes()) return broken();
  ARGOSY_RETURN_IF_ERROR(read(tensor.raw(), bytes));
  return tensor;
}

Status PyFuncConnection::write(const void* bytes, std::size_t size) {
  for (const char* at = static_cast<const char*>(bytes); size > 0;) {
    const ssize_t sent = ::send(socket_, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return unavailable("the program went away while it was called: ", std::strerror(errno));
    at += sent, size -= static_cast<std::size_t>(sent);
  }
  return ok_status();
}

Status PyFuncConnection::read(void* bytes, std::size_t size) {
  for (char* at = static_cast<char*>(bytes); size > 0;) {
    const ssize_t got = ::recv(socket_, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return unavailable("the program went away while it was called");
    if (got < 0) return unavailable("the program went away while it was called: ", std::strerror(errno));
    at += got, size -= static_cast<std::size_t>(got);
  }
  return ok_status();
}

Status PyFuncConnection::read_text(std::string& text) {
  std::uint64_t bytes = 0;
  ARGOSY_RETURN_IF_ERROR(read(&bytes, sizeof(bytes)));
  if (bytes > (std::uint64_t{1} << 40)) return broken();
  text.resize(bytes);
  return read(text.data(), text.size());
}

}  // namespace argosy::tf
