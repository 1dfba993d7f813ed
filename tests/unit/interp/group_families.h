// The kinds of programs that random_groups makes.
#pragma once

#include "unit/interp/group_builder.h"

namespace lathe::testing {

// C[m,n] = sum over k of A[m,k] * B[k,n]
GroupProgram random_product(GroupBuilder& builder);
// Y[j,i] = X[i,j]
GroupProgram random_transpose(GroupBuilder& builder);
// Y[i,j] = X[i,j] - sum over k of X[i,k]
GroupProgram random_rows(GroupBuilder& builder);
// Y[j] = sum over i of X[i,j], in two kernels
GroupProgram random_columns(GroupBuilder& builder);

}  // namespace lathe::testing
