// One small case for every refusal: where it points, what it says, what it advises.
#include <gtest/gtest.h>

#include "compiler/te/parse.h"

namespace lathe::te {
namespace {

struct Case {
  const char* text;
  const char* place;  // exactly; empty where the text has none
  std::vector<const char*> says;
};

class Refusal : public testing::TestWithParam<Case> {};

TEST_P(Refusal, SaysWhatWhereAndWhatToDo) {
  const Case& c = GetParam();
  const auto workload = parse_workload(c.text);
  ASSERT_FALSE(workload) << c.text;
  EXPECT_EQ(workload.error().place, c.place) << workload.error().text();
  EXPECT_EQ(workload.error().kind, ErrorKind::kInvalidArgument);
  for (const char* part : c.says)
    EXPECT_NE(workload.error().message.find(part), std::string::npos) << c.text << "\n"
                                                                      << workload.error().text();
}

const Case kNames[] = {
    {"A: f32[4]; C[i] = A[i] + Ab[i]",
     "line 1, column 26",
     {"no tensor Ab", "known: A", "did you mean A?", "--shape Ab=64"}},
    {"Input: f32[4]; W: f32[4]; C[i] = Inptu[i] * W[i]",
     "line 1, column 34",
     {"did you mean Input?"}},
    {"C[i] = Q[i]", "line 1, column 8", {"no tensor Q", "known: none", "Q: f32[64]"}},
    {"A: f32[4]; C[i] = A[j]", "line 1, column 21", {"j is no iterator here", "known: i"}},
    {"A: f32[4]; C[i] = A[i] * A", "line 1, column 26", {"A is no iterator", "A[...]"}},
    {"A: f32[4]; C[i] = D[i]\nD[i] = A[i]",
     "line 1, column 19",
     {"D is computed further down", "before"}},
    {"A: f32[4]; C[i] = C[i] + A[i]", "line 1, column 19", {"element that it computes", "sum(k)"}},
    {"A: f32[4]; C[i] = C[i-1] + A[i]", "line 1, column 19", {"C[i - 1] has no value", "else 0"}},
    {"A: f32[4]; C[i] = C[0 else 0] + A[i]", "line 1, column 19", {"one axis only", "iterator i"}},
    {"A: f32[4]; C[i] = C[2*i - 1 else 0] + A[i]", "line 1, column 19", {"one axis only"}},
    {"A: f32[4,4]; C[i,j] = C[i-1,j-1 else 0] + A[i,j]",
     "line 1, column 23",
     {"one axis only", "iterator j"}},
    {"A: f32[4,4]; C[i,j] = C[j,i-1 else 0] + A[i,j]", "line 1, column 23", {"one axis only"}},
    {"A: f32[4,4]; C[i,j] = C[i-1 else 0] + A[i,j]",
     "line 1, column 23",
     {"2 iterators", "with 1"}},
    {"A: f32[4,4]; C[i,j] = C[i-1,j else 0] + C[i,j-1 else 0] + A[i,j]",
     "the stage that writes C",
     {"along i and along j", "one statement for each axis"}},
    {"A: f32[4]; C[i] = C[i-1 else 0] + C[i+1 else 0] + A[i]",
     "the stage that writes C",
     {"one direction", "one statement for each"}},
    {"A: f32[4]; C[i] = (sum(k:4) C[k-1 else 0]) + A[i]",
     "the stage that writes C_acc",
     {"C_acc and C need each other", "one axis", "t-1 for t"}},
    {"A: f32[4]; H[i] = D[i] + A[i]\nD[i:4] = H[i] * 2",
     "the stage that writes H",
     {"H needs D of the same step", "earlier step, as i-1", "move"}},
    {"A: f32[4]; H[i] = D[i-1 else 0] + A[i]\nD[i:4] = H[i+1 else 0] * 2",
     "the stage that writes H",
     {"before and behind", "along i", "one direction"}},
    {"A: f32[4]; H[i] = D[i-1 else 0] + A[i]\nD[j:3] = H[j-1 else 0] * 2",
     "the stage that writes H",
     {"H has 4 steps and D has 3", "i:4"}},
    {"A: f32[4,4]; H[i:4,j:4] = D[i-1,j else 0] + A[i,j]\nD[i:4,j:4] = H[j,i-1 else 0] * 2",
     "the stage that writes H",
     {"need each other", "one axis"}},
    {"A: f32[4,4]; H[i:4,j:4] = D[i-1,j else 0] + H[i,j-1 else 0]\nD[i,j] = H[i,j] * A[i,j]",
     "the stage that writes H",
     {"another axis than i", "goes along one axis"}},
    {"A: f32[4]; H[i] = D[i-1] + A[i]\nD[i:4] = H[i] * 2", "line 1, column 19", {"else 0"}},
    {"A: i32[4]; B: f32[4]; H[i] = D[i-1 else 0] + A[i]\nD[i:4] = H[i] * B[i]",
     "line 1, column 44",
     {"i32", "f32"}},
    {"A: f32[4]; H[i] = D[i*i - 1 else 0] + A[i]\nD[i:4] = H[i-1 else 0] * 2",
     "the stage that writes H",
     {"computed places", "t-1 for t"}},
    {"A: f32[4]; H[i] = D[i-1 else 0] * 2\nD[j] = H[j-1 else 0]",
     "line 1, column 14",
     {"write it: i:SIZE"}},
    {"C[i] = C[i-1 else 0] + 1", "line 1, column 3", {"write it: i:SIZE"}},
    {"A: i32[4]; C[i] = C[i-1 else 0.5] + A[i]", "line 1, column 19", {"0.5"}},
    {"A: f32[4]; C[i] = A[i]; C[i] = A[i]", "line 1, column 25", {"written twice"}},
    {"A: f32[4]; A: f32[4]; C[i] = A[i]", "line 1, column 12", {"declared twice"}},
    {"A: f32[4]; B: f32[4]; C[i] = A[i]", "line 1, column 12", {"B is declared but not used"}},
    {"A: f32[4]; const C: f32[4]; C[i] = A[i]", "line 1, column 18", {"no const input"}},
    {"output A: f32[4]; C[i] = A[i]", "line 1, column 8", {"nothing computes it"}},
    {"A: f32[4]; C[i,i] = A[i]", "line 1, column 16", {"i is already in use"}},
    {"A: f32[4]; C[i] = sum(i) A[i]", "line 1, column 23", {"i is already in use"}},
    {"A: f32[4]; else[i] = A[i]", "line 1, column 12", {"word of the language"}},
    {"A: f32[4]; C[f32] = A[f32]", "line 1, column 14", {"word of the language"}},
};
INSTANTIATE_TEST_SUITE_P(Names, Refusal, testing::ValuesIn(kNames));

const Case kShapes[] = {
    {"A: f32[4,3]; B: f32[5,2]; C[i,j] = sum(k) A[i,k] * B[k,j]",
     "line 1, column 52",
     {"k has the size 3", "dimension 1 of A[4,3]", "5 from dimension 0 of B[5,2]"}},
    {"A: f32[4]; C[i] = A[i,i]", "line 1, column 19", {"A[4] is read with 2 indices, but has 1"}},
    {"A: f32[4]; C: f32[4,4]; C[i] = A[i]", "line 1, column 25", {"[4,4]", "1 iterator"}},
    {"A: f32[4]; C: f32[3]; C[i:4] = A[i]",
     "line 1, column 25",
     {"i has the size 4", "dimension 0 of C[3] has 3"}},
    {"A: f32[8]; C[i:8] = A[i + 1]",
     "line 1, column 21",
     {"index 0 of A[8], i + 1, reaches 8, 1 past its end", "`else 0`"}},
    {"A: f32[4]; C[i:16777216] = A[1099511627776*i else 0]",
     "line 1, column 28",
     {"reaches", "further outside than can be reckoned with"}},
    {"A: f32[8]; C[i:8] = A[2*i - 3]", "line 1, column 21", {"reaches -3, 3 before its start"}},
    {"A: f32[8]; C[i] = A[i + 1 else 0]",
     "line 1, column 14",
     {"size of the iterator i", "i:SIZE"}},
    {"A: f32[4]; C[i] = sum(k) A[i]", "line 1, column 23", {"size of the iterator k", "k:SIZE"}},
    {"A: f32[0]; C[i] = A[i]", "line 1, column 8", {"at least 1"}},
    {"A: f32[-4]; C[i] = A[i]", "line 1, column 8", {"positive"}},
    {"A: f32[2.5]; C[i] = A[i]", "line 1, column 8", {"whole number"}},
    {"A: f32[1099511627777]; C[i] = A[i]", "line 1, column 8", {"2^40"}},
    {"A: f32[99999999999999999999999]; C[i] = A[i]", "line 1, column 8", {"2^40"}},
    {"A: f32[1048577,1048576]; C[i] = A[i,0]", "line 1, column 1", {"more than 2^40 elements"}},
    {"C[i:1048577,j:1048576] = 1", "line 1, column 1", {"more than 2^40 elements"}},
    {"C[i:1099511627776] = sum(k:1099511627776) 1", "the stage that writes C", {"2^60"}},
    {"C[] = 1", "line 1, column 3", {"C[one:1]"}},
    {"A: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]; C[i:1] = 1",
     "line 1, column 1",
     {"17 dimensions", "to 16"}},
    {"G: f32[3] = {1,2}; C[i] = G[i]", "line 1, column 1", {"needs 3 elements, 2 are given"}},
};
INSTANTIATE_TEST_SUITE_P(Shapes, Refusal, testing::ValuesIn(kShapes));

const Case kTypes[] = {
    {"A: f32[4]; B: f16[4]; C[i] = A[i] * B[i]",
     "line 1, column 35",
     {"f32 and f16", "cast one", "f32(...)"}},
    {"A: f32[4]; C[i] = A[i] + i", "line 1, column 24", {"f32 and i64", "f32(...)"}},
    {"A: i32[4]; C[i] = A[i] + 0.5", "line 1, column 26", {"0.5 is no i32", "f32(...)"}},
    {"A: u8[4]; C[i] = A[i] + 300",
     "line 1, column 25",
     {"300 is outside u8's range from 0 to 255"}},
    {"A: i64[4]; C[i] = A[i] + 9007199254740994",
     "line 1, column 26",
     {"write a larger one as a product"}},
    {"A: i64[4]; C[i] = A[i] + 9007199254740993",
     "line 1, column 26",
     {"a number of i64 is written from -(2^53 - 1) to 2^53 - 1"}},
    {"A: f16[4]; C[i] = A[i] + 70000", "line 1, column 26", {"too large for f16"}},
    {"A: i32[4]; C[i] = exp(A[i])",
     "line 1, column 19",
     {"exp needs a floating-point operand", "exp(f32(...))"}},
    {"A: bool[4]; C[i] = -A[i]", "line 1, column 20", {"bool is given", "i32(...)"}},
    {"A: f32[4]; C[i] = A[i] & 3", "line 1, column 24", {"& needs integers", "f32", "i32(...)"}},
    {"A: f32[4]; C[i] = A[i] << 3", "line 1, column 24", {"<< needs integers", "f32"}},
    {"A: bool[4]; C[i] = A[i] | A[i]", "line 1, column 25", {"| needs integers", "write ||"}},
    {"A: bool[4]; C[i] = ~A[i]", "line 1, column 20", {"'~' needs an integer", "write '!'"}},
    {"A: f32[4]; C[i] = ~A[i]", "line 1, column 19", {"'~' needs an integer", "i32(...)"}},
    {"A: i32[4]; C[i] = sin(A[i])", "line 1, column 19", {"sin needs", "sin(f32(...))"}},
    {"A: i32[4]; C[i] = isnan(A[i])", "line 1, column 19", {"isnan needs", "i32"}},
    {"A: bool[4]; C[i] = sign(A[i])", "line 1, column 20", {"'sign' needs a number", "i32(...)"}},
    {"A: u16[4]; C[i] = A[i] + 65536", "line 1, column 26", {"65536 is outside u16's range"}},
    {"A: u32[4]; C[i] = A[i] - -1", "line 1, column 26", {"-1 is outside u32's range"}},
    {"A: i16[4]; B: i32[4]; C[i] = A[i] + B[i]", "line 1, column 35", {"i16 and i32", "i32(...)"}},
    {"A: i8[4]; C[i] = A[i] << 200", "line 1, column 26", {"200 is outside i8's range"}},
    {"A: bool[4]; C[i] = A[i] + A[i]", "line 1, column 25", {"+ needs numbers", "i32(...)"}},
    {"A: bool[4]; C[one:1] = sum(i) A[i]",
     "line 1, column 24",
     {"sum needs numbers", "sum(...) i32(...)"}},
    {"A: f32[4]; C[i] = !A[i]", "line 1, column 19", {"needs a bool", "x != 0"}},
    {"A: f32[4]; C[i] = A[i] && true", "line 1, column 24", {"f32 and bool"}},
    {"A: f32[4]; C[i] = select(A[i], 1, 2)", "line 1, column 19", {"condition is f32, not bool"}},
    {"A: f32[4]; B: i8[4]; C[i] = select(A[i] > 0, A[i], B[i])",
     "line 1, column 29",
     {"f32 and i8"}},
    {"A: f32[4]; C[i] = A[i] % 2", "line 1, column 24", {"% needs integers", "floor"}},
    {"A: i32[4]; C[i] = A[i] / A[i]", "line 1, column 24", {"positive number as divisor", "f32"}},
    {"A: i32[4]; C[i] = A[i] % 0", "line 1, column 24", {"positive number"}},
    {"A: i32[4]; C[i] = pow(A[i], 2)", "line 1, column 19", {"pow needs floating-point"}},
    {"A: i32[4]; C[i:4] = A[i - 1 else 0.5]", "line 1, column 21", {"0.5 is no i32"}},
    {"A: float32[4]; C[i] = A[i]",
     "line 1, column 4",
     {"'float32' is no element type", "did you mean f32?"}},
    {"A: f32[n,16]; C[i,j] = A[i,j]",
     "line 1, column 8",
     {"'n' is no size: shapes are fixed numbers; write the number, or leave this declaration out",
      "--shape A=128,64"}},
    {"A: f32[4,6] as [m]; C[i,j] = A[i,j]", "line 1, column 17", {"'m' is no size"}},
    {"A: f8[4]; C[i] = A[i]", "line 1, column 4", {"'f8' is no element type", "f32, f64"}},
    {"A: bool[1] = {2}; C[i] = A[i]", "line 1, column 1", {"2 is no bool"}},
};
INSTANTIATE_TEST_SUITE_P(Types, Refusal, testing::ValuesIn(kTypes));

const Case kSyntax[] = {
    {"", "", {"computes nothing"}},
    {"A: f32[4]", "", {"computes nothing"}},
    {"C[i:4] = ", "line 1, column 10", {"expected a tensor, a number", "the end of the text"}},
    {"C[i:4] = (1", "line 1, column 12", {"expected ')'"}},
    {"C[i:4] = 1 2", "line 1, column 12", {"expected an operator", "'2'"}},
    {"C[i:4] 1", "line 1, column 8", {"expected '='"}},
    {"hello", "line 1, column 6", {"expected a stage like", "declaration like"}},
    {"C[i:4] = foo(1)", "line 1, column 10", {"no function 'foo'", "sigmoid", "select"}},
    {"C[i:4] = sigmoyd(1)", "line 1, column 10", {"did you mean sigmoid?"}},
    {"C[i:4] = exp(1, 2)", "line 1, column 10", {"exp takes 1 argument, 2 given"}},
    {"C[i:4] = 1 < 2 < 3", "line 1, column 16", {"do not chain"}},
    {"A: f32[4]; C[i:3] = A[i*i]",
     "line 1, column 21",
     {"index 0 of A[4], i * i, may be from 0 to 4", "min(max(..., 0), 3)", "`else 0`"}},
    {"A: f32[4]; C[i] = A[i/2]", "line 1, column 14", {"size of the iterator i", "i:SIZE"}},
    {"A: f32[4]; C[i:4] = A[i/0]", "line 1, column 24", {"positive number as divisor"}},
    {"A: f32[4]; C[i] = A[A[i]]", "line 1, column 21", {"this one is f32", "i64(...)"}},
    {"A: f32[4]; C[i] = A[A[i] > 0]", "line 1, column 26", {"this one is bool"}},
    {"A: f32[4]; C[i:4] = A[exp(i)]", "line 1, column 23", {"exp needs a floating-point"}},
    {"A: f32[4]; I: i32[4]; C[i] = A[I[i]]",
     "line 1, column 30",
     {"A[4], I[i], may", "from -2147483648 to 2147483647", "declare I with `in LOW..HIGH`"}},
    {"A: f32[4]; I: i32[4] in 0..4; C[i] = A[I[i]]",
     "line 1, column 38",
     {"from 0 to 4, and only 0 to 3"}},
    {"A: f32[4]; I: i8[4] in 0..3; C[i] = A[I[i] + 1]", "line 1, column 37", {"from 1 to 4"}},
    {"A: f32[4]; G: i32[2] = {0,4}; C[i] = A[G[i]]", "line 1, column 38", {"from 0 to 4"}},
    {"A: f32[4]; C[i:4] = A[2 - abs(i - 3)]", "line 1, column 21", {"from -1 to 2"}},
    {"A: f32[4]; K[i:4] = i * 2; C[i] = A[K[i]]", "line 1, column 35", {"from 0 to 6"}},
    {"A: f32[4,4]; C[i:4] = A[i % 4]", "line 1, column 23", {"read with 1 index, but has 2"}},
    {"A: u8[4]; C[i:4] = A[i % 7 else 300]", "line 1, column 20", {"outside u8's range"}},
    {"A: f32[4]; C[i] = A[i + 0.5]", "line 1, column 25", {"whole numbers"}},
    {"A: f32[4]; C[i:2] = A[i, else 0]", "line 1, column 26", {}},
    {"A: f32[4]; C[i] = A[i] $", "line 1, column 24", {"'$' has no meaning"}},
    {"A: f32[4]; C[i] = A[i] \x01", "line 1, column 24", {"byte 0x01"}},
    {"A: f32[4]; C[i] = 1e999", "line 1, column 19", {"fits an f64"}},
    {"A: f32[4]\nC[i] = A[i]\nD[i] = A[i] *", "line 3, column 14", {"the end of the text"}},
    {"layout diagonal; C[i:4] = 1", "line 1, column 8", {"plain or free"}},
    {"max_error 2; C[i:4] = 1", "line 1, column 1", {"at most 1"}},
    {"max_error 1e-44; A: f32[4]; C[i] = A[i]",
     "",
     {"no f32 is as accurate as a max_error of 1e-44 asks", "C is of that type", "is 6e-08"}},
    {"max_error 5e-8; A: f32[4]; C[i] = A[i]", "", {"6e-08"}},
    {"max_error 1e-4; A: f16[4]; C[i] = A[i]", "", {"0.00049"}},
    {"max_error 1e-3; A: bf16[4]; C[i] = A[i]", "", {"0.004"}},
    {"max_error 1e-17; A: f64[4]; C[i] = A[i]", "", {"1.2e-16"}},
    {"max_error 1e-9; A: f64[4]; B[i] = A[i] * 2; C[i] = f32(A[i])", "", {"no f32", "C is of"}},
    {"A: f32[4,6] as [6,4]; C[i,j] = A[i,j]",
     "line 1, column 1",
     {"A[4,6] cannot be seen as [6,4]", "neighbouring"}},
    {"A: f32[4,6] as [25]; C[i,j] = A[i,j]", "line 1, column 1", {"cannot be seen as [25]"}},
    {"A: f32[4,6] as; C[i,j] = A[i,j]", "line 1, column 15", {"expected '['"}},
    {"A: f32[4,6]; B: f32[4,6] as [24]; B[i,j] = A[i,j]; C[i,j] = B[i,j] * 2",
     "",
     {"B is neither input nor output", "[24]"}},
    {"L: f32[2,2] as [4] = {1,2,3,4}; C[i,j] = L[i,j]", "", {"L is neither input nor output"}},
};
INSTANTIATE_TEST_SUITE_P(Syntax, Refusal, testing::ValuesIn(kSyntax));

TEST(Nesting, IsLimitedNotCrashed) {
  const auto refusal = [](const std::string& text) {
    const auto workload = parse_workload(text);
    return workload ? std::string() : workload.error().text();
  };
  const auto repeat = [](const char* part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += part;
    return out;
  };
  EXPECT_NE(refusal("C[i:2] = " + repeat("(", 100000) + "1").find("nested deeper"),
            std::string::npos);
  EXPECT_NE(refusal("C[i:2] = " + repeat("-", 100000) + "1").find("nested deeper"),
            std::string::npos);
  EXPECT_NE(refusal("C[i:2] = 1" + repeat("+1", 100000)).find("nested deeper"), std::string::npos);
  EXPECT_NE(refusal("C[i:2] = " + repeat("A[", 100000)).find("nested deeper"), std::string::npos);
  EXPECT_NE(refusal("C[i:2] = " + repeat("sum(k:2) ", 100000)).find("nested deeper"),
            std::string::npos);
  EXPECT_NE(refusal(repeat(" ", 1 << 21)).find("longer than"), std::string::npos);
}

TEST(Size, IsLimitedWithASentence) {
  const auto repeat = [](int times, const char* statement) {
    std::string out = "A: f32[8]";
    for (int i = 0; i < times; ++i) out += fmt::format(fmt::runtime(statement), i);
    return out;
  };
  const auto refusal = [](const std::string& text) {
    const auto workload = parse_workload(text);
    return workload ? std::string() : workload.error().text();
  };
  EXPECT_EQ(refusal(repeat(2000, "; T{}[i] = A[i]")),
            "the expression has 2000 stages, 256 are possible; split it into several workloads");
  EXPECT_EQ(refusal(repeat(256, "; T{}[i] = A[i]")), "");
  // A reduction inside an expression is a stage of its own.
  EXPECT_EQ(refusal(repeat(129, "; T{}[i] = A[i] + (sum(k) A[k])")),
            "the expression has 258 stages, 256 are possible; split it into several workloads");
  EXPECT_EQ(refusal(repeat(30'000, "; B{}: f32[8]")),
            "the expression has 30001 tensors, 1024 are possible; split it into several workloads");
}

TEST(Given, MustBelongToTheExpression) {
  const auto refusal = [](const Declarations& declarations) {
    const auto workload = parse_workload("C[i,j] = sum(k) A[i,k] * B[k,j]", declarations);
    return workload ? std::string() : workload.error().text();
  };
  const std::vector<std::int64_t> s = {4, 4};
  EXPECT_EQ(refusal({{{"A", s}, {"B", s}}, {}, {}}), "");
  EXPECT_NE(refusal({{{"A", s}}, {}, {}}).find("no tensor B"), std::string::npos);
  EXPECT_NE(refusal({{{"A", s}, {"B", s}, {"Bb", s}}, {}, {}})
                .find("Bb, which the expression does not use"),
            std::string::npos);
  EXPECT_NE(refusal({{{"A", s}, {"b", s}}, {}, {}}).find("did you mean b?"), std::string::npos);
  EXPECT_NE(refusal({{{"A", s}, {"B", s}}, {{"D", Dtype::kF16}}, {}}).find("type is given for D"),
            std::string::npos);
  EXPECT_NE(refusal({{{"A", s}, {"B", s}}, {}, {"C"}}).find("C is declared constant"),
            std::string::npos);
  EXPECT_NE(refusal({{{"A", s}, {"B", {4, 0}}}, {}, {}}).find("dimension of 0"), std::string::npos);
  EXPECT_NE(refusal({{{"A", s}, {"B", {-1, 4}}}, {}, {}}).find("dimension of -1"),
            std::string::npos);
}

}  // namespace
}  // namespace lathe::te
