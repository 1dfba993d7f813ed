// The elementary functions that lowering writes out, as expressions and as references in wider
// types.
#pragma once

#include <quadmath.h>

#include <cmath>

namespace lathe::bench {

// <cmath>'s names for quadruple precision.
namespace wide {
using std::cos, std::erf, std::exp, std::expm1, std::log, std::log1p, std::pow, std::sin;
using std::sqrt, std::tan, std::tanh;
inline __float128 exp(__float128 x) { return expq(x); }
inline __float128 expm1(__float128 x) { return expm1q(x); }
inline __float128 log(__float128 x) { return logq(x); }
inline __float128 log1p(__float128 x) { return log1pq(x); }
inline __float128 sin(__float128 x) { return sinq(x); }
inline __float128 cos(__float128 x) { return cosq(x); }
inline __float128 tan(__float128 x) { return tanq(x); }
inline __float128 tanh(__float128 x) { return tanhq(x); }
inline __float128 erf(__float128 x) { return erfq(x); }
inline __float128 sqrt(__float128 x) { return sqrtq(x); }
inline __float128 pow(__float128 x, __float128 y) { return powq(x, y); }
}  // namespace wide

// A function of x, or of x and y. Its references: for f32 those of f64 do; for f64 those of long
// double find the worst argument, which quadruple precision then judges.
struct Function {
  const char* name;
  const char* expression;  // of X[i], Y[i]
  double low, high;        // where most of the chosen arguments of f64 lie
  double (*narrow)(double, double);
  long double (*middle)(long double, long double);
  __float128 (*exact)(__float128, __float128);
  bool of_two = false;
  bool turns = false;  // judged up to the limit of angles alone
};

template <class F>
Function function(const char* name, const char* expression, double low, double high, F) {
  return {name,
          expression,
          low,
          high,
          [](double x, double y) { return F{}(x, y); },
          [](long double x, long double y) { return F{}(x, y); },
          [](__float128 x, __float128 y) { return F{}(x, y); }};
}

// The reference of sigmoid, without overflow.
template <class T>
T sigmoid(T x) {
  const T e = wide::exp(x < 0 ? x : -x);
  return (x < 0 ? e : T{1}) / (1 + e);
}

}  // namespace lathe::bench
