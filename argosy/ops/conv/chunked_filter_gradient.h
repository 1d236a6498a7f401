// The filter's gradient by oneDNN, as a deterministic sum of the gradients of chunks of the batch
// (argosy/ops/collective/reduction_chunks.h). Internal to conv_cpu.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/conv/host_conv.h"
#include "argosy/ops/onednn/program_cache.h"

namespace argosy {

// The description of the convolution for oneDNN.
inline onednn::ConvSpec conv_spec_of(const HostConv& o, const ConvGeometry& g, DType dtype) {
  onednn::ConvSpec s{.kind = o.kind, .dtype = dtype};
  s.activation = static_cast<onednn::Activation>(o.fused.activation);
  s.alpha = o.fused.alpha;
  s.nchw = o.attrs.nchw;
  s.bias = o.fused.bias;
  s.blocked_images = o.attrs.nchw;
  // With few input channels oneDNN's packed kernels run at a tenth of their speed (28x28x1 from 32: 14.7 ms against 8.1
  // ms).
  s.plain_filter =
      o.kind == onednn::ConvKind::kBackwardInput && g.groups == 1 && g.in_c < 16 && g.out_c > 1 && !o.attrs.nchw;
  s.batch = g.batch;
  s.in_h = g.h.in, s.in_w = g.w.in, s.in_c = g.in_c;
  s.out_h = g.h.out, s.out_w = g.w.out, s.out_c = g.out_c;
  s.groups = g.groups;
  s.filter_h = g.h.window, s.filter_w = g.w.window;
  s.stride_h = g.h.stride, s.stride_w = g.w.stride;
  s.dilation_h = g.h.dilation, s.dilation_w = g.w.dilation;
  s.pad_top = g.h.pad_before, s.pad_bottom = g.h.pad_after;
  s.pad_left = g.w.pad_before, s.pad_right = g.w.pad_after;
  return s;
}

// For a small filter, a chunk is summed in this many pieces, each by one thread, so that more threads are busy. A power
// of two.
inline constexpr int kPieces = 4;
inline int pieces_of(const ConvGeometry& g) { return g.filter_elements() <= (1 << 13) ? kPieces : 1; }

// The filter's gradient of one convolution.
class ChunkedFilterGradient {
 public:
  using Programs = onednn::ProgramCache<onednn::ConvSpec>;
  // Both must outlive this object.
  ChunkedFilterGradient(const HostConv& options, Programs& programs) : options_(options), programs_(programs) {}

  // True if this way is worth while: the sums of all pieces, which are in memory at once, are not larger than the
  // images, and there is a piece for each thread. (The bits of oneDNN's sums depend on the number of threads, so one
  // thread sums a piece.) With turns, the pieces of all turns count, so that the decision is that of a device with one
  // turn.
  static bool pays(const HostConv& options, const ConvGeometry& global) {
    const std::int64_t each = pieces_of(global);
    return kReductionChunks * each * global.filter_elements() <= global.in_elements() + global.out_elements() &&
           thread_budget() <= options.batch.of_device() * each;
  }

  // Computes the filter's gradient of every piece, and adds them as a tree.
  Status run(KernelContext& c, const HostConvCall& call) {
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, cut(call.g));
    const std::size_t each = scratch_of_thread(pieces);
    const std::int64_t filter = call.g.filter_elements(), count = static_cast<std::int64_t>(pieces.size());
    ARGOSY_ASSIGN_OR_RETURN(const Buffer scratch, c.scratch(each * static_cast<std::size_t>(thread_budget())));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(count * filter) * sizeof(float)));
    auto* const sums = reinterpret_cast<float*>(memory.data());
    const auto* const images = static_cast<const float*>(call.first);
    const auto* const dy = static_cast<const float*>(call.second);
    const std::int64_t in = call.g.in_elements() / call.g.batch, out = call.g.out_elements() / call.g.batch;
    std::vector<Status> done(pieces.size());
    std::atomic<std::size_t> threads{0};
    parallel_for_whole(count, 1, [&](std::int64_t begin, std::int64_t end) {
      const ThreadLimit one(1);
      std::byte* const mine = scratch.data() + each * threads.fetch_add(1);
      for (std::int64_t i = begin; i < end; ++i) {
        check_interrupted();
        const Piece& p = pieces[static_cast<std::size_t>(i)];
        if (p.program == nullptr) {
          std::fill_n(sums + i * filter, filter, 0.0f);
          continue;
        }
        void* const data[] = {const_cast<float*>(images + p.first * in), const_cast<float*>(dy + p.first * out),
                              sums + i * filter};
        done[static_cast<std::size_t>(i)] = p.program->run(data, mine);
      }
    });
    for (Status& status : done) ARGOSY_RETURN_IF_ERROR(std::move(status));
    add_chunks_as_tree(sums, static_cast<int>(count), filter);
    std::copy_n(sums, filter, call.result->data<float>());
    return ok_status();
  }
  // Bytes of scratch memory. UNIMPLEMENTED if run() is.
  Result<std::uint64_t> scratch_bytes(const ConvGeometry& g) {
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, cut(g));
    return scratch_of_thread(pieces) * static_cast<std::uint64_t>(thread_budget()) +
           pieces.size() * static_cast<std::uint64_t>(g.filter_elements()) * sizeof(float);
  }

 private:
  // Some images of a chunk, whose filter gradient one thread computes.
  struct Piece {
    onednn::Program* program = nullptr;  // null: there are no images
    std::shared_ptr<onednn::Program> own;
    std::int64_t first = 0;  // image
  };

  static std::size_t scratch_of_thread(const std::vector<Piece>& pieces) {
    std::size_t most = 0;
    for (const Piece& p : pieces) most = std::max(most, p.program != nullptr ? p.program->scratch_bytes() : 0);
    return (most + 63) / 64 * 64;
  }

  Result<std::vector<Piece>> cut(const ConvGeometry& g) {
    const ThreadLimit one(1);
    const int parts = options_.batch.count;
    const int each = pieces_of(g);
    const ChunkEnds ends = chunk_ends(g.batch, parts);
    std::vector<Piece> pieces(static_cast<std::size_t>(parts * each));
    ConvGeometry some = g;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const int part = static_cast<int>(i) / each, piece = static_cast<int>(i) % each;
      const std::int64_t begin = part > 0 ? ends[part - 1] : 0;
      const std::int64_t end = begin + chunk_ends(ends[part] - begin, each)[piece];
      some.batch = end - first;
      pieces[i].first = first;
      if (end > first) {
        ARGOSY_ASSIGN_OR_RETURN(pieces[i].program,
                                programs_.get(conv_spec_of(options_, some, DType::kFloat32), pieces[i].own));
      }
      first = end;
    }
    return pieces;
  }

  const HostConv& options_;
  Programs& programs_;
};

}  // namespace argosy
