#include "argosy/ops/matmul/gpu_blas.h"

#include <map>

#include "argosy/base/log.h"
#include "argosy/base/mutex.h"

namespace argosy::cuda {

namespace {

constexpr std::size_t kMostWorkspace = std::size_t{32} << 20;

Status failed(std::string_view call, int status) {
  return internal_error("cuBLASLt: ", call, " failed with ", status).with_id("ARG-GPU-014");
}

// Nothing was started: the library has no way for this, or takes it for a mistake.
bool refused(int status) {
  return status == kBlasNotSupported || status == kBlasInvalidValue || status == kBlasArchMismatch;
}

// What one problem needs, made once.
struct Plan {
  const BlasCalls& calls;
  BlasDesc desc = nullptr;
  BlasLayout a = nullptr, b = nullptr, d = nullptr;
  BlasChoice choice{};
  bool found = false;

  explicit Plan(const BlasCalls& c) : calls(c) {}
  ~Plan() {
    for (BlasLayout layout : {a, b, d}) {
      if (layout != nullptr) calls.layout_destroy(layout);
    }
    if (desc != nullptr) calls.desc_destroy(desc);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  Status make_layout(BlasLayout& layout, const BlasProblem& p, const BlasOperand& o) const {
    int status = calls.layout_create(&layout, p.type, static_cast<std::uint64_t>(o.rows),
                                     static_cast<std::uint64_t>(o.columns), o.leading);
    if (status == 0 && p.batches > 1) {
      const auto count = static_cast<std::int32_t>(p.batches);
      status = calls.layout_set(layout, kBlasLayoutBatchCount, &count, sizeof count);
      if (status == 0)
        status = calls.layout_set(layout, kBlasLayoutBatchOffset, &o.batch_stride, sizeof o.batch_stride);
    }
    return status == 0 ? ok_status() : failed("a layout", status);
  }

  // `bias`: where one lies. Without any the library finds no way for a product with one.
  Status make(BlasHandle handle, const BlasProblem& p, const void* bias) {
    if (const int status = calls.desc_create(&desc, p.compute, p.scale); status != 0) return failed("a desc", status);
    const auto set = [&](int attribute, const auto& value) {
      return calls.desc_set(desc, attribute, &value, sizeof value) == 0;
    };
    const std::int32_t transpose_a = p.a.transposed ? kBlasOpTransposed : 0;
    const std::int32_t transpose_b = p.b.transposed ? kBlasOpTransposed : 0;
    const std::uint32_t epilogue = (p.bias ? kBlasEpilogueBias : 0) | (p.relu ? kBlasEpilogueRelu : 0);
    bool fine = set(kBlasDescTransA, transpose_a) && set(kBlasDescTransB, transpose_b);
    if (epilogue != 0) fine = fine && set(kBlasDescEpilogue, epilogue);
    if (p.bias) fine = fine && set(kBlasDescBiasPointer, bias);
    if (!fine) return failed("an attribute", -1);
    ARGOSY_RETURN_IF_ERROR(make_layout(a, p, p.a));
    ARGOSY_RETURN_IF_ERROR(make_layout(b, p, p.b));
    ARGOSY_RETURN_IF_ERROR(make_layout(d, p, p.d));
    return choose(handle, p);
  }

  Status choose(BlasHandle handle, const BlasProblem& p) {
    BlasPreference preference = nullptr;
    if (const int status = calls.preference_create(&preference); status != 0) return failed("a preference", status);
    std::size_t workspace = kMostWorkspace;
    const std::uint32_t alignment = p.alignment, reductions = kBlasReduceAsComputed;
    const auto prefer = [&](int attribute, const auto& value) {
      return calls.preference_set(preference, attribute, &value, sizeof value) == 0;
    };
    bool fine = prefer(kBlasPreferWorkspace, workspace);
    for (int k = 0; k < 4; ++k) fine = fine && prefer(kBlasPreferAlignmentA + k, alignment);
    // A sum that is made in parts must not go through 16 bits between them.
    if (p.type != p.scale) fine = fine && prefer(kBlasPreferReductions, reductions);
    int count = 0;
    const int status = fine ? calls.choose(handle, desc, a, b, d, d, preference, 1, &choice, &count) : 0;
    calls.preference_destroy(preference);
    if (!fine) return failed("a preference", -1);
    found = status == 0 && count > 0 && choice.status == 0;
    return status == 0 || refused(status) ? ok_status() : failed("the choice of a way", status);
  }
};

}  // namespace

BlasProblem blas_problem(DType dtype, const Gemm& g, const Batch& batch, bool bias, bool relu, bool tf32) {
  BlasProblem p;
  switch (dtype) {
    case DType::kFloat64: p.type = kBlasR64F; break;
    case DType::kFloat16: p.type = kBlasR16F; break;
    case DType::kBfloat16: p.type = kBlasR16BF; break;
    default: p.type = kBlasR32F; break;
  }
  const bool wide = dtype == DType::kFloat64;
  p.scale = wide ? kBlasR64F : kBlasR32F;
  p.compute = wide ? kBlasCompute64F : tf32 && dtype == DType::kFloat32 ? kBlasCompute32FTf32 : kBlasCompute32F;
  // Row-major [r, c] is column-major [c, r].
  const auto turned = [](std::int64_t rows, std::int64_t columns, std::int64_t stride, bool transposed) {
    return BlasOperand{columns, rows, columns, stride, transposed};
  };
  p.a = g.transpose_b ? turned(g.n, g.k, batch.b_stride, true) : turned(g.k, g.n, batch.b_stride, false);
  p.b = g.transpose_a ? turned(g.k, g.m, batch.a_stride, true) : turned(g.m, g.k, batch.a_stride, false);
  p.d = turned(g.m, g.n, g.m * g.n, false);
  p.batches = batch.matrices;
  p.bias = bias;
  p.relu = relu;
  return p;
}

struct GpuBlas::State {
  BlasCalls calls;
  BlasHandle handle = nullptr;
  Mutex mutex;
  std::map<BlasProblem, std::unique_ptr<Plan>> plans ARGOSY_GUARDED_BY(mutex);
};

GpuBlas::GpuBlas(std::unique_ptr<State> state) : state_(std::move(state)) {}
GpuBlas::~GpuBlas() {
  {
    MutexLock lock(state_->mutex);
    state_->plans.clear();
  }
  state_->calls.destroy(state_->handle);
}

Result<std::shared_ptr<GpuBlas>> GpuBlas::over(const BlasCalls& calls) {
  auto state = std::make_unique<State>();
  state->calls = calls;
  if (const int status = calls.create(&state->handle); status != 0) {
    return failed("create", status)
        .with_hint(
            "CUDA 13's needs a driver of CUDA 13 and a GPU of compute capability 7.5: else "
            "pip install nvidia-cublas-cu12, or ARGOSY_CUDA_LIBRARIES=FOLDER");
  }
  return std::shared_ptr<GpuBlas>(new GpuBlas(std::move(state)));
}

Result<std::shared_ptr<GpuBlas>> GpuBlas::open() {
  std::shared_ptr<GpuBlas> blas;
  // One that is too new for the driver or the GPU says so when its handle is made: then there may be another.
  const auto fits = [&](const Library& library) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(const BlasCalls calls, calls_of(library));
    ARGOSY_ASSIGN_OR_RETURN(blas, over(calls));
    return ok_status();
  };
  ARGOSY_RETURN_IF_ERROR(Library::open(cublaslt_wanted(), fits).status());
  return blas;
}

Result<BlasCalls> GpuBlas::calls_of(const Library& library) {
  BlasCalls c;
  const bool whole =
      library.find(&c.version, "cublasLtGetVersion") && library.find(&c.create, "cublasLtCreate") &&
      library.find(&c.destroy, "cublasLtDestroy") && library.find(&c.desc_create, "cublasLtMatmulDescCreate") &&
      library.find(&c.desc_destroy, "cublasLtMatmulDescDestroy") &&
      library.find(&c.desc_set, "cublasLtMatmulDescSetAttribute") &&
      library.find(&c.layout_create, "cublasLtMatrixLayoutCreate") &&
      library.find(&c.layout_destroy, "cublasLtMatrixLayoutDestroy") &&
      library.find(&c.layout_set, "cublasLtMatrixLayoutSetAttribute") &&
      library.find(&c.preference_create, "cublasLtMatmulPreferenceCreate") &&
      library.find(&c.preference_destroy, "cublasLtMatmulPreferenceDestroy") &&
      library.find(&c.preference_set, "cublasLtMatmulPreferenceSetAttribute") &&
      library.find(&c.choose, "cublasLtMatmulAlgoGetHeuristic") && library.find(&c.multiply, "cublasLtMatmul");
  // 130001: 13.0.1; 120103: 12.1.3.
  const int version = whole ? static_cast<int>(c.version() / 100) * 10 : 0;
  ARGOSY_RETURN_IF_ERROR(check_library_version(cublaslt_wanted(), library.path(), version, 12000));
  return c;
}

Status GpuBlas::multiply(const BlasProblem& problem, const Pointers& at, Allocator& scratch, void* stream) {
  MutexLock lock(state_->mutex);
  std::unique_ptr<Plan>& plan = state_->plans[problem];
  if (plan == nullptr) {
    auto fresh = std::make_unique<Plan>(state_->calls);
    ARGOSY_RETURN_IF_ERROR(fresh->make(state_->handle, problem, at.bias));
    plan = std::move(fresh);
  }
  if (!plan->found) return unimplemented("cuBLASLt knows no way for this product");
  Buffer workspace;
  if (plan->choice.workspace_bytes > 0) {
    ARGOSY_ASSIGN_OR_RETURN(workspace, scratch.allocate(plan->choice.workspace_bytes));
  }
  if (problem.bias) {
    if (state_->calls.desc_set(plan->desc, kBlasDescBiasPointer, &at.bias, sizeof at.bias) != 0)
      return failed("bias", -1);
  }
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool wide = problem.scale == kBlasR64F;
  const int status = state_->calls.multiply(
      state_->handle, plan->desc, wide ? static_cast<const void*>(&wide_one) : &one, at.a, plan->a, at.b, plan->b,
      wide ? static_cast<const void*>(&wide_zero) : &zero, at.d, plan->d, at.d, plan->d, &plan->choice.algorithm,
      workspace.data(), plan->choice.workspace_bytes, stream);
  if (refused(status)) {
    ARGOSY_LOG(kWarning, "cuBLASLt refuses a way of its own choice with ", status,
               "; such products are made by our own kernel");
    plan->found = false;
    return unimplemented("cuBLASLt refuses this product");
  }
  return status == 0 ? ok_status() : failed("the product", status);
}

}  // namespace argosy::cuda
