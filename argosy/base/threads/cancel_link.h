// CancelLink: a callback of a cancellation that this object owns. It is removed even when an exception unwinds the
// stack, so it may refer to objects on that stack that were made before the link.
#pragma once

#include <functional>
#include <utility>

#include "argosy/base/threads/cancellation.h"

namespace argosy {

class CancelLink {
 public:
  // `cancellation` null: no link.
  CancelLink(Cancellation* cancellation, std::function<void()> on_cancel) : cancellation_(cancellation) {
    if (cancellation_ == nullptr) return;
    linked_ = cancellation_->add(std::move(on_cancel), &token_);
    too_late_ = !linked_;
  }
  ~CancelLink() { end(); }
  CancelLink(const CancelLink&) = delete;
  CancelLink& operator=(const CancelLink&) = delete;

  // True when the cancellation came before: the callback is never called.
  bool too_late() const { return too_late_; }
  // After the return the callback has ended or will never run.
  void end() {
    if (std::exchange(linked_, false)) cancellation_->remove(token_);
  }

 private:
  Cancellation* const cancellation_;
  Cancellation::Token token_ = 0;
  bool linked_ = false, too_late_ = false;
};

}  // namespace argosy
