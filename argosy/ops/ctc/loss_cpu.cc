// Graves et al., "Connectionist temporal classification" (ICML 2006): forward and backward sums over all alignments of
// the labels, with blanks between them.
#include <algorithm>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/ctc/frames.h"

namespace argosy::ctc {

namespace {

struct Labels {
  std::vector<std::int64_t> kept;
  std::int64_t given = 0;  // how many there were: what time is held against
};

class CtcLoss final : public Kernel {
 public:
  explicit CtcLoss(const AttrMap& attrs)
      : collapse_(attrs.get_bool("preprocess_collapse_repeated")),
        merge_(attrs.get_bool("ctc_merge_repeated")),
        ignore_(attrs.get_bool("ignore_longer_outputs_than_inputs")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<CtcLoss>(init.attrs));
  }

  Status run(KernelContext& c) override {
    const Tensor& inputs = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const Frames f,
                            read_frames("CTCLoss", inputs, c.input(3), {.code = Code::kInvalidArgument}));
    if (f.time == 0) return invalid_argument("CTCLoss: max time or first dimension of input cannot be 0");
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<Labels> labels, read_labels(c.input(1), c.input(2), f));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const loss, c.output(0, Shape{f.batch}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const gradient, c.output(1, inputs.shape()));
    return dispatch<TypeList<float, double>>(inputs.dtype(), "CTCLoss", [&]<typename T>() {
      std::fill_n(gradient->data<T>(), gradient->elements(), T(0));
      parallel_for(f.batch, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b)
          one<T>(inputs, f, b, labels[static_cast<std::size_t>(b)], *loss, *gradient);
      });
      return ok_status();
    });
  }

 private:
  Result<std::vector<Labels>> read_labels(const Tensor& indices, const Tensor& values, const Frames& f) const {
    if (indices.shape().rank() != 2 || indices.shape()[1] != 2 || values.shape().rank() != 1 ||
        indices.shape()[0] != values.elements()) {
      return invalid_argument("CTCLoss: labels must be a sparse matrix, not indices ", indices.shape(), " and values ",
                              values.shape());
    }
    std::vector<Labels> labels(static_cast<std::size_t>(f.batch));
    const std::int64_t* at = indices.data<std::int64_t>();
    for (std::int64_t i = 0; i < values.elements(); ++i, at += 2) {
      if (at[0] < 0 || at[0] >= f.batch || at[1] < 0) {
        return invalid_argument("CTCLoss: indices[", i, "] = [", at[0], ",", at[1], "] is out of bounds for ", f.batch,
                                " examples");
      }
      if (i > 0 && (at[0] < at[-2] || (at[0] == at[-2] && at[1] <= at[-1]))) {
        return invalid_argument("CTCLoss: indices[", i, "] = [", at[0], ",", at[1], "] is out of order");
      }
      labels[static_cast<std::size_t>(at[0])].kept.push_back(values.data<std::int32_t>()[i]);
    }
    for (std::size_t b = 0; b < labels.size(); ++b) ARGOSY_RETURN_IF_ERROR(prepare(labels[b], b, f));
    return labels;
  }

  // Cuts labels at the first one that is no class, merges repeats if asked to, and checks that there are enough frames.
  Status prepare(Labels& labels, std::size_t b, const Frames& f) const {
    if (labels.kept.empty()) return invalid_argument("CTCLoss: Labels length is zero in batch ", b);
    std::vector<std::int64_t> kept;
    bool ended = false;
    for (const std::int64_t label : labels.kept) {
      if (label < 0) return invalid_argument("CTCLoss: All labels must be nonnegative integers, batch: ", b);
      if (label >= f.classes - 1) {
        ended = true;
      } else if (ended) {
        return invalid_argument(
            "CTCLoss: Saw a non-null label (index >= num_classes - 1) following a null label, "
            "batch: ",
            b, " num_classes: ", f.classes);
      } else if (!collapse_ || kept.empty() || kept.back() != label) {
        kept.push_back(label);
      }
    }
    labels.given = static_cast<std::int64_t>(labels.kept.size());
    labels.kept = std::move(kept);
    const std::int64_t available = f.lengths[b];
    if (!ignore_ && labels.given > available) {
      return invalid_argument("CTCLoss: Not enough time for target transition sequence (required: ", labels.given,
                              ", available: ", available,
                              "). You can turn this error into a warning by using the flag "
                              "ignore_longer_outputs_than_inputs");
    }
    return ok_status();
  }

  template <typename T>
  void one(const Tensor& inputs, const Frames& f, std::int64_t b, const Labels& given, const Tensor& loss,
           const Tensor& gradient) const {
    const std::vector<std::int64_t>& labels = given.kept;
    T& result = loss.data<T>()[b];
    result = 0;
    const std::int64_t time = f.lengths[static_cast<std::size_t>(b)];
    if (time == 0 || given.given > time) return;
    // States: blank, label, blank, label … blank.
    const std::size_t states = 2 * labels.size() + 1, frames = static_cast<std::size_t>(time);
    const std::int64_t blank = f.classes - 1;
    const auto symbol = [&](std::size_t u) { return u % 2 == 0 ? blank : labels[u / 2]; };
    std::vector<std::vector<double>> logs(frames);
    for (std::size_t t = 0; t < frames; ++t) {
      const Status read = read_frame(inputs, f, static_cast<std::int64_t>(t), b, logs[t]);
      ARGOSY_CHECK(read.ok());
      log_softmax(logs[t]);
    }
    const auto emission = [&](std::size_t t, std::size_t u) { return logs[t][static_cast<std::size_t>(symbol(u))]; };
    const auto stays = [&](std::size_t u) { return merge_ || u % 2 == 0; };
    const auto skips = [&](std::size_t u) {  // from u - 2 to u
      return u >= 2 && u % 2 == 1 && !(merge_ && symbol(u) == symbol(u - 2));
    };
    std::vector<double> alpha(frames * states, kLogZero), beta(frames * states, kLogZero);
    const auto at = [&](std::vector<double>& v, std::size_t t, std::size_t u) -> double& { return v[t * states + u]; };
    at(alpha, 0, 0) = emission(0, 0);
    if (states > 1) at(alpha, 0, 1) = emission(0, 1);
    for (std::size_t t = 1; t < frames; ++t) {
      check_interrupted();
      for (std::size_t u = 0; u < states; ++u) {
        double sum = stays(u) ? at(alpha, t - 1, u) : kLogZero;
        if (u >= 1) sum = log_sum(sum, at(alpha, t - 1, u - 1));
        if (skips(u)) sum = log_sum(sum, at(alpha, t - 1, u - 2));
        at(alpha, t, u) = sum == kLogZero ? kLogZero : sum + emission(t, u);
      }
    }
    // beta: the probability of all frames after t, without the emission of t.
    at(beta, frames - 1, states - 1) = 0;
    if (states > 1) at(beta, frames - 1, states - 2) = 0;
    for (std::size_t t = frames - 1; t-- > 0;) {
      check_interrupted();
      for (std::size_t u = 0; u < states; ++u) {
        const auto via = [&](std::size_t v) {
          const double rest = at(beta, t + 1, v);
          return rest == kLogZero ? kLogZero : rest + emission(t + 1, v);
        };
        double sum = stays(u) ? via(u) : kLogZero;
        if (u + 1 < states) sum = log_sum(sum, via(u + 1));
        if (u + 2 < states && skips(u + 2)) sum = log_sum(sum, via(u + 2));
        at(beta, t, u) = sum;
      }
    }
    double total = at(alpha, frames - 1, states - 1);
    if (states > 1) total = log_sum(total, at(alpha, frames - 1, states - 2));
    result = static_cast<T>(-total);
    // The gradient: probabilities minus the expected visits of each class. If no alignment exists, the probabilities.
    for (std::size_t t = 0; t < frames; ++t) {
      check_interrupted();
      std::vector<double> visits(static_cast<std::size_t>(f.classes), 0);
      for (std::size_t u = 0; u < states && total != kLogZero; ++u) {
        const double both = at(alpha, t, u) + at(beta, t, u);
        if (both != kLogZero) visits[static_cast<std::size_t>(symbol(u))] += std::exp(both - total);
      }
      T* const to = gradient.data<T>() + (static_cast<std::int64_t>(t) * f.batch + b) * f.classes;
      for (std::size_t k = 0; k < visits.size(); ++k) to[k] = static_cast<T>(std::exp(logs[t][k]) - visits[k]);
    }
  }

  const bool collapse_, merge_, ignore_;
};

}  // namespace

void add_ctc_loss(KernelRegistry& kernels) { kernels.add("CTCLoss", "cpu", CtcLoss::make); }

}  // namespace argosy::ctc
