// WindowDataset: every element is a dataset of consecutive input elements, per component.
#include <deque>

#include "argosy/ops/dataset/held_elements.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

struct WindowSize {
  std::int64_t size, shift, stride;
  bool drop;
  std::int64_t span() const { return (size - 1) * stride + 1; }
};

// Every window is a dataset per component.
class Window final : public UnaryDataset {
 public:
  Window(const DatasetArgs& a, DatasetPtr input, WindowSize window)
      : UnaryDataset(a, std::move(input)), window_(window) {}
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (n < 0) return n;
    const std::int64_t least = window_.drop ? window_.span() : 1;
    return n < least ? 0 : (n - least) / window_.shift + 1;
  }
  Status check_types() const override {
    return same_types(types(), std::vector<DType>(input().types().size(), DType::kVariant));
  }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<Window>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<Window> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      const WindowSize& w = d_->window_;
      while (static_cast<std::int64_t>(buffer_.size()) < w.span()) {
        Element element;
        const Result<bool> some = next_input(element);
        if (some.ok() && !*some) break;
        ARGOSY_RETURN_IF_ERROR(not_ended(context_.cancellation));  // else its error is an element, again and again
        ARGOSY_RETURN_IF_ERROR(held_.hold(std::ssize(buffer_) + 1));
        buffer_.emplace_back(some.status(), std::move(element));
      }
      const auto held = static_cast<std::int64_t>(buffer_.size());
      if (held == 0 || (w.drop && held < w.span())) return false;
      const std::size_t components = d_->input().types().size();
      std::vector<std::shared_ptr<ElementList>> parts(components);
      for (auto& part : parts) part = std::make_shared<ElementList>(1, "a window");
      Status failed;
      for (std::int64_t i = 0; i < held; i += w.stride) {
        const auto& [status, element] = buffer_[static_cast<std::size_t>(i)];
        if (!status.ok()) {
          failed = status;
          break;
        }
        for (std::size_t k = 0; k < components; ++k) ARGOSY_RETURN_IF_ERROR(parts[k]->add({element[k]}));
      }
      ARGOSY_RETURN_IF_ERROR(shift());
      if (!failed.ok()) return failed;
      out.clear();
      for (std::size_t k = 0; k < components; ++k) {
        out.push_back(dataset_handle(list_dataset("WindowDataset", {d_->input().types()[k]}, {d_->input().shapes()[k]},
                                                  ElementList::shared(std::move(parts[k])))));
      }
      return true;
    }

   private:
    Status shift() {
      std::int64_t left = d_->window_.shift;
      for (; left > 0 && !buffer_.empty(); --left) buffer_.pop_front();
      for (Element dropped; left > 0; --left) {
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(dropped));
        if (!some) break;
      }
      return ok_status();
    }
    HeldItems held_ = held_tuples(d_->input().types().size(), "the elements of windows");
    std::deque<std::pair<Status, Element>> buffer_;
  };
  const WindowSize window_;
};

Result<DatasetPtr> make_window(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  WindowSize w{};
  ARGOSY_ASSIGN_OR_RETURN(w.size, a.integer("size"));
  if (w.size <= 0) return invalid_argument("Window size must be greater than zero.");
  ARGOSY_ASSIGN_OR_RETURN(w.shift, a.integer("shift"));
  if (w.shift <= 0) return invalid_argument("Window shift must be greater than zero.");
  ARGOSY_ASSIGN_OR_RETURN(w.stride, a.integer("stride"));
  if (w.stride <= 0) return invalid_argument("Window stride must be greater than zero.");
  std::int64_t span = 0;
  if (__builtin_mul_overflow(w.size - 1, w.stride, &span) || span == INT64_MAX) {
    return invalid_argument("a window of ", w.size, " elements, every ", w.stride, "th, is too long");
  }
  ARGOSY_ASSIGN_OR_RETURN(w.drop, a.boolean("drop_remainder"));
  return DatasetPtr(std::make_shared<Window>(a, std::move(input), w));
}

}  // namespace

void add_windows(KernelRegistry& kernels) { add_dataset<make_window>(kernels, {"WindowDataset"}); }

}  // namespace argosy::datasets
