// Parsed Examples as rows, and Features as lists of values that are collected from rows. Internal to the parsing
// family.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "argosy/formats/records/examples.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy::examples {

using tf::Feature;

// The features of one row, and the row's name in errors.
struct ExampleRow {
  tf::SequenceExample example;  // a plain Example's features are in `context`
  std::string name;
};

inline Status complain(const ExampleRow& row, std::string_view key, const auto&... what) {
  return invalid_argument("Name: ", row.name, ", Key: ", key, ".  ", what...);
}
inline Status required(const ExampleRow& row, std::string_view key, DType dtype) {
  return invalid_argument("Name: ", row.name, ", Feature: ", key, " (data type: ", dtype_name(dtype),
                          ") is required but could not be found.");
}

// The row's feature of that key; null where it has none, or one without a list. INVALID_ARGUMENT: it has another dtype.
inline Result<const Feature*> find(const ExampleRow& row, const std::string& key, DType dtype) {
  const auto found = row.example.context.find(key);
  if (found == row.example.context.end() || found->second.dtype == DType::kInvalid) return nullptr;
  if (found->second.dtype != dtype) {
    return complain(row, key, "Data types don't match. Expected type: ", dtype_name(dtype),
                    ", actual type: ", dtype_name(found->second.dtype));
  }
  return &found->second;
}

inline void append(Feature& to, const Feature& from) {
  to.strings.insert(to.strings.end(), from.strings.begin(), from.strings.end());
  to.floats.insert(to.floats.end(), from.floats.begin(), from.floats.end());
  to.ints.insert(to.ints.end(), from.ints.begin(), from.ints.end());
}
// Appends `count` copies of the scalar `value`. Where that is not given: of zero, or the empty string.
inline void append(Feature& to, const Tensor& value, std::int64_t count, DType dtype) {
  const auto n = static_cast<std::size_t>(count);
  const bool given = value.valid() && value.elements() > 0;
  switch (dtype) {
    case DType::kString: to.strings.insert(to.strings.end(), n, given ? *value.data<std::string>() : ""); break;
    case DType::kFloat32: to.floats.insert(to.floats.end(), n, given ? *value.data<float>() : 0.0f); break;
    default: to.ints.insert(to.ints.end(), n, given ? *value.data<std::int64_t>() : 0); break;
  }
}
inline Feature values_of(const Tensor& t) {
  Feature feature{t.dtype(), {}, {}, {}};
  const auto copy = [&]<typename T>(std::vector<T>& to) {
    const std::span<const T> from = t.values<T>();
    to.assign(from.begin(), from.end());
  };
  switch (t.dtype()) {
    case DType::kString: copy(feature.strings); break;
    case DType::kFloat32: copy(feature.floats); break;
    default: copy(feature.ints); break;
  }
  return feature;
}

// Writes the collected values as an output; moves the strings out. REQUIRES: as many values as the shape has elements.
inline Status emit(KernelContext& c, int output, Feature& values, const Shape& shape) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(output, shape));
  switch (y->dtype()) {
    case DType::kString: std::move(values.strings.begin(), values.strings.end(), y->data<std::string>()); break;
    case DType::kFloat32: std::copy(values.floats.begin(), values.floats.end(), y->data<float>()); break;
    default: std::copy(values.ints.begin(), values.ints.end(), y->data<std::int64_t>()); break;
  }
  return ok_status();
}
inline Status emit_ints(KernelContext& c, int output, const std::vector<std::int64_t>& values, const Shape& shape) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(output, shape));
  return dispatch<IndexTypes>(y->dtype(), "splits", [&]<typename T>() {
    std::transform(values.begin(), values.end(), y->data<T>(), [](std::int64_t v) { return static_cast<T>(v); });
    return ok_status();
  });
}
inline std::int64_t count_of(const std::vector<std::int64_t>& values, std::int64_t each) {
  return static_cast<std::int64_t>(values.size()) / each;
}

}  // namespace argosy::examples
