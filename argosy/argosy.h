// All that a program needs: #include <argosy/argosy.h> and link argosy::argosy.
// Headers reached from here are the public ones: they are installed, and include the C++ standard library only.
#pragma once

#include "argosy/base/cancellation.h"
#include "argosy/base/status.h"
#include "argosy/base/str.h"
#include "argosy/data/dataset.h"
#include "argosy/data/loader.h"
#include "argosy/device/device.h"
#include "argosy/graph/gradients.h"
#include "argosy/graph/graph.h"
#include "argosy/graph/text.h"
#include "argosy/op/shape_context.h"
#include "argosy/ops/families.h"  // generated: the header of every op family
#include "argosy/ops/ops.h"
#include "argosy/runtime/session.h"
#include "argosy/strategy/data_parallel.h"
#include "argosy/tensor/tensor.h"
#include "argosy/tf/checkpoint.h"
#include "argosy/tf/model/load_graph.h"
#include "argosy/train/clipping.h"
#include "argosy/train/ensemble.h"
#include "argosy/train/layers.h"
#include "argosy/train/losses.h"
#include "argosy/train/metrics.h"
#include "argosy/train/models/models.h"
#include "argosy/train/optimizers.h"
#include "argosy/train/trainer.h"
