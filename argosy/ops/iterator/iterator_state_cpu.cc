#include "argosy/ops/iterator/iterator_state.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>

#include "argosy/base/guard.h"

namespace argosy::datasets {

namespace {

// An error of the step that asked, not of the dataset: memory, or time, may be there for the next step.
bool is_of_one_step(Code code) {
  return code == Code::kResourceExhausted || code == Code::kCancelled || code == Code::kDeadlineExceeded;
}

// Never throws: iterators end in destructors.
Status ended() {
  return guarded(
      [] { return cancelled("the iterator was initialized anew, or has gone").with_id("ARG-ITERATOR-002"); });
}

}  // namespace

// --- Pipeline --------------------------------------------------------------------------------------------------------

Pipeline::~Pipeline() { close(); }

Status Pipeline::open(DatasetPtr dataset) {
  ARGOSY_ASSIGN_OR_RETURN(iterator_, dataset->iterate(context_));
  dataset_ = std::move(dataset);
  return ok_status();
}

Result<Element> Pipeline::produce() {
  return guarded([&] { return produce_unguarded(); });
}

Result<Element> Pipeline::produce_unguarded() {
  Element element;
  for (; to_drop_ > 0; --to_drop_) {
    if (cancellation_.cancelled()) return ended();
    const auto some = iterator_->next(element);  // errors and ends were given, too
    element.clear();
    if (some.ok() && !*some) to_drop_ = 1;
  }
  ARGOSY_ASSIGN_OR_RETURN(const bool some, iterator_->next(element));
  if (!some) return out_of_range("End of sequence");
  return element;
}

void ElementWaiter::answer(Result<Element> result) {
  if (cancellation != nullptr) cancellation->remove(token);
  call_and_release(got, "an iterator's element", std::move(result));
}

std::shared_ptr<ElementWaiter> Pipeline::take_waiter() {
  while (!waiters_.empty()) {
    std::shared_ptr<ElementWaiter> waiter = std::move(waiters_.front());
    waiters_.pop_front();
    if (!waiter->answered.exchange(true)) return waiter;
  }
  return nullptr;
}

void Pipeline::next(Cancellation* cancellation, Got got) {
  const std::shared_ptr<Pipeline> self = shared_from_this();  // `got` may let go of the iterator
  std::optional<Result<Element>> result;
  bool mine = false;
  {
    MutexLock lock(mutex_);
    if (closing_) {
      result = ended();
    } else if (!working_ && waiters_.empty()) {
      result = std::exchange(left_over_, std::nullopt);
      mine = !result && to_drop_ == 0 && iterator_->ready();
      working_ = mine;
    }
  }
  if (mine) {
    result = produce();
    MutexLock lock(mutex_);
    working_ = false;
    ++given_;
    changed_.notify_all();
  }
  if (result) return got(*std::move(result));

  auto waiter = std::make_shared<ElementWaiter>();
  waiter->got = std::move(got);
  if (cancellation != nullptr) {
    const auto give_up = [waiter, cancellation] {
      if (!waiter->answered.exchange(true)) waiter->got(cancellation->status());
    };
    if (!cancellation->add(give_up, &waiter->token)) return waiter->got(cancellation->status());
    waiter->cancellation = cancellation;
  }
  Status failed;
  {
    MutexLock lock(mutex_);
    failed = closing_ ? ended() : wake_server();
    if (failed.ok()) waiters_.push_back(waiter);
  }
  if (!failed.ok() && !waiter->answered.exchange(true)) waiter->answer(std::move(failed));
}

Status Pipeline::wake_server() {
  changed_.notify_all();
  if (server_.joinable()) return ok_status();
  try {
    server_ = std::thread([self = shared_from_this()] { self->serve(); });
  } catch (const std::system_error& e) {
    return resource_exhausted("no thread for an iterator: ", e.what()).with_id("ARG-THREAD-001");
  }
  return ok_status();
}

void Pipeline::serve() {
  pthread_setname_np(pthread_self(), "iterator");
  while (true) {
    std::optional<Result<Element>> result;
    bool working = false;
    {
      MutexLock lock(mutex_);
      while (!closing_ && (working_ || waiters_.empty())) changed_.wait(mutex_);
      if (closing_) return;
      while (!waiters_.empty() && waiters_.front()->answered.load()) waiters_.pop_front();
      if (waiters_.empty()) continue;
      result = std::exchange(left_over_, std::nullopt);
      working = working_ = !result;
    }
    if (working) result = produce();
    std::shared_ptr<ElementWaiter> waiter;
    {
      MutexLock lock(mutex_);
      if (working) {
        working_ = false;
        ++given_;
      }
      changed_.notify_all();
      waiter = take_waiter();
      if (waiter == nullptr && !closing_) left_over_ = std::move(result);
    }
    if (waiter != nullptr) waiter->answer(*std::move(result));
  }
}

Result<IteratorPosition> Pipeline::position() {
  IteratorPosition position;
  {
    MutexLock lock(mutex_);
    position.given = given_ - (left_over_ ? 1 : 0);
  }
  ARGOSY_ASSIGN_OR_RETURN(position.draws, seeds_.draws());
  return position;
}

bool Pipeline::busy() {
  MutexLock lock(mutex_);
  return working_ || std::any_of(waiters_.begin(), waiters_.end(), [](const auto& w) { return !w->answered.load(); });
}

void Pipeline::close() {
  cancellation_.cancel(ended());
  std::thread server;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    while (working_) changed_.wait(mutex_);
    left_over_.reset();
    server = std::move(server_);
  }
  while (true) {
    std::shared_ptr<ElementWaiter> waiter;
    {
      MutexLock lock(mutex_);
      waiter = take_waiter();
    }
    if (waiter == nullptr) break;
    waiter->answer(ended());
  }
  // All that needs the device set goes here, on whichever thread this is.
  iterator_ = nullptr;
  dataset_ = nullptr;
  functions_.clear();
  if (!server.joinable()) return;
  if (server.get_id() == std::this_thread::get_id()) {
    server.detach();
  } else {
    server.join();
  }
}

// --- IteratorState ---------------------------------------------------------------------------------------------------

IteratorState::~IteratorState() { release_contents(); }

void IteratorState::release_contents() {
  std::shared_ptr<Pipeline> last;
  DatasetPtr dataset;  // goes without the lock: it may be the last to hold other resources
  {
    MutexLock lock(mutex_);
    gone_ = true;
    last = std::move(pipeline_);
    dataset.swap(dataset_);
  }
  if (last != nullptr) last->close();
}

Status IteratorState::exists() const {
  MutexLock lock(mutex_);
  return gone_ ? iterator_is_gone() : ok_status();
}

bool IteratorState::in_use() const {
  std::shared_ptr<Pipeline> pipeline;
  {
    MutexLock lock(mutex_);
    pipeline = pipeline_;
  }
  return pipeline != nullptr && pipeline->busy();
}

Status IteratorState::initialize(DatasetPtr dataset) {
  ARGOSY_RETURN_IF_ERROR(check_elements(types_, shapes_, dataset->types(), dataset->shapes()));
  return start(std::move(dataset), {});
}

Status IteratorState::start(DatasetPtr dataset, IteratorPosition from) {
  ARGOSY_RETURN_IF_ERROR(exists());
  auto fresh = std::make_shared<Pipeline>(memory_, std::move(from));
  ARGOSY_RETURN_IF_ERROR(fresh->open(dataset));
  bool gone = false;
  {
    MutexLock lock(mutex_);
    gone = gone_;
    if (!gone) {
      fresh.swap(pipeline_);
      dataset_.swap(dataset);
    }
  }
  if (fresh != nullptr) fresh->close();
  return gone ? iterator_is_gone() : ok_status();
}

Status IteratorState::initialize_once(const std::function<Result<DatasetPtr>()>& make) {
  MutexLock lock(once_mutex_);
  if (!once_) {
    auto dataset = make();
    Status status = dataset.ok() ? initialize(*std::move(dataset)) : std::move(dataset).status();
    if (is_of_one_step(status.code())) return status;
    once_ = std::move(status);
  }
  return *once_;
}

void IteratorState::next(Cancellation* cancellation, Pipeline::Got got) {
  std::shared_ptr<Pipeline> pipeline;
  bool gone = false;
  {
    MutexLock lock(mutex_);
    pipeline = pipeline_;
    gone = gone_;
  }
  if (pipeline != nullptr) return pipeline->next(cancellation, std::move(got));
  if (gone) return got(iterator_is_gone());
  got(failed_precondition(
          "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
          "initializer operation for this iterator before getting the next element.")
          .with_id("ARG-ITERATOR-001"));
}

Status iterator_is_gone() {
  return not_found("the iterator was deleted: it does not exist").with_id("ARG-ITERATOR-005");
}

Status check_elements(const std::vector<DType>& expected, const std::vector<PartialShape>& expected_shapes,
                      const std::vector<DType>& types, const std::vector<PartialShape>& shapes) {
  if (expected.size() != types.size()) {
    return invalid_argument("Number of components does not match: expected ", expected.size(), " types but got ",
                            types.size(), ".");
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (expected[i] != types[i]) {
      return invalid_argument("Data type mismatch at component ", i, ": expected ", dtype_name(expected[i]),
                              " but got ", dtype_name(types[i]), ".");
    }
  }
  for (std::size_t i = 0; i < expected_shapes.size() && i < shapes.size(); ++i) {
    if (!expected_shapes[i].compatible(shapes[i])) {
      return invalid_argument("Incompatible shapes at component ", i, ": expected ", expected_shapes[i], " but got ",
                              shapes[i], ".");
    }
  }
  return ok_status();
}

}  // namespace argosy::datasets
