// Status and Result<T>: errors as values. A Status is OK or an error; a Result<T> holds a value or a Status.
//
// An error has four parts (the error contract):
// * what failed and why, with the numbers;
// * where: node, device, file;
// * what to type next;
// * a stable id such as "ARG-MEM-001" for scripts and documentation.
// Codes are TensorFlow's and gRPC's. An OK Status is one null pointer: cheap to return from a kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "argosy/base/check.h"
#include "argosy/base/str.h"

namespace argosy {

// TensorFlow's and gRPC's numbers.
enum class Code : std::uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "INVALID_ARGUMENT"
std::string_view code_name(Code code);

// OK, or an error with its four parts. A moved-from Status is OK.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);  // REQUIRES: code is not kOk.
  Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}  // Copies all of it.
  Status(Status&&) noexcept = default;
  // Copies all of it.
  Status& operator=(const Status& other) {
    rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
    return *this;
  }
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const { return rep_ == nullptr; }                  // nothing failed
  Code code() const { return rep_ ? rep_->code : Code::kOk; }  // kOk where nothing failed
  const std::string& message() const;                          // what and why, in numbers
  std::string_view id() const;       // "ARG-SHAPE-001"; a general one for the code where none was given
  const std::string& where() const;  // "node 'dense/MatMul' (MatMul) on /device:GPU:0", a file, a flag
  const std::string& hint() const;   // what to type or change; may be empty

  // Each sets its field if it is still empty, because the innermost caller knows best, and returns the status. No
  // effect on OK.
  Status&& with_id(std::string id) &&;
  Status&& with_where(std::string where) &&;  // a node, file or flag
  Status&& with_hint(std::string next) &&;    // what to type next

  // "INVALID_ARGUMENT [ARG-SHAPE-001] MatMul: inner dimensions differ: … (node 'x' …)\n  try: …"
  std::string to_string() const;

 private:
  struct Rep {
    Code code;
    std::string message, id, where, next;
  };
  std::unique_ptr<Rep> rep_;
};

inline Status ok_status() { return {}; }  // nothing failed

// invalid_argument("MatMul: inner dimensions differ: ", a, " x ", b)
#define ARGOSY_STATUS_MAKER(name, code)              \
  template <typename... Parts>                       \
  [[nodiscard]] Status name(const Parts&... parts) { \
    return Status(Code::code, str_cat(parts...));    \
  }
ARGOSY_STATUS_MAKER(cancelled, kCancelled)
ARGOSY_STATUS_MAKER(invalid_argument, kInvalidArgument)
ARGOSY_STATUS_MAKER(deadline_exceeded, kDeadlineExceeded)
ARGOSY_STATUS_MAKER(not_found, kNotFound)
ARGOSY_STATUS_MAKER(already_exists, kAlreadyExists)
ARGOSY_STATUS_MAKER(permission_denied, kPermissionDenied)
ARGOSY_STATUS_MAKER(resource_exhausted, kResourceExhausted)
ARGOSY_STATUS_MAKER(failed_precondition, kFailedPrecondition)
ARGOSY_STATUS_MAKER(aborted, kAborted)
ARGOSY_STATUS_MAKER(out_of_range, kOutOfRange)
ARGOSY_STATUS_MAKER(unimplemented, kUnimplemented)
ARGOSY_STATUS_MAKER(internal_error, kInternal)
ARGOSY_STATUS_MAKER(unavailable, kUnavailable)
ARGOSY_STATUS_MAKER(data_loss, kDataLoss)
#undef ARGOSY_STATUS_MAKER

// A value, or the Status that says why there is none. Reading the value of an error fails an ARGOSY_CHECK.
template <typename T>
class [[nodiscard]] Result {
 public:
  // A value: ok().
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  // An error. REQUIRES: the status is not OK.
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    ARGOSY_CHECK(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }     // there is a value
  const Status& status() const& { return status_; }  // OK where there is a value
  Status status() && { return std::move(status_); }  // OK where there is a value

  T& value() & { return check(), *value_; }              // REQUIRES: ok(), checked: see ARGOSY_CHECK
  const T& value() const& { return check(), *value_; }   // REQUIRES: ok()
  T value() && { return check(), std::move(*value_); }   // REQUIRES: ok()
  T& operator*() & { return value(); }                   // value()
  const T& operator*() const& { return value(); }        // value()
  T operator*() && { return std::move(*this).value(); }  // value()
  T* operator->() { return &value(); }                   // of value()
  const T* operator->() const { return &value(); }       // of value()
  // The value, or `other` where there is none.
  T value_or(T other) const& { return value_ ? *value_ : std::move(other); }

 private:
  void check() const {
    if (!value_) internal::check_failed("Result::value", status_.to_string().c_str(), 0);
  }
  Status status_;
  std::optional<T> value_;
};

// Helper of ARGOSY_CONCAT.
#define ARGOSY_CONCAT_INNER(a, b) a##b
// Joins two tokens into one, after macro expansion.
#define ARGOSY_CONCAT(a, b) ARGOSY_CONCAT_INNER(a, b)

// Returns an error to the caller.
#define ARGOSY_RETURN_IF_ERROR(expression)         \
  do {                                             \
    ::argosy::Status argosy_status = (expression); \
    if (!argosy_status.ok()) [[unlikely]]          \
      return argosy_status;                        \
  } while (false)

// ARGOSY_ASSIGN_OR_RETURN(Shape shape, infer(x));
#define ARGOSY_ASSIGN_OR_RETURN(declaration, expression) \
  ARGOSY_ASSIGN_OR_RETURN_(ARGOSY_CONCAT(argosy_result_, __LINE__), declaration, expression)
// Helper of ARGOSY_ASSIGN_OR_RETURN.
#define ARGOSY_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) [[unlikely]]                                  \
    return std::move(result).status();                            \
  declaration = std::move(result).value()

}  // namespace argosy
