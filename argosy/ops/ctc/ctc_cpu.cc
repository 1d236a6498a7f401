#include <algorithm>
#include <map>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/ctc/frames.h"

namespace argosy {

namespace ctc {

Result<Frames> read_frames(std::string_view op, const Tensor& inputs, const Tensor& lengths, const FrameRules& rules) {
  if (inputs.shape().rank() != 3) {
    return invalid_argument(op, ": inputs must be [time, batch, classes], not of shape ", inputs.shape());
  }
  Frames f{.time = inputs.shape()[0], .batch = inputs.shape()[1], .classes = inputs.shape()[2]};
  if (lengths.shape().rank() != 1 || lengths.elements() != f.batch) {
    return Status(rules.code, str_cat(op, ": len(sequence_length) != batch_size.  sequence_length: ", lengths.shape(),
                                      " batch_size: ", f.batch));
  }
  if (rules.decoder && inputs.elements() == 0) {
    return invalid_argument(op, ": inputs must not be empty, but are of shape ", inputs.shape());
  }
  if (f.classes == 0) return invalid_argument(op, ": there are no classes: ", inputs.shape());
  for (std::int64_t b = 0; b < f.batch; ++b) {
    const std::int64_t n = lengths.data<std::int32_t>()[b];
    if (n > f.time || (n < 0 && !rules.decoder)) {
      return Status(rules.code, str_cat(op, ": sequence_length(", b, ") is ", n, ", not in [0, ", f.time, "]"));
    }
    f.lengths.push_back(std::max<std::int64_t>(n, 0));
  }
  return f;
}

Status read_frame(const Tensor& inputs, const Frames& f, std::int64_t t, std::int64_t b, std::vector<double>& logits) {
  logits.resize(static_cast<std::size_t>(f.classes));
  return dispatch<TypeList<float, double>>(inputs.dtype(), "CTC", [&]<typename T>() {
    std::copy_n(inputs.data<T>() + (t * f.batch + b) * f.classes, f.classes, logits.begin());
    return ok_status();
  });
}

void log_softmax(std::vector<double>& logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double v : logits) sum += std::exp(v - most);
  for (double& v : logits) v -= most + std::log(sum);
}

Status write_sparse(KernelContext& c, int first, int step, const std::vector<std::vector<std::int64_t>>& rows) {
  std::int64_t count = 0, longest = 0;
  for (const auto& row : rows) {
    count += static_cast<std::int64_t>(row.size());
    longest = std::max(longest, static_cast<std::int64_t>(row.size()));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(first, Shape{count, 2}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(first + step, Shape{count}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const shape, c.output(first + 2 * step, Shape{2}));
  std::int64_t* at = indices->data<std::int64_t>();
  std::int64_t* value = values->data<std::int64_t>();
  for (std::size_t b = 0; b < rows.size(); ++b) {
    for (std::size_t i = 0; i < rows[b].size(); ++i) {
      *at++ = static_cast<std::int64_t>(b);
      *at++ = static_cast<std::int64_t>(i);
      *value++ = rows[b][i];
    }
  }
  shape->data<std::int64_t>()[0] = static_cast<std::int64_t>(rows.size());
  shape->data<std::int64_t>()[1] = longest;
  return ok_status();
}

namespace {

using Rows = std::vector<std::vector<std::int64_t>>;
constexpr FrameRules kDecoding = {.code = Code::kFailedPrecondition, .decoder = true};

Status write_log_probability(KernelContext& c, int output, const Frames& f, const std::vector<double>& scores,
                             std::int64_t paths) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(output, Shape{f.batch, paths}));
  return dispatch<TypeList<float, double>>(y->dtype(), "CTC", [&]<typename T>() {
    for (std::int64_t i = 0; i < y->elements(); ++i)
      y->data<T>()[i] = static_cast<T>(scores[static_cast<std::size_t>(i)]);
    return ok_status();
  });
}

class Greedy final : public Kernel {
 public:
  explicit Greedy(const AttrMap& attrs)
      : merge_(attrs.get_bool("merge_repeated")), blank_(attrs.get_int("blank_index")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Greedy>(init.attrs));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Frames f, read_frames("CTCGreedyDecoder", c.input(0), c.input(1), kDecoding));
    if (blank_ < -f.classes || blank_ >= f.classes) {
      return invalid_argument("CTCGreedyDecoder: blank_index expected to be between ", -f.classes, " and ",
                              f.classes - 1, " but was ", blank_);
    }
    const std::int64_t blank = blank_ < 0 ? blank_ + f.classes : blank_;
    Rows rows(static_cast<std::size_t>(f.batch));
    std::vector<double> scores, logits;
    for (std::int64_t b = 0; b < f.batch; ++b) {
      double score = 0;
      std::int64_t before = -1;
      for (std::int64_t t = 0; t < f.lengths[static_cast<std::size_t>(b)]; ++t) {
        check_interrupted();
        ARGOSY_RETURN_IF_ERROR(read_frame(c.input(0), f, t, b, logits));
        const auto most = std::max_element(logits.begin(), logits.end());
        const std::int64_t k = most - logits.begin();
        score -= *most;
        if (k != blank && !(merge_ && k == before)) rows[static_cast<std::size_t>(b)].push_back(k);
        before = k;
      }
      scores.push_back(score);
    }
    ARGOSY_RETURN_IF_ERROR(write_sparse(c, 0, 1, rows));
    return write_log_probability(c, 3, f, scores, 1);
  }

 private:
  const bool merge_;
  const std::int64_t blank_;
};

// Beam search: keeps the `width` likeliest prefixes of labels after every frame. Hannun et al., "First-pass large
// vocabulary continuous speech recognition using bi-directional recurrent DNNs" (2014), without a language model.
class BeamSearch final : public Kernel {
 public:
  explicit BeamSearch(const AttrMap& attrs)
      : width_(attrs.get_int("beam_width")),
        paths_(attrs.get_int("top_paths")),
        merge_(attrs.get_bool("merge_repeated")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<BeamSearch>(init.attrs));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Frames f, read_frames("CTCBeamSearchDecoder", c.input(0), c.input(1), kDecoding));
    if (paths_ > width_) return invalid_argument("CTCBeamSearchDecoder: requested more paths than the beam width");
    std::vector<Rows> rows(static_cast<std::size_t>(paths_), Rows(static_cast<std::size_t>(f.batch)));
    std::vector<double> scores;
    for (std::int64_t b = 0; b < f.batch; ++b) {
      const std::vector<Beam> best = search(c.input(0), f, b);
      if (static_cast<std::int64_t>(best.size()) < paths_) {
        return invalid_argument("CTCBeamSearchDecoder: Less leaves in the beam search than requested: ", best.size(),
                                " of ", paths_);
      }
      for (std::size_t p = 0; p < static_cast<std::size_t>(paths_); ++p) {
        scores.push_back(best[p].total());
        std::vector<std::int64_t> labels = best[p].labels;
        // Merges adjacent repeats, if the attribute asks for it. The blanks between them are gone already.
        if (merge_) labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
        rows[p][static_cast<std::size_t>(b)] = std::move(labels);
      }
    }
    const int paths = static_cast<int>(paths_);
    for (int p = 0; p < paths; ++p)
      ARGOSY_RETURN_IF_ERROR(write_sparse(c, p, paths, rows[static_cast<std::size_t>(p)]));
    return write_log_probability(c, 3 * paths, f, scores, paths_);
  }

 private:
  struct Beam {
    std::vector<std::int64_t> labels;
    double blank = kLogZero, label = kLogZero;  // ending in a blank, in its last label
    double total() const { return log_sum(blank, label); }
  };

  std::vector<Beam> search(const Tensor& inputs, const Frames& f, std::int64_t b) const {
    std::vector<Beam> beams(1);
    beams[0].blank = 0;
    std::vector<double> logs;
    const std::int64_t blank = f.classes - 1;
    for (std::int64_t t = 0; t < f.lengths[static_cast<std::size_t>(b)]; ++t) {
      const Status read = read_frame(inputs, f, t, b, logs);
      ARGOSY_CHECK(read.ok());
      log_softmax(logs);
      std::map<std::vector<std::int64_t>, Beam> next;
      const auto at = [&](std::vector<std::int64_t> labels) -> Beam& {
        Beam& beam = next[labels];
        beam.labels = std::move(labels);
        return beam;
      };
      for (const Beam& beam : beams) {
        check_interrupted();
        Beam& same = at(beam.labels);
        same.blank = log_sum(same.blank, beam.total() + logs[static_cast<std::size_t>(blank)]);
        if (!beam.labels.empty()) {
          same.label = log_sum(same.label, beam.label + logs[static_cast<std::size_t>(beam.labels.back())]);
        }
        for (std::int64_t k = 0; k < blank; ++k) {
          // A repeat of the last label starts a new one only after a blank.
          const bool repeats = !beam.labels.empty() && beam.labels.back() == k;
          const double from = repeats ? beam.blank : beam.total();
          if (from == kLogZero) continue;
          std::vector<std::int64_t> labels = beam.labels;
          labels.push_back(k);
          Beam& longer = at(std::move(labels));
          longer.label = log_sum(longer.label, from + logs[static_cast<std::size_t>(k)]);
        }
      }
      beams.clear();
      for (auto& [labels, beam] : next) beams.push_back(std::move(beam));
      const auto likelier = [](const Beam& x, const Beam& y) { return x.total() > y.total(); };
      const auto kept =
          static_cast<std::ptrdiff_t>(std::min<std::size_t>(beams.size(), static_cast<std::size_t>(width_)));
      std::partial_sort(beams.begin(), beams.begin() + kept, beams.end(), likelier);
      beams.resize(static_cast<std::size_t>(kept));
    }
    return beams;
  }

  const std::int64_t width_, paths_;
  const bool merge_;
};

}  // namespace
}  // namespace ctc

void add_kernels_cpu_ctc(KernelRegistry& kernels) {
  ctc::add_ctc_loss(kernels);
  ctc::add_edit_distance(kernels);
  kernels.add("CTCGreedyDecoder", "cpu", ctc::Greedy::make);
  kernels.add("CTCBeamSearchDecoder", "cpu", ctc::BeamSearch::make);
}

}  // namespace argosy
