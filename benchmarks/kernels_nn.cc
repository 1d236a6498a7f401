// Matrix products and convolutions of the networks we train, through our kernels and through raw oneDNN in the same
// run: the same shapes, plain operands in, plain results out. Raw oneDNN means its primitive with operands as they lie,
// or with those packed that it wants packed (the packing counted), whichever is faster; for products also its sgemm,
// for convolutions that we compute Winograd's way also its own (images blocked, the blocking counted).
//
//   kernels_nn [threads] [substring of a row's name]
#include <cstdlib>
#include <cstring>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>

#include "argosy/base/threads/parallel.h"
#include "argosy/device/device.h"
#include "argosy/ops/conv/winograd/winograd.h"
#include "argosy/ops/ops.h"
#include "benchmarks/measure.h"

namespace argosy::benchmark {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

Tensor filled(const Shape& shape, int seed = 1) {
  Tensor t = Tensor::zeros(DType::kFloat32, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.data<float>()[i] = static_cast<float>(i * 37 % (100 + seed)) / 100 - 0.5f;
  return t;
}

// One kernel with its operands, outputs planned as in a compiled step.
class Ours {
 public:
  Ours(const char* op, AttrMap attrs, std::vector<Tensor> inputs, const Shape& output, Allocator& allocator)
      : attrs_(std::move(attrs)), inputs_(std::move(inputs)), output_(Tensor::zeros(DType::kFloat32, output)) {
    const OpDef* def = builtin_ops().find(op);
    std::vector<DType> dtypes;
    std::vector<PartialShape> shapes;
    for (const Tensor& t : inputs_) {
      dtypes.push_back(t.dtype());
      shapes.emplace_back(t.shape());
      pointers_.push_back(&t);
    }
    if (!complete_attrs(*def, dtypes, attrs_).ok()) std::abort();
    const std::vector<PartialShape> output_shapes = {output};
    auto kernel = cpu_kernels().make({.op = *def,
                                      .attrs = attrs_,
                                      .node = op,
                                      .input_dtypes = dtypes,
                                      .output_dtypes = output_dtypes_,
                                      .input_shapes = shapes,
                                      .output_shapes = output_shapes,
                                      .constants = {}},
                                     "cpu");
    kernel_ = std::move(kernel).value();
    slot_ = {&output_, true};
    context_ = std::make_unique<KernelContext>(KernelContext::Fields{.inputs = pointers_.data(),
                                                                     .num_inputs = static_cast<int>(pointers_.size()),
                                                                     .outputs = &slot_,
                                                                     .num_outputs = 1,
                                                                     .output_dtypes = output_dtypes_.data(),
                                                                     .node = op,
                                                                     .allocator = &allocator});
  }
  void run() {
    const Status done = kernel_->run(*context_);
    if (!done.ok()) {
      std::fprintf(stderr, "%s\n", done.to_string().c_str());
      std::exit(1);
    }
  }
  const Tensor& output() const { return output_; }
  const Tensor& input(int i) const { return inputs_[static_cast<std::size_t>(i)]; }

 private:
  AttrMap attrs_;
  std::vector<Tensor> inputs_;
  std::vector<const Tensor*> pointers_;
  const std::vector<DType> output_dtypes_ = {DType::kFloat32};
  Tensor output_;
  OutputSlot slot_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<KernelContext> context_;
};

// One oneDNN primitive with the reorders before and after it.
class Raw {
 public:
  Raw() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}
  const dnnl::engine& engine() const { return engine_; }
  memory operand(const memory::desc& lies, const memory::desc& wanted, void* data) {
    memory plain(lies, engine_, data);
    if (lies == wanted) return plain;
    memory packed(wanted, engine_);
    before_.push_back({dnnl::reorder(plain, packed), plain, packed});
    return packed;
  }
  memory result(const memory::desc& lies, const memory::desc& made, void* data) {
    memory plain(lies, engine_, data);
    if (lies == made) return plain;
    memory packed(made, engine_);
    after_.push_back({dnnl::reorder(packed, plain), packed, plain});
    return packed;
  }
  void set(dnnl::primitive primitive, const std::unordered_map<int, memory>& arguments) {
    primitive_ = std::move(primitive);
    memories_ = arguments;
    for (auto& [argument, m] : memories_) arguments_.push_back({argument, m.get()});
  }
  void run() {
    for (Reorder& r : before_) r.reorder.execute(stream_, r.from, r.to);
    dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
    for (Reorder& r : after_) r.reorder.execute(stream_, r.from, r.to);
  }

 private:
  struct Reorder {
    dnnl::reorder reorder;
    memory from, to;
  };
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Reorder> before_, after_;
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

#if DNNL_VERSION_MAJOR >= 3
template <typename Primitive, typename... Arguments>
auto descriptor(const dnnl::engine& engine, const Arguments&... arguments) {
  return typename Primitive::primitive_desc(engine, arguments...);
}
template <typename Primitive, typename Hint, typename... Arguments>
auto backward(const dnnl::engine& engine, const Hint& hint, const Arguments&... arguments) {
  return typename Primitive::primitive_desc(engine, arguments..., hint);
}
#else
template <typename Primitive, typename... Arguments>
auto descriptor(const dnnl::engine& engine, const Arguments&... arguments) {
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), engine);
}
template <typename Primitive, typename Hint, typename... Arguments>
auto backward(const dnnl::engine& engine, const Hint& hint, const Arguments&... arguments) {
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), engine, hint);
}
#endif

struct Rival {
  const char* name;
  std::function<void()> run;
};

int rows_below = 0;

// Ours and every rival in turn, until each has had its share of time; the smallest counts.
void compare(const std::string& name, double flops, Ours& ours, const std::vector<Rival>& rivals) {
  constexpr double kSeconds = 0.4;
  std::vector<Times> times(rivals.size() + 1);
  std::vector<int> repeats(times.size());
  const auto work = [&](std::size_t i) { i == 0 ? ours.run() : rivals[i - 1].run(); };
  for (std::size_t i = 0; i < times.size(); ++i) {
    work(i);
    repeats[i] = std::max(1, static_cast<int>(1e-3 / std::max(1e-8, time_of(1, [&] { work(i); }))));
  }
  const std::int64_t start = now_nanos();
  for (int round = 0; round < 5 || seconds_since(start) < kSeconds * static_cast<double>(times.size()); ++round) {
    for (std::size_t i = 0; i < times.size(); ++i) times[i].add(time_of(repeats[i], [&] { work(i); }));
  }
  std::size_t best = 1;
  for (std::size_t i = 2; i < times.size(); ++i) best = times[i].min() < times[best].min() ? i : best;
  const double ratio = times[best].min() / times[0].min();
  rows_below += ratio < 0.95;
  std::printf("%-34s ours %s (median %s) %6.1f GFLOP/s   oneDNN %s (%s)   ratio %.2f%s\n", name.c_str(),
              format_time(times[0].min()).c_str(), format_time(times[0].median()).c_str(),
              flops / times[0].min() * 1e-9, format_time(times[best].min()).c_str(), rivals[best - 1].name, ratio,
              ratio < 0.95 ? "  <-- below 0.95" : "");
  std::fflush(stdout);
}

void matmul(const char* model, std::int64_t m, std::int64_t k, std::int64_t n, bool ta, bool tb, Allocator& allocator) {
  const Tensor a = filled(ta ? Shape{k, m} : Shape{m, k});
  const Tensor b = filled(tb ? Shape{n, k} : Shape{k, n}, 2);
  Ours ours("MatMul", {{"transpose_a", ta}, {"transpose_b", tb}}, {a, b}, {m, n}, allocator);
  constexpr auto kF32 = memory::data_type::f32;
  const memory::desc ad({m, k}, kF32, ta ? Tag::ba : Tag::ab), bd({k, n}, kF32, tb ? Tag::ba : Tag::ab);
  const memory::desc any({k, n}, kF32, Tag::any), cd({m, n}, kF32, Tag::ab);
  Tensor c = Tensor::zeros(DType::kFloat32, {m, n});
  Raw plain, packed;
  for (Raw* raw : {&plain, &packed}) {
    const auto pd = descriptor<dnnl::matmul>(raw->engine(), ad, raw == &plain ? bd : any, cd);
    raw->set(dnnl::matmul(pd), {{DNNL_ARG_SRC, raw->operand(ad, ad, a.raw())},
                                {DNNL_ARG_WEIGHTS, raw->operand(bd, pd.weights_desc(), b.raw())},
                                {DNNL_ARG_DST, raw->result(cd, cd, c.raw())}});
  }
  const auto sgemm = [&] {
    dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1, a.raw_as<float>(), ta ? m : k, b.raw_as<float>(), tb ? k : n,
               0, c.raw_as<float>(), n);
  };
  compare(str_cat(model, " ", m, "x", k, "x", n, " ", ta ? "T" : "N", tb ? "T" : "N"),
          2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k), ours,
          {{"matmul", [&] { plain.run(); }}, {"matmul, packed", [&] { packed.run(); }}, {"sgemm", sgemm}});
}

struct Conv {
  const char* name;
  std::int64_t batch, side, in, out, filter, stride;
};

void convolution(const Conv& s, const char* kind, Allocator& allocator) {
  const std::int64_t out_side = (s.side + s.stride - 1) / s.stride;
  const std::int64_t pad = std::max<std::int64_t>(0, (out_side - 1) * s.stride + s.filter - s.side);
  const Shape image{s.batch, s.side, s.side, s.in}, filter{s.filter, s.filter, s.in, s.out};
  const Shape result{s.batch, out_side, out_side, s.out};
  const Tensor x = filled(image), f = filled(filter, 2);
  const Tensor y = filled(result, 3);
  const auto sizes = [](const Shape& shape) {
    return Tensor::vector(std::vector<std::int32_t>(shape.sizes().begin(), shape.sizes().end()));
  };
  AttrMap attrs = {{"strides", std::vector<std::int64_t>{1, s.stride, s.stride, 1}}, {"padding", "SAME"}};
  const ConvAttrs checked = read_conv("Conv2D", attrs).value();
  const bool winograd = winograd_pays(checked, conv_geometry(checked, image, filter).value());
  if (winograd) attrs.set(kWinogradAttr, true);
  const bool forward = std::strcmp(kind, "forward") == 0, to_input = std::strcmp(kind, "input") == 0;
  Ours ours = forward    ? Ours("Conv2D", attrs, {x, f}, result, allocator)
              : to_input ? Ours("Conv2DBackpropInput", attrs, {sizes(image), f, y}, image, allocator)
                         : Ours("Conv2DBackpropFilter", attrs, {x, sizes(filter), y}, filter, allocator);
  constexpr auto kF32 = memory::data_type::f32;
  const memory::dims xs{s.batch, s.in, s.side, s.side}, fs{s.out, s.in, s.filter, s.filter};
  const memory::dims ys{s.batch, s.out, out_side, out_side}, strides{s.stride, s.stride}, none{0, 0};
  const memory::dims before{pad / 2, pad / 2}, after{pad - pad / 2, pad - pad / 2};
  const memory::desc xd(xs, kF32, Tag::nhwc), fd(fs, kF32, Tag::hwio), yd(ys, kF32, Tag::nhwc), any(fs, kF32, Tag::any);
  // With the filter as it lies, or packed; the last one Winograd's way.
  std::vector<Raw> raws(winograd && s.filter == 3 ? 3 : 2);
  Tensor made = Tensor::zeros(DType::kFloat32, forward ? result : to_input ? image : filter);
  for (Raw& raw : raws) {
    using dnnl::prop_kind;
    const bool blocked = &raw - raws.data() == 2;
    const auto way = blocked ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
    const memory::desc xw = blocked ? memory::desc(xs, kF32, Tag::any) : xd;
    const memory::desc yw = blocked ? memory::desc(ys, kF32, Tag::any) : yd;
    const memory::desc& wanted = &raw == raws.data() ? fd : any;
    const auto pf = descriptor<dnnl::convolution_forward>(raw.engine(), prop_kind::forward_training, way, xw, wanted,
                                                          yw, strides, none, before, after);
    if (forward) {
      raw.set(dnnl::convolution_forward(pf), {{DNNL_ARG_SRC, raw.operand(xd, pf.src_desc(), x.raw())},
                                              {DNNL_ARG_WEIGHTS, raw.operand(fd, pf.weights_desc(), f.raw())},
                                              {DNNL_ARG_DST, raw.result(yd, pf.dst_desc(), made.raw())}});
    } else if (to_input) {
      using Primitive = dnnl::convolution_backward_data;
      const auto pd = backward<Primitive>(raw.engine(), pf, way, xw, wanted, yw, strides, none, before, after);
      raw.set(Primitive(pd), {{DNNL_ARG_DIFF_DST, raw.operand(yd, pd.diff_dst_desc(), y.raw())},
                              {DNNL_ARG_WEIGHTS, raw.operand(fd, pd.weights_desc(), f.raw())},
                              {DNNL_ARG_DIFF_SRC, raw.result(xd, pd.diff_src_desc(), made.raw())}});
    } else {
      using Primitive = dnnl::convolution_backward_weights;
      const auto pd = backward<Primitive>(raw.engine(), pf, way, xw, wanted, yw, strides, none, before, after);
      raw.set(Primitive(pd), {{DNNL_ARG_SRC, raw.operand(xd, pd.src_desc(), x.raw())},
                              {DNNL_ARG_DIFF_DST, raw.operand(yd, pd.diff_dst_desc(), y.raw())},
                              {DNNL_ARG_DIFF_WEIGHTS, raw.result(fd, pd.diff_weights_desc(), made.raw())}});
    }
  }
  const double flops = 2.0 * static_cast<double>(result.elements()) * static_cast<double>(s.filter * s.filter * s.in);
  std::vector<Rival> rivals = {{"plain filter", [&] { raws[0].run(); }}, {"packed filter", [&] { raws[1].run(); }}};
  if (raws.size() > 2) rivals.push_back({"Winograd", [&] { raws[2].run(); }});
  compare(str_cat(s.name, " ", kind, winograd ? " (Winograd)" : ""), flops, ours, rivals);
}

struct Product {
  const char* model;
  std::int64_t m, k, n;
  bool ta, tb;
};
constexpr Product kProducts[] = {
    // Forward, gradient of the input, gradient of the weights.
    {"mlp-10", 10, 784, 256, false, false},       {"mlp-10", 10, 256, 256, false, false},
    {"mlp-10", 10, 256, 10, false, false},        {"mlp-10", 10, 256, 256, false, true},
    {"mlp-10", 10, 10, 256, false, true},         {"mlp-10", 784, 10, 256, true, false},
    {"mlp-10", 256, 10, 256, true, false},        {"mlp-10", 256, 10, 10, true, false},
    {"mlp-128", 128, 784, 256, false, false},     {"mlp-128", 128, 256, 256, false, false},
    {"mlp-128", 128, 256, 10, false, false},      {"mlp-128", 128, 256, 256, false, true},
    {"mlp-128", 128, 10, 256, false, true},       {"mlp-128", 784, 128, 256, true, false},
    {"mlp-128", 256, 128, 256, true, false},      {"mlp-128", 256, 128, 10, true, false},
    {"lenet", 128, 3136, 1024, false, false},     {"lenet", 128, 1024, 3136, false, true},
    {"lenet", 3136, 128, 1024, true, false},      {"transformer", 512, 256, 1024, false, false},
    {"transformer", 512, 1024, 256, false, true}, {"transformer", 1024, 512, 256, true, false},
    {"square", 64, 64, 64, false, false},         {"square", 256, 256, 256, false, false},
    {"square", 512, 512, 512, false, false},      {"square", 1024, 1024, 1024, false, false},
    {"square", 1024, 1024, 1024, false, true},    {"matpow", 2000, 2000, 2000, false, false},
};

constexpr Conv kConvolutions[] = {
    {"lenet-1 28x28 1-32 5x5", 128, 28, 1, 32, 5, 1},
    {"lenet-2 14x14 32-64 5x5", 128, 14, 32, 64, 5, 1},
    {"ae 64x64 1-64", 4, 64, 1, 64, 3, 1},
    {"ae 32x32 64-128", 4, 32, 64, 128, 3, 1},
    {"ae 16x16 128-256", 4, 16, 128, 256, 3, 1},
    {"ae 8x8 256-512", 4, 8, 256, 512, 3, 1},
    {"ae 4x4 512-512", 4, 4, 512, 512, 3, 1},
    {"ae 2x2 512-512", 4, 2, 512, 512, 3, 1},
    {"ae up 1x1-2x2 512", 4, 2, 512, 512, 3, 2},
    {"ae up 2x2-4x4 512", 4, 4, 512, 512, 3, 2},
    {"ae up 4x4-8x8 256-512", 4, 8, 256, 512, 3, 2},
    {"ae up 8x8-16x16 256-512", 4, 16, 256, 512, 3, 2},
    {"ae up 16x16-32x32 128-256", 4, 32, 128, 256, 3, 2},
    {"ae up 32x32-64x64 64-128", 4, 64, 64, 128, 3, 2},
    {"ae out 64x64 64-1", 4, 64, 64, 1, 3, 1},
    {"gan 32x32 3-64 5x5/2", 16, 32, 3, 64, 5, 2},
    {"gan 16x16 64-128 5x5/2", 16, 16, 64, 128, 5, 2},
    {"gan 8x8 128-256 5x5/2", 16, 8, 128, 256, 5, 2},
    {"gan 64x64 3-64 5x5/2", 32, 64, 3, 64, 5, 2},
    {"gan 32x32 64-128 4x4/2", 32, 32, 64, 128, 4, 2},
    {"gan 16x16 128-256 4x4/2", 32, 16, 128, 256, 4, 2},
    {"colour 32x32 3-32 3x3", 64, 32, 3, 32, 3, 1},
    {"resnet stem", 8, 224, 3, 64, 7, 2},
    {"resnet 56x56 64-64 1x1", 8, 56, 64, 64, 1, 1},
    {"resnet 56x56 64-64", 8, 56, 64, 64, 3, 1},
    {"resnet 56x56 64-256 1x1", 8, 56, 64, 256, 1, 1},
    {"resnet 28x28 128-128", 8, 28, 128, 128, 3, 1},
    {"resnet 14x14 256-256", 8, 14, 256, 256, 3, 1},
    {"resnet 7x7 512-512", 8, 7, 512, 512, 3, 1},
    {"resnet 7x7 512-2048 1x1", 8, 7, 512, 2048, 1, 1},
    {"resnet 56x56 256-512 1x1/2", 8, 56, 256, 512, 1, 2},
    {"resnet 28x28 256-256 /2", 8, 28, 256, 256, 3, 2},
    {"resnet 14x14 512-512 /2", 8, 14, 512, 512, 3, 2},
    {"resnet 14x14 1024-2048 1x1/2", 8, 14, 1024, 2048, 1, 2},
};

}  // namespace
}  // namespace argosy::benchmark

int main(int argc, char** argv) {
  using namespace argosy;             // NOLINT(google-build-using-namespace): a program
  using namespace argosy::benchmark;  // NOLINT(google-build-using-namespace)
  set_thread_budget(argc > 1 ? std::atoi(argv[1]) : available_cores());
  const std::string wanted = argc > 2 ? argv[2] : "";
  const auto devices = make_devices({.devices = "cpu:0"}).value();
  Allocator& allocator = devices[0]->allocator();
  std::printf("%d thread(s); ratio = oneDNN's time / ours\n", thread_budget());
  for (const auto& p : kProducts) {
    const std::string name = str_cat(p.model, " ", p.m, "x", p.k, "x", p.n);
    if (name.find(wanted) != std::string::npos)
      argosy::benchmark::matmul(p.model, p.m, p.k, p.n, p.ta, p.tb, allocator);
  }
  for (const auto& s : kConvolutions) {
    for (const char* kind : {"forward", "input", "filter"}) {
      const std::string name = str_cat(s.name, " ", kind);
      if (name.find(wanted) != std::string::npos) convolution(s, kind, allocator);
    }
  }
  std::printf("%d row(s) below 0.95\n", rows_below);
  return 0;
}
