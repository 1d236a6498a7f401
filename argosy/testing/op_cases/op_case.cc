#include "argosy/testing/op_cases/op_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_dump.h"
#include "argosy/testing/run_on_gpu.h"

namespace argosy {

namespace {

double value_at(const Tensor& t, std::int64_t i) {
  double value = 0;
  const Status read = dispatch<RealTypes>(t.dtype(), "value_at", [&]<typename T>() {
    value = static_cast<double>(t.data<T>()[i]);
    return ok_status();
  });
  return read.ok() ? value : 0;
}

std::complex<double> complex_at(const Tensor& t, std::int64_t i) {
  return t.dtype() == DType::kComplex128 ? t.data<std::complex<double>>()[i]
                                         : std::complex<double>(t.data<std::complex<float>>()[i]);
}

bool is_real(DType d) { return is_floating(d) || is_integer(d); }

// Every tensor whose dtype is the case's main one becomes `to`.
OpCase in_dtype(const OpCase& c, DType from, DType to) {
  OpCase other = c;
  for (Tensor& t : other.inputs) {
    if (t.dtype() == from) t = cast_to(t, to);
  }
  for (Tensor& t : other.expect) {
    if (t.dtype() == from) t = cast_to(t, to);
  }
  for (const auto& entry : c.attrs) {
    const auto* d = std::get_if<DType>(&entry.value);
    if (d != nullptr && *d == from) other.attrs.set(entry.name, to);
  }
  return other;
}

void check_shapes(const OpCase& c, const std::vector<Tensor>& outputs) {
  Graph graph;
  std::vector<Value> inputs;
  for (const Tensor& t : c.inputs) inputs.push_back(constant(graph, t));
  const Value y = graph.add(c.op, inputs, c.attrs);
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const PartialShape& inferred = y.output(static_cast<int>(i)).shape();
    EXPECT_TRUE(inferred.compatible(outputs[i].shape()))
        << c.op << " output " << i << ": inferred " << inferred.to_string() << ", got "
        << outputs[i].shape().to_string();
    const PartialInts* known = graph.known_ints({y.node(), static_cast<std::int32_t>(i)});
    if (known == nullptr) continue;
    ASSERT_EQ(static_cast<std::int64_t>(known->size()), outputs[i].elements()) << c.op << ": known integers";
    for (std::size_t k = 0; k < known->size(); ++k) {
      if ((*known)[k]) {
        EXPECT_EQ(static_cast<double>(*(*known)[k]), value_at(outputs[i], static_cast<std::int64_t>(k))) << c.op;
      }
    }
  }
}

// The GPU's kernel, where there is one, gives what the CPU's do.
void check_on_gpu(const OpCase& c, const OpDef& op, const std::vector<Tensor>& expect) {
  const auto outputs = run_on_gpu(op, c.attrs, c.inputs);
  if (!outputs) return;
  ASSERT_TRUE(outputs->ok()) << c.op << " on a GPU: " << outputs->status().to_string();
  for (std::size_t i = 0; i < expect.size() && i < (*outputs)->size(); ++i) {
    if (!expect[i].valid()) continue;
    const std::string wrong = difference((**outputs)[i], expect[i], dtype_tolerance(expect[i].dtype(), c.tolerance));
    EXPECT_EQ(wrong, "") << c.op << " on a GPU, output " << i;
  }
}

// Inputs in a step's arena: an output that shows their memory is one that the plan knows of.
void check_memory(const OpCase& c, const OpDef& op) {
  if (op.forwards || op.flow != Flow::kNone) return;
  std::vector<Tensor> inputs = c.inputs;
  for (Tensor& t : inputs) {
    if (is_plain(t.dtype())) t = Tensor(t.dtype(), t.shape(), Buffer::borrow(t.raw(), t.bytes()));
  }
  const auto outputs = evaluate_op(op, c.attrs, inputs);
  for (std::size_t i = 0; outputs.ok() && i < outputs->size(); ++i) {
    const Tensor& y = (*outputs)[i];
    EXPECT_TRUE(!is_plain(y.dtype()) || y.bytes() == 0 || y.buffer().owned())
        << c.op << " output " << i << " is memory of an input, which its definition does not say (forward_input.h)";
  }
}

void check_outputs(const OpCase& c) {
  const OpDef* op = builtin_ops().find(c.op);
  for (const bool reference : {false, true}) {
    const auto outputs = evaluate_op(*op, c.attrs, c.inputs, {.reference = reference});
    ASSERT_TRUE(outputs.ok()) << c.op << ": " << outputs.status().to_string();
    std::vector<Tensor> expect = c.expect;
    if (expect.empty()) {
      auto plain = evaluate_op(*op, c.attrs, c.inputs, {.reference = true});
      ASSERT_TRUE(plain.ok()) << c.op << ": " << plain.status().to_string();
      expect = *std::move(plain);
    }
    for (std::size_t i = 0; i < expect.size() && i < outputs->size(); ++i) {
      if (!expect[i].valid()) continue;  // an output the case does not look at
      const std::string wrong = difference((*outputs)[i], expect[i], dtype_tolerance(expect[i].dtype(), c.tolerance));
      EXPECT_EQ(wrong, "") << c.op << (reference ? " (reference)" : "") << " output " << i;
    }
    if (!reference) {
      check_shapes(c, *outputs);
      dump_case(c, *outputs);
      check_memory(c, *op);
      check_on_gpu(c, *op, expect);
    }
  }
}

// In float64, of every floating-point input that the case does not hold fixed.
void check_gradient(const OpCase& original, DType main) {
  const OpCase c = in_dtype(original, main, DType::kFloat64);
  const auto fixed = [&](std::size_t i) {
    const auto& held = c.constant_inputs;
    return !is_floating(c.inputs[i].dtype()) || std::find(held.begin(), held.end(), static_cast<int>(i)) != held.end();
  };
  GradientCase gradient{.ops = {c.op}, .tolerance = original.gradient_tolerance};
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (!fixed(i)) gradient.at.push_back(c.inputs[i]);
  }
  if (gradient.at.empty()) return;
  gradient.f = [&](Graph& graph, const std::vector<Value>& xs) {
    std::vector<Value> inputs, ys;
    for (std::size_t i = 0, x = 0; i < c.inputs.size(); ++i) {
      inputs.push_back(fixed(i) ? constant(graph, c.inputs[i]) : xs[x++]);
    }
    const Value y = graph.add(c.op, inputs, c.attrs);
    if (!y.valid()) return ys;
    for (std::size_t i = 0; i < graph.node(y.node()).output_dtypes.size(); ++i) {
      ys.push_back(y.output(static_cast<int>(i)));
    }
    return ys;
  };
  check_gradients(gradient);
}

void check_error(const OpCase& c) {
  Graph graph;
  std::vector<Value> inputs;
  for (const Tensor& t : c.inputs) inputs.push_back(constant(graph, t));
  graph.add(c.op, inputs, c.attrs);
  Status status = graph.status();
  if (!status.ok()) {
    EXPECT_EQ(status.code(), c.error) << status.to_string();
    EXPECT_NE(status.message().find(c.error_contains), std::string::npos) << status.to_string();
  }
  // The kernel must hold its own: shapes may be unknown until it runs.
  const OpDef* op = builtin_ops().find(c.op);
  ASSERT_NE(op, nullptr);
  const auto outputs = evaluate_op(*op, c.attrs, c.inputs);
  ASSERT_FALSE(outputs.ok()) << c.op << " ran, but should have failed with \"" << c.error_contains << "\"";
  EXPECT_EQ(outputs.status().code(), c.error) << outputs.status().to_string();
  dump_case(c, {});
}

}  // namespace

double dtype_tolerance(DType d, double tolerance) {
  switch (d) {
    case DType::kFloat64: return std::min(tolerance, 1e-5);
    case DType::kBfloat16: return std::max(tolerance, 4e-2);
    case DType::kFloat16: return std::max(tolerance, 5e-3);
    default: return tolerance;
  }
}

Tensor cast_to(const Tensor& t, DType dtype) {
  Tensor to = Tensor::zeros(dtype, t.shape());
  const Status done = dispatch<RealTypes>(dtype, "cast_to", [&]<typename T>() {
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      const double value = value_at(t, i);
      if constexpr (std::is_unsigned_v<T>) {
        to.data<T>()[i] = static_cast<T>(static_cast<std::int64_t>(value));  // of -1: the largest
      } else {
        to.data<T>()[i] = T(value);
      }
    }
    return ok_status();
  });
  ARGOSY_CHECK(done.ok());
  return to;
}

std::string difference(const Tensor& got, const Tensor& expected, double tolerance) {
  if (got.dtype() != expected.dtype() || !(got.shape() == expected.shape())) {
    return str_cat("got ", dtype_name(got.dtype()), got.shape(), ", expected ", dtype_name(expected.dtype()),
                   expected.shape());
  }
  const auto near = [&](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
  };
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    bool same = false;
    if (is_real(got.dtype())) {
      same = near(value_at(got, i), value_at(expected, i));
    } else if (is_complex(got.dtype())) {
      const std::complex<double> a = complex_at(got, i), b = complex_at(expected, i);
      same = near(a.real(), b.real()) && near(a.imag(), b.imag());
    } else {
      const Tensor a = got.reshaped({got.elements()}).rows(i, i + 1);
      const Tensor b = expected.reshaped({got.elements()}).rows(i, i + 1);
      same = attr_equal(AttrValue(a), AttrValue(b));
    }
    if (!same) return str_cat("element ", i, ": got ", got.to_string(32), ", expected ", expected.to_string(32));
  }
  return "";
}

Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed, double low, double high) {
  std::mt19937_64 bits(seed);
  Tensor wide = Tensor::zeros(DType::kFloat64, shape);
  for (double& v : wide.values<double>()) v = low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
  return cast_to(wide, dtype);
}

void check(const OpCase& c) {
  SCOPED_TRACE(c.op);
  const OpDef* op = builtin_ops().find(c.op);
  ASSERT_NE(op, nullptr) << "no op " << c.op;
  if (c.error != Code::kOk) return check_error(c);
  check_outputs(c);
  if (testing::Test::HasFailure()) return;
  // The main dtype is that of attribute T (or what stands for it), if it has one.
  std::vector<DType> input_dtypes;
  for (const Tensor& t : c.inputs) input_dtypes.push_back(t.dtype());
  AttrMap attrs = c.attrs;
  ASSERT_TRUE(complete_attrs(*op, input_dtypes, attrs).ok());
  const AttrDef* type = nullptr;
  for (const char* name : {"T", "dtype", "Tparams", "Ta"}) type = type != nullptr ? type : op->attr(name);
  const DType* main = type ? attrs.find_as<DType>(type->name) : nullptr;
  if (main == nullptr) return;
  const auto allowed = [&](DType d) {
    return type->types.empty() || std::find(type->types.begin(), type->types.end(), d) != type->types.end();
  };
  if (c.other_dtypes) {
    using enum DType;
    const auto others = is_floating(*main)  ? std::vector<DType>{kFloat32, kFloat64, kBfloat16, kFloat16}
                        : is_integer(*main) ? std::vector<DType>{kInt32, kInt64, kInt16, kInt8}
                                            : std::vector<DType>{};
    for (const DType d : others) {
      if (d == *main || !allowed(d)) continue;
      SCOPED_TRACE(dtype_name(d));
      check_outputs(in_dtype(c, *main, d));
    }
  }
  if (c.check_gradient && op->gradient != kNotDifferentiable && is_floating(*main) && allowed(DType::kFloat64)) {
    check_gradient(c, *main);
  }
}

}  // namespace argosy
