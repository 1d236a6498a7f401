#include "argosy/testing/shards/shard_cases.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {

namespace {

Tensor floats(const Shape& shape, std::uint64_t seed = 7) { return random_tensor(DType::kFloat32, shape, seed); }
Tensor positive(const Shape& shape, std::uint64_t seed = 5) {
  return random_tensor(DType::kFloat32, shape, seed, 0.5, 1.5);
}
Tensor ints(const std::vector<std::int32_t>& values) { return Tensor::vector(values); }
Tensor longs(const std::vector<std::int64_t>& values) { return Tensor::vector(values); }
Tensor number(std::int32_t value) { return Tensor::scalar(value); }
Tensor number(float value) { return Tensor::scalar(value); }
Tensor strings(const std::vector<std::string>& values, const Shape& shape) {
  return Tensor::of<std::string>(shape, std::span<const std::string>(values));
}
std::vector<std::int64_t> list(std::initializer_list<std::int64_t> values) { return values; }
AttrValue whole(std::int64_t value) { return AttrValue(value); }

struct Case {
  std::string op;
  std::vector<Tensor> inputs;
  AttrMap attrs = {};
};
using Cases = std::vector<Case>;

Cases products() {
  const Tensor a = floats({4, 6}), b = floats({6, 3}, 2);
  const auto equation = [](const char* text) { return AttrMap{{"equation", std::string(text)}}; };
  return {{"MatMul", {a, b}},
          {"MatMul", {floats({6, 4}), b}, {{"transpose_a", true}}},
          {"MatMul", {a, floats({3, 6})}, {{"transpose_b", true}}},
          {"BatchMatMul", {floats({2, 4, 3}), floats({2, 3, 5})}},
          {"BatchMatMul", {floats({2, 3, 4}), floats({2, 3, 5})}, {{"adj_x", true}}},
          {"BatchMatMulV2", {floats({3, 4, 3}), floats({3, 5})}},
          {"BatchMatMulV2", {floats({3, 1, 4, 2}), floats({2, 5, 2})}, {{"adj_y", true}}},
          {"BatchMatMulV3", {floats({3, 4, 2}), floats({1, 2, 5})}, {{"Tout", DType::kFloat32}}},
          {"Einsum", {floats({3, 4, 2}), floats({2, 5})}, equation("...ab,bc->...ac")},
          {"Einsum", {floats({3, 1, 4, 2}), floats({5, 2, 3})}, equation("...ab,...bc->...ac")},
          {"Einsum", {floats({3, 4, 2})}, equation("abc->cb")},
          {"Einsum", {floats({3, 4}), floats({3, 4})}, equation("ab,ab->")},
          {"Einsum", {floats({4, 4, 3})}, equation("aab->b")},
          {"SparseMatMul", {a, b}},
          {"SparseMatMul", {floats({6, 4}), floats({3, 6})}, {{"transpose_a", true}, {"transpose_b", true}}},
          {"SparseTensorDenseMatMul",
           {longs({0, 1, 1, 0, 2, 2, 3, 0}).reshaped({4, 2}), floats({4}), longs({4, 3}), floats({3, 5})}},
          {"SparseTensorDenseMatMul",
           {longs({0, 1, 1, 0, 2, 2, 3, 0}).reshaped({4, 2}), floats({4}), longs({4, 3}), floats({5, 3})},
           {{"adjoint_b", true}}}};
}

Cases convolutions() {
  const std::string same = "SAME", valid = "VALID", first = "NCHW";
  const AttrMap steps = {{"strides", list({1, 1, 1, 1})}, {"padding", same}};
  const AttrMap strided = {{"strides", list({1, 2, 2, 1})}, {"padding", valid}};
  const AttrMap nchw = {{"strides", list({1, 1, 1, 1})}, {"padding", same}, {"data_format", first}};
  const AttrMap volume = {{"strides", list({1, 1, 1, 1, 1})}, {"padding", same}};
  const Tensor image = floats({4, 5, 6, 4}), filter = floats({2, 2, 4, 3}), grads = floats({4, 5, 6, 3});
  const Tensor many = floats({2, 2, 4, 2}), grads_of_many = floats({4, 5, 6, 8});
  return {
      {"Conv2D", {image, filter}, steps},
      {"Conv2D", {image, filter}, strided},
      {"Conv2D", {floats({4, 4, 5, 6}), filter}, nchw},
      {"Conv2D", {image, floats({2, 2, 2, 4})}, steps},  // two groups
      {"Conv2DBackpropInput", {ints({4, 5, 6, 4}), filter, grads}, steps},
      {"Conv2DBackpropInput", {ints({5, 6}), filter, grads}, steps},
      {"Conv2DBackpropInput", {ints({4, 5, 6, 4}), floats({2, 2, 2, 4}), floats({4, 5, 6, 4})}, steps},
      {"Conv2DBackpropInput", {ints({4, 4, 5, 6}), filter, floats({4, 3, 5, 6})}, nchw},
      {"Conv2DBackpropFilter", {image, ints({2, 2, 4, 3}), grads}, steps},
      {"Conv2DBackpropFilter", {image, ints({2, 2, 2, 4}), floats({4, 5, 6, 4})}, steps},
      {"Conv2DBackpropFilter", {floats({4, 4, 5, 6}), ints({2, 2, 4, 3}), floats({4, 3, 5, 6})}, nchw},
      {"DepthwiseConv2dNative", {image, many}, steps},
      {"DepthwiseConv2dNative", {floats({4, 4, 5, 6}), many}, nchw},
      {"DepthwiseConv2dNativeBackpropInput", {ints({4, 5, 6, 4}), many, grads_of_many}, steps},
      {"DepthwiseConv2dNativeBackpropFilter", {image, ints({2, 2, 4, 2}), grads_of_many}, steps},
      {"Conv3D", {floats({4, 3, 3, 3, 2}), floats({2, 2, 2, 2, 3})}, volume},
      {"Conv3DBackpropInputV2", {ints({4, 3, 3, 3, 2}), floats({2, 2, 2, 2, 3}), floats({4, 3, 3, 3, 3})}, volume},
      {"Conv3DBackpropFilterV2", {floats({4, 3, 3, 3, 2}), ints({2, 2, 2, 2, 3}), floats({4, 3, 3, 3, 3})}, volume},
  };
}

Cases pools() {
  const std::string same = "SAME", valid = "VALID", first = "NCHW";
  const AttrMap window = {{"ksize", list({1, 2, 2, 1})}, {"strides", list({1, 2, 2, 1})}, {"padding", same}};
  const AttrMap nchw = {
      {"ksize", list({1, 1, 2, 2})}, {"strides", list({1, 1, 2, 2})}, {"padding", valid}, {"data_format", first}};
  const AttrMap deep = {{"ksize", list({1, 1, 1, 2})}, {"strides", list({1, 1, 1, 2})}, {"padding", valid}};
  const AttrMap volume = {{"ksize", list({1, 2, 2, 2, 1})}, {"strides", list({1, 2, 2, 2, 1})}, {"padding", valid}};
  AttrMap all = window;
  all.set("include_batch_in_index", true);
  const Tensor image = floats({4, 4, 6, 4}), pooled = floats({4, 2, 3, 4}), volumes = floats({4, 4, 4, 4, 2});
  const Tensor windows = ints({1, 2, 2, 1});
  return {{"MaxPool", {image}, window},
          {"MaxPool", {floats({4, 4, 4, 6})}, nchw},
          {"MaxPool", {image}, deep},
          {"MaxPoolV2", {image, windows, windows}, {{"padding", same}}},
          {"MaxPoolV2", {image, ints({1, 1, 1, 2}), ints({1, 1, 1, 2})}, {{"padding", valid}}},
          {"MaxPoolGrad", {image, pooled, floats({4, 2, 3, 4}, 3)}, window},
          {"MaxPoolGradV2", {image, pooled, floats({4, 2, 3, 4}, 3), windows, windows}, {{"padding", same}}},
          {"MaxPoolWithArgmax", {image}, window},
          {"MaxPoolWithArgmax", {image}, all},
          {"MaxPoolGradWithArgmax", {image, pooled, Tensor::zeros(DType::kInt64, {4, 2, 3, 4})}, window},
          {"AvgPool", {image}, window},
          {"AvgPoolGrad", {ints({4, 4, 6, 4}), pooled}, window},
          {"AvgPoolGrad", {ints({4, 4, 4, 6}), floats({4, 4, 2, 3})}, nchw},
          {"MaxPool3DGrad", {volumes, floats({4, 2, 2, 2, 2}), floats({4, 2, 2, 2, 2}, 3)}, volume},
          {"MaxPool3DGradGrad", {volumes, floats({4, 2, 2, 2, 2}), volumes}, volume},
          {"AvgPool3DGrad", {ints({4, 4, 4, 4, 2}), floats({4, 2, 2, 2, 2})}, volume},
          {"FractionalAvgPoolGrad", {longs({4, 4, 4, 2}), floats({4, 2, 2, 2}), longs({0, 2, 4}), longs({0, 2, 4})}},
          {"FractionalMaxPoolGrad",
           {floats({4, 4, 4, 2}), floats({4, 2, 2, 2}), floats({4, 2, 2, 2}), longs({0, 2, 4}), longs({0, 2, 4})}}};
}

Cases norms() {
  const Tensor image = floats({4, 5, 6, 3}), channels = positive({3}), none = Tensor::zeros(DType::kFloat32, {0});
  const AttrMap given = {{"is_training", false}};
  const AttrMap given_first = {{"is_training", false}, {"data_format", std::string("NCHW")}};
  return {{"FusedBatchNorm", {image, channels, channels, none, none}},
          {"FusedBatchNorm", {image, channels, channels, channels, channels}, given},
          {"FusedBatchNormV2", {image, channels, channels, channels, channels}, given},
          {"FusedBatchNormV3", {image, channels, channels, none, none}},
          {"FusedBatchNormV3", {image, channels, channels, channels, channels}, given},
          {"FusedBatchNormV3", {floats({4, 3, 5, 6}), channels, channels, channels, channels}, given_first},
          {"FusedBatchNormGrad", {image, floats({4, 5, 6, 3}, 3), channels, channels, channels}},
          {"FusedBatchNormGrad", {image, floats({4, 5, 6, 3}, 3), channels, channels, channels}, given},
          {"FusedBatchNormGradV2", {image, floats({4, 5, 6, 3}, 3), channels, channels, channels}, given},
          {"FusedBatchNormGradV3", {image, floats({4, 5, 6, 3}, 3), channels, channels, channels, none}, given},
          {"FusedBatchNormGradV3", {image, floats({4, 5, 6, 3}, 3), channels, channels, channels, none}},
          {"_LayerNormGrad", {floats({4, 6}), floats({4, 6}, 2), floats({6})}},
          {"SparseSoftmaxCrossEntropyWithLogits", {floats({4, 5}), ints({0, 4, 2, 1})}},
          {"SoftmaxCrossEntropyWithLogits", {floats({4, 5}), positive({4, 5})}},
          {"SoftmaxCrossEntropyWithLogits", {floats({4, 5}), positive({1, 5})}},
          {"_SoftmaxGrad", {positive({4, 5}), floats({4, 5})}}};
}

Cases shapes() {
  const Tensor rows = floats({4, 6}), block = floats({4, 3, 5});
  return {
      {"Reshape", {floats({6, 4}), ints({2, 3, 4})}},
      {"Reshape", {floats({2, 3, 4}), ints({-1, 4})}},
      {"Reshape", {floats({4, 6}), ints({6, 4})}},
      {"Reshape", {floats({4, 1, 6}), ints({4, 6, 1})}},
      {"Reshape", {floats({4, 3, 2, 5}), ints({4, 6, 5})}},
      {"Reshape", {floats({12}), ints({3, 2, 2})}},
      {"Squeeze", {floats({4, 1, 3, 1})}, {{"squeeze_dims", list({1, -1})}}},
      {"Squeeze", {floats({4, 1, 3})}},
      {"ExpandDims", {rows, number(-1)}},
      {"ExpandDims", {rows, number(1)}},
      {"Transpose", {block, ints({2, 0, 1})}},
      {"ConjugateTranspose", {block, ints({1, 0, 2})}},
      {"Tile", {floats({4, 1, 3}), ints({1, 5, 2})}},
      {"Tile", {floats({1}), ints({5})}},
      {"BroadcastTo", {floats({1, 3}), ints({4, 3})}},
      {"BroadcastTo", {floats({3}), ints({4, 3})}},
      {"EnsureShape", {rows}, {{"shape", PartialShape({-1, 6})}}},
      {"Slice", {block, ints({0, 1, 0}), ints({4, 2, -1})}},
      {"StridedSlice", {block, ints({0, 1}), ints({4, 3}), ints({1, 1})}},
      {"StridedSlice",
       {block, ints({0, 1}), ints({0, 0}), ints({1, 1})},
       {{"end_mask", whole(1)}, {"shrink_axis_mask", whole(2)}}},
      {"StridedSlice",
       {block, ints({0, 0, 1}), ints({0, 0, 4}), ints({1, 1, 2})},
       {{"ellipsis_mask", whole(1)}, {"new_axis_mask", whole(2)}}},
      {"StridedSlice", {block, ints({-1}), ints({0}), ints({-1})}, {{"begin_mask", whole(1)}, {"end_mask", whole(1)}}},
      {"StridedSliceGrad", {ints({4, 3, 5}), ints({0, 1}), ints({4, 3}), ints({1, 1}), floats({4, 2, 5})}},
      {"StridedSliceGrad",
       {ints({4, 3}), ints({0, 1}), ints({0, 2}), ints({1, 1}), floats({4})},
       {{"end_mask", whole(1)}, {"shrink_axis_mask", whole(2)}}},
      {"Pad", {block, ints({0, 0, 1, 2, 0, 0}).reshaped({3, 2})}},
      {"PadV2", {rows, ints({0, 0, 1, 2}).reshaped({2, 2}), number(0.5F)}},
      {"MirrorPad", {rows, ints({0, 0, 1, 2}).reshaped({2, 2})}, {{"mode", std::string("REFLECT")}}},
      {"MirrorPadGrad", {rows, ints({0, 0, 1, 2}).reshaped({2, 2})}, {{"mode", std::string("SYMMETRIC")}}},
      {"ConcatV2", {rows, floats({4, 2}), number(1)}},
      {"Concat", {number(-1), rows, floats({4, 2})}},
      {"Pack", {rows, floats({4, 6}, 2)}, {{"axis", whole(1)}}},
      {"Unpack", {block}, {{"axis", whole(1)}, {"num", whole(3)}}},
      {"Split", {number(1), rows}, {{"num_split", whole(3)}}},
      {"SplitV", {rows, ints({2, 4}), number(-1)}, {{"num_split", whole(2)}}},
      {"ReverseV2", {block, ints({1})}},
      {"ReverseSequence", {block, ints({1, 3, 2, 0})}, {{"seq_dim", whole(1)}, {"batch_dim", whole(0)}}},
      {"ReverseSequence", {block, ints({1, 3, 2})}, {{"seq_dim", whole(0)}, {"batch_dim", whole(1)}}},
      {"Roll", {block, ints({1}), ints({1})}},
      {"SpaceToBatchND", {floats({4, 4, 6, 2}), ints({2, 2}), Tensor::zeros(DType::kInt32, {2, 2})}},
      {"BatchToSpaceND", {floats({12, 2, 3, 2}), ints({2, 2}), Tensor::zeros(DType::kInt32, {2, 2})}},
      {"BatchToSpace", {floats({12, 2, 3, 2}), Tensor::zeros(DType::kInt32, {2, 2})}, {{"block_size", whole(2)}}},
      {"SpaceToDepth", {floats({4, 4, 6, 2})}, {{"block_size", whole(2)}}},
      {"Fill", {ints({4, 3}), number(0.5F)}},
      {"DecodeCSV", {strings({"1,2", "3,4", "5,6"}, {3}), floats({1}), ints({3})}},
      {"StringJoin", {strings({"a", "b", "c"}, {3}), strings({"x"}, {})}},
      {"Substr", {strings({"abc", "bcd", "cde", "def"}, {4}), number(1), number(1)}},
      {"ReduceJoin", {strings({"a", "b", "c", "d", "e", "f"}, {3, 2}), ints({1})}},
      {"IdentityN", {rows, floats({3})}}};
}

Cases reductions() {
  const Tensor block = floats({4, 3, 5}), ids = ints({2, 0, 2, 1});
  Cases cases;
  for (const char* op : {"Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"}) {
    cases.push_back({op, {block, ints({0})}});
    cases.push_back({op, {block, ints({0, -1})}, {{"keep_dims", true}}});
    cases.push_back({op, {Tensor::of<std::int32_t>({2, 3}, {5, 2, 9, -4, 1, 7}), ints({1})}});
  }
  for (const char* op : {"Cumsum", "Cumprod", "CumulativeLogsumexp"}) {
    cases.push_back({op, {block, number(1)}});
    cases.push_back({op, {block, number(-1)}, {{"exclusive", true}, {"reverse", true}}});
  }
  for (const char* op : {"ArgMax", "ArgMin"}) cases.push_back({op, {block, number(1)}});
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}) {
    cases.push_back({op, {block, ints({0, 0, 1, 1})}});
  }
  for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    cases.push_back({op, {block, ids, number(3)}});
    cases.push_back({op, {floats({4, 2, 3}), ints({0, 1, 2, 2, 1, 0, 0, 0}).reshaped({4, 2}), number(4)}});
  }
  const Tensor sorted = ints({0, 0, 1, 2});
  for (const char* op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    cases.push_back({op, {block, ids, sorted}});
    cases.push_back({str_cat(op, "WithNumSegments"), {block, ids, sorted, number(4)}});
    cases.push_back({str_cat(op, "Grad"), {floats({3, 5}), ids, sorted, number(4)}});
  }
  const Tensor lists = ints({1, 3, 3, 0, 2, 1}).reshaped({3, 2}), none = Tensor::zeros(DType::kFloat32, {0});
  const Cases more = {{"Bincount", {ints({1, 3, 3, 0}), number(5), floats({4})}},
                      {"Bincount", {ints({1, 3, 3, 0}), number(5), none}},
                      {"DenseBincount", {lists, number(5), floats({3, 2})}},
                      {"DenseBincount", {lists, number(5), none}, {{"binary_output", true}}},
                      {"DenseBincount", {ints({1, 3, 3, 0}), number(5), none}, {{"binary_output", true}}},
                      {"HistogramFixedWidth", {block, Tensor::vector<float>({-1, 1}), number(4)}},
                      {"L2Loss", {block}}};
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

Cases by_number() {
  const Tensor table = floats({5, 3, 4}), numbers = ints({1, 0, 4, 2}), rows = floats({4, 6});
  const Tensor places = ints({1, 0, 4, 2, 1, 0}).reshaped({3, 2});
  return {
      {"Gather", {table, numbers}},
      {"GatherV2", {table, numbers, number(0)}},
      {"GatherV2", {floats({3, 5, 4}), places.reshaped({2, 3}), number(1)}},
      {"GatherV2", {floats({3, 5, 4}), places, number(1)}, {{"batch_dims", whole(1)}}},
      {"_GatherGrad", {floats({4, 3, 4}), numbers, ints({5, 3, 4}), number(0)}},
      {"_GatherGrad", {floats({3, 2, 4}), places, ints({3, 5, 4}), number(1)}, {{"batch_dims", whole(1)}}},
      {"GatherNd", {table, ints({0, 1, 4, 2}).reshaped({2, 2})}},
      {"GatherNd", {table, numbers.reshaped({4, 1})}},
      {"ScatterNd", {ints({0, 1, 3, 1}).reshaped({4, 1}), floats({4, 3}), ints({5, 3})}},
      {"TensorScatterUpdate", {floats({5, 3}), numbers.reshaped({4, 1}), floats({4, 3})}},
      {"TensorScatterAdd", {floats({5, 3}), numbers.reshaped({4, 1}), floats({4, 3})}},
      {"TensorScatterMax", {floats({5, 3}), numbers.reshaped({4, 1}), floats({4, 3}, 2)}},
      {"OneHot", {numbers, number(5), number(1.F), number(0.F)}},
      {"OneHot", {places, number(5), number(1.F), number(-1.F)}, {{"axis", whole(0)}}},
      {"OneHot", {places, number(5), number(1.F), number(-1.F)}, {{"axis", whole(1)}}},
      {"TopKV2", {rows, number(2)}},
      {"InTopKV2", {rows, numbers, number(2)}},
      {"InTopK", {rows, numbers}, {{"k", whole(2)}}},
      {"NthElement", {rows, number(2)}},
      {"LowerBound", {floats({4, 6}), rows}},
      {"UnravelIndex", {numbers, ints({3, 4})}},
      {"InplaceUpdate", {floats({5, 3}), numbers, floats({4, 3})}},
      {"InplaceAdd", {floats({5, 3}), numbers, floats({4, 3})}},
      {"Select", {Tensor::vector<bool>({true, false, true, false}), rows, floats({4, 6}, 2)}},
      {"Select", {Tensor::scalar(true), rows, floats({4, 6}, 2)}},
      {"GatherTree",
       {ints({1, 2, 3, 4, 5, 6, 7, 8}).reshaped({2, 2, 2}), Tensor::zeros(DType::kInt32, {2, 2, 2}), ints({2, 2}),
        number(0)}},
      {"CropAndResize",
       {floats({4, 5, 6, 3}), random_tensor(DType::kFloat32, {3, 4}, 2, 0.1, 0.9), ints({0, 3, 1}), ints({2, 2})}},
      {"CropAndResizeGradImage",
       {floats({3, 2, 2, 3}), random_tensor(DType::kFloat32, {3, 4}, 2, 0.1, 0.9), ints({0, 3, 1}), ints({4, 5, 6, 3})},
       {{"T", DType::kFloat32}}},
      {"CropAndResizeGradBoxes",
       {floats({3, 2, 2, 3}), floats({4, 5, 6, 3}), random_tensor(DType::kFloat32, {3, 4}, 2, 0.1, 0.9),
        ints({0, 3, 1})}},
      {"NearestNeighbors", {floats({5, 3}), floats({4, 3}, 2), Tensor::scalar(std::int64_t{2})}}};
}

Cases cells() {
  const Tensor x = floats({4, 3}), state = floats({4, 2}), w = floats({5, 8}), peephole = floats({2}), b = floats({8});
  const Tensor xs = floats({3, 4, 3}), states = floats({3, 4, 2}), steps = Tensor::scalar(std::int64_t{2});
  const AttrMap peeps = {{"use_peephole", true}}, none = {{"use_peephole", false}};
  Cases cases = {{"GRUBlockCellGrad",
                  {x, state, floats({5, 4}), floats({5, 2}), floats({4}), floats({2}), state, state, state, state}}};
  for (const AttrMap& attrs : {peeps, none}) {
    cases.push_back({"LSTMBlockCellGrad",
                     {x, state, state, w, peephole, peephole, peephole, b, state, state, state, state, state, state,
                      floats({4, 2}, 2), floats({4, 2}, 3)},
                     attrs});
    for (const char* version : {"", "V2"}) {
      cases.push_back(
          {str_cat("BlockLSTM", version), {steps, xs, state, state, w, peephole, peephole, peephole, b}, attrs});
      cases.push_back({str_cat("BlockLSTMGrad", version),
                       {steps, xs, state, state, w, peephole, peephole, peephole, b, states, states, states, states,
                        states, states, states, floats({3, 4, 2}, 2), floats({3, 4, 2}, 3)},
                       attrs});
    }
  }
  const Tensor numbers = ints({1, 0, 4, 2}), table = floats({5, 3}), rows = floats({4, 3}, 2);
  const Cases more = {
      {"InplaceSub", {table, numbers, rows}},
      {"TensorScatterSub", {table, numbers.reshaped({4, 1}), rows}},
      {"TensorScatterMin", {table, numbers.reshaped({4, 1}), rows}},
      {"ScaleAndTranslateGrad", {floats({4, 2, 3, 2}), floats({4, 5, 6, 2}), positive({2}), floats({2})}}};
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

const Cases& all_cases() {
  static const Cases all = [] {
    Cases cases;
    for (const Cases& some :
         {products(), convolutions(), pools(), norms(), shapes(), reductions(), by_number(), cells()}) {
      cases.insert(cases.end(), some.begin(), some.end());
    }
    return cases;
  }();
  return all;
}

}  // namespace

std::vector<RandomCase> shard_cases(const OpDef& op) {
  std::vector<RandomCase> found;
  for (const Case& c : all_cases()) {
    if (op.name != c.op) continue;
    RandomCase made{&op, c.attrs, c.inputs};
    std::vector<DType> dtypes;
    for (const Tensor& t : c.inputs) dtypes.push_back(t.dtype());
    const Status complete = complete_attrs(op, dtypes, made.attrs);
    EXPECT_TRUE(complete.ok()) << c.op << ": " << complete.to_string();
    if (complete.ok()) found.push_back(std::move(made));
  }
  return found;
}

}  // namespace argosy
