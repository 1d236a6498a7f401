#include "argosy/data/files/image_folder.h"

#include <algorithm>
#include <cctype>

#include "argosy/base/system/file.h"
#include "argosy/data/image/image.h"

namespace argosy::data {

namespace {

constexpr std::int64_t kMostFileBytes = std::int64_t{256} << 20;

bool is_image(const std::string& name) {
  std::string low = name;
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char c) { return std::tolower(c); });
  return low.ends_with(".png") || low.ends_with(".jpg") || low.ends_with(".jpeg");
}

struct ImageFile {
  std::string path;
  std::int32_t label;
};

// Returns the image files of a folder and of its sub-folders, and the number of classes.
Result<std::pair<std::vector<ImageFile>, int>> find_image_files(const std::string& directory) {
  ARGOSY_ASSIGN_OR_RETURN(const auto names, list_directory(directory));
  std::vector<ImageFile> images;
  int classes = 0;
  for (const std::string& name : names) {
    const std::string inside = join_path(directory, name);
    if (!is_directory(inside)) continue;
    ARGOSY_ASSIGN_OR_RETURN(const auto files, list_directory(inside));
    bool any = false;
    for (const std::string& file : files) {
      if (!is_image(file)) continue;
      images.push_back({join_path(inside, file), classes});
      any = true;
    }
    if (any) ++classes;
  }
  if (classes == 0) {
    for (const std::string& name : names) {
      if (is_image(name)) images.push_back({join_path(directory, name), 0});
    }
    classes = images.empty() ? 0 : 1;
  }
  return std::pair(std::move(images), classes);
}

class ImageFolder final : public Dataset {
 public:
  ImageFolder(std::string description, std::vector<ImageFile> images, int classes, const DatasetOptions& options)
      : description_(std::move(description)),
        images_(std::move(images)),
        classes_(classes),
        components_{{"image", DType::kFloat32, {options.image_size, options.image_size, options.channels}},
                    {"label", DType::kInt32, {}}} {}

  std::int64_t size() const override { return static_cast<std::int64_t>(images_.size()); }
  std::span<const Component> components() const override { return components_; }
  int classes() const override { return classes_; }
  std::string describe() const override { return description_; }
  bool resizes_images() const override { return true; }

 protected:
  Status fill(std::span<const std::int64_t> indices, std::span<const Tensor> to) const override {
    const Shape& shape = components_[0].shape;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const ImageFile& file = images_[static_cast<std::size_t>(indices[i])];
      ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, read_file(file.path, kMostFileBytes));
      const Result<Tensor> image = decode_image(bytes, static_cast<int>(shape[2]));
      if (!image.ok()) {
        const Status& why = image.status();
        return Status(why.code(), str_cat(file.path, ": ", why.message())).with_id(std::string(why.id()));
      }
      resize_to_float(*image, shape[0], shape[1],
                      to[0].data<float>() + static_cast<std::int64_t>(i) * shape.elements());
      to[1].data<std::int32_t>()[i] = file.label;
    }
    return ok_status();
  }

 private:
  std::string description_;
  std::vector<ImageFile> images_;
  int classes_;
  std::vector<Component> components_;
};

std::string split_directory(const std::string& directory, const std::string& split) {
  const std::string inside = join_path(directory, split);
  return is_directory(inside) ? inside : directory;
}

}  // namespace

bool looks_like_image_folder(const std::string& directory) {
  for (const char* split : {"train", "test"}) {
    const auto found = find_image_files(split_directory(directory, split));
    if (found.ok() && !found->first.empty()) return true;
  }
  return false;
}

Result<std::unique_ptr<Dataset>> open_image_folder(const std::string& directory, const DatasetOptions& options) {
  if (options.image_size < 1 || options.image_size > 16384 || (options.channels != 1 && options.channels != 3)) {
    return invalid_argument("images of ", options.image_size, " pixels and ", options.channels,
                            " channels; sizes are 1 … 16384, channels 1 or 3")
        .with_id("ARG-DATA-002");
  }
  const std::string inside = split_directory(directory, options.split);
  ARGOSY_ASSIGN_OR_RETURN(auto found, find_image_files(inside));
  if (found.first.empty()) return not_found("no .png or .jpg in ", inside).with_id("ARG-DATA-003");
  std::string description = str_cat("image folder ", options.split, ", ", found.first.size(), " images from ", inside);
  return std::unique_ptr<Dataset>(
      std::make_unique<ImageFolder>(std::move(description), std::move(found.first), found.second, options));
}

}  // namespace argosy::data
