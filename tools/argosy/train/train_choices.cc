#include "tools/argosy/train/train_choices.h"

#include <algorithm>

#include "argosy/data/image/image.h"
#include "argosy/data/image/resized_dataset.h"
#include "argosy/train/models/models.h"
#include "argosy/train/models/sorting_task.h"
#include "tools/argosy/cli/count_of.h"
#include "tools/argosy/cli/device_flags.h"
#include "tools/argosy/cli/exit_code.h"

namespace argosy::cli {

namespace {

// What a model is trained with when nothing else is said.
struct Defaults {
  const char* model;
  const char* optimizer;
  double lr;
  std::int64_t batch, steps, epochs;
  int image_size, depth, width, layers;
  const char* schedule;
};
constexpr int kMembers = 4;
constexpr Defaults kDefaults[] = {
    {"autoencoder", "adam", 1e-3, 16, 500, 0, 64, 4, 32, 0, "constant"},
    {"mlp", "adam", 1e-3, 128, 0, 6, 28, 0, 256, 0, "cosine"},
    {"lenet", "adam", 1e-3, 128, 0, 3, 28, 0, 0, 0, "cosine"},
    {"resnet", "momentum", 0.1, 64, 100, 0, 32, 0, 0, 20, "cosine"},
    {"transformer", "adam", 1e-3, 64, 300, 0, 16, 0, 64, 2, "warm-up"},
    {"ensemble", "adam", 1e-3, 128, 100, 0, 28, 0, 256, 0, "constant"},
};

const Defaults& defaults_of(const std::string& model) {
  return *std::find_if(std::begin(kDefaults), std::end(kDefaults), [&](const Defaults& d) { return model == d.model; });
}

template <typename T>
T pick(T given, T otherwise) {
  return given != T{} ? given : otherwise;
}

LearningRate schedule_of(const std::string& name, double rate, std::int64_t steps) {
  steps = std::max<std::int64_t>(steps, 1);
  const std::int64_t tenth = std::max<std::int64_t>(steps / 10, 1);
  if (name == "cosine") return LearningRate::cosine(rate, steps);
  if (name == "exponential") return LearningRate::exponential(rate, tenth, 0.8);
  if (name == "warm-up") return LearningRate::warm_up(tenth, LearningRate::cosine(rate, std::max(steps, tenth)));
  return rate;
}

struct Data {
  std::unique_ptr<data::Dataset> train, test;
  std::string note;  // what was fitted to what
};

Status no_images(const data::Component& first) {
  const bool pixels = first.shape.rank() == 2 || (first.shape.rank() == 3 && first.dtype != DType::kFloat32);
  return invalid_argument("the data's first component, ", first.name, ", is ", dtype_name(first.dtype), first.shape,
                          "; an image is float32[height,width,channels]")
      .with_id(kUsageId)
      .with_where("--data")
      .with_hint(pixels ? "in Python: numpy.save('image_train.npy', x.reshape(n, height, width, "
                          "channels).astype('float32') / 255)"
                        : "give --data a folder of images, or --data synthetic");
}

// How often images of that size can be halved, at most `most` times.
int halvings(std::int64_t size, int most) {
  int depth = 0;
  while (depth < most && size % (std::int64_t{2} << depth) == 0) ++depth;
  return depth;
}

Status resize(Data& data, std::int64_t size) {
  ARGOSY_ASSIGN_OR_RETURN(data.train, data::resize_images(std::move(data.train), size));
  if (data.test != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(data.test, data::resize_images(std::move(data.test), size));
  }
  return ok_status();
}

// Resizes images to squares of --image-size, if given. Images that the model cannot take are resized or an error.
Status fit_images(const TrainChoices& c, const Defaults& d, Data& data) {
  const data::Component first = data.train->components()[0];
  if (first.shape.rank() != 3 || first.dtype != DType::kFloat32) return no_images(first);
  if (c.image_size > 0) return resize(data, c.image_size);
  const std::int64_t height = first.shape[0], width = first.shape[1], size = std::max(height, width);
  const bool square = height == width;
  if (c.model == "autoencoder" && (!square || (c.depth == 0 && halvings(size, d.depth) == 0))) {
    const std::int64_t multiple = std::int64_t{1} << pick(c.depth, 2), to = (size + multiple - 1) / multiple * multiple;
    data.note =
        str_cat("images of ", height, " x ", width, " pixels are resized to ", to, " x ", to, " (--image-size)");
    return resize(data, to);
  }
  if (square) return ok_status();
  return invalid_argument("images of ", height, " x ", width, " pixels; ", c.model, " takes squares")
      .with_id(kUsageId)
      .with_where("--data")
      .with_hint(str_cat("--image-size ", size));
}

Result<Data> open_data(const TrainChoices& c, const Defaults& d) {
  data::DatasetOptions options{.image_size = pick(c.image_size, d.image_size),
                               .seed = static_cast<std::uint64_t>(c.seed)};
  // Reconstructions are compared with pixels in 0 … 1.
  options.normalize = c.model != "autoencoder";
  Data opened;
  ARGOSY_ASSIGN_OR_RETURN(opened.train, data::open_dataset(c.data, options));
  if (c.image_size == 0 && opened.train->resizes_images()) {
    opened.note =
        str_cat("images are resized to ", options.image_size, " x ", options.image_size, " pixels (--image-size)");
  }
  options.split = "test";
  options.examples = 1000;
  auto test = data::open_dataset(c.data, options);
  if (test.ok()) {
    opened.test = *std::move(test);
  } else if (test.status().code() != Code::kNotFound) {
    return std::move(test).status();
  }
  ARGOSY_RETURN_IF_ERROR(fit_images(c, d, opened));
  return opened;
}

Result<models::ClassifierOptions> classifier(const TrainChoices& c, const data::Dataset& data) {
  const Shape& image = data.components()[0].shape;
  if (data.classes() < 2) {
    return invalid_argument("the data has no classes, which ", c.model, " needs")
        .with_id(kUsageId)
        .with_where("--data")
        .with_hint("argosy train autoencoder learns without them");
  }
  return models::ClassifierOptions{.image_size = static_cast<int>(image[0]),
                                   .channels = static_cast<int>(image[2]),
                                   .classes = data.classes(),
                                   .dropout = c.dropout.value_or(0)};
}

Result<ModelBuilder> make_autoencoder(const TrainChoices& c, const Defaults& d, const data::Dataset& data,
                                      std::string& note) {
  const Shape& image = data.components()[0].shape;
  const std::int64_t size = image[0];
  const int fits = halvings(size, 12), depth = c.depth > 0 ? c.depth : std::min(fits, d.depth);
  if (depth < 1 || fits < depth) {
    const std::int64_t multiple = std::int64_t{1} << std::max(depth, 1);
    return invalid_argument("images of ", size, " pixels cannot be halved ", std::max(depth, 1), " times")
        .with_id(kUsageId)
        .with_where(c.depth > 0 ? "--depth" : "--image-size")
        .with_hint(str_cat("--image-size ", (size + multiple - 1) / multiple * multiple,
                           fits > 0 ? str_cat(", or --depth ", fits) : std::string()));
  }
  if (c.depth == 0 && depth < d.depth) {
    note += str_cat(note.empty() ? "" : "; ", "images of ", size, " pixels are halved ", count_of(depth, "time"),
                    " (--depth ", depth, ")");
  }
  return models::autoencoder({.image_size = static_cast<int>(size),
                              .channels = static_cast<int>(image[2]),
                              .depth = depth,
                              .width = pick(c.width, d.width),
                              .dropout = c.dropout.value_or(0)});
}

Result<ModelBuilder> make_model(const TrainChoices& c, const Defaults& d, const data::Dataset& data,
                                std::string& note) {
  if (c.model == "autoencoder") return make_autoencoder(c, d, data, note);
  ARGOSY_ASSIGN_OR_RETURN(const auto options, classifier(c, data));
  if (c.model == "lenet") return models::lenet(options);
  if (c.model == "resnet") return models::resnet(options, pick(c.layers, d.layers));
  return models::mlp(options, pick(c.width, d.width));
}

}  // namespace

Status parse_value(std::string_view text, const Limits&, StrategyChoice& to) {
  auto parsed = StrategySpec::parse(text);
  if (!parsed.ok()) {
    // The frame writes the flag itself.
    constexpr std::string_view kFlag = "--strategy ";
    std::string hint = parsed.status().hint();
    if (hint.starts_with(kFlag)) hint.erase(0, kFlag.size());
    return invalid_argument(parsed.status().message()).with_id("ARG-SHARD-001").with_hint(std::move(hint));
  }
  static_cast<StrategySpec&>(to) = *std::move(parsed);
  return ok_status();
}

std::vector<std::string> planned_models() {
  std::vector<std::string> names;
  for (const Defaults& d : kDefaults) {
    if (std::string_view(d.model) != "ensemble") names.emplace_back(d.model);
  }
  return names;
}

std::string show_value(const StrategyChoice& value) { return value.to_string(); }

void add_model_flags(Command& command, TrainChoices& c) {
  command.group("Data and model")
      .option("--data DIR", c.data, "a folder with MNIST, CIFAR, .npy files or images; or synthetic")
      .option("--image-size N", c.image_size,
              "images become N x N; default: the data's own; for image files the model's", {.least = 1, .most = 4096})
      .option("--depth N", c.depth, "autoencoder: how often images are halved; default: 4, or what fits",
              {.least = 1, .most = 12})
      .option("--width N", c.width, "filters of the first layer, or units of hidden ones; default: the model's",
              {.least = 1, .most = 65536})
      .option("--layers N", c.layers, "resnet: 20, 32, 44, 56 or 50; transformer: blocks; default: the model's",
              {.least = 1, .most = 1000})
      .option("--dropout RATE", c.dropout, "of hidden units, or the autoencoder's code; default: 0, transformer 0.1",
              {.least = 0, .most = 0.999})
      .option("--precision P", c.precision, "of the computation", {.one_of = {"fp32", "bf16", "fp64"}})
      .option("--seed N", c.seed, "of initial values, order of examples, dropout", {.least = 0})
      .group("Training")
      .option("--batch N", c.batch, "examples per step, of all devices together; default: the model's",
              {.least = 1, .most = 1 << 20})
      .option("--optimizer NAME", c.optimizer, "sgd, momentum, nesterov, adagrad, adadelta, rmsprop, adam, adamw, ftrl")
      .option("--clip-norm X", c.clip_norm, "bound on the common norm of all gradients; 0, the default: none",
              {.least = 0});
}

void add_strategy_flags(Command& command, TrainChoices& c) {
  command.group("Devices");
  add_device_flags(command, c.request);
  command.option("--strategy S", c.strategy, "dp, dp=2, dp,zero=1, dp,accumulate=4, auto, or @FILE of argosy plan")
      .option("--reproducible", c.reproducible, "the same bits on 1, 2, 4 and 8 devices of one kind")
      .option("--shards N", c.shards, "of --reproducible: devices x micro-batches divide N; default: 8",
              {.least = 1, .most = 512})
      .option("--sync-batch-norm", c.sync_batch_norm,
              "batch normalisation by the global batch: one GPU's numbers, slower")
      .option("--combine HOW", c.combine, "what the loss is over the batch; refused where the graph says otherwise",
              {.one_of = {"sum", "mean"}});
}

void add_train_flags(Command& command, TrainChoices& c) {
  Limits models;
  for (const Defaults& d : kDefaults) models.one_of.emplace_back(d.model);
  command.argument("MODEL", c.model, "what to train", models);
  add_model_flags(command, c);
  command
      .option("--steps N", c.steps, "number of steps, a resumed run's first ones included; default: by --epochs",
              {.least = 1})
      .option("--epochs N", c.epochs, "passes over the data, in place of --steps; default: the model's", {.least = 1})
      .option("--lr RATE", c.lr, "learning rate; default: the model's", {.least = 0})
      .option("--schedule NAME", c.schedule, "of the learning rate over the whole run",
              {.one_of = {"constant", "cosine", "exponential", "warm-up"}})
      .option("--input-threads N", c.input_threads, "threads that prepare batches", {.least = 1, .most = 256})
      .option("--members N", c.members, str_cat("ensemble: how many models; default: ", kMembers),
              {.least = 1, .most = 512});
  add_strategy_flags(command, c);
  command
      .option("--check-replicas N", c.check_replicas,
              "steps between looks at the replicas' variables; 0: never; default: 100", {.least = -1})
      .option("--stuck-after S", c.stuck_after,
              "over tasks: end a job without progress after S seconds; 0: never; default: 20 steps",
              {.least = 0, .most = 1e9})
      .option("--check N", c.check, "compare the first N steps with one device's",
              {.least = 0, .most = 1e9, .implied = "3"})
      .option("--check-strategy", c.check_strategy,
              "compare the first step with one device's; more than promised is an error")
      .option("--no-verdict", c.no_verdict, "do not measure one device beside many")
      .option("--log-device-placement", c.log_device_placement, "print where everything runs")
      .group("Checkpoints")
      .option("--checkpoint-dir DIR", c.checkpoint_dir, "write checkpoints there, in TensorFlow's format")
      .option("--checkpoint-every N", c.checkpoint_every, "steps between checkpoints; 0, the default: at the end only",
              {.least = 0})
      .option("--resume", c.resume, "go on from the newest checkpoint in --checkpoint-dir")
      .group("Output")
      .option("--log-dir DIR", c.log_dir, "write event files for TensorBoard there")
      .option("--trace FILE", c.trace, "write a Chrome trace of every step")
      .option("--picture FILE", c.picture, "autoencoder: the sample picture; default: reconstruction.png");
}

namespace {

// Refuses flags that the model does not use: they would silently have no effect.
Status refuse_foreign_flags(const TrainChoices& c) {
  const TrainChoices none;
  constexpr std::string_view kOne = "autoencoder mlp lenet resnet transformer";
  const struct {
    const char* flag;
    bool given;
    std::string_view models;
  } scopes[] = {
      {"--image-size", c.image_size != none.image_size, "autoencoder mlp lenet resnet ensemble"},
      {"--data", c.data != none.data, "autoencoder mlp lenet resnet ensemble"},
      {"--depth", c.depth != none.depth, "autoencoder"},
      {"--width", c.width != none.width, "autoencoder mlp transformer ensemble"},
      {"--layers", c.layers != none.layers, "resnet transformer"},
      {"--dropout", c.dropout.has_value(), "autoencoder mlp lenet transformer"},
      {"--members", c.members.has_value(), "ensemble"},
      {"--picture", c.picture != none.picture, "autoencoder"},
      {"--checkpoint-dir", c.checkpoint_dir != none.checkpoint_dir, kOne},
      {"--checkpoint-every", c.checkpoint_every != none.checkpoint_every, kOne},
      {"--resume", c.resume, kOne},
      {"--log-dir", c.log_dir != none.log_dir, kOne},
      {"--trace", c.trace != none.trace, kOne},
      {"--check-replicas", c.check_replicas != none.check_replicas, kOne},
      {"--stuck-after", c.stuck_after != none.stuck_after, kOne},
      {"--check", c.check != none.check, kOne},
      {"--check-strategy", c.check_strategy, kOne},
      {"--strategy", !(c.strategy == none.strategy), kOne},
      {"--shards", c.shards != none.shards, kOne},
      {"--combine", c.combine != none.combine, kOne},
      {"--sync-batch-norm", c.sync_batch_norm, "resnet"},
      {"--no-verdict", c.no_verdict, kOne},
  };
  for (const auto& s : scopes) {
    if (!s.given || s.models.find(c.model) != std::string_view::npos) continue;
    return invalid_argument(s.flag, " does nothing for ", c.model)
        .with_id(kUsageId)
        .with_where(s.flag)
        .with_hint(str_cat("leave it out; it is for ", s.models));
  }
  return ok_status();
}

// Refuses flags without the flag that they need, and beside one that leaves them nothing to say. Flags of many devices
// are accepted on one: the same line is for any number of them.
Status refuse_idle_flags(const TrainChoices& c) {
  const struct {
    const char* flag;
    bool idle;
    const char *why, *hint;
  } flags[] = {
      {"--shards", c.shards > 0 && !c.reproducible, "does nothing without --reproducible", "add --reproducible"},
      {"--resume", c.resume && c.checkpoint_dir.empty(), "does not say from where", "add --checkpoint-dir DIR"},
      {"--checkpoint-every", c.checkpoint_every > 0 && c.checkpoint_dir.empty(),
       "does nothing without --checkpoint-dir", "add --checkpoint-dir DIR"},
      {"--epochs", c.epochs > 0 && c.steps > 0, "does nothing beside --steps", "leave one of them out"},
  };
  for (const auto& f : flags) {
    if (!f.idle) continue;
    return invalid_argument(f.flag, " ", f.why).with_id(kUsageId).with_where(f.flag).with_hint(f.hint);
  }
  return ok_status();
}

Status check_flags(const TrainChoices& c) {
  ARGOSY_RETURN_IF_ERROR(refuse_foreign_flags(c));
  return refuse_idle_flags(c);
}

std::int64_t steps_of(const TrainChoices& c, const Defaults& d) {
  return c.steps > 0 ? c.steps : c.epochs > 0 ? 0 : d.steps;
}

Result<Optimizer> optimizer_of(const TrainChoices& c, const Defaults& d, std::int64_t steps) {
  return optimizer_by_name(pick(c.optimizer, std::string(d.optimizer)),
                           schedule_of(pick(c.schedule, std::string(d.schedule)), c.lr.value_or(d.lr), steps));
}

// Options that trainers and ensembles share.
template <typename Options>
void set_common(const TrainChoices& c, const Defaults& d, Options& o) {
  o.devices = c.request;
  o.reproducible = c.reproducible;
  o.log_device_placement = c.log_device_placement;
  o.batch = pick(c.batch, d.batch);
  o.steps = steps_of(c, d);
  if (c.clip_norm > 0) o.minimize.clip_global_norm = c.clip_norm;
  o.input_threads = c.input_threads;
  o.seed = static_cast<std::uint64_t>(c.seed);
  if (c.precision == "fp64") o.dtype = DType::kFloat64;
  if (c.precision == "bf16") o.compute = DType::kBfloat16;
}

}  // namespace

Result<TrainJob> make_job(const TrainChoices& c) {
  ARGOSY_RETURN_IF_ERROR(check_flags(c));
  const Defaults& d = defaults_of(c.model);
  TrainJob job;
  if (c.model == "transformer") {
    models::TransformerOptions options{.width = pick(c.width, d.width), .layers = pick(c.layers, d.layers)};
    options.dropout = c.dropout.value_or(options.dropout);
    job.model = models::transformer(options);
    ARGOSY_ASSIGN_OR_RETURN(
        job.train, models::sorting_task(options.length, options.vocabulary, 20000, static_cast<std::uint64_t>(c.seed)));
    ARGOSY_ASSIGN_OR_RETURN(job.test, models::sorting_task(options.length, options.vocabulary, 1000,
                                                           static_cast<std::uint64_t>(c.seed) + 1));
  } else {
    ARGOSY_ASSIGN_OR_RETURN(Data data, open_data(c, d));
    job.train = std::move(data.train);
    job.test = std::move(data.test);
    job.note = std::move(data.note);
    ARGOSY_ASSIGN_OR_RETURN(job.model, make_model(c, d, *job.train, job.note));
  }
  TrainerOptions& o = job.options;
  set_common(c, d, o);
  o.epochs = c.epochs > 0 ? c.epochs : std::max<std::int64_t>(1, d.epochs);
  const std::int64_t steps = o.steps > 0 ? o.steps : o.epochs * ((job.train->size() + o.batch - 1) / o.batch);
  ARGOSY_ASSIGN_OR_RETURN(o.optimizer, optimizer_of(c, d, steps));
  o.sync_batch_norm = c.sync_batch_norm;
  if (!c.combine.empty())
    o.loss_placement = c.combine == "sum" ? PlacementKind::kPartialSum : PlacementKind::kPartialMean;
  o.checkpoint_dir = c.checkpoint_dir;
  o.checkpoint_every = c.checkpoint_every;
  o.check_replicas_every = c.check_replicas;
  o.check_steps = std::max<std::int64_t>(c.check, c.check_strategy ? 1 : 0);
  o.strategy = c.strategy;
  o.shards = c.shards;
  o.resume = c.resume;
  o.log_dir = c.log_dir;
  o.trace_path = c.trace;
  o.verdict = !c.no_verdict;
  return job;
}

Result<EnsembleJob> make_ensemble_job(const TrainChoices& c) {
  ARGOSY_RETURN_IF_ERROR(check_flags(c));
  const Defaults& d = defaults_of(c.model);
  EnsembleJob job;
  ARGOSY_ASSIGN_OR_RETURN(Data data, open_data(c, d));
  job.train = std::move(data.train);
  job.test = std::move(data.test);
  job.note = std::move(data.note);
  ARGOSY_ASSIGN_OR_RETURN(const auto options, classifier(c, *job.train));
  EnsembleOptions& o = job.options;
  // Models of one shape but for their last hidden layer.
  for (int k = 0; k < c.members.value_or(kMembers); ++k)
    o.models.push_back(models::mlp(options, pick(c.width, d.width), 64 * (k + 1)));
  set_common(c, d, o);
  if (o.steps == 0) o.steps = c.epochs * ((job.train->size() + o.batch - 1) / o.batch);
  ARGOSY_ASSIGN_OR_RETURN(o.optimizer, optimizer_of(c, d, o.steps));
  return job;
}

Result<std::string> write_sample_images(Trainer& trainer, const data::Dataset& data, const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(const auto rows,
                          trainer.sample_images(data, static_cast<int>(std::min<std::int64_t>(8, data.size()))));
  if (rows.empty()) return std::string();
  constexpr std::int64_t kGap = 2;
  const Shape& one = rows[0].second.shape();  // [n, height, width, channels]
  const std::int64_t n = one[0], h = one[1], w = one[2], channels = one[3];
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor sheet = Tensor::zeros(DType::kUint8, {count * (h + kGap) - kGap, n * (w + kGap) - kGap, channels});
  for (std::int64_t r = 0; r < count; ++r) {
    const Tensor& images = rows[static_cast<std::size_t>(r)].second;
    if (!(images.shape() == one) || images.dtype() != DType::kFloat32)
      return invalid_argument("pictures of unlike shapes");
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t y = 0; y < h; ++y) {
        for (std::int64_t x = 0; x < w * channels; ++x) {
          const float v = std::clamp(images.data<float>()[(i * h + y) * w * channels + x], 0.0f, 1.0f);
          sheet.data<std::uint8_t>()[((r * (h + kGap) + y) * sheet.shape()[1] + i * (w + kGap)) * channels + x] =
              static_cast<std::uint8_t>(v * 255 + 0.5f);
        }
      }
    }
  }
  ARGOSY_RETURN_IF_ERROR(data::write_png(path, sheet));
  return path;
}

}  // namespace argosy::cli
