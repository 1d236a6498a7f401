// DeviceSet: the devices of one or more sessions, and what lives on them beyond a session: variables, queues, tables.
// Sessions that share a device set share its variables; sessions with device sets of their own share nothing.
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/device/device.h"
#include "argosy/op/kernel/file_policy.h"
#include "argosy/op/kernel/host_callbacks.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/runtime/device_set/arenas.h"
#include "argosy/runtime/device_set/trace.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

class MemoryLimits;  // argosy/runtime/device_set/memory_limits.h

class DeviceSet {
 public:
  // Opens the requested devices. INVALID_ARGUMENT, NOT_FOUND where one cannot be had.
  static Result<std::shared_ptr<DeviceSet>> make(const DeviceRequest& request);
  // Takes devices that were made elsewhere; the first one is the CPU.
  explicit DeviceSet(std::vector<std::unique_ptr<Device>> devices);
  // A view of `base`, which it keeps alive. `devices` stand in for the devices at positions `origin` of `base`. They
  // share their resources, or with `own_resources` have resources of their own.
  DeviceSet(std::shared_ptr<DeviceSet> base, std::vector<std::unique_ptr<Device>> devices,
            const std::vector<int>& origin, bool own_resources);
  ~DeviceSet();

  int size() const { return static_cast<int>(devices_.size()); }      // devices
  Device& device(int i) const { return *devices_[i]; }                // 0: the CPU
  ResourceManager& resources(int i) const { return *resources_[i]; }  // variables and the like that live there
  Arenas& arenas(int i) const { return *arenas_[i]; }                 // memory of its steps
  // Returns a copy of a host constant in the memory of device i. It is copied once, shared by all steps that hold it,
  // and freed with the last of them.
  Result<Tensor> constant_on(int i, const Tensor& value);
  // Position of the device with this full name; -1 when there is none.
  int find(const DeviceName& full) const;
  std::vector<DeviceSpec> specs() const;  // by device
  int num_gpus() const;                   // real and emulated ones
  // The kernels of the library, and those that the devices bring.
  const KernelRegistry& kernels() const;
  // True if some device is asynchronous: its kernels return before their work is done (LaunchQueue).
  bool has_async_device() const { return has_async_device_; }
  // Held while a run is put on the queues of several devices. All devices then get concurrent runs in the same order,
  // so no two runs wait for each other.
  Mutex& launch_mutex() const { return base_ != nullptr ? base_->launch_mutex() : launch_mutex_; }
  Traces& traces() { return base_ != nullptr ? base_->traces() : traces_; }  // one writer for each file
  MemoryLimits& memory_limits() { return *memory_limits_; }                  // of views
  // Sets which files the graphs of its sessions may touch, from the next run on. The default is the policy of its base,
  // or all files that the user may touch.
  void set_files(FilePolicy files);
  std::shared_ptr<const FilePolicy> files() const;  // null: all that the user may touch
  // Sets how its graphs call functions of the programs that built them, from the next run on. The default is as its
  // base does, or not at all.
  void set_host_callbacks(std::shared_ptr<HostCallbacks> calls);
  std::shared_ptr<HostCallbacks> host_callbacks() const;  // null: none
  // Empties a container ("" = all) on every device: variables lose their values.
  void reset(const std::string& container = "");

 private:
  std::shared_ptr<DeviceSet> base_;  // of a view
  bool shares_resources_ = false;
  // Resources and arenas are destroyed before the devices whose memory they hold.
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<MemoryLimits> memory_limits_;
  std::unique_ptr<const KernelRegistry> kernels_;  // null: the library's
  bool has_async_device_ = false;
  std::vector<std::unique_ptr<Arenas>> arenas_;
  std::vector<std::shared_ptr<ResourceManager>> resources_;
  mutable Mutex launch_mutex_;
  Traces traces_;

  mutable Mutex outside_mutex_;
  std::shared_ptr<const FilePolicy> files_ ARGOSY_GUARDED_BY(outside_mutex_);
  std::shared_ptr<HostCallbacks> host_callbacks_ ARGOSY_GUARDED_BY(outside_mutex_);

  struct Copied {
    std::weak_ptr<void> from, to;  // both alive: `from` is still what was copied
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  Mutex constants_mutex_;
  std::map<std::pair<int, const std::byte*>, Copied> constants_ ARGOSY_GUARDED_BY(constants_mutex_);
};

}  // namespace argosy
