#include "argosy/testing/shards/rule_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>

#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {

namespace {

Tensor floats(const Shape& shape) { return random_tensor(DType::kFloat32, shape, 7); }
Tensor complexes(const Shape& shape) {
  Tensor t = Tensor::zeros(DType::kComplex64, shape);
  const Tensor parts = floats(shape);
  std::transform(parts.data<float>(), parts.data<float>() + parts.elements(), t.data<std::complex<float>>(),
                 [](float v) { return std::complex<float>(v, v * v); });
  return t;
}
Tensor ints(const std::vector<std::int32_t>& values) { return Tensor::vector(values); }
Tensor number(std::int32_t value) { return Tensor::scalar(value); }
Tensor number(float value) { return Tensor::scalar(value); }
Tensor strings(const std::vector<std::string>& values) {
  Tensor t = Tensor::zeros(DType::kString, {std::ssize(values)});
  std::copy(values.begin(), values.end(), t.values<std::string>().begin());
  return t;
}
Tensor pairs(std::int32_t before, std::int32_t after) {  // of a matrix's second axis
  return ints({0, 0, before, after}).reshaped({2, 2});
}
std::vector<std::int64_t> list(std::initializer_list<std::int64_t> values) { return values; }

struct Case {
  const char* op;
  std::vector<Tensor> inputs;
  AttrMap attrs = {};
};

std::vector<Case> cases() {
  const std::string same = "SAME", valid = "VALID";
  const AttrMap window = {{"ksize", list({1, 2, 2, 1})}, {"strides", list({1, 2, 2, 1})}, {"padding", same}};
  const AttrMap window3 = {{"ksize", list({1, 2, 2, 2, 1})}, {"strides", list({1, 2, 2, 2, 1})}, {"padding", same}};
  const AttrMap steps = {{"strides", list({1, 1, 1, 1})}, {"padding", same}};
  const AttrMap steps3 = {{"strides", list({1, 1, 1, 1, 1})}, {"padding", same}};
  const AttrMap dilated = {{"strides", list({1, 1, 1, 1})}, {"rates", list({1, 1, 1, 1})}, {"padding", same}};
  const Tensor image = floats({4, 5, 6, 3}), volume = floats({4, 3, 3, 3, 2}), rows = floats({4, 6});
  const Tensor positive = random_tensor(DType::kFloat32, {3}, 3, 0.5, 1.5);
  const AttrMap global_norm = {{"variance_epsilon", AttrValue(0.01f)}, {"scale_after_normalization", true}};
  const Tensor boxes = random_tensor(DType::kFloat32, {4, 2, 4}, 3, 0.1, 0.9), colours = floats({2, 3});
  const Tensor turns = random_tensor(DType::kFloat32, {4, 8}, 5, -0.1, 0.1),
               words = strings({"ab", "cdcd", "", "efgh"});
  return {
      {"SplitV", {rows, ints({2, 4}), number(1)}, {{"num_split", std::int64_t{2}}}},
      {"Slice", {rows, ints({0, 1}), ints({-1, 3})}},
      {"Pad", {rows, pairs(1, 2)}},
      {"PadV2", {rows, pairs(1, 2), number(0.5f)}},
      {"MirrorPad", {rows, pairs(1, 2)}, {{"mode", std::string("REFLECT")}}},
      {"MirrorPadGrad", {rows, pairs(1, 2)}, {{"mode", std::string("SYMMETRIC")}}},
      {"DepthToSpace", {floats({4, 2, 3, 8})}, {{"block_size", std::int64_t{2}}}},
      {"SpaceToBatchND", {floats({4, 4, 6, 2}), ints({2, 2}), ints({0, 0, 0, 0}).reshaped({2, 2})}},
      {"SpaceToBatch", {floats({4, 4, 6, 2}), ints({0, 0, 0, 0}).reshaped({2, 2})}, {{"block_size", std::int64_t{2}}}},
      {"MatrixSetDiag", {floats({4, 3, 5}), floats({4, 3})}},
      {"MatrixDiagV2", {rows, number(0), number(-1), number(-1), number(0.f)}},
      {"MatrixDiagV3", {rows, number(0), number(-1), number(-1), number(0.f)}},
      {"MatrixDiagV3", {floats({4, 2, 5}), ints({0, 1}), number(-1), number(-1), number(0.f)}},
      {"MatrixSetDiagV2", {floats({4, 3, 5}), floats({4, 3}), number(0)}},
      {"MatrixSetDiagV3", {floats({4, 3, 5}), floats({4, 3}), number(0)}},
      {"Reshape", {rows, ints({-1, 3, 2})}},
      {"Reshape", {floats({4, 6, 2}), ints({-1, 4})}},
      {"Reshape", {floats({6, 4, 2}), ints({6, -1})}},
      {"Squeeze", {floats({4, 1, 3})}, {{"squeeze_dims", list({1})}}},
      {"StridedSlice",
       {rows, ints({0, 5}), ints({0, 0}), ints({1, -2})},
       {{"begin_mask", std::int64_t{1}}, {"end_mask", std::int64_t{1}}}},
      {"Tile", {rows, ints({2, 1})}},
      {"ConcatV2", {rows, floats({4, 6}), number(0)}},
      {"RegexReplace", {words, Tensor::scalar(std::string("c")), Tensor::scalar(std::string("x"))}},
      {"UnicodeTranscode",
       {words},
       {{"input_encoding", std::string("UTF-8")}, {"output_encoding", std::string("UTF-16-BE")}}},
      {"DecodeRaw", {strings({"abcd", "efgh", "ijkl", "mnop"})}, {{"out_type", DType::kInt16}}},
      {"DecodePaddedRaw", {words, number(6)}, {{"out_type", DType::kUint8}}},
      {"DecodeCSV", {strings({"1,2", "3,4", "5,6", "7,8"}), floats({1}), ints({3})}},
      {"ResizeBilinear", {image, ints({3, 4})}},
      {"ResizeNearestNeighbor", {image, ints({3, 4})}},
      {"ResizeBicubic", {image, ints({3, 4})}},
      {"ResizeArea", {image, ints({3, 4})}},
      {"ResizeNearestNeighborGrad", {image, ints({3, 4})}},
      {"ScaleAndTranslate", {image, ints({3, 4}), floats({2}), floats({2})}},
      {"AdjustSaturation", {image, number(0.5f)}},
      {"DrawBoundingBoxes", {image, boxes}},
      {"DrawBoundingBoxesV2", {image, boxes, colours}},
      {"ExtractVolumePatches",
       {volume},
       {{"ksizes", list({1, 2, 2, 2, 1})}, {"strides", list({1, 1, 1, 1, 1})}, {"padding", same}}},
      {"ImageProjectiveTransformV2", {image, turns, ints({5, 6})}, {{"interpolation", std::string("BILINEAR")}}},
      {"ImageProjectiveTransformV3",
       {image, turns, ints({5, 6}), number(0.f)},
       {{"interpolation", std::string("NEAREST")}}},
      {"ExtractGlimpse",
       {image, ints({2, 3}), floats({4, 2})},
       {{"uniform_noise", false}, {"noise", std::string("zero")}}},
      {"Conv2DBackpropFilter", {image, ints({2, 2, 3, 2}), floats({4, 5, 6, 2})}, steps},
      {"DepthwiseConv2dNativeBackpropFilter", {image, ints({2, 2, 3, 2}), floats({4, 5, 6, 6})}, steps},
      {"MaxPoolGrad", {image, floats({4, 3, 3, 3}), floats({4, 3, 3, 3})}, window},
      {"MaxPoolGradGrad", {image, floats({4, 3, 3, 3}), image}, window},
      {"MaxPoolV2", {image, ints({1, 2, 2, 1}), ints({1, 2, 2, 1})}, {{"padding", valid}}},
      {"MaxPoolGradV2",
       {image, floats({4, 3, 3, 3}), floats({4, 3, 3, 3}), ints({1, 2, 2, 1}), ints({1, 2, 2, 1})},
       {{"padding", same}}},
      {"MaxPoolGradGradV2",
       {image, floats({4, 3, 3, 3}), image, ints({1, 2, 2, 1}), ints({1, 2, 2, 1})},
       {{"padding", same}}},
      {"MaxPool3D", {volume}, window3},
      {"AvgPool3D", {volume}, window3},
      {"MaxPool3DGrad", {volume, floats({4, 2, 2, 2, 2}), floats({4, 2, 2, 2, 2})}, window3},
      {"MaxPool3DGradGrad", {volume, floats({4, 2, 2, 2, 2}), volume}, window3},
      {"Conv3D", {volume, floats({2, 2, 2, 2, 3})}, steps3},
      {"BatchNormWithGlobalNormalization", {image, floats({3}), positive, floats({3}), floats({3})}, global_norm},
      {"BatchNormWithGlobalNormalizationGrad", {image, floats({3}), positive, floats({3}), image}, global_norm},
      {"Conv3DBackpropFilterV2", {volume, ints({2, 2, 2, 2, 3}), floats({4, 3, 3, 3, 3})}, steps3},
      {"Dilation2D", {image, floats({2, 2, 3})}, dilated},
      {"Dilation2DBackpropInput", {image, floats({2, 2, 3}), image}, dilated},
      {"Dilation2DBackpropFilter", {image, floats({2, 2, 3}), image}, dilated},
      {"Bincount", {ints({1, 3, 3, 0}), number(5), floats({4})}},
      {"DenseBincount", {ints({1, 3, 3, 0}), number(5), floats({4})}},
      {"Einsum", {rows, floats({6, 3})}, {{"equation", std::string("nd,de->ne")}}},
      {"Einsum", {rows, floats({4, 6})}, {{"equation", std::string("nd,nd->n")}}},
      {"RFFT2D", {floats({4, 6, 8}), ints({6, 8})}},
      {"IRFFT2D", {complexes({4, 6, 5}), ints({6, 8})}},
      {"RFFT3D", {floats({4, 2, 4, 8}), ints({2, 4, 8})}},
      {"IRFFT3D", {complexes({4, 2, 4, 5}), ints({2, 4, 8})}},
      {"MatrixSolveLs", {floats({4, 5, 3}), floats({4, 5, 2}), Tensor::scalar(0.1)}},
      {"LSTMBlockCell",
       {rows, floats({4, 2}), floats({4, 2}), floats({8, 8}), floats({2}), floats({2}), floats({2}), floats({8})}},
      {"GRUBlockCell", {rows, floats({4, 2}), floats({8, 4}), floats({8, 2}), floats({4}), floats({2})}},
      {"FakeQuantWithMinMaxVarsGradient", {rows, floats({4, 6}), number(-0.5f), number(0.6f)}},
      {"FakeQuantWithMinMaxVarsPerChannelGradient",
       {rows, floats({4, 6}), random_tensor(DType::kFloat32, {6}, 1, -0.9, -0.5),
        random_tensor(DType::kFloat32, {6}, 2, 0.5, 0.9)}},
  };
}

}  // namespace

std::vector<RandomCase> rule_cases(const OpDef& op) {
  static const std::vector<Case> all = cases();
  std::vector<RandomCase> found;
  for (const Case& c : all) {
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
