#include "argosy/testing/op_cases/op_dump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/state_case.h"

namespace argosy {

namespace {

using Json = nlohmann::json;

std::string hex(const void* bytes, std::size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(2 * size, '0');
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<const unsigned char*>(bytes)[i];
    text[2 * i] = kDigits[byte >> 4];
    text[2 * i + 1] = kDigits[byte & 15];
  }
  return text;
}

std::optional<Json> to_json(const Tensor& t) {
  if (!t.valid()) return Json(nullptr);
  Json json{{"dtype", static_cast<int>(t.dtype())}, {"shape", t.shape().sizes()}};
  if (t.dtype() == DType::kString) {
    json["strings"] = Json::array();
    for (const std::string& s : t.values<std::string>()) json["strings"].push_back(hex(s.data(), s.size()));
    return json;
  }
  if (!is_plain(t.dtype())) return std::nullopt;
  json["hex"] = hex(t.raw(), t.bytes());
  return json;
}

Json to_json(const PartialShape& shape) {
  return shape.has_rank() ? Json(std::vector<std::int64_t>(shape.sizes())) : Json(nullptr);
}

// {"kind": value}, so that the reader need not guess an empty list's kind.
std::optional<Json> to_json(const AttrValue& value) {
  const auto each = [](const auto& list, const auto& one) {
    Json array = Json::array();
    for (const auto& item : list) array.push_back(one(item));
    return array;
  };
  const auto as_is = [](const auto& v) { return Json(v); };
  const auto as_int = [](DType d) { return Json(static_cast<int>(d)); };
  const auto as_shape = [](const PartialShape& s) { return to_json(s); };
  if (const auto* v = std::get_if<std::int64_t>(&value)) return Json{{"int", *v}};
  if (const auto* v = std::get_if<float>(&value)) return Json{{"float", hex(v, sizeof *v)}};
  if (const auto* v = std::get_if<bool>(&value)) return Json{{"bool", *v}};
  if (const auto* v = std::get_if<std::string>(&value)) return Json{{"string", *v}};
  if (const auto* v = std::get_if<DType>(&value)) return Json{{"type", as_int(*v)}};
  if (const auto* v = std::get_if<PartialShape>(&value)) return Json{{"shape", as_shape(*v)}};
  if (const auto* v = std::get_if<Tensor>(&value)) {
    const auto tensor = to_json(*v);
    return tensor ? std::optional(Json{{"tensor", *tensor}}) : std::nullopt;
  }
  if (const auto* v = std::get_if<std::vector<std::int64_t>>(&value)) return Json{{"ints", each(*v, as_is)}};
  if (const auto* v = std::get_if<std::vector<float>>(&value)) {
    return Json{{"floats", each(*v, [](float f) { return Json(hex(&f, sizeof f)); })}};
  }
  if (const auto* v = std::get_if<std::vector<bool>>(&value)) return Json{{"bools", *v}};
  if (const auto* v = std::get_if<std::vector<std::string>>(&value)) return Json{{"strings", each(*v, as_is)}};
  if (const auto* v = std::get_if<std::vector<DType>>(&value)) return Json{{"types", each(*v, as_int)}};
  if (const auto* v = std::get_if<std::vector<PartialShape>>(&value)) return Json{{"shapes", each(*v, as_shape)}};
  return std::nullopt;
}

std::optional<Json> to_json(const OpCase& c, const std::vector<Tensor>& outputs) {
  AttrMap attrs = c.attrs;
  std::vector<DType> dtypes;
  Json json{{"op", c.op},
            {"inputs", Json::array()},
            {"outputs", Json::array()},
            {"attrs", Json::object()},
            {"tolerance", c.tolerance},
            {"unlike_tensorflow", c.unlike_tensorflow}};
  if (c.error != Code::kOk) json["error"] = code_name(c.error);
  if (const auto* test = testing::UnitTest::GetInstance()->current_test_info()) {
    json["test"] = str_cat(test->test_suite_name(), ".", test->name());
  }
  for (const Tensor& t : c.inputs) {
    dtypes.push_back(t.dtype());
    const auto input = to_json(t);
    if (!input) return std::nullopt;
    json["inputs"].push_back(*input);
  }
  // A bad attribute may be what the case is about: then TensorFlow sees what was given.
  if (!complete_attrs(*builtin_ops().find(c.op), dtypes, attrs).ok()) attrs = c.attrs;
  for (const auto& [name, value] : attrs) {
    const auto attr = to_json(value);
    if (!attr) return std::nullopt;
    json["attrs"][name] = *attr;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool looked_at = i >= c.expect.size() || c.expect[i].valid();
    const auto output = to_json(looked_at ? outputs[i] : Tensor());
    if (!output) return std::nullopt;
    json["outputs"].push_back(*output);
  }
  return json;
}

std::string find_dump_path() {
  const char* const given = std::getenv("ARGOSY_DUMP_CASES");
  std::string path = given != nullptr ? given : "";
  if (!path.ends_with('/')) return path;
  std::error_code failed;  // told by the first append()
  std::filesystem::create_directories(path, failed);
  path += str_cat(program_invocation_short_name, ".jsonl");
  std::filesystem::remove(path, failed);
  return path;
}

// Empty: nobody wants them.
const std::string& dump_path() {
  static const std::string path = find_dump_path();
  return path;
}

void append(const std::string& path, const std::optional<Json>& json) {
  if (!json) return;
  const std::string line = json->dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  // One write to a file opened for appending: test programs that run at once do not cut into each other's lines.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool written = file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (file >= 0) ::close(file);
  EXPECT_TRUE(written) << "cannot append to " << path;
}

}  // namespace

void dump_case(const OpCase& c, const std::vector<Tensor>& outputs) {
  if (!dump_path().empty()) append(dump_path(), to_json(c, outputs));
}

// Writes the attributes of the case, and the dtype of each variable. An input that is a variable without a value is
// null; "after" has the values of the variables.
void dump_case(const StateCase& c, const std::vector<Tensor>& outputs, const std::vector<Tensor>& after) {
  const std::string& path = dump_path();
  if (path.empty()) return;
  const OpCase plain{.op = c.op,
                     .inputs = {},
                     .attrs = {},
                     .error = c.error,
                     .tolerance = c.tolerance,
                     .unlike_tensorflow = c.unlike_tensorflow};
  auto json = to_json(plain, outputs);
  if (!json) return;
  for (const Tensor& t : c.inputs) {
    const auto input = to_json(t);
    if (!input) return;
    (*json)["inputs"].push_back(*input);
  }
  for (const auto& [name, value] : c.attrs) {
    const auto attr = to_json(value);
    if (!attr) return;
    (*json)["attrs"][name] = *attr;
  }
  (*json)["after"] = Json::array();
  for (const Tensor& t : after) {
    const auto value = to_json(t);
    if (!value) return;
    (*json)["after"].push_back(*value);
  }
  append(path, json);
}

void dump_gradient(const std::string& op) {
  if (!dump_path().empty()) append(dump_path(), Json{{"op", op}, {"gradient", true}});
}

}  // namespace argosy
