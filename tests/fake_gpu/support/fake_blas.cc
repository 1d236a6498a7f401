#include "tests/fake_gpu/support/fake_blas.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "argosy/device/cuda/fake/fake_driver.h"
#include "argosy/tensor/tensor.h"

namespace argosy::cuda::fake {

namespace {

FakeBlas* fake = nullptr;  // the table's functions are given no context of ours

template <typename T>
int create(T** out) {
  *out = new T;
  ++fake->live_objects;
  return 0;
}
template <typename T>
int destroy(T* object) {
  delete object;
  --fake->live_objects;
  return 0;
}
// An attribute has one size.
template <typename T>
int set(T* to, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return kBlasInvalidValue;
  std::memcpy(to, value, bytes);
  return 0;
}

int desc_set(BlasDesc d, int attribute, const void* value, std::size_t bytes) {
  switch (attribute) {
    case kBlasDescTransA: return set(&d->transpose_a, value, bytes);
    case kBlasDescTransB: return set(&d->transpose_b, value, bytes);
    case kBlasDescEpilogue: return set(&d->epilogue, value, bytes);
    case kBlasDescBiasPointer: return set(&d->bias, value, bytes);
    default: return kBlasInvalidValue;
  }
}
int layout_set(BlasLayout l, int attribute, const void* value, std::size_t bytes) {
  switch (attribute) {
    case kBlasLayoutBatchCount: return set(&l->batches, value, bytes);
    case kBlasLayoutBatchOffset: return set(&l->offset, value, bytes);
    default: return kBlasInvalidValue;
  }
}
int preference_set(BlasPreference p, int attribute, const void* value, std::size_t bytes) {
  if (attribute == kBlasPreferWorkspace) return set(&p->workspace, value, bytes);
  if (attribute == kBlasPreferReductions) return set(&p->reductions, value, bytes);
  const int which = attribute - kBlasPreferAlignmentA;
  if (which < 0 || which > 3) return kBlasInvalidValue;
  const int status = set(&p->alignments[which], value, bytes);
  return status == 0 && std::has_single_bit(p->alignments[which]) ? 0 : kBlasInvalidValue;
}

bool has_bias(const BlasDescObject& d) { return (d.epilogue & kBlasEpilogueBias) != 0; }

// The table of types in the manual: of whole rows of it, those that we have. Epilogues are of 32 bits and 16.
bool types_go_together(const BlasDescObject& d, int type) {
  switch (d.compute) {
    case kBlasCompute32F: return d.scale == kBlasR32F && type != kBlasR64F;
    case kBlasCompute32FTf32: return d.scale == kBlasR32F && type == kBlasR32F;
    case kBlasCompute64F: return d.scale == kBlasR64F && type == kBlasR64F && d.epilogue == 1;
    default: return false;
  }
}

int choose(BlasHandle, BlasDesc desc, BlasLayout a, BlasLayout b, BlasLayout c, BlasLayout d, BlasPreference preference,
           int most, BlasChoice* found, int* count) {
  ++fake->choices;
  fake->wanted.push_back(*preference);
  *count = 0;
  if (most < 1 || a->type != b->type || a->type != d->type || c->type != d->type) return kBlasInvalidValue;
  if (a->batches != d->batches || b->batches != d->batches || c->batches != d->batches) return kBlasInvalidValue;
  const bool ta = desc->transpose_a != 0, tb = desc->transpose_b != 0;
  if ((ta ? a->columns : a->rows) != d->rows || (tb ? b->rows : b->columns) != d->columns ||
      (ta ? a->rows : a->columns) != (tb ? b->columns : b->rows)) {
    return kBlasInvalidValue;
  }
  if (!types_go_together(*desc, a->type)) return kBlasNotSupported;
  if (has_bias(*desc) && desc->bias == nullptr) return kBlasNotSupported;
  if (d->rows == fake->unknown_rows || preference->workspace < fake->workspace) return kBlasNotSupported;
  *found = {};
  found->workspace_bytes = fake->workspace;
  for (std::size_t i = 0; i < 4; ++i) found->algorithm.data[i] = preference->alignments[i];
  found->algorithm.data[4] = d->rows;
  *count = 1;
  return 0;
}

template <typename T, typename Sum>
void multiply_loops(const BlasDescObject& desc, const T* a, const BlasLayoutObject& la, const T* b,
                    const BlasLayoutObject& lb, T* d, const BlasLayoutObject& ld) {
  const auto at = [](const T* m, const BlasLayoutObject& l, std::int64_t batch, std::uint64_t r, std::uint64_t c,
                     bool transposed) {
    if (transposed) std::swap(r, c);
    return static_cast<Sum>(
        m[batch * l.offset + static_cast<std::int64_t>(c) * l.leading + static_cast<std::int64_t>(r)]);
  };
  const bool ta = desc.transpose_a != 0, tb = desc.transpose_b != 0;
  const std::uint64_t depth = ta ? la.rows : la.columns;
  for (std::int64_t batch = 0; batch < ld.batches; ++batch) {
    for (std::uint64_t c = 0; c < ld.columns; ++c) {
      for (std::uint64_t r = 0; r < ld.rows; ++r) {
        Sum sum = has_bias(desc) ? static_cast<Sum>(static_cast<const T*>(desc.bias)[r]) : Sum{0};
        for (std::uint64_t k = 0; k < depth; ++k) sum += at(a, la, batch, r, k, ta) * at(b, lb, batch, k, c, tb);
        if ((desc.epilogue & kBlasEpilogueRelu) != 0 && sum < 0) sum = 0;
        d[batch * ld.offset + static_cast<std::int64_t>(c) * ld.leading + static_cast<std::int64_t>(r)] =
            static_cast<T>(sum);
      }
    }
  }
}

int multiply(BlasHandle, BlasDesc desc, const void* alpha, const void* a, BlasLayout la, const void* b, BlasLayout lb,
             const void* beta, const void* c, BlasLayout lc, void* d, BlasLayout ld, const BlasAlgorithm* algorithm,
             void* workspace, std::size_t bytes, void* stream) {
  if (fake->start_answer != 0) return fake->start_answer;
  if (ld->batches > kMostBlasBatches) return kBlasNotSupported;
  // In place only with the same layout.
  if (algorithm->data[4] != ld->rows || (c == d && lc != ld) || bytes < fake->workspace) return kBlasInvalidValue;
  if (desc->scale == kBlasR64F) {
    EXPECT_EQ(*static_cast<const double*>(alpha), 1);
    EXPECT_EQ(*static_cast<const double*>(beta), 0);
  } else {
    EXPECT_EQ(*static_cast<const float*>(alpha), 1);
    EXPECT_EQ(*static_cast<const float*>(beta), 0);
  }
  // A kernel that was promised more than there is dies of it.
  const auto lies_at = [](const void* p, std::uint64_t alignment) {
    return reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
  };
  EXPECT_TRUE(lies_at(a, algorithm->data[0]) && lies_at(b, algorithm->data[1]) && lies_at(c, algorithm->data[2]) &&
              lies_at(d, algorithm->data[3]));
  EXPECT_TRUE(workspace != nullptr && lies_at(workspace, 16));
  EXPECT_TRUE(!has_bias(*desc) || (desc->bias != nullptr && lies_at(desc->bias, kBlasBiasAlignment)));
  ++fake->products;
  fake->asked.push_back(*desc);
  fake->batches.push_back(ld->batches);
  const auto work = [=, desc = *desc, la = *la, lb = *lb, ld = *ld] {
    const auto as = [&]<typename T, typename Sum>(T, Sum) {
      multiply_loops<T, Sum>(desc, static_cast<const T*>(a), la, static_cast<const T*>(b), lb, static_cast<T*>(d), ld);
    };
    switch (ld.type) {
      case kBlasR64F: as(double{}, double{}); break;
      case kBlasR16F: as(float16{}, float{}); break;
      case kBlasR16BF: as(bfloat16{}, float{}); break;
      default: as(float{}, float{}); break;
    }
    return kCuSuccess;
  };
  if (stream == nullptr) {
    work();
  } else {
    FakeDriver::current()->enqueue(static_cast<CuStream>(stream), "cublasLtMatmul", work);
  }
  return 0;
}

}  // namespace

}  // namespace argosy::cuda::fake

namespace argosy::cuda {

struct BlasHandleObject {};

BlasCalls fake::FakeBlas::calls() {
  fake = this;
  BlasCalls c;
  c.version = [] { return fake->version; };
  c.create = [](BlasHandle* h) { return fake->create_answer != 0 ? fake->create_answer : fake::create(h); };
  c.destroy = [](BlasHandle h) { return fake::destroy(h); };
  c.desc_create = [](BlasDesc* d, int compute, int scale) {
    fake::create(d);
    (*d)->compute = compute;
    (*d)->scale = scale;
    return 0;
  };
  c.desc_destroy = [](BlasDesc d) { return fake::destroy(d); };
  c.desc_set = fake::desc_set;
  c.layout_create = [](BlasLayout* l, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
    if (rows == 0 || columns == 0 || leading < static_cast<std::int64_t>(rows)) return kBlasInvalidValue;
    fake::create(l);
    **l = {.type = type, .rows = rows, .columns = columns, .leading = leading};
    return 0;
  };
  c.layout_destroy = [](BlasLayout l) { return fake::destroy(l); };
  c.layout_set = fake::layout_set;
  c.preference_create = [](BlasPreference* p) { return fake::create(p); };
  c.preference_destroy = [](BlasPreference p) { return fake::destroy(p); };
  c.preference_set = fake::preference_set;
  c.choose = fake::choose;
  c.multiply = fake::multiply;
  return c;
}

}  // namespace argosy::cuda
