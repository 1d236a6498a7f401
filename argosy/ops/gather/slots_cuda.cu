// Kernels for slices found by paths of indices: gathers, and updates in the order of the indices.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/gather/slots_cuda.h"

namespace argosy::cuda {

// A path out of bounds names no slice: a GPU kernel cannot fail.
ARGOSY_KERNEL(slots_follow, i64 count, PathTable table, const i64* indices, GpuSlot* slots) {
  for (i64 i = first_index(); i < count; i += index_step()) {
    i64 start = 0;
    for (int k = 0; k < table.depth && start >= 0; ++k) {
      const i64 index = indices[i * table.depth + k];
      start = index < 0 || index >= table.sizes[k] ? -1 : start + index * table.strides[k];
    }
    slots[i] = {start, -1, 1};
  }
}

// Links few slots: one thread per slot, which reads all others.
ARGOSY_KERNEL(slots_link, i64 count, GpuSlot* slots) {
  for (i64 i = first_index(); i < count; i += index_step()) {
    const i64 start = slots[i].start;
    i64 next = i + 1, before = i - 1;
    while (next < count && slots[next].start != start) ++next;
    while (before >= 0 && slots[before].start != start) --before;
    slots[i].next = next < count ? static_cast<i32>(next) : -1;
    slots[i].first = before < 0 ? 1 : 0;
  }
}

// Links many slots: a merge sort orders them by start, then by number, so that the slots of a slice become neighbours.
// Each launch is one pass: runs of `run` slots become runs of twice as many. A thread finds the place of its slot among
// those of the neighbouring run. All keys (start, number) differ, so the order is unique. Without `from`, the slots are
// in their own order.
ARGOSY_KERNEL(slots_merge, i64 count, i64 run, const GpuSlot* slots, const i32* from, i32* to) {
  for (i64 p = first_index(); p < count; p += index_step()) {
    const i64 mine = from == nullptr ? p : from[p];
    const i64 start = slots[mine].start;
    const i64 both = p / (2 * run) * (2 * run);
    const bool left = p - both < run;
    const i64 middle = both + run < count ? both + run : count;
    const i64 other = left ? middle : both;
    i64 low = other, high = left ? (both + 2 * run < count ? both + 2 * run : count) : middle;
    while (low < high) {
      const i64 at = (low + high) / 2;
      const i64 theirs = from == nullptr ? at : from[at];
      const i64 their_start = slots[theirs].start;
      const bool before = their_start < start || (their_start == start && theirs < mine);
      if (before) {
        low = at + 1;
      } else {
        high = at;
      }
    }
    to[both + (p - (left ? both : middle)) + (low - other)] = static_cast<i32>(mine);
  }
}

// Sets the links of slots_link from neighbours in that order.
ARGOSY_KERNEL(slots_link_sorted, i64 count, GpuSlot* slots, const i32* order) {
  for (i64 p = first_index(); p < count; p += index_step()) {
    const i32 mine = order[p];
    const i64 start = slots[mine].start;
    const bool more = p + 1 < count && slots[order[p + 1]].start == start;
    slots[mine].next = more ? order[p + 1] : -1;
    slots[mine].first = p > 0 && slots[order[p - 1]].start == start ? 0 : 1;
  }
}

template <typename T>
ARGOSY_DEVICE void gather_slices(i64 count, i64 slice, const GpuSlot* slots, const T* from, T* to) {
  for (i64 e = first_index(); e < count * slice; e += index_step()) {
    const i64 start = slots[e / slice].start;
    to[e] = start < 0 ? T{} : from[start + e % slice];
  }
}

// The thread of a slice's first slot applies all its updates, in order.
template <typename T>
ARGOSY_DEVICE void assign_slices(i64 count, i64 slice, const GpuSlot* slots, const T* from, int one_value, T* to) {
  for (i64 e = first_index(); e < count * slice; e += index_step()) {
    const i64 i = e / slice, k = e % slice;
    if (slots[i].start < 0 || slots[i].first == 0) continue;
    i64 last = i;
    while (slots[last].next >= 0) last = slots[last].next;
    to[slots[i].start + k] = from[one_value ? 0 : last * slice + k];
  }
}

struct AddUpdate {
  template <typename A>
  static ARGOSY_DEVICE A of(A a, A by) {
    return a + by;
  }
  template <typename A>
  static ARGOSY_DEVICE A finish(A a, i64) {
    return a;
  }
};
struct MeanUpdate : AddUpdate {
  template <typename A>
  static ARGOSY_DEVICE A finish(A a, i64 count) {
    return a / static_cast<A>(count);
  }
};
struct SubUpdate : AddUpdate {
  template <typename A>
  static ARGOSY_DEVICE A of(A a, A by) {
    return a - by;
  }
};
struct MulUpdate : AddUpdate {
  template <typename A>
  static ARGOSY_DEVICE A of(A a, A by) {
    return a * by;
  }
};
struct DivUpdate : AddUpdate {
  template <typename A>
  static ARGOSY_DEVICE A of(A a, A by) {
    return a / by;
  }
};
struct MinUpdate : AddUpdate {
  template <typename A>
  static ARGOSY_DEVICE A of(A a, A by) {
    return by < a ? by : a;
  }
};
struct MaxUpdate : AddUpdate {
  template <typename A>
  static ARGOSY_DEVICE A of(A a, A by) {
    return a < by ? by : a;
  }
};

template <typename Update, typename T>
ARGOSY_DEVICE void update_slices(i64 count, i64 slice, const GpuSlot* slots, const T* from, int one_value, int fresh,
                                 T* to) {
  for (i64 e = first_index(); e < count * slice; e += index_step()) {
    const i64 i = e / slice, k = e % slice;
    if (slots[i].start < 0 || slots[i].first == 0) continue;
    const auto by = [=](i64 slot) { return load(from, one_value ? 0 : slot * slice + k); };
    const i64 at = slots[i].start + k;
    Compute<T> value = fresh ? by(i) : Update::of(load(to, at), by(i));
    i64 updates = 1;
    for (i64 slot = slots[i].next; slot >= 0; slot = slots[slot].next, ++updates) value = Update::of(value, by(slot));
    store(to, at, Update::finish(value, updates));
  }
}

// Applies updates in any order, by atomic additions.
template <typename T>
ARGOSY_DEVICE void add_at_once(i64 count, i64 slice, const GpuSlot* slots, const T* from, int one_value, T sign,
                               T* to) {
  for (i64 e = first_index(); e < count * slice; e += index_step()) {
    const i64 start = slots[e / slice].start;
    if (start >= 0) atomicAdd(to + start + e % slice, sign * from[one_value ? 0 : e]);
  }
}

#define ARGOSY_MOVE_SLICES(T)                                                                                        \
  ARGOSY_KERNEL(slots_gather_##T, i64 count, i64 slice, const GpuSlot* slots, const T* from, T* to) {                \
    gather_slices(count, slice, slots, from, to);                                                                    \
  }                                                                                                                  \
  ARGOSY_KERNEL(slots_assign_##T, i64 count, i64 slice, const GpuSlot* slots, const T* from, int one_value, T* to) { \
    assign_slices(count, slice, slots, from, one_value, to);                                                         \
  }
ARGOSY_MOVE_SLICES(b1)
ARGOSY_MOVE_SLICES(b2)
ARGOSY_MOVE_SLICES(b4)
ARGOSY_MOVE_SLICES(b8)
ARGOSY_MOVE_SLICES(b16)

#define ARGOSY_UPDATE_SLICES(How, T)                                                                                \
  ARGOSY_KERNEL(slots_update_##How##_##T, i64 count, i64 slice, const GpuSlot* slots, const T* from, int one_value, \
                int fresh, T* to) {                                                                                 \
    update_slices<How##Update>(count, slice, slots, from, one_value, fresh, to);                                    \
  }
#define ARGOSY_UPDATE_FLOATS(How) \
  ARGOSY_UPDATE_SLICES(How, f32)  \
  ARGOSY_UPDATE_SLICES(How, f64) ARGOSY_UPDATE_SLICES(How, f16) ARGOSY_UPDATE_SLICES(How, bf16)
#define ARGOSY_UPDATE_BY(How) ARGOSY_UPDATE_FLOATS(How) ARGOSY_UPDATE_SLICES(How, i64)
ARGOSY_UPDATE_BY(Add)
ARGOSY_UPDATE_FLOATS(Mean)
ARGOSY_UPDATE_BY(Sub)
ARGOSY_UPDATE_BY(Mul)
ARGOSY_UPDATE_FLOATS(Div)
ARGOSY_UPDATE_BY(Min)
ARGOSY_UPDATE_BY(Max)

#define ARGOSY_ADD_AT_ONCE(How, T, sign)                                                                             \
  ARGOSY_KERNEL(slots_at_once_##How##_##T, i64 count, i64 slice, const GpuSlot* slots, const T* from, int one_value, \
                T* to) {                                                                                             \
    add_at_once(count, slice, slots, from, one_value, static_cast<T>(sign), to);                                     \
  }
ARGOSY_ADD_AT_ONCE(Add, f32, 1)
ARGOSY_ADD_AT_ONCE(Add, f64, 1)
ARGOSY_ADD_AT_ONCE(Sub, f32, -1)
ARGOSY_ADD_AT_ONCE(Sub, f64, -1)

}  // namespace argosy::cuda
