#include "argosy/device/name.h"

#include <charconv>

#include "argosy/base/str.h"

namespace argosy {

namespace {

Status bad_name(std::string_view text, std::string_view why) {
  return invalid_argument("device name \"", text, "\": ", why)
      .with_id("ARG-DEV-001")
      .with_hint("write it like /job:localhost/replica:0/task:0/device:GPU:0, or short: gpu:0, cpu:0");
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  for (const char c : text) {
    if (!is_letter(c) && !is_digit(c) && c != '_') return false;
  }
  return true;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

// "3" or "*"; false for anything else, numbers above 2^31 - 1 included.
bool parse_number(std::string_view text, std::optional<int>* to) {
  if (text == "*") return true;
  if (text.empty() || !is_digit(text[0])) return false;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  *to = value;
  return true;
}

// "GPU", "GPU:1", "GPU:*", "*".
bool parse_type(std::string_view text, DeviceName* name) {
  const std::size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  if (type != "*") {
    if (!is_word(type)) return false;
    name->type = upper(type);
  }
  return colon == std::string_view::npos || parse_number(text.substr(colon + 1), &name->id);
}

template <typename T>
bool agrees(const std::optional<T>& pattern, const std::optional<T>& full) {
  return !pattern || pattern == full;
}

}  // namespace

Result<DeviceName> DeviceName::parse(std::string_view text) {
  DeviceName name;
  std::string_view rest = text;
  if (!rest.empty() && rest[0] == '/') rest.remove_prefix(1);
  if (rest.empty()) return name;
  bool seen_job = false, seen_replica = false, seen_task = false, seen_device = false;
  for (const std::string& part : str_split(rest, '/')) {
    const std::size_t colon = part.find(':');
    const std::string_view key = std::string_view(part).substr(0, colon);
    const std::string_view value =
        colon == std::string::npos ? std::string_view() : std::string_view(part).substr(colon + 1);
    bool* seen = nullptr;
    bool parsed = false;
    if (key == "job") {
      seen = &seen_job;
      parsed = value == "*" || is_word(value);
      if (parsed && value != "*") name.job = value;
    } else if (key == "replica") {
      seen = &seen_replica;
      parsed = parse_number(value, &name.replica);
    } else if (key == "task") {
      seen = &seen_task;
      parsed = parse_number(value, &name.task);
    } else if (key == "device") {
      seen = &seen_device;
      parsed = parse_type(value, &name);
    } else if (key == "cpu" || key == "CPU" || key == "gpu" || key == "GPU") {
      seen = &seen_device;
      parsed = parse_type(part, &name);
    } else {
      const std::string near = nearest_word(key, {"job", "replica", "task", "device", "cpu", "gpu"});
      return bad_name(text, str_cat("unknown part \"", part, "\"",
                                    near.empty() ? std::string() : str_cat(", did you mean \"", near, "\"?")));
    }
    if (!parsed) return bad_name(text, str_cat("\"", part, "\" has no valid value"));
    if (*seen) return bad_name(text, str_cat("\"", part, "\" says again what an earlier part said"));
    *seen = true;
  }
  return name;
}

bool DeviceName::matches(const DeviceName& full) const {
  return (job.empty() || job == full.job) && (type.empty() || type == full.type) && agrees(replica, full.replica) &&
         agrees(task, full.task) && agrees(id, full.id);
}

DeviceName DeviceName::filled_from(const DeviceName& other) const {
  DeviceName name = *this;
  if (name.job.empty()) name.job = other.job;
  if (!name.replica) name.replica = other.replica;
  if (!name.task) name.task = other.task;
  if (name.type.empty()) name.type = other.type;
  if (!name.id) name.id = other.id;
  return name;
}

Result<DeviceName> DeviceName::merged_with(const DeviceName& other) const {
  const auto differ = [&](std::string_view part) {
    return invalid_argument("devices \"", *this, "\" and \"", other, "\" disagree on the ", part)
        .with_id("ARG-PLACE-001");
  };
  if (!job.empty() && !other.job.empty() && job != other.job) return differ("job");
  if (replica && other.replica && replica != other.replica) return differ("replica");
  if (task && other.task && task != other.task) return differ("task");
  if (!type.empty() && !other.type.empty() && type != other.type) return differ("type");
  if (id && other.id && id != other.id) return differ("id");
  return filled_from(other);
}

std::string DeviceName::to_string() const {
  std::string text;
  if (!job.empty()) text += str_cat("/job:", job);
  if (replica) text += str_cat("/replica:", *replica);
  if (task) text += str_cat("/task:", *task);
  if (!type.empty() || id) {
    text += str_cat("/device:", type.empty() ? "*" : type, ":", id ? std::to_string(*id) : std::string("*"));
  }
  return text;
}

std::string DeviceName::short_string() const {
  std::string text = type.empty() ? "*" : type;
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return id ? str_cat(text, ":", *id) : text;
}

DeviceName asked_device(std::string_view constraints) {
  DeviceName found;
  for (const std::string& part : str_split(constraints, ';')) {
    const auto name = DeviceName::parse(part);
    if (name.ok()) found = name->filled_from(found);
  }
  return found;
}

}  // namespace argosy
