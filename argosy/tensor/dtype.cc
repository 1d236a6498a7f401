#include "argosy/tensor/dtype.h"

#include "argosy/tensor/resource.h"

namespace argosy {

namespace {
struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};
constexpr DTypeRow kRows[] = {
    {DType::kInvalid, "invalid", 0},
    {DType::kFloat32, "float", 4},
    {DType::kFloat64, "double", 8},
    {DType::kInt32, "int32", 4},
    {DType::kUint8, "uint8", 1},
    {DType::kInt16, "int16", 2},
    {DType::kInt8, "int8", 1},
    {DType::kString, "string", sizeof(std::string)},
    {DType::kComplex64, "complex64", 8},
    {DType::kInt64, "int64", 8},
    {DType::kBool, "bool", 1},
    {DType::kQint8, "qint8", 1},
    {DType::kQuint8, "quint8", 1},
    {DType::kQint32, "qint32", 4},
    {DType::kBfloat16, "bfloat16", 2},
    {DType::kQint16, "qint16", 2},
    {DType::kQuint16, "quint16", 2},
    {DType::kUint16, "uint16", 2},
    {DType::kComplex128, "complex128", 16},
    {DType::kFloat16, "half", 2},
    {DType::kResource, "resource", sizeof(ResourceHandle)},
    {DType::kVariant, "variant", sizeof(Variant)},
    {DType::kUint32, "uint32", 4},
    {DType::kUint64, "uint64", 8},
};
const DTypeRow& row(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return kRows[index < std::size(kRows) ? index : 0];
}
}  // namespace

std::string_view dtype_name(DType dtype) { return row(dtype).name; }
std::size_t element_bytes(DType dtype) { return row(dtype).bytes; }

DType parse_dtype(std::string_view name) {
  if (name == "float32") return DType::kFloat32;
  if (name == "float64") return DType::kFloat64;
  if (name == "float16") return DType::kFloat16;
  for (const DTypeRow& r : kRows) {
    if (r.name == name) return r.dtype;
  }
  return DType::kInvalid;
}

Status unsupported_dtype(std::string_view op, DType dtype) {
  return unimplemented(op, ": dtype ", dtype_name(dtype), " is not supported").with_id("ARG-DTYPE-001");
}

}  // namespace argosy
