#include "argosy/train/loop/compiled_model.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/train/tasks/run_tasks.h"

namespace argosy {

namespace {

// Returns groups of indices of `values`, by descending size. The values of a group together have at most the bytes of
// the largest value.
std::vector<std::vector<std::size_t>> restored_together(const std::vector<const Tensor*>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a]->bytes() > values[b]->bytes(); });
  std::vector<std::vector<std::size_t>> groups;
  std::size_t bytes = 0;
  for (const std::size_t i : order) {
    const std::size_t more = values[i]->bytes();
    if (groups.empty() || bytes + more > values[order[0]]->bytes()) {
      groups.emplace_back();
      bytes = 0;
    }
    groups.back().push_back(i);
    bytes += more;
  }
  return groups;
}

}  // namespace

Result<double> scalar_value(const Tensor& t) {
  double value = 0;
  if (t.elements() != 1) return invalid_argument("a scalar was expected, not ", dtype_name(t.dtype()), t.shape());
  ARGOSY_RETURN_IF_ERROR(dispatch<RealTypes>(t.dtype(), "scalar", [&]<typename T>() {
    value = static_cast<double>(*t.data<T>());
    return ok_status();
  }));
  return value;
}

Result<BuiltModel> build_model(const ModelBuilder& builder, LayersOptions options, const Optimizer* optimizer,
                               MinimizeOptions minimize) {
  BuiltModel built{.graph = std::make_unique<Graph>()};
  Graph& graph = *built.graph;
  if (optimizer != nullptr) {
    minimize.global_step = variable(graph, Tensor::scalar(std::int64_t{0}), "global_step");
    options.step = minimize.global_step->read;
  }
  options.training = optimizer != nullptr;
  Layers net(graph, options);
  built.model = builder(net);
  ARGOSY_RETURN_IF_ERROR(graph.status());
  if (!built.model.loss.valid()) return invalid_argument("the model has no loss");
  built.inputs = net.inputs();
  built.variables = net.variables();
  if (optimizer != nullptr) {
    if (net.trainable().empty()) return invalid_argument("the model has no variable to train");
    minimize.updates.insert(minimize.updates.end(), net.updates().begin(), net.updates().end());
    built.train = optimizer->minimize(built.model.loss, net.trainable(), minimize);
    built.variables.insert(built.variables.end(), built.train.slots.begin(), built.train.slots.end());
  }
  std::vector<Value> initializers;
  for (const VariableNode& v : built.variables) initializers.push_back(v.initializer);
  built.initializer = group(graph, initializers, "init");
  ARGOSY_RETURN_IF_ERROR(graph.status());
  return built;
}

Result<std::unique_ptr<CompiledModel>> CompiledModel::make(BuiltModel built, const CompiledModelOptions& options) {
  if (built.inputs.empty()) {
    return invalid_argument("the model has no input that brings a batch")
        .with_id("ARG-DP-001")
        .with_hint("make its inputs with Layers::input(), not with placeholder()");
  }
  DataParallelOptions parallel{.loss_placement = options.loss_placement,
                               .sync_batch_norm = options.sync_batch_norm,
                               .shards = options.shards,
                               .accumulate = options.accumulate,
                               .zero = options.zero};
  for (const DeviceSpec& spec : options.devices) {
    parallel.devices.push_back(spec.name.to_string());
    parallel.weights.push_back(spec.speed);
  }
  if (options.tasks != nullptr) parallel.devices = options.tasks->task_devices().names;
  for (const Layers::Input& input : built.inputs) parallel.batch_inputs.push_back(input.placeholder);
  if (built.train.run.valid()) {
    parallel.losses = {built.model.loss};
    parallel.train = {built.train.run};
  }
  ARGOSY_ASSIGN_OR_RETURN(DataParallel replicated, DataParallel::make(*built.graph, parallel));
  std::unique_ptr<CompiledModel> program(new CompiledModel(std::move(built), std::move(replicated)));
  ARGOSY_RETURN_IF_ERROR(program->prepare(options.devices.size()));
  if (options.tasks != nullptr) {
    program->tasks_ = options.tasks;
    ARGOSY_RETURN_IF_ERROR(
        program->take_part(program->built_.train.run.valid() ? "the training step" : "the evaluation step"));
  }
  SessionOptions session = options.session;
  if (!session.device_set) {
    ARGOSY_ASSIGN_OR_RETURN(session.device_set, DeviceSet::make(session.devices));
  }
  program->device_set_ = session.device_set;
  for (int d = 0; d < program->device_set_->size(); ++d) program->device_set_->arenas(d).share_small();
  program->session_ = std::make_unique<Session>(program->parallel_.graph(), session);
  ARGOSY_RETURN_IF_ERROR(program->session_->status());
  return program;
}

// Adds every node that will be fetched: the graph must not grow once a session runs it.
Status CompiledModel::prepare(std::size_t devices) {
  ARGOSY_ASSIGN_OR_RETURN(loss_, parallel_.fetch(built_.model.loss));
  for (const Metric& m : built_.model.metrics) {
    ARGOSY_ASSIGN_OR_RETURN(const Value total, parallel_.fetch(m.total));
    ARGOSY_ASSIGN_OR_RETURN(const Value weight, parallel_.fetch(m.weight));
    metrics_.push_back(total);
    metrics_.push_back(weight);
  }
  for (const Model::SampleImages& p : built_.model.sample_images) {
    ARGOSY_ASSIGN_OR_RETURN(const Value images, parallel_.fetch(p.images));
    sample_images_.push_back(cast(images, DType::kFloat32));  // whatever the precision of the computation
  }
  // The first device's variables have the original names. Some variables may exist on one device only.
  if (devices < 2) return ok_status();
  mirrored_.resize(devices);
  for (const VariableNode& v : built_.variables) {
    if (parallel_.is_sharded(v.ref)) continue;
    std::vector<Value> values = {parallel_.input(v.ref)};
    for (std::size_t d = 1; d < devices; ++d) {
      const auto mirror = parallel_.graph().value(str_cat(v.ref.node_name(), "/replica_", d));
      if (mirror.ok()) values.push_back(*mirror);
    }
    if (values.size() < devices) continue;
    for (std::size_t d = 0; d < devices; ++d) mirrored_[d].push_back(values[d]);
    mirrored_names_.push_back(v.ref.node_name());
  }
  return ok_status();
}

Status CompiledModel::take_part(const std::string& what) {
  std::vector<Endpoint> fetched = {loss_.endpoint()};
  for (const Value& v : metrics_) fetched.push_back(v.endpoint());
  for (const Value& v : sample_images_) fetched.push_back(v.endpoint());
  std::vector<NodeId> fed;
  for (const Value& v : fed_inputs()) fed.push_back(v.node());
  ARGOSY_ASSIGN_OR_RETURN(part_, TaskPart::make(parallel_.graph(), tasks_->devices_of_next_graph(), fed, fetched));
  return tasks_->agree(what, part_->program());
}

CompiledModel::Parts CompiledModel::part_of(std::vector<Value> feeds, std::vector<Value> fetches,
                                            std::vector<Value> targets) {
  if (!part_) return {std::move(feeds), std::move(fetches), std::move(targets)};
  const auto endpoints = [](const std::vector<Value>& values) {
    std::vector<Endpoint> list;
    for (const Value& v : values) list.push_back(v.endpoint());
    return list;
  };
  std::vector<NodeId> nodes;
  for (const Value& v : targets) nodes.push_back(v.node());
  Parts parts;
  for (const NodeId id : part_->targets(endpoints(fetches), nodes, endpoints(feeds))) {
    parts.targets.push_back(Value(&parallel_.graph(), id, Value::kControl));
  }
  const auto local = [&](const Value& v) { return parallel_.graph().value(part_->local(v.endpoint())); };
  for (const Value& v : feeds) parts.feeds.push_back(local(v));
  for (const Value& v : fetches) parts.fetches.push_back(local(v));
  return parts;
}

std::vector<Value> CompiledModel::fed_inputs() {
  std::vector<Value> feeds;
  for (const Layers::Input& input : built_.inputs) feeds.push_back(parallel_.input(input.placeholder));
  return feeds;
}

std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t)> CompiledModel::rows_to_read() const {
  if (!part_) return {};
  std::vector<NodeId> inputs;
  for (const Layers::Input& input : built_.inputs) inputs.push_back(input.placeholder.node());
  return [part = *part_, inputs](std::int64_t examples) -> std::pair<std::int64_t, std::int64_t> {
    std::int64_t begin = examples, end = 0;
    for (const NodeId input : inputs) {
      const auto rows = part.own_rows(input, examples);
      if (!rows) return {0, examples};
      if (rows->first == rows->second) continue;
      begin = std::min(begin, rows->first);
      end = std::max(end, rows->second);
    }
    return begin < end ? std::pair(begin, end) : std::pair<std::int64_t, std::int64_t>(0, 0);
  };
}

Result<std::vector<Tensor>> CompiledModel::mirror(int device) {
  const auto d = static_cast<std::size_t>(device);
  mirrors_.resize(mirrored_.size());
  if (mirrors_[d] == nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(mirrors_[d], callable(mirrored_[d], {}, false));
  }
  std::vector<Tensor> values(mirrored_[d].size());
  ARGOSY_RETURN_IF_ERROR(mirrors_[d]->run({}, values));
  return values;
}

Result<std::unique_ptr<Session::Callable>> CompiledModel::callable(const std::vector<Value>& fetches,
                                                                   const std::vector<Value>& targets, bool fed) {
  const Parts parts = part_of(fed ? fed_inputs() : std::vector<Value>(), fetches, targets);
  return session_->prepare(parts.feeds, parts.fetches, parts.targets);
}

Status CompiledModel::initialize(std::span<const tf::NamedTensor> values) {
  if (!values.empty()) return restore(values);
  // A separate session: its memory for drawing initial values is free again before training.
  Session once(parallel_.graph(), {.device_set = device_set_, .trace_path = ""});
  const Parts parts = part_of({}, {}, {parallel_.target(built_.initializer)});
  return once.run({}, {}, parts.targets).status();
}

// Restores in several runs. Beside the variables, each run needs at most the memory of the largest variable. A training
// step needs as much for that variable's gradient. So every model that can be trained can be restored.
Status CompiledModel::restore(std::span<const tf::NamedTensor> values) {
  std::map<std::string_view, const Tensor*> given;
  for (const tf::NamedTensor& v : values) given[v.name] = &v.tensor;
  std::vector<const Tensor*> by_variable;
  for (const VariableNode& v : built_.variables) {
    const auto found = given.find(v.ref.node_name());
    if (found == given.end()) {
      return not_found("there is no value for the variable \"", v.ref.node_name(), "\"").with_id("ARG-CKPT-013");
    }
    by_variable.push_back(found->second);
  }
  Session once(parallel_.graph(), {.device_set = device_set_, .trace_path = ""});
  for (const std::vector<std::size_t>& group : restored_together(by_variable)) {
    std::vector<Value> fed, targets;
    for (const std::size_t i : group) {
      const VariableNode& v = built_.variables[i];
      // In place of the initial value: what the initialiser assigns, on every device.
      const Node& assign = built_.graph->node(v.initializer.node());
      fed.push_back(parallel_.input(built_.graph->value(assign.inputs[1])));
      targets.push_back(parallel_.target(v.initializer));
    }
    const Parts parts = part_of(std::move(fed), {}, std::move(targets));
    if (parts.targets.empty()) continue;  // other tasks'
    Feeds feeds;
    for (std::size_t k = 0; k < group.size(); ++k) feeds.emplace_back(parts.feeds[k], *by_variable[group[k]]);
    const Status assigned = once.run(feeds, {}, parts.targets).status();
    if (assigned.code() == Code::kResourceExhausted) {
      // Its own hint is about batches.
      return resource_exhausted("restoring the variables: ", assigned.message())
          .with_id(std::string(assigned.id()))
          .with_where(assigned.where())
          .with_hint("a higher --mem cap: to restore takes all variables, and the largest of them once more");
    }
    ARGOSY_RETURN_IF_ERROR(Status(assigned));
  }
  return ok_status();
}

Result<std::vector<tf::NamedTensor>> CompiledModel::variables() {
  if (!read_) {
    std::vector<Value> reads;
    for (const VariableNode& v : built_.variables) reads.push_back(parallel_.input(v.read));
    if (part_ && !tasks_->is_first()) {
      // What the first task needs of this one, where slots are in shards.
      std::vector<Value> nodes;
      for (const Value& v : reads) nodes.push_back(v.control());
      const Parts parts = part_of({}, {}, nodes);
      ARGOSY_ASSIGN_OR_RETURN(read_, session_->prepare({}, {}, parts.targets));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(read_, callable(reads, {}, false));
    }
  }
  if (part_ && !tasks_->is_first()) {
    ARGOSY_RETURN_IF_ERROR(read_->run({}, {}));
    return std::vector<tf::NamedTensor>();
  }
  std::vector<Tensor> values(built_.variables.size());
  ARGOSY_RETURN_IF_ERROR(read_->run({}, values));
  std::vector<tf::NamedTensor> named;
  for (std::size_t i = 0; i < values.size(); ++i) {
    named.push_back({built_.variables[i].ref.node_name(), std::move(values[i])});
  }
  return named;
}

Result<double> CompiledModel::step(std::span<const Tensor> feeds, StepStats* stats) {
  if (!step_) {
    ARGOSY_ASSIGN_OR_RETURN(step_, callable({loss_}, {parallel_.target(built_.train.run)}));
  }
  Tensor loss;
  ARGOSY_RETURN_IF_ERROR(step_->run(feeds, std::span(&loss, 1), {.stats = stats}));
  return scalar_value(loss);
}

Result<std::vector<MetricState>> CompiledModel::evaluate(std::span<const Tensor> feeds) {
  if (!evaluate_) {
    ARGOSY_ASSIGN_OR_RETURN(evaluate_, callable(metrics_, {}));
  }
  std::vector<Tensor> values(metrics_.size());
  ARGOSY_RETURN_IF_ERROR(evaluate_->run(feeds, values));
  std::vector<MetricState> states(values.size() / 2);
  for (std::size_t i = 0; i < states.size(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const double total, scalar_value(values[2 * i]));
    ARGOSY_ASSIGN_OR_RETURN(const double weight, scalar_value(values[2 * i + 1]));
    states[i].add(total, weight);
  }
  return states;
}

Result<std::vector<Tensor>> CompiledModel::sample_images(std::span<const Tensor> feeds) {
  if (!show_) {
    ARGOSY_ASSIGN_OR_RETURN(show_, callable(sample_images_, {}));
  }
  std::vector<Tensor> values(sample_images_.size());
  ARGOSY_RETURN_IF_ERROR(show_->run(feeds, values));
  return values;
}

std::vector<std::pair<Value, Shape>> CompiledModel::feed_shapes(std::int64_t batch) {
  std::vector<std::pair<Value, Shape>> shapes;
  for (const Layers::Input& input : built_.inputs) {
    std::vector<std::int64_t> sizes = input.placeholder.shape().sizes();
    sizes[0] = batch;
    shapes.emplace_back(parallel_.input(input.placeholder), Shape(std::span<const std::int64_t>(sizes)));
  }
  return shapes;
}

StepSignature CompiledModel::signature(std::int64_t batch) {
  std::vector<Value> targets;
  if (built_.train.run.valid()) targets.push_back(parallel_.target(built_.train.run));
  const Parts parts = part_of(fed_inputs(), {loss_}, targets);
  StepSignature signature{.fetches = {parts.fetches[0].endpoint()}};
  for (const auto& [value, shape] : feed_shapes(batch)) {
    signature.feeds.push_back(value.endpoint());
    signature.feed_shapes.emplace_back(shape);
  }
  for (const Value& target : parts.targets) signature.targets.push_back(target.node());
  return signature;
}

Result<std::vector<MemoryForecast>> CompiledModel::step_forecast(std::int64_t batch) {
  std::vector<Value> targets;
  if (built_.train.run.valid()) targets.push_back(parallel_.target(built_.train.run));
  // A model for evaluation fetches its metrics if it has some, else the loss.
  const bool evaluates = targets.empty() && !metrics_.empty();
  const Parts parts = part_of(fed_inputs(), evaluates ? metrics_ : std::vector<Value>{loss_}, targets);
  return session_->forecast(feed_shapes(batch), parts.fetches, parts.targets);
}

Result<std::vector<MemoryForecast>> CompiledModel::first_values_forecast() {
  if (!built_.train.run.valid()) return std::vector<MemoryForecast>();
  if (!first_values_) {
    Session once(parallel_.graph(), {.device_set = device_set_, .trace_path = ""});
    const Parts first = part_of({}, {}, {parallel_.target(built_.initializer)});
    ARGOSY_ASSIGN_OR_RETURN(first_values_, once.forecast({}, {}, first.targets));
  }
  return *first_values_;
}

Result<std::vector<MemoryForecast>> CompiledModel::forecast(std::int64_t batch) {
  ARGOSY_ASSIGN_OR_RETURN(auto step, step_forecast(batch));
  ARGOSY_ASSIGN_OR_RETURN(const auto first, first_values_forecast());
  return larger_by_device(std::move(step), first);
}

std::vector<MemoryForecast> larger_by_device(std::vector<MemoryForecast> one, std::span<const MemoryForecast> other) {
  for (const MemoryForecast& f : other) {
    const auto same =
        std::find_if(one.begin(), one.end(), [&](const MemoryForecast& o) { return o.device == f.device; });
    if (same == one.end()) {
      one.push_back(f);
    } else if (f.total_bytes() > same->total_bytes()) {
      *same = f;
    }
  }
  return one;
}

std::vector<MemoryForecast> of_both_steps(std::vector<MemoryForecast> one, std::span<const MemoryForecast> other) {
  for (const MemoryForecast& f : other) {
    const auto same =
        std::find_if(one.begin(), one.end(), [&](const MemoryForecast& o) { return o.device == f.device; });
    if (same == one.end()) {
      one.push_back(f);
      continue;
    }
    // A run may fold more than its forecast did: half a KiB in the perceptron's evaluation.
    same->constant_bytes += std::max(f.constant_bytes, same->constant_bytes);
    for (const auto bytes :
         {&MemoryForecast::arena_bytes, &MemoryForecast::variable_bytes, &MemoryForecast::dynamic_bytes}) {
      (*same).*bytes = std::max((*same).*bytes, f.*bytes);
    }
    same->exact = same->exact && f.exact;
  }
  return one;
}

Result<PlacementReport> CompiledModel::placement(std::int64_t batch) {
  std::vector<Value> targets;
  if (built_.train.run.valid()) targets.push_back(parallel_.target(built_.train.run));
  const Parts parts = part_of(fed_inputs(), {loss_}, targets);
  return session_->placement(feed_shapes(batch), parts.fetches, parts.targets);
}

Result<std::vector<std::size_t>> match_inputs(const std::vector<Layers::Input>& inputs, const data::Dataset& dataset) {
  std::vector<std::size_t> components;
  std::vector<std::string> names;
  for (const data::Component& c : dataset.components()) names.push_back(c.name);
  for (const Layers::Input& input : inputs) {
    const auto at = std::find(names.begin(), names.end(), input.name);
    if (at == names.end()) {
      return invalid_argument("the model asks for \"", input.name, "\", the data has ", str_join(names), " (",
                              dataset.describe(), ")")
          .with_id("ARG-DATA-020")
          .with_hint(str_cat("give the component that name: as .npy, the file ", input.name, "_train.npy"));
    }
    const data::Component& c = dataset.components()[static_cast<std::size_t>(at - names.begin())];
    std::vector<std::int64_t> sizes = {PartialShape::kUnknown};
    sizes.insert(sizes.end(), c.shape.sizes().begin(), c.shape.sizes().end());
    const PartialShape batch(std::move(sizes));
    if (c.dtype != input.placeholder.dtype() || !batch.compatible(input.placeholder.shape())) {
      return invalid_argument("the model's \"", input.name, "\" is ", dtype_name(input.placeholder.dtype()),
                              input.placeholder.shape(), ", the data's ", dtype_name(c.dtype), batch, " (",
                              dataset.describe(), ")")
          .with_id("ARG-DATA-021");
    }
    components.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  return components;
}

}  // namespace argosy
