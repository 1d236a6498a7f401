#include "argosy/ops/onednn/onednn.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>
#include <vector>

#include "argosy/base/clock.h"

namespace argosy::onednn {

namespace {

using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;

constexpr std::size_t kAlign = 64;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

Status to_status(const dnnl::error& e, const char* what) {
  if (e.status == dnnl_unimplemented || e.status == dnnl_invalid_arguments)
    return unimplemented("oneDNN: ", what, ": ", e.what());
  if (e.status == dnnl_out_of_memory) return resource_exhausted("oneDNN: ", what, ": out of memory");
  return internal_error("oneDNN: ", what, ": ", e.what());
}

memory::data_type data_type(DType dtype) {
  return dtype == DType::kBfloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

// Where the bytes of a memory object are: an argument of run(), or a place in the scratch memory.
struct Place {
  int argument = -1;
  std::size_t offset = 0;
};

class Chain final : public Program {
 public:
  ~Chain() override {
    for (auto& idle : idle_) delete idle.load();
  }
  std::size_t scratch_bytes() const override { return scratch_; }

  int argument(const memory::desc& desc, int index) { return add_memory(desc, {.argument = index}); }
  int temporary(const memory::desc& desc) {
    const std::size_t offset = scratch_;
    scratch_ += (desc.get_size() + kAlign - 1) / kAlign * kAlign;
    return add_memory(desc, {.offset = offset});
  }
  // `memory` itself, or a temporary of layout `wanted` that a reorder fills from it.
  int packed(int memory, const memory::desc& wanted) {
    if (descs_[memory] == wanted) return memory;
    const int to = temporary(wanted);
    add_reorder(memory, to);
    return to;
  }
  void add_reorder(int from, int to) {
    add(dnnl::reorder({cpu(), descs_[from], cpu(), descs_[to]}), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }
  // `arguments`: oneDNN's argument, our memory.
  void add(dnnl::primitive primitive, std::vector<std::pair<int, int>> arguments) {
    steps_.push_back({std::move(primitive), std::move(arguments)});
  }
  const memory::desc& desc(int memory) const { return descs_[memory]; }

  Status run(std::span<void* const> data, void* scratch) override try {
    std::unique_ptr<State> state;
    for (auto& idle : idle_) {
      state.reset(idle.exchange(nullptr, std::memory_order_acquire));
      if (state) break;
    }
    if (!state) state = make_state();
    for (std::size_t i = 0; i < places_.size(); ++i) {
      void* const at =
          places_[i].argument >= 0 ? data[places_[i].argument] : static_cast<std::byte*>(scratch) + places_[i].offset;
      dnnl_memory_set_data_handle(state->memories[i].get(), at);
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const auto& arguments = state->arguments[s];
      dnnl::error::wrap_c_api(dnnl_primitive_execute(steps_[s].primitive.get(), state->stream.get(),
                                                     static_cast<int>(arguments.size()), arguments.data()),
                              "execute");
    }
    for (auto& idle : idle_) {
      State* none = nullptr;
      if (idle.compare_exchange_strong(none, state.get(), std::memory_order_acq_rel)) {
        state.release();
        break;
      }
    }
    return ok_status();
  } catch (const dnnl::error& e) {
    return to_status(e, "running a primitive");
  }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<std::pair<int, int>> arguments;
  };
  // What one call at a time uses. Some are kept: more calls than those that overlap make their own.
  struct State {
    dnnl::stream stream;
    std::vector<memory> memories;
    std::vector<std::vector<dnnl_exec_arg_t>> arguments;  // per step
  };

  int add_memory(const memory::desc& desc, Place place) {
    descs_.push_back(desc);
    places_.push_back(place);
    return static_cast<int>(descs_.size()) - 1;
  }
  std::unique_ptr<State> make_state() const {
    auto state = std::make_unique<State>();
    state->stream = dnnl::stream(cpu());
    for (const memory::desc& d : descs_) state->memories.emplace_back(d, cpu(), nullptr);
    for (const Step& step : steps_) {
      auto& arguments = state->arguments.emplace_back();
      for (const auto& [argument, m] : step.arguments) arguments.push_back({argument, state->memories[m].get()});
    }
    return state;
  }

  std::vector<memory::desc> descs_;
  std::vector<Place> places_;
  std::vector<Step> steps_;
  std::size_t scratch_ = 0;
  std::array<std::atomic<State*>, 4> idle_{};
};

dnnl::primitive_attr attributes(Activation activation, float alpha) {
  using dnnl::algorithm;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  const auto append = [&](algorithm a, float p, float q) {
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(a, p, q);
#else
    ops.append_eltwise(1.0f, a, p, q);
#endif
  };
  switch (activation) {
    case Activation::kNone: return attr;
    case Activation::kRelu: append(algorithm::eltwise_relu, 0, 0); break;
    case Activation::kRelu6: append(algorithm::eltwise_clip, 0, 6); break;
    case Activation::kElu: append(algorithm::eltwise_elu, 1, 0); break;
    case Activation::kLeakyRelu: append(algorithm::eltwise_relu, alpha, 0); break;
    case Activation::kSigmoid: append(algorithm::eltwise_logistic, 0, 0); break;
    case Activation::kTanh: append(algorithm::eltwise_tanh, 0, 0); break;
  }
  attr.set_post_ops(ops);
  return attr;
}

// A primitive descriptor of either API: 2.x goes by way of an operation descriptor.
template <typename Primitive, typename... Arguments>
auto descriptor(const dnnl::primitive_attr& attr, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(cpu(), arguments..., attr);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attr, cpu());
#endif
}
// The same for a backward primitive, which wants its forward one as a hint.
template <typename Primitive, typename Hint, typename... Arguments>
auto backward_descriptor(const dnnl::primitive_attr& attr, const Hint& hint, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(cpu(), arguments..., hint, attr);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attr, cpu(), hint);
#endif
}

// Adds the primitive; its result, packed or not, ends up in `result`, an argument.
template <typename Descriptor>
void add_producer(Chain& chain, dnnl::primitive primitive, const Descriptor& pd, int result,
                  const memory::desc& result_desc, int result_argument, std::vector<std::pair<int, int>> arguments) {
  const bool plain = chain.desc(result) == result_desc;
  const int made = plain ? result : chain.temporary(result_desc);
  arguments.emplace_back(result_argument, made);
  if (pd.scratchpad_desc().get_size() > 0)
    arguments.emplace_back(DNNL_ARG_SCRATCHPAD, chain.temporary(pd.scratchpad_desc()));
  chain.add(std::move(primitive), std::move(arguments));
  if (!plain) chain.add_reorder(made, result);
}

// `compute`: the type of the arithmetic; operands of another are converted on their way in and out.
std::unique_ptr<Chain> matmul_chain(const MatMulSpec& s, memory::data_type compute) {
  const memory::data_type type = data_type(s.dtype);
  const bool batched = s.batch > 1;  // a batch of one is faster as two axes
  const auto operand = [&](memory::data_type of, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                           bool transposed) {
    return batched ? memory::desc({batch, rows, columns}, of, transposed ? Tag::acb : Tag::abc)
                   : memory::desc({rows, columns}, of, transposed ? Tag::ba : Tag::ab);
  };
  const auto a = [&](memory::data_type of) { return operand(of, s.batch, s.m, s.k, s.transpose_a); };
  const auto b = [&](memory::data_type of) { return operand(of, s.one_b ? 1 : s.batch, s.k, s.n, s.transpose_b); };
  const auto c = [&](memory::data_type of) { return operand(of, s.batch, s.m, s.n, false); };
  const auto bias = [&](memory::data_type of) { return operand(of, 1, 1, s.n, false); };
  const dnnl::primitive_attr attr = attributes(s.activation, s.alpha);
  // What is converted anyway may as well be packed.
  const memory::desc best_b = compute == type || batched ? b(compute) : memory::desc({s.k, s.n}, compute, Tag::any);
  const auto pd = s.bias ? descriptor<dnnl::matmul>(attr, a(compute), best_b, bias(compute), c(compute))
                         : descriptor<dnnl::matmul>(attr, a(compute), best_b, c(compute));
  auto chain = std::make_unique<Chain>();
  std::vector<std::pair<int, int>> arguments = {
      {DNNL_ARG_SRC, chain->packed(chain->argument(a(type), 0), a(compute))},
      {DNNL_ARG_WEIGHTS, chain->packed(chain->argument(b(type), 1), pd.weights_desc())}};
  if (s.bias) arguments.emplace_back(DNNL_ARG_BIAS, chain->packed(chain->argument(bias(type), 2), bias(compute)));
  const int product = chain->argument(c(type), s.bias ? 3 : 2);
  add_producer(*chain, dnnl::matmul(pd), pd, product, c(compute), DNNL_ARG_DST, std::move(arguments));
  return chain;
}

// Is bfloat16 arithmetic at least as fast as float32's, the conversions that this would take left out? With AMX and on
// Zen 4 it is two to eight times as fast; on Intel's cores without AMX half as fast. Measured once, a product of 256
// cubed: a few milliseconds.
bool measure_bfloat16() {
  constexpr std::int64_t kSize = 256;
  MatMulSpec spec{.dtype = DType::kBfloat16, .m = kSize, .n = kSize, .k = kSize};
  const auto narrow = matmul_chain(spec, memory::data_type::bf16);
  spec.dtype = DType::kFloat32;
  const auto wide = matmul_chain(spec, memory::data_type::f32);
  std::vector<float> numbers(3 * kSize * kSize, 1.0f);
  void* const data[] = {&numbers[0], &numbers[kSize * kSize], &numbers[2 * kSize * kSize]};
  std::vector<std::byte> scratch(std::max(narrow->scratch_bytes(), wide->scratch_bytes()) + kAlign);
  const auto at = (reinterpret_cast<std::uintptr_t>(scratch.data()) + kAlign - 1) / kAlign * kAlign;
  double best[2] = {1, 1};
  for (int round = 0; round < 6; ++round) {
    for (int k = 0; k < 2; ++k) {
      const std::int64_t start = now_nanos();
      if (!(k == 0 ? narrow : wide)->run(data, reinterpret_cast<void*>(at)).ok()) return false;
      best[k] = std::min(best[k], seconds_since(start));
    }
  }
  return best[0] <= best[1];
}

bool has_bfloat16() {
  static const bool has = [] {
    try {
      matmul_chain({.dtype = DType::kBfloat16, .m = 16, .n = 16, .k = 16}, memory::data_type::bf16);
      return true;
    } catch (const dnnl::error&) {
      return false;
    }
  }();
  return has;
}

memory::data_type compute_type(DType dtype) {
  if (dtype != DType::kBfloat16) return memory::data_type::f32;
  static const bool fast = has_bfloat16() && measure_bfloat16();
  return fast ? memory::data_type::bf16 : memory::data_type::f32;
}

struct ConvDescs {
  memory::desc input, filter, output, bias;                      // as they lie in memory
  memory::desc best_input, best_filter, best_output, best_bias;  // what the primitive is asked for
  Dims strides, dilations, pad_before, pad_after;
};

ConvDescs describe(const ConvSpec& s, memory::data_type compute) {
  const memory::data_type type = data_type(s.dtype);
  const Tag image = s.nchw ? Tag::nchw : Tag::nhwc;
  ConvDescs d;
  const Dims input{s.batch, s.in_c, s.in_h, s.in_w}, output{s.batch, s.out_c, s.out_h, s.out_w};
  d.input = memory::desc(input, type, image);
  d.output = memory::desc(output, type, image);
  const Tag best_image = s.blocked_images ? Tag::any : image;
  d.best_input = memory::desc(input, compute, best_image);
  d.best_output = memory::desc(output, compute, best_image);
  d.bias = memory::desc({s.out_c}, type, Tag::x);
  d.best_bias = memory::desc({s.out_c}, compute, Tag::x);
  Dims filter{s.out_c, s.in_c, s.filter_h, s.filter_w};
  if (s.groups > 1) filter = {s.groups, s.out_c / s.groups, s.in_c / s.groups, s.filter_h, s.filter_w};
  const auto as_it_lies = [&](memory::data_type of) {
    if (s.groups == 1) return memory::desc(filter, of, Tag::hwio);
    const std::int64_t in = filter[2], out = filter[1];
    return memory::desc(filter, of, Dims{out, 1, s.out_c, s.filter_w * in * s.out_c, in * s.out_c});
  };
  d.filter = as_it_lies(type);
  d.best_filter = s.plain_filter ? as_it_lies(compute) : memory::desc(filter, compute, Tag::any);
  d.strides = {s.stride_h, s.stride_w};
  d.dilations = {s.dilation_h - 1, s.dilation_w - 1};  // oneDNN counts the holes
  d.pad_before = {s.pad_top, s.pad_left};
  d.pad_after = {s.pad_bottom, s.pad_right};
  return d;
}

constexpr dnnl::algorithm kAlgorithm = dnnl::algorithm::convolution_direct;

auto forward_descriptor(const ConvSpec& s, const ConvDescs& d, dnnl::prop_kind kind, const dnnl::primitive_attr& attr) {
  using Forward = dnnl::convolution_forward;
  return s.bias ? descriptor<Forward>(attr, kind, kAlgorithm, d.best_input, d.best_filter, d.best_bias, d.best_output,
                                      d.strides, d.dilations, d.pad_before, d.pad_after)
                : descriptor<Forward>(attr, kind, kAlgorithm, d.best_input, d.best_filter, d.best_output, d.strides,
                                      d.dilations, d.pad_before, d.pad_after);
}

std::unique_ptr<Chain> convolution_chain(const ConvSpec& s) {
  const ConvDescs d = describe(s, compute_type(s.dtype));
  const dnnl::primitive_attr attr = attributes(s.activation, s.alpha);
  auto chain = std::make_unique<Chain>();
  if (s.kind == ConvKind::kForward) {
    const auto pd = forward_descriptor(s, d, dnnl::prop_kind::forward_inference, attr);
    const int input = chain->packed(chain->argument(d.input, 0), pd.src_desc());
    const int filter = chain->packed(chain->argument(d.filter, 1), pd.weights_desc());
    std::vector<std::pair<int, int>> arguments = {{DNNL_ARG_SRC, input}, {DNNL_ARG_WEIGHTS, filter}};
    if (s.bias) arguments.emplace_back(DNNL_ARG_BIAS, chain->packed(chain->argument(d.bias, 2), d.best_bias));
    const int output = chain->argument(d.output, s.bias ? 3 : 2);
    add_producer(*chain, dnnl::convolution_forward(pd), pd, output, pd.dst_desc(), DNNL_ARG_DST, std::move(arguments));
    return chain;
  }
  const auto hint = forward_descriptor(s, d, dnnl::prop_kind::forward_training, {});
  if (s.kind == ConvKind::kBackwardInput) {
    using Backward = dnnl::convolution_backward_data;
    const auto pd = backward_descriptor<Backward>(attr, hint, kAlgorithm, d.best_input, d.best_filter, d.best_output,
                                                  d.strides, d.dilations, d.pad_before, d.pad_after);
    const int dy = chain->packed(chain->argument(d.output, 0), pd.diff_dst_desc());
    const int filter = chain->packed(chain->argument(d.filter, 1), pd.weights_desc());
    add_producer(*chain, Backward(pd), pd, chain->argument(d.input, 2), pd.diff_src_desc(), DNNL_ARG_DIFF_SRC,
                 {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, filter}});
    return chain;
  }
  using Backward = dnnl::convolution_backward_weights;
  const auto pd = backward_descriptor<Backward>(attr, hint, kAlgorithm, d.best_input, d.best_filter, d.best_output,
                                                d.strides, d.dilations, d.pad_before, d.pad_after);
  const int x = chain->packed(chain->argument(d.input, 0), pd.src_desc());
  const int dy = chain->packed(chain->argument(d.output, 1), pd.diff_dst_desc());
  add_producer(*chain, Backward(pd), pd, chain->argument(d.filter, 2), pd.diff_weights_desc(), DNNL_ARG_DIFF_WEIGHTS,
               {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}});
  return chain;
}

// Of what tells most specs apart.
std::size_t mix(std::initializer_list<std::int64_t> numbers) {
  std::size_t hash = 0;
  for (const std::int64_t n : numbers) hash = (hash ^ static_cast<std::size_t>(n)) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

}  // namespace

std::size_t MatMulSpec::hash() const {
  return mix({static_cast<int>(dtype), static_cast<int>(activation), transpose_a, transpose_b, bias, batch, m, n, k});
}

std::size_t ConvSpec::hash() const {
  return mix({static_cast<int>(kind), static_cast<int>(dtype), static_cast<int>(activation), bias, batch, in_h, in_w,
              in_c, out_c, filter_h, filter_w, stride_h, stride_w});
}

namespace {

// oneDNN keeps some sizes in 32 bits, and divides by them.
constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();
// It takes 0.2 s to make a convolution of this window, and time in proportion beyond. That is not interrupted.
constexpr std::int64_t kMostWindowCells = 1 << 24;
// Found by trying version 2.6.3: the first failure was at 2^37 elements.
constexpr double kMostImageElements = std::int64_t{1} << 36;

Status check_sizes(const char* what, std::initializer_list<std::int64_t> sizes) {
  const std::int64_t largest = std::max(sizes);
  if (largest <= kMostSize) return ok_status();
  return unimplemented(what, " of a size of ", largest, ", more than ", kMostSize);
}

}  // namespace

Result<std::unique_ptr<Program>> make_matmul(const MatMulSpec& spec) try {
  ARGOSY_RETURN_IF_ERROR(check_sizes("a matrix product", {spec.batch, spec.m, spec.n, spec.k}));
  // Products per element that pay for its conversion. Two cores with AVX512-BF16 alone, native against converted: 64
  // cubed (21 per element) 9 us against 15, 640x128x128 (58) 186 against 141, 512 cubed (171) 2.3 ms against 1.5.
  constexpr std::int64_t kProductsPerElement = 40;
  const std::int64_t elements = spec.m * spec.k + spec.k * spec.n + spec.m * spec.n;
  const bool large = spec.m * spec.n * spec.k >= kProductsPerElement * elements;
  return std::unique_ptr<Program>(matmul_chain(spec, large ? compute_type(spec.dtype) : data_type(spec.dtype)));
} catch (const dnnl::error& e) {
  return to_status(e, "matrix product");
}

Result<std::unique_ptr<Program>> make_convolution(const ConvSpec& spec) try {
  ARGOSY_RETURN_IF_ERROR(check_sizes("a convolution", {spec.batch, spec.in_h, spec.in_w, spec.in_c, spec.out_h,
                                                       spec.out_w, spec.out_c, spec.filter_h, spec.filter_w}));
  const std::int64_t cells = spec.filter_h * spec.filter_w, in = spec.in_h * spec.in_w, out = spec.out_h * spec.out_w;
  ARGOSY_RETURN_IF_ERROR(check_sizes("a convolution with an image", {in, out}));
  if (cells > kMostWindowCells) {
    return unimplemented("a convolution with a window of ", cells, " cells, more than ", kMostWindowCells);
  }
  const auto images = static_cast<double>(spec.batch) * static_cast<double>(std::max(in * spec.in_c, out * spec.out_c));
  if (images > kMostImageElements) {
    return unimplemented("a convolution of ", images, " elements, more than ", kMostImageElements);
  }
  return std::unique_ptr<Program>(convolution_chain(spec));
} catch (const dnnl::error& e) {
  return to_status(e, "convolution");
}

bool has_tiles(DType dtype) {
  static const bool has = [] {
    constexpr auto kTiles = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);  // a set of bits
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kTiles) == kTiles && has_bfloat16();
  }();
  return has && dtype == DType::kBfloat16;
}

bool supports(DType dtype) { return dtype == DType::kFloat32 || (dtype == DType::kBfloat16 && has_bfloat16()); }

Status sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
             const float* b, bool add, float* c) {
  ARGOSY_RETURN_IF_ERROR(check_sizes("a matrix product", {m, n, k}));
  const dnnl_status_t done = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0f, a,
                                        transpose_a ? m : k, b, transpose_b ? k : n, add ? 1.0f : 0.0f, c, n);
  if (done != dnnl_success) return internal_error("oneDNN: sgemm of ", m, "x", k, "x", n, " failed");
  return ok_status();
}

}  // namespace argosy::onednn
