// All that a program needs: #include <argosy/argosy.h> and link argosy::argosy.
// Headers reached from here are the public ones: they are installed, and include the C++ standard library only.
#pragma once

#include "argosy/base/status.h"
#include "argosy/base/str.h"
#include "argosy/device/device.h"
#include "argosy/tensor/tensor.h"
