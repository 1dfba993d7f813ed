// The list of steps. Each has a header of its own, which tells its fields, its name in JSON and
// what applies it: apply_step() first makes the checks that refuse, then rewrites. Where it
// refuses, it may leave the nest half changed, so apply() works on a copy.
#pragma once

#include <variant>

#include "compiler/schedule/steps/annotate.h"
#include "compiler/schedule/steps/cache.h"
#include "compiler/schedule/steps/collect.h"
#include "compiler/schedule/steps/compute_at.h"
#include "compiler/schedule/steps/contract.h"
#include "compiler/schedule/steps/cook_toom.h"
#include "compiler/schedule/steps/cut_scan.h"
#include "compiler/schedule/steps/distribute.h"
#include "compiler/schedule/steps/fuse.h"
#include "compiler/schedule/steps/inline.h"
#include "compiler/schedule/steps/join.h"
#include "compiler/schedule/steps/layout.h"
#include "compiler/schedule/steps/locate.h"
#include "compiler/schedule/steps/merge.h"
#include "compiler/schedule/steps/precompute.h"
#include "compiler/schedule/steps/reindex.h"
#include "compiler/schedule/steps/reorder.h"
#include "compiler/schedule/steps/rescale.h"
#include "compiler/schedule/steps/reverse_compute_at.h"
#include "compiler/schedule/steps/rfactor.h"
#include "compiler/schedule/steps/scan.h"
#include "compiler/schedule/steps/separate.h"
#include "compiler/schedule/steps/share.h"
#include "compiler/schedule/steps/split.h"
#include "compiler/schedule/steps/strassen.h"
#include "compiler/schedule/steps/stream.h"
#include "compiler/schedule/steps/tensorize.h"
#include "compiler/schedule/steps/transpose.h"
#include "compiler/schedule/steps/window.h"

namespace lathe::schedule {

// In the order in which messages list them.
using Step = std::variant<Split, Fuse, Reorder, ComputeAt, ReverseComputeAt, Inline, Cache, Layout,
                          Rfactor, Tensorize, Annotate, CookToom, Merge, Join, Transpose, Reindex,
                          Stream, Strassen, Rescale, Precompute, Contract, Scan, Window, Distribute,
                          Separate, Share, CutScan, Collect, Locate>;

}  // namespace lathe::schedule
