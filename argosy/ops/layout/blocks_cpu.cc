#include "argosy/ops/layout/blocks.h"

#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

template <Copy kCopy, bool kToDepth>
class ImageBlocks final : public Kernel {
 public:
  ImageBlocks(ImageAxes axes, std::int64_t block) : axes_(axes), block_(block) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(const ImageAxes axes, image_axes(init.op.name, init.attrs.get_string("data_format")));
    return std::unique_ptr<Kernel>(std::make_unique<ImageBlocks>(axes, init.attrs.get_int("block_size")));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const char* op = kToDepth ? "SpaceToDepth" : "DepthToSpace";
    if (x.shape().rank() != 4) return invalid_argument(op, ": the input must have rank 4, not shape ", x.shape());
    ARGOSY_ASSIGN_OR_RETURN(const Ints sizes, kToDepth ? space_to_depth_sizes(x.shape().sizes(), axes_, block_)
                                                       : depth_to_space_sizes(x.shape().sizes(), axes_, block_));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes.span()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    // An index is (batch, h, block_h, w, block_w, depth) on the side of space, the same of depth on the other.
    const Shape& space = kToDepth ? x.shape() : shape;
    const Shape& deep = kToDepth ? shape : x.shape();
    const Ints s = row_major(space.sizes());
    const Ints d = row_major(deep.sizes());
    const std::int64_t depth = space[axes_.depth];
    struct Axis {
      std::int64_t size, space, deep;
    };
    const Axis batch{deep[axes_.batch], s[axes_.batch], d[axes_.batch]};
    const Axis h{deep[axes_.height], block_ * s[axes_.height], d[axes_.height]};
    const Axis block_h{block_, s[axes_.height], block_ * depth * d[axes_.depth]};
    const Axis w{deep[axes_.width], block_ * s[axes_.width], d[axes_.width]};
    const Axis block_w{block_, s[axes_.width], depth * d[axes_.depth]};
    const Axis channel{depth, s[axes_.depth], d[axes_.depth]};
    const bool channels_last = axes_.depth == 3;
    const std::array<Axis, 6> by_space = channels_last ? std::array{batch, h, block_h, w, block_w, channel}
                                                       : std::array{batch, channel, h, block_h, w, block_w};
    const std::array<Axis, 6> by_depth = channels_last ? std::array{batch, h, w, block_h, block_w, channel}
                                                       : std::array{batch, block_h, block_w, channel, h, w};
    Region region;
    for (const Axis& a : kToDepth ? by_depth : by_space) {
      region.add(a.size, kToDepth ? a.deep : a.space, kToDepth ? a.space : a.deep);
    }
    kCopy(*y, 0, x, 0, region);
    return ok_status();
  }

 private:
  ImageAxes axes_;
  std::int64_t block_;
};

struct Blocks {
  Ints block, edges;
};

// From inputs block_shape and edges, or from the attribute block_size and edges alone.
Result<Blocks> read_blocks(KernelContext& c, std::string_view op, std::int64_t block_size) {
  Blocks blocks;
  if (block_size == 0) {
    if (c.input(1).shape().rank() != 1) {
      return invalid_argument(op, ": block_shape must be a vector, not of shape ", c.input(1).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(blocks.block, read_ints(c.input(1), "block_shape"));
  } else {
    blocks.block = {block_size, block_size};
    if (c.input(0).shape().rank() != 4) {
      return invalid_argument(op, ": the input must have rank 4, not shape ", c.input(0).shape());
    }
  }
  const Tensor& edges = c.input(block_size == 0 ? 2 : 1);
  const std::int64_t n = blocks.block.size();
  if (edges.shape() != Shape({n, 2})) {
    return invalid_argument(op, ": paddings or crops must be [", n, ",2], not ", edges.shape());
  }
  if (c.input(0).shape().rank() < 1 + n) {
    return invalid_argument(op, ": an input of shape ", c.input(0).shape(), " has no ", n, " spatial axes");
  }
  ARGOSY_ASSIGN_OR_RETURN(blocks.edges, read_ints(edges.reshaped({2 * n}), "paddings or crops"));
  return blocks;
}

// One region per place in the block grid: the elements of the space tensor at that place, and their batch rows. What a
// place covers beyond the tensor's edge is left alone.
template <Copy kCopy, bool kToBatch>
void copy_blocks(const Tensor& space, const Tensor& batch, const Blocks& blocks) {
  const int n = blocks.block.size();
  const Ints s = row_major(space.shape().sizes());
  const Ints b = row_major(batch.shape().sizes());
  const std::int64_t images = space.shape()[0];
  Ints place = Ints::filled(n, 0);
  for (std::int64_t row = 0;; ++row) {
    Region region;  // to: space, from: batch
    region.add(images, s[0], b[0]);
    std::int64_t at_space = 0;
    std::int64_t at_batch = row * images * b[0];
    for (int i = 0; i < n; ++i) {
      // Block k holds index k * block + place - before, wanted inside [0, size).
      const std::int64_t block = blocks.block[i];
      const std::int64_t shift = blocks.edges[2 * i] - place[i];
      const std::int64_t first = shift <= 0 ? 0 : (shift - 1) / block + 1;
      const std::int64_t limit = space.shape()[i + 1] + shift;  // k * block < limit
      const std::int64_t end = std::min(limit <= 0 ? 0 : (limit - 1) / block + 1, batch.shape()[i + 1]);
      region.add(std::max<std::int64_t>(end - first, 0), block * s[i + 1], b[i + 1]);
      at_space += (first * block - shift) * s[i + 1];
      at_batch += first * b[i + 1];
    }
    for (int i = n + 1; i < space.shape().rank(); ++i) region.add(space.shape()[i], s[i], b[i]);
    if constexpr (kToBatch) {
      std::swap(region.to, region.from);
      kCopy(batch, at_batch, space, at_space, region);
    } else {
      kCopy(space, at_space, batch, at_batch, region);
    }
    int i = n - 1;
    while (i >= 0 && ++place[i] == blocks.block[i]) place[i--] = 0;
    if (i < 0) return;
  }
}

template <Copy kCopy, bool kToBatch>
class BatchBlocks final : public Kernel {
 public:
  explicit BatchBlocks(std::int64_t block_size) : block_size_(block_size) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<BatchBlocks>(init.attrs.get_or("block_size", std::int64_t{0})));
  }
  Status run(KernelContext& c) override {
    const char* op = kToBatch ? "SpaceToBatch" : "BatchToSpace";
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const Blocks blocks, read_blocks(c, op, block_size_));
    ARGOSY_ASSIGN_OR_RETURN(const Ints sizes,
                            kToBatch ? space_to_batch_sizes(op, x.shape().sizes(), blocks.block, blocks.edges)
                                     : batch_to_space_sizes(op, x.shape().sizes(), blocks.block, blocks.edges));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes.span()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    if constexpr (kToBatch) {
      if (y->elements() != x.elements()) fill_zeros(*y);
      if (x.elements() == 0) return ok_status();
      copy_blocks<kCopy, true>(x, *y, blocks);
    } else {
      copy_blocks<kCopy, false>(*y, x, blocks);
    }
    return ok_status();
  }

 private:
  std::int64_t block_size_;
};

}  // namespace

void add_blocks(KernelRegistry& kernels) {
  kernels.add("SpaceToDepth", "cpu", ImageBlocks<copy_region, true>::make);
  kernels.add("SpaceToDepth", "cpu", ImageBlocks<copy_region_plainly, true>::make);
  kernels.add("DepthToSpace", "cpu", ImageBlocks<copy_region, false>::make);
  kernels.add("DepthToSpace", "cpu", ImageBlocks<copy_region_plainly, false>::make);
  for (const char* op : {"SpaceToBatchND", "SpaceToBatch"}) {
    kernels.add(op, "cpu", BatchBlocks<copy_region, true>::make);
    kernels.add(op, "cpu", BatchBlocks<copy_region_plainly, true>::make);
  }
  for (const char* op : {"BatchToSpaceND", "BatchToSpace"}) {
    kernels.add(op, "cpu", BatchBlocks<copy_region, false>::make);
    kernels.add(op, "cpu", BatchBlocks<copy_region_plainly, false>::make);
  }
}

}  // namespace argosy
