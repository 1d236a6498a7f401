#include "argosy/testing/op_cases/recorded_case.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace argosy {

namespace {

using Json = nlohmann::json;

std::string bytes_of(const std::string& hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
  }
  return bytes;
}

float float_of(const Json& hex) {
  const std::string bytes = bytes_of(hex);
  float value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

DType dtype_of(const Json& number) { return static_cast<DType>(number.get<int>()); }

Tensor tensor_of(const Json& json) {
  if (json.is_null()) return {};
  const auto sizes = json["shape"].get<std::vector<std::int64_t>>();
  Tensor tensor = Tensor::zeros(dtype_of(json["dtype"]), Shape(sizes));
  if (tensor.dtype() == DType::kString) {
    for (std::size_t i = 0; i < json["strings"].size(); ++i) {
      tensor.values<std::string>()[i] = bytes_of(json["strings"][i]);
    }
  } else if (tensor.bytes() > 0) {
    const std::string bytes = bytes_of(json["hex"]);
    if (bytes.size() != tensor.bytes()) throw std::out_of_range("a tensor's bytes");
    std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  }
  return tensor;
}

PartialShape shape_of(const Json& json) {
  return json.is_null() ? PartialShape::unknown() : PartialShape(json.get<std::vector<std::int64_t>>());
}

template <typename T>
std::vector<T> list_of(const Json& json, T (*one)(const Json&)) {
  std::vector<T> list;
  for (const Json& item : json) list.push_back(one(item));
  return list;
}

AttrValue attr_of(const Json& json) {
  const std::string kind = json.begin().key();
  const Json& value = json.begin().value();
  if (kind == "int") return value.get<std::int64_t>();
  if (kind == "float") return float_of(value);
  if (kind == "bool") return value.get<bool>();
  if (kind == "string") return value.get<std::string>();
  if (kind == "type") return dtype_of(value);
  if (kind == "shape") return shape_of(value);
  if (kind == "tensor") return tensor_of(value);
  if (kind == "ints") return value.get<std::vector<std::int64_t>>();
  if (kind == "floats") return list_of<float>(value, float_of);
  if (kind == "bools") return value.get<std::vector<bool>>();
  if (kind == "strings") return value.get<std::vector<std::string>>();
  if (kind == "types") return list_of<DType>(value, dtype_of);
  if (kind == "shapes") return list_of<PartialShape>(value, shape_of);
  throw std::out_of_range("an attribute of kind " + kind);
}

Code code_of(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Code::kUnauthenticated); ++i) {
    if (code_name(static_cast<Code>(i)) == name) return static_cast<Code>(i);
  }
  throw std::out_of_range("an error " + name);
}

}  // namespace

Result<std::optional<RecordedCase>> read_case(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    if (!json.contains("inputs")) return std::optional<RecordedCase>();
    RecordedCase c{.op = json["op"],
                   .test = json.value("test", ""),
                   .inputs = list_of<Tensor>(json["inputs"], tensor_of),
                   .outputs = list_of<Tensor>(json["outputs"], tensor_of),
                   .attrs = {},
                   .changes_variables = json.contains("after"),
                   .after = {},
                   .error = json.contains("error") ? code_of(json["error"]) : Code::kOk,
                   .tolerance = json["tolerance"]};
    if (c.changes_variables) c.after = list_of<Tensor>(json["after"], tensor_of);
    for (const auto& [name, value] : json["attrs"].items()) c.attrs.set(name, attr_of(value));
    return std::optional(std::move(c));
  } catch (const std::exception& problem) {  // what the reader of JSON throws ends here
    return invalid_argument("no op case: ", problem.what(), ": ", line.substr(0, 100));
  }
}

Result<int> read_cases(const std::string& folder, const std::function<void(const RecordedCase&)>& take) {
  std::set<std::filesystem::path> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (entry.path().extension() == ".jsonl") files.insert(entry.path());
  }
  int read = 0;
  for (const auto& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      auto c = read_case(line);
      if (!c.ok()) return std::move(c).status().with_where(file.string());
      if (!*c) continue;
      ++read;
      take(**c);
    }
  }
  return read;
}

int take_cases(const std::string& folder, const std::function<void(const RecordedCase&)>& take) {
  const auto read = read_cases(folder, take);
  if (!read.ok()) {
    std::printf("%s\n", read.status().to_string().c_str());
    return 1;
  }
  if (*read > 0) return 0;
  std::printf("no op cases in \"%s\": the op tests of a build write them (ctest -R op_cases)\n", folder.c_str());
  return 77;
}

}  // namespace argosy
