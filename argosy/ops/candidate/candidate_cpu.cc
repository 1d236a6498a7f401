#include <limits>
#include <unordered_map>

#include "argosy/op/kernel/file_policy.h"
#include "argosy/op/state/restorable.h"
#include "argosy/op/state/session_op_state.h"
#include "argosy/ops/candidate/sampler.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

namespace {

using candidate::Sampler;

// True if the attributes name a file. It is read in the first step, since the step decides which files may be read.
bool waits_for_file(const OpDef& op, const AttrMap& attrs) {
  return op.name == "FixedUnigramCandidateSampler" && !attrs.get_string("vocab_file").empty();
}

// `from_file`: the weights of the attribute "vocab_file".
Result<std::unique_ptr<Sampler>> make_sampler(const OpDef& op, const AttrMap& attrs,
                                              const std::vector<float>& from_file) {
  const std::int64_t sampled = attrs.get_int("num_sampled");
  const bool unique = attrs.get_bool("unique");
  if (op.name == "AllCandidateSampler") return candidate::make_all();
  const std::int64_t range = attrs.get_int("range_max");
  if (unique && range < sampled) {
    return invalid_argument(op.name, ": ", sampled, " different classes cannot be drawn out of range_max = ", range);
  }
  if (op.name == "UniformCandidateSampler") return candidate::make_uniform(range);
  if (op.name == "LogUniformCandidateSampler") return candidate::make_log_uniform(range);
  if (op.name != "FixedUnigramCandidateSampler") return candidate::make_learned(range);
  candidate::FixedWeights fixed{.range = range,
                                .distortion = attrs.get_float("distortion"),
                                .reserved = attrs.get_int("num_reserved_ids"),
                                .shards = attrs.get_int("num_shards"),
                                .shard = attrs.get_int("shard"),
                                .weights = attrs.get<std::vector<float>>("unigrams")};
  const std::string& file = attrs.get_string("vocab_file");
  if (file.empty() == fixed.weights.empty()) {
    return invalid_argument(op.name, ": exactly one of vocab_file and unigrams must be given");
  }
  if (!file.empty()) fixed.weights = from_file;
  if (unique) {
    std::int64_t possible = 0, id = fixed.reserved;
    for (const float weight : fixed.weights) possible += id++ % fixed.shards == fixed.shard && weight > 0 ? 1 : 0;
    if (possible < sampled) {
      return invalid_argument(op.name, ": ", sampled, " different classes cannot be drawn where only ", possible,
                              " have a weight above 0");
    }
  }
  return candidate::make_fixed(std::move(fixed));
}

// The state of a sampler: what it has learned, and its position in the random stream.
struct Draws final : Resource, Restorable {
  Draws(const OpDef& def, const AttrMap& given, std::unique_ptr<Sampler> made)
      : op(def), attrs(given), by(std::move(made)), generator(attrs.get_int("seed"), attrs.get_int("seed2")) {}
  std::string describe() const override { return "candidates"; }
  // The caller of the returned function must hold a reference to this object.
  Result<std::function<Status()>> snapshot() const override {
    auto& self = const_cast<Draws&>(*this);
    MutexLock lock(self.mutex);
    std::function<void()> relearn = [] {};
    if (self.by != nullptr) relearn = self.by->snapshot();
    return std::function<Status()>([&self, relearn, place = generator.place()] {
      self.generator.go_to(place);
      relearn();
      return ok_status();
    });
  }
  Result<std::vector<Tensor>> contents() const override {
    MutexLock lock(const_cast<Draws&>(*this).mutex);
    std::vector<Tensor> all = {Tensor::scalar(static_cast<std::int64_t>(generator.place().low()))};
    if (by != nullptr && by->learned().valid()) all.push_back(by->learned());
    return all;
  }

  Result<Sampler*> sampler(const KernelContext& c) {
    MutexLock lock(mutex);
    if (by == nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(const std::string path, allowed_file(c, attrs.get_string("vocab_file")));
      ARGOSY_ASSIGN_OR_RETURN(const std::vector<float> weights, candidate::read_weights(path));
      ARGOSY_ASSIGN_OR_RETURN(by, make_sampler(op, attrs, weights));
    }
    return by.get();
  }

  const OpDef& op;
  const AttrMap attrs;
  Mutex mutex;
  std::unique_ptr<Sampler> by ARGOSY_GUARDED_BY(mutex);  // null until its file was read
  SharedPhilox generator;
};

class CandidateSampler final : public Kernel {
 public:
  CandidateSampler(const KernelInit& init, std::shared_ptr<Draws> draws)
      : op_(init.op.name),
        num_true_(init.attrs.get_int("num_true")),
        range_(init.attrs.get_int(op_ == "AllCandidateSampler" ? "num_sampled" : "range_max")),
        sampled_(init.attrs.get_int("num_sampled")),
        unique_(init.attrs.get_bool("unique")),
        draws_(std::move(draws)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    std::unique_ptr<Sampler> sampler;
    if (!waits_for_file(init.op, init.attrs)) {
      ARGOSY_ASSIGN_OR_RETURN(sampler, make_sampler(init.op, init.attrs, {}));
    } else if (!init.attrs.get<std::vector<float>>("unigrams").empty()) {
      return invalid_argument(init.op.name, ": exactly one of vocab_file and unigrams must be given");
    }
    ARGOSY_ASSIGN_OR_RETURN(auto draws, session_op_state<Draws>(init, [&] {
                              return std::make_shared<Draws>(init.op, init.attrs, std::move(sampler));
                            }));
    return std::unique_ptr<Kernel>(std::make_unique<CandidateSampler>(init, std::move(draws)));
  }

  Status run(KernelContext& c) override {
    const Tensor& trues = c.input(0);
    if (trues.shape().rank() != 2 || trues.shape()[1] != num_true_) {
      return invalid_argument(op_, ": true_classes must be a matrix of num_true = ", num_true_,
                              " columns, not of shape ", trues.shape());
    }
    for (const std::int64_t value : trues.values<std::int64_t>()) {
      if (value < 0 || value >= range_) {
        return invalid_argument(op_, ": `true_candidate` out of range [0, ", range_, "), received ", value)
            .with_id("ARG-INDEX-001");
      }
    }
    const std::int64_t size[] = {sampled_};
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(size));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const sampled, c.output(0, shape));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const true_expected, c.output(1, trues.shape()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const sampled_expected, c.output(2, shape));
    ARGOSY_ASSIGN_OR_RETURN(Sampler* const sampler, draws_->sampler(c));
    // TensorFlow reserves 2048 words for each class drawn, however many rejections there are.
    RandomNumbers numbers(draws_->generator.reserve(static_cast<std::uint64_t>(sampled_) * 2048 / 4));
    sampler->draw(numbers, unique_, sampled->values<std::int64_t>(), sampled_expected->values<float>(),
                  trues.values<std::int64_t>(), true_expected->values<float>());
    return sampler->learn(trues.values<std::int64_t>());
  }

 private:
  const std::string op_;
  const std::int64_t num_true_, range_, sampled_;
  const bool unique_;
  const std::shared_ptr<Draws> draws_;
};

Status accidental_hits(KernelContext& c) {
  const Tensor& trues = c.input(0);
  const Tensor& sampled = c.input(1);
  if (trues.shape().rank() != 2 || sampled.shape().rank() != 1) {
    return invalid_argument(
        "ComputeAccidentalHits: true_classes must be a matrix and sampled_candidates a vector, not ", "of shapes ",
        trues.shape(), " and ", sampled.shape());
  }
  std::unordered_map<std::int64_t, std::int64_t> places;
  for (std::int64_t i = 0; i < sampled.elements(); ++i) places[sampled.data<std::int64_t>()[i]] = i;
  std::vector<std::pair<std::int64_t, std::int64_t>> hits;  // row, place
  const std::int64_t width = trues.shape()[1];
  for (std::int64_t i = 0; i < trues.elements(); ++i) {
    const auto found = places.find(trues.data<std::int64_t>()[i]);
    if (found != places.end()) hits.emplace_back(i / width, found->second);
  }
  const Shape shape{static_cast<std::int64_t>(hits.size())};
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const rows, c.output(0, shape));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const ids, c.output(1, shape));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const weights, c.output(2, shape));
  for (std::size_t i = 0; i < hits.size(); ++i) {
    rows->data<std::int32_t>()[i] = static_cast<std::int32_t>(hits[i].first);
    ids->data<std::int64_t>()[i] = hits[i].second;
    weights->data<float>()[i] = std::numeric_limits<float>::lowest();
  }
  return ok_status();
}

class AccidentalHits final : public Kernel {
 public:
  explicit AccidentalHits(std::int64_t num_true) : num_true_(num_true) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<AccidentalHits>(init.attrs.get_int("num_true")));
  }
  Status run(KernelContext& c) override {
    const Shape& trues = c.input(0).shape();
    if (trues.rank() == 2 && trues[1] != num_true_) {
      return invalid_argument("ComputeAccidentalHits: true_classes must have num_true = ", num_true_,
                              " columns, not the shape ", trues);
    }
    return accidental_hits(c);
  }

 private:
  const std::int64_t num_true_;
};

}  // namespace

void add_kernels_cpu_candidate(KernelRegistry& kernels) {
  for (const char* op :
       {"LogUniformCandidateSampler", "UniformCandidateSampler", "LearnedUnigramCandidateSampler",
        "ThreadUnsafeUnigramCandidateSampler", "FixedUnigramCandidateSampler", "AllCandidateSampler"}) {
    kernels.add(op, "cpu", CandidateSampler::make);
  }
  kernels.add("ComputeAccidentalHits", "cpu", AccidentalHits::make);
}

}  // namespace argosy
