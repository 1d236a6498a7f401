// CancelLink: a callback of a cancellation that goes with this object, whatever is thrown meanwhile: what the callback
// refers to may lie on the same stack, before it.
#pragma once

#include <functional>
#include <utility>

#include "argosy/base/threads/cancellation.h"

namespace argosy {

class CancelLink {
 public:
  // Null: of none.
  CancelLink(Cancellation* cancellation, std::function<void()> on_cancel) : cancellation_(cancellation) {
    if (cancellation_ == nullptr) return;
    linked_ = cancellation_->add(std::move(on_cancel), &token_);
    too_late_ = !linked_;
  }
  ~CancelLink() { end(); }
  CancelLink(const CancelLink&) = delete;
  CancelLink& operator=(const CancelLink&) = delete;

  // The cancellation had come before: the callback is never called.
  bool too_late() const { return too_late_; }
  // After it the callback is over or never called.
  void end() {
    if (std::exchange(linked_, false)) cancellation_->remove(token_);
  }

 private:
  Cancellation* const cancellation_;
  Cancellation::Token token_ = 0;
  bool linked_ = false, too_late_ = false;
};

}  // namespace argosy
