// The C++ side of the comparison with TensorFlow: writes a known checkpoint, or prints one for a script to compare.
//   ckpt_tool write PREFIX SHARDS    every dtype; element i of a tensor is i % 100 (strings: "s<i>")
//   ckpt_tool dump PREFIX            a line per tensor: name, dtype, sizes, bytes in hex
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "argosy/formats/checkpoint/checkpoint.h"

namespace {

using argosy::DType;
using argosy::Shape;
using argosy::Status;
using argosy::Tensor;
using argosy::tf::CheckpointReader;

Tensor counted(DType dtype, const Shape& shape) {
  Tensor t = Tensor::zeros(dtype, shape);
  if (dtype == DType::kString) {
    for (std::int64_t i = 0; i < t.elements(); ++i) t.data<std::string>()[i] = "s" + std::to_string(i);
    return t;
  }
  if (dtype == DType::kBool) {
    for (std::int64_t i = 0; i < t.elements(); ++i) t.data<bool>()[i] = i % 2 != 0;
    return t;
  }
  const Status filled = argosy::dispatch<argosy::NumberTypes>(dtype, "fill", [&]<typename T>() {
    for (std::int64_t i = 0; i < t.elements(); ++i) t.data<T>()[i] = static_cast<T>(static_cast<float>(i % 100));
    return argosy::ok_status();
  });
  ARGOSY_CHECK(filled.ok());
  return t;
}

Status write(const std::string& prefix, int shards) {
  std::vector<argosy::tf::NamedTensor> tensors;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt8,
                            DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8, DType::kUint16, DType::kUint32,
                            DType::kUint64, DType::kBool, DType::kComplex64, DType::kComplex128, DType::kString}) {
    const std::string name(argosy::dtype_name(dtype));
    tensors.push_back({name + "/scalar", counted(dtype, {})});
    tensors.push_back({name + "/matrix", counted(dtype, {17, 31})});
    tensors.push_back({name + "/empty", counted(dtype, {0, 3})});
  }
  for (int i = 0; i < 3000; ++i)
    tensors.push_back({"many/layer_" + std::to_string(i), counted(DType::kFloat32, {i % 7})});
  tensors.push_back({"global_step", Tensor::scalar<std::int64_t>(1234567890123)});
  return argosy::tf::write_checkpoint(prefix, tensors, {.shards = shards});
}

void print_hex(const void* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) std::printf("%02x", static_cast<const unsigned char*>(data)[i]);
}

Status dump(const std::string& prefix) {
  ARGOSY_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(prefix));
  ARGOSY_RETURN_IF_ERROR(reader.verify());
  for (const auto& entry : reader.entries()) {
    std::printf("%s\t%s\t%s\t", entry.name.c_str(), std::string(argosy::dtype_name(entry.dtype)).c_str(),
                argosy::str_join(entry.shape.sizes(), ",").c_str());
    if (entry.dtype == DType::kVariant) {
      std::printf("-\n");
      continue;
    }
    ARGOSY_ASSIGN_OR_RETURN(const Tensor t, reader.read(entry.name));
    if (t.dtype() == DType::kString) {
      for (const std::string& s : t.values<std::string>()) {
        print_hex(s.data(), s.size());
        std::printf(",");
      }
    } else {
      print_hex(t.raw(), t.bytes());
    }
    std::printf("\n");
  }
  return argosy::ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  Status status = argosy::invalid_argument("usage: ckpt_tool write PREFIX SHARDS | dump PREFIX");
  if (args.size() == 3 && args[0] == "write") status = write(args[1], std::atoi(args[2].c_str()));
  if (args.size() == 2 && args[0] == "dump") status = dump(args[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
