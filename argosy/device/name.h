// Device names are TensorFlow's: /job:worker/replica:0/task:0/device:GPU:1, any part of which may be left open.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy {

// A full name or a pattern: empty parts match anything. A value type.
struct DeviceName {
  std::string job;                   // "worker"
  std::optional<int> replica, task;  // numbers; unset: any
  std::string type;                  // upper case: "CPU", "GPU"
  std::optional<int> id;             // the device's number; unset: any

  // Accepts TensorFlow's grammar, "*" for open parts, and the short forms "/gpu:1", "gpu:1", "GPU:1", "cpu". "" and "/"
  // are the open name.
  static Result<DeviceName> parse(std::string_view text);

  bool matches(const DeviceName& full) const;  // every part given here equals that of `full`
  bool is_open() const { return job.empty() && !replica && !task && type.empty() && !id; }  // matches any device
  // This name with the parts it leaves open taken from `other`.
  DeviceName filled_from(const DeviceName& other) const;
  // Both constraints at once; INVALID_ARGUMENT names the part that differs.
  Result<DeviceName> merged_with(const DeviceName& other) const;

  std::string to_string() const;     // "/job:localhost/replica:0/task:0/device:GPU:1", open parts left out
  std::string short_string() const;  // "gpu:1"
  bool operator==(const DeviceName&) const = default;
};

// Parses the device of a node: constraints joined by ';'. Later ones override earlier ones, which fill in what the
// later ones leave open. A constraint that is no device name is ignored.
DeviceName asked_device(std::string_view constraints);

}  // namespace argosy
