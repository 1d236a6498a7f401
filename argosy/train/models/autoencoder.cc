#include <algorithm>

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/pool/pool.h"
#include "argosy/train/model/losses.h"
#include "argosy/train/models/models.h"

namespace argosy::models {

ModelBuilder autoencoder(const AutoencoderOptions& options) {
  return [options](Layers& net) -> Model {
    const std::int64_t size = options.image_size;
    const auto fail = [&](const auto&... parts) {
      net.graph().fail(invalid_argument("autoencoder: ", parts...).with_id("ARG-MODEL-001"));
      return Model{};
    };
    if (options.depth < 1 || options.depth > 16 || options.width < 1) {
      return fail("depth must be 1 to 16 and width at least 1, not ", options.depth, " and ", options.width);
    }
    if (size < 1 || size % (std::int64_t{1} << options.depth) != 0) {
      return fail("an image of ", size, " cannot be halved ", options.depth,
                  " times: image size must be a multiple of ", std::int64_t{1} << options.depth);
    }
    const auto filters = [&](int level) { return options.width << std::min(level, 3); };

    const Value images = net.input("image", DType::kFloat32, {size, size, options.channels});
    Value x = images;
    for (int level = 0; level < options.depth; ++level) {
      x = max_pool(net.conv2d(
          x, filters(level),
          {.activation = [](Value v) { return relu(v); }, .kernel = he_normal(), .name = str_cat("encode_", level)}));
    }
    x = net.dropout(x, options.dropout);
    for (int level = options.depth; level-- > 0;) {
      x = net.conv2d_transpose(x, filters(level),
                               {.strides = {2, 2},
                                .activation = [](Value v) { return relu(v); },
                                .kernel = he_normal(),
                                .name = str_cat("decode_", level)});
    }
    const Value y = net.conv2d(x, options.channels, {.name = "reconstruction"});
    Model model{.loss = summed_squared_error(y, images)};
    model.metrics.push_back(mean_metric("squared_error", squared_errors(y, images)));
    model.sample_images = {{"input", images}, {"reconstruction", y}};
    return model;
  };
}

}  // namespace argosy::models
