#include "argosy/data/image/image.h"

#include <gtest/gtest.h>
#include <jpeglib.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "argosy/base/system/test_files.h"
#include "argosy/data/array_dataset.h"
#include "argosy/data/dataset.h"
#include "argosy/data/image/resized_dataset.h"
#include "argosy/data/test_data.h"

namespace argosy::data {
namespace {

Tensor gradient_image(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Tensor image = Tensor::zeros(DType::kUint8, {height, width, channels});
  for (std::int64_t i = 0; i < image.elements(); ++i) image.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7);
  return image;
}

std::string encode_jpeg(const Tensor& image) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(image.shape()[1]);
  info.image_height = static_cast<JDIMENSION>(image.shape()[0]);
  info.input_components = static_cast<int>(image.shape()[2]);
  info.in_color_space = info.input_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    unsigned char* row = image.data<std::uint8_t>() +
                         info.next_scanline * info.image_width * static_cast<unsigned>(info.input_components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string result(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  jpeg_destroy_compress(&info);
  return result;
}

TEST(Png, RoundTrips) {
  for (const std::int64_t channels : {1, 3}) {
    const Tensor image = gradient_image(13, 31, channels);
    const auto png = encode_png(image);
    ASSERT_TRUE(png.ok()) << png.status().to_string();
    const auto back = decode_image(*png, static_cast<int>(channels));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(back->shape(), image.shape());
    EXPECT_TRUE(std::ranges::equal(back->values<std::uint8_t>(), image.values<std::uint8_t>()));
  }
  EXPECT_TRUE(encode_png(gradient_image(1, 1, 4)).ok());
  EXPECT_EQ(encode_png(gradient_image(2, 2, 2)).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(encode_png(Tensor::zeros(DType::kFloat32, {2, 2, 3})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(encode_png(gradient_image(0, 2, 3)).status().code(), Code::kInvalidArgument);
}

TEST(Jpeg, IsDecodedAndConverted) {
  Tensor image = Tensor::zeros(DType::kUint8, {16, 24, 3});
  for (std::int64_t i = 0; i < image.elements(); ++i) image.data<std::uint8_t>()[i] = i % 3 == 0 ? 200 : 40;
  const auto colour = decode_image(encode_jpeg(image), 3);
  ASSERT_TRUE(colour.ok()) << colour.status().to_string();
  EXPECT_EQ(colour->shape(), (Shape{16, 24, 3}));
  EXPECT_NEAR(colour->data<std::uint8_t>()[0], 200, 5);
  EXPECT_NEAR(colour->data<std::uint8_t>()[1], 40, 5);
  const auto grey = decode_image(encode_jpeg(image), 1);
  EXPECT_EQ(grey->shape(), (Shape{16, 24, 1}));
  EXPECT_NEAR(grey->data<std::uint8_t>()[100], 0.299 * 200 + 0.701 * 40, 5);
}

TEST(Images, CutAndFlippedOnesNeverCrash) {
  const std::string png = *encode_png(gradient_image(6, 5, 3));
  const std::string jpeg = encode_jpeg(gradient_image(6, 5, 3));
  for (const std::string& whole : {png, jpeg}) {
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const auto read = decode_image(whole.substr(0, n), 3);
      if (&whole == &png && n + 12 < whole.size()) {  // the last 12 bytes only say "end"
        EXPECT_EQ(read.status().code(), Code::kDataLoss) << n;
      }
    }
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      (void)decode_image(flipped, 3);
    }
  }
  EXPECT_EQ(decode_image("", 3).status().code(), Code::kDataLoss);
  EXPECT_EQ(decode_image("GIF89a", 3).status().code(), Code::kDataLoss);
}

TEST(Images, EnormousOnesAreRefused) {
  std::string png = *encode_png(gradient_image(1, 1, 1));
  png.replace(16, 8, std::string("\x7f\xff\xff\xff\x7f\xff\xff\xff", 8));  // width, height; the checksum is wrong, too
  EXPECT_EQ(decode_image(png, 3).status().code(), Code::kDataLoss);
}

TEST(Resize, KeepsConstantsAndAverages) {
  Tensor image = Tensor::zeros(DType::kUint8, {4, 4, 1});
  for (int i = 0; i < 16; ++i) image.data<std::uint8_t>()[i] = i % 4 < 2 ? 0 : 255;
  float same[16];
  resize_to_float(image, 4, 4, same);
  EXPECT_EQ(same[1], 0);
  EXPECT_EQ(same[2], 1);
  float half[4];
  resize_to_float(image, 2, 2, half);
  EXPECT_LT(half[0], 0.2f);
  EXPECT_GT(half[1], 0.8f);
  EXPECT_NEAR(half[0] + half[1], 1.0f, 1e-6);
  Tensor flat = Tensor::zeros(DType::kUint8, {3, 5, 3});
  for (auto& v : flat.values<std::uint8_t>()) v = 51;
  std::vector<float> big(7 * 11 * 3);
  resize_to_float(flat, 7, 11, big.data());
  for (const float v : big) EXPECT_NEAR(v, 0.2f, 1e-6);
}

TEST(ImageFolder, ClassesAreSubFolders) {
  TempDirectory temp;
  for (const char* folder : {"train/b_cats", "train/a_dogs", "train/empty", "test/a_dogs"}) {
    std::filesystem::create_directories(temp.path(folder));
  }
  ASSERT_TRUE(write_png(temp.path("train/a_dogs/1.png"), gradient_image(9, 9, 3)).ok());
  temp.write("train/b_cats/x.JPG", encode_jpeg(gradient_image(20, 10, 3)));
  temp.write("train/b_cats/notes.txt", "not an image");
  ASSERT_TRUE(write_png(temp.path("test/a_dogs/1.png"), gradient_image(2, 2, 1)).ok());
  const auto train = open_dataset(temp.path(), {.image_size = 8});
  ASSERT_TRUE(train.ok()) << train.status().to_string();
  EXPECT_EQ((*train)->size(), 2);
  EXPECT_EQ((*train)->classes(), 2);
  const auto batch = batch_for(**train, 2);
  const std::int64_t indices[] = {1, 0};
  ASSERT_TRUE((*train)->fetch(indices, batch).ok());
  EXPECT_EQ(batch[0].shape(), (Shape{2, 8, 8, 3}));
  EXPECT_EQ(batch[1].data<std::int32_t>()[0], 1);
  EXPECT_EQ((*open_dataset(temp.path(), {.split = "test"}))->size(), 1);
  temp.write("train/a_dogs/1.png", "rubbish");
  const Status damaged = (*train)->fetch(indices, batch);
  EXPECT_EQ(damaged.code(), Code::kDataLoss);
  EXPECT_NE(damaged.message().find("a_dogs/1.png"), std::string::npos);
  EXPECT_EQ(open_dataset(temp.path(), {.image_size = 0}).status().code(), Code::kInvalidArgument);
}

TEST(Resized, ImagesHaveTheSizeAndTheRestStays) {
  const auto make = [] {
    Tensor images = Tensor::zeros(DType::kFloat32, {2, 4, 2, 1});
    for (int i = 0; i < 8; ++i) images.data<float>()[i] = 3.0f;  // the first: the same everywhere
    for (int i = 8; i < 16; ++i) images.data<float>()[i] = i < 12 ? -1.0f : 1.0f;
    return make_array_dataset("two", {{"image", images}, {"label", Tensor::vector<std::int32_t>({7, 9})}}, 10).value();
  };
  const auto resized = resize_images(make(), 2).value();
  EXPECT_EQ(resized->components()[0].shape, (Shape{2, 2, 1}));
  EXPECT_EQ(resized->classes(), 10);
  const auto batch = batch_for(*resized, 2);
  const std::int64_t indices[] = {1, 0};
  ASSERT_TRUE(resized->fetch(indices, batch).ok());
  EXPECT_EQ(batch[1].data<std::int32_t>()[0], 9);
  EXPECT_LT(batch[0].data<float>()[0], 0);  // the second's upper half
  EXPECT_GT(batch[0].data<float>()[3], 0);  // and its lower one
  for (int i = 4; i < 8; ++i) EXPECT_FLOAT_EQ(batch[0].data<float>()[i], 3);
  EXPECT_EQ(resize_images(make(), 0).status().id(), "ARG-DATA-012");
  auto labels = make_array_dataset("labels", {{"label", Tensor::vector<std::int32_t>({7})}}, 10).value();
  EXPECT_EQ(resize_images(std::move(labels), 4).status().id(), "ARG-DATA-012");
}

TEST(OpenDataset, SaysWhatItLookedFor) {
  TempDirectory temp;
  EXPECT_EQ(open_dataset(temp.path()).status().code(), Code::kNotFound);
  EXPECT_EQ(open_dataset(temp.path("nowhere")).status().code(), Code::kNotFound);
  temp.write("data_batch_1.bin", std::string(3073 * 2, '\3'));
  const auto cifar = open_dataset(temp.path());
  ASSERT_TRUE(cifar.ok()) << cifar.status().to_string();
  EXPECT_EQ((*cifar)->size(), 2);
  EXPECT_EQ((*cifar)->components()[0].shape, (Shape{32, 32, 3}));
  EXPECT_EQ(open_dataset(temp.path(), {.split = "test"}).status().code(), Code::kNotFound);
  for (const std::size_t size : {0u, 1u, 3072u, 3074u}) {
    temp.write("data_batch_1.bin", std::string(size, '\3'));
    EXPECT_EQ(open_dataset(temp.path()).status().code(), Code::kDataLoss) << size;
  }
  temp.write("data_batch_1.bin", std::string(3073, '\x0b'));  // label 11
  EXPECT_EQ(open_dataset(temp.path()).status().code(), Code::kDataLoss);
  TempDirectory hundred;
  std::string record(3074, '\0');
  record[1] = 77;
  record[2 + 1024] = '\xff';  // green of the first pixel
  hundred.write("train.bin", record);
  const auto fine = open_dataset(hundred.path());
  ASSERT_TRUE(fine.ok()) << fine.status().to_string();
  EXPECT_EQ((*fine)->classes(), 100);
  const auto batch = batch_for(**fine, 1);
  const std::int64_t index = 0;
  ASSERT_TRUE((*fine)->fetch(std::span(&index, 1), batch).ok());
  EXPECT_EQ(batch[1].data<std::int32_t>()[0], 77);
  EXPECT_EQ(batch[0].data<float>()[0], 0.0f);
  EXPECT_EQ(batch[0].data<float>()[1], 1.0f);
}

TEST(Synthetic, IsTheSameEveryTimeAndDiffersBetweenExamples) {
  const auto a = open_dataset("synthetic", {.image_size = 16, .channels = 3, .examples = 500, .seed = 4});
  const auto b = open_dataset("synthetic", {.image_size = 16, .channels = 3, .examples = 9, .seed = 4});
  const auto other = open_dataset("synthetic", {.image_size = 16, .channels = 3, .examples = 9, .seed = 5});
  const auto test =
      open_dataset("synthetic", {.split = "test", .image_size = 16, .channels = 3, .examples = 9, .seed = 4});
  const std::int64_t indices[] = {3, 8};
  std::vector<std::vector<Tensor>> batches;
  for (const auto* dataset : {&a, &b, &other, &test}) {
    ASSERT_TRUE(dataset->ok());
    batches.push_back(batch_for(***dataset, 2));
    ASSERT_TRUE((**dataset)->fetch(indices, batches.back()).ok());
  }
  const auto pixels = [&](int i) { return batches[static_cast<std::size_t>(i)][0].values<float>(); };
  EXPECT_TRUE(std::ranges::equal(pixels(0), pixels(1)));
  EXPECT_FALSE(std::ranges::equal(pixels(0), pixels(2)));
  EXPECT_FALSE(std::ranges::equal(pixels(0), pixels(3)));
  EXPECT_FALSE(std::ranges::equal(pixels(0).first(768), pixels(0).last(768)));
  // Known values, so that a change of the generator is noticed: runs must stay comparable.
  EXPECT_NEAR(pixels(0)[0], 0.614621f, 1e-4) << pixels(0)[0];

  std::vector<int> seen(10, 0);
  const auto one = batch_for(**a, 1);
  for (std::int64_t i = 0; i < (*a)->size(); ++i) {
    ASSERT_TRUE((*a)->fetch(std::span(&i, 1), one).ok());
    ++seen[static_cast<std::size_t>(one[1].data<std::int32_t>()[0])];
    for (const float v : one[0].values<float>()) ASSERT_TRUE(v >= 0 && v <= 1) << v;
  }
  for (const int count : seen) EXPECT_GT(count, 25);
  EXPECT_EQ(open_dataset("synthetic", {.classes = 31}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy::data
