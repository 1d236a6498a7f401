#include "argosy/comm/keyed/tree_broadcast.h"

#include <utility>

#include "argosy/base/mutex.h"

namespace argosy {

// A node's children in a heap are 2 p + 1 and 2 p + 2. A source that is not the first stands before all of them as well:
// then a place p counts as p + 1, and nobody sends to the source.
int BroadcastTree::parent() const {
  if (place < 0 || place == source) return -1;
  if (source == 0) return (place - 1) / 2;
  const int above = place / 2 - 1;
  return above < 0 ? source : above;
}

std::vector<int> BroadcastTree::children() const {
  std::vector<int> to;
  if (place < 0) return to;
  const auto size = static_cast<int>(member.size());
  if (place == source && source != 0) {
    to.push_back(0);
    if (size > 2 && source != 1) to.push_back(1);
  }
  const int first = source == 0 ? 2 * place + 1 : 2 * (place + 1);
  for (int child = first; child < first + 2; ++child) {
    if (child < size && child != source) to.push_back(child);
  }
  return to;
}

std::vector<BroadcastTree> broadcast_trees(const KeyedGroup& group, int source) {
  std::vector<BroadcastTree> tasks;
  BroadcastTree between;
  for (int i = 0; i < group.size(); ++i) {
    if (i == 0 || group.task_of[i] != group.task_of[i - 1]) {
      tasks.emplace_back();
      between.member.push_back(i);
    }
    BroadcastTree& tree = tasks.back();
    const auto place = static_cast<int>(tree.member.size());
    tree.member.push_back(i);
    if (i == group.rank) tree.place = place;
    if (i == source) {
      tree.source = place;
      between.source = static_cast<int>(tasks.size()) - 1;
      between.member.back() = i;
    }
  }
  if (tasks.size() == 1) return tasks;
  for (std::size_t t = 0; t < between.member.size(); ++t) {
    if (between.member[t] == group.rank) between.place = static_cast<int>(t);
  }
  tasks.insert(tasks.begin(), std::move(between));
  return tasks;
}

namespace {

// One run: tree after tree, in each first the receive, then all sends.
class BroadcastRun : public std::enable_shared_from_this<BroadcastRun> {
 public:
  BroadcastRun(std::vector<BroadcastTree> trees, std::string key, const Tensor& values,
               std::shared_ptr<PieceExchange> exchange, std::function<void(Status)> done)
      : trees_(std::move(trees)),
        key_(std::move(key)),
        values_(values),
        exchange_(std::move(exchange)),
        done_(std::move(done)) {}

  void run(std::size_t tree) {
    while (tree < trees_.size() && trees_[tree].place < 0) ++tree;
    if (tree == trees_.size()) return std::exchange(done_, nullptr)(ok_status());
    const int parent = trees_[tree].parent();
    if (parent < 0) return send(tree);
    exchange_->receive(trees_[tree].member[parent], key(tree, parent, trees_[tree].place), bytes(),
                       [self = shared_from_this(), tree](Status status) {
                         if (status.ok()) return self->send(tree);
                         self->exchange_->abort(status);
                         std::exchange(self->done_, nullptr)(std::move(status));
                       });
  }

 private:
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(values_.raw()), values_.bytes()}; }
  std::string key(std::size_t tree, int from, int to) const { return str_cat(key_, ":", tree, ":", from, ":", to); }

  void send(std::size_t tree) {
    const std::vector<int> to = trees_[tree].children();
    {
      MutexLock lock(mutex_);
      open_ = static_cast<int>(to.size()) + 1;  // this call, too
    }
    for (const int child : to) {
      exchange_->send(key(tree, trees_[tree].place, child), bytes(),
                      [self = shared_from_this(), tree](Status status) { self->sent(tree, status); });
    }
    sent(tree, ok_status());
  }

  void sent(std::size_t tree, const Status& status) {
    if (!status.ok()) exchange_->abort(status);
    Status result;
    {
      MutexLock lock(mutex_);
      if (error_.ok()) error_ = status;
      if (--open_ > 0) return;
      result = error_;
    }
    if (result.ok()) return run(tree + 1);
    std::exchange(done_, nullptr)(std::move(result));
  }

  const std::vector<BroadcastTree> trees_;
  const std::string key_;
  const Tensor values_;
  const std::shared_ptr<PieceExchange> exchange_;
  std::function<void(Status)> done_;
  Mutex mutex_;
  int open_ ARGOSY_GUARDED_BY(mutex_) = 0;
  Status error_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace

void start_tree_broadcast(const KeyedGroup& group, int source, const std::string& key, const Tensor& values,
                          std::shared_ptr<PieceExchange> exchange, std::function<void(Status)> done) {
  std::make_shared<BroadcastRun>(broadcast_trees(group, source), key, values, std::move(exchange), std::move(done))
      ->run(0);
}

}  // namespace argosy
