// The gradient of FusedBatchNormGrad and its variants: the second derivative of batch normalisation.
#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/norm/norm_channels.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

// With n = (x - mean) r, r = 1 / sqrt(variance + epsilon), and P(v) = v - mean(v) - n mean(v n), training gives
//   dx = scale r P(dy),  dscale = sum(dy n),  doffset = sum(dy).
// P is its own transpose, r P is what flows back through n to x, and r itself falls by r^2 n / N. Into dx, dscale and
// doffset flow a, b and c. Statistics are taken from x, whatever the reserve spaces hold: they are functions of it.
std::vector<Value> batch_norm_grad_gradient(GradContext& g) {
  const Channels channels(g.graph(), g.attrs().get_string("data_format"));
  const DType narrow = g.x(1).dtype();
  const Value dy = widened(g.x(0)), x = widened(g.x(1)), scale = channels.spread(g.x(2));
  const float epsilon = static_cast<float>(g.attrs().get_float("epsilon"));
  const Value a = widened(g.dy(0)), b = channels.spread(g.dy(1)), c = channels.spread(g.dy(2));
  const bool training = g.attrs().get_bool("is_training");

  std::vector<Value> back(static_cast<std::size_t>(g.num_inputs()));
  if (!training) {
    const Value r = rsqrt(channels.spread(g.x(4)) + epsilon), n = (x - channels.spread(g.x(3))) * r;
    back[0] = a * scale * r + b * n + c;
    back[1] = b * dy * r;
    back[2] = channels.sum(a * dy * r);
  } else {
    const Value offset = x - channels.mean(x);
    const Value r = rsqrt(channels.mean(square(offset)) + epsilon), n = offset * r;
    const auto project = [&](Value v) { return v - channels.mean(v) - n * channels.mean(v * n); };
    const Value of_a = project(a), product = channels.mean(of_a * dy);
    back[0] = scale * r * of_a + b * n + c;
    const Value on_n = b * dy - scale * r * (channels.mean(dy * n) * a + channels.mean(a * n) * dy);
    back[1] = r * project(on_n) - scale * square(r) * n * product;
    back[2] = channels.sum(of_a * dy * r);
  }
  if (narrow != DType::kFloat32) {
    for (const std::size_t i : {0, 1}) back[i] = cast(back[i], narrow);
  }
  return back;
}

}  // namespace argosy
