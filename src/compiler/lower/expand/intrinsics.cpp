// A tensorized loop: the intrinsic's own sequence of flat statements in place of the loops it stands for.
#include "compiler/lower/expand/expander.h"

namespace lathe::lower {

void Expander::emit_intrinsic(LoopId loop) {
  refuse(ErrorKind::kUnsupported, "no intrinsic named {}", nest_.loops[loop].intrinsic);
}

}  // namespace lathe::lower
