// oneDNN as a contestant, versions 2 and 3. Activations and weights have whatever layout it likes;
// it reorders them before the clock starts. With "borders": "plain" only the weights of a
// convolution are: input and output are row-major, and reordering them is part of the time.
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <dnnl.hpp>

#include "peers/serve.h"

namespace lathe::bench {
namespace {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
constexpr auto kF32 = dnnl::memory::data_type::f32;
using Arguments = std::unordered_map<int, dnnl::memory>;

struct Machine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

Result<Dims> dims_of(const Json& workload, const char* member) {
  const Json array = LATHE_TRY(json_array(workload, member));
  return array.get<Dims>();
}

dnnl::memory::desc any_layout(const Dims& dims) { return {dims, kF32, Tag::any}; }

// Random numbers, reordered from row-major into the layout that the primitive chose.
dnnl::memory filled(const Machine& machine, const Dims& dims, Tag plain,
                    const dnnl::memory::desc& wanted, std::uint64_t seed) {
  dnnl::memory from({dims, kF32, plain}, machine.engine);
  std::size_t count = 1;
  for (const auto extent : dims) count *= static_cast<std::size_t>(extent);
  const std::vector<float> values = random_floats(count, seed);
  std::copy(values.begin(), values.end(), static_cast<float*>(from.get_data_handle()));
  dnnl::memory to(wanted, machine.engine);
  dnnl::stream stream = machine.stream;
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return to;
}

Contender contender_of(const std::shared_ptr<Machine>& machine, const dnnl::primitive& primitive,
                       const Arguments& arguments, const std::string& implementation) {
  const dnnl_version_t* version = dnnl_version();
  return {[=] {
            primitive.execute(machine->stream, arguments);
            machine->stream.wait();
          },
          fmt::format("oneDNN {}.{}.{} {}", version->major, version->minor, version->patch,
                      implementation)};
}

Dims convolved(const Dims& input, const Dims& weight, const Dims& stride, const Dims& pad) {
  Dims output{input[0], weight[0]};
  for (int i = 0; i < 2; ++i)
    output.push_back((input[i + 2] + 2 * pad[i] - weight[i + 2]) / stride[i] + 1);
  return output;
}

struct Border {
  Dims dims;
  dnnl::memory inside;  // in the layout that the primitive chose
};

// Whether row-major memory can be used as it is.
bool is_plain(const Border& border) {
  return border.inside.get_desc() == dnnl::memory::desc(border.dims, kF32, Tag::nchw);
}

dnnl::memory plain_memory(const Machine& machine, const Border& border, std::uint64_t seed) {
  const dnnl::memory::desc plain(border.dims, kF32, Tag::nchw);
  return filled(machine, border.dims, Tag::nchw, plain, seed);
}

// The same with what it takes to come from row-major memory and to go back.
Contender between_plain_borders(const std::shared_ptr<Machine>& machine, const Contender& inside,
                                const Border& input, const Border& output) {
  std::function<void()> enter = [] {};
  std::function<void()> leave = [] {};
  const auto reordering = [&](const dnnl::memory& from, const dnnl::memory& to) {
    return [=, reorder = dnnl::reorder(from, to),
            arguments = Arguments{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}] {
      reorder.execute(machine->stream, arguments);
    };
  };
  if (!is_plain(input)) enter = reordering(plain_memory(*machine, input, 1), input.inside);
  if (!is_plain(output)) leave = reordering(output.inside, plain_memory(*machine, output, 3));
  return {[=] {
            enter();
            inside.run();
            leave();
            machine->stream.wait();
          },
          fmt::format("{}{}{}", inside.detail, is_plain(input) ? "" : ", input reordered",
                      is_plain(output) ? "" : ", output reordered")};
}

Result<Contender> convolution(const std::shared_ptr<Machine>& machine, const Json& workload) {
  const Dims input = LATHE_TRY(dims_of(workload, "input"));
  const Dims weight = LATHE_TRY(dims_of(workload, "weight"));
  const std::string wanted = LATHE_TRY(json_string(workload, "algorithm"));
  const Dims stride(2, LATHE_TRY(json_int(workload, "stride")));
  const Dims pad(2, LATHE_TRY(json_int(workload, "pad")));
  const auto algorithm = wanted == "winograd" ? dnnl::algorithm::convolution_winograd
                                              : dnnl::algorithm::convolution_direct;
  const auto from = any_layout(input);
  const auto by = any_layout(weight);
  const auto to = any_layout(convolved(input, weight, stride, pad));
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::convolution_forward::primitive_desc chosen(machine->engine,
                                                         dnnl::prop_kind::forward_inference,
                                                         algorithm, from, by, to, stride, pad, pad);
#else
  const dnnl::convolution_forward::primitive_desc chosen(
      {dnnl::prop_kind::forward_inference, algorithm, from, by, to, stride, pad, pad},
      machine->engine);
#endif
  Arguments arguments{
      {DNNL_ARG_SRC, filled(*machine, input, Tag::nchw, chosen.src_desc(), 1)},
      {DNNL_ARG_WEIGHTS, filled(*machine, weight, Tag::oihw, chosen.weights_desc(), 2)},
      {DNNL_ARG_DST, dnnl::memory(chosen.dst_desc(), machine->engine)}};
  Contender inside =
      contender_of(machine, dnnl::convolution_forward(chosen), arguments, chosen.impl_info_str());
  if (json_string(workload, "borders").value_or("any") != "plain") return inside;
  return between_plain_borders(machine, inside, {input, arguments.at(DNNL_ARG_SRC)},
                               {convolved(input, weight, stride, pad), arguments.at(DNNL_ARG_DST)});
}

struct Product {
  dnnl::memory::dim m, n, k;
  bool transpose_a, transpose_b;  // A is stored k x m, B n x k
  Tag a_tag() const { return transpose_a ? Tag::ba : Tag::ab; }
  Tag b_tag() const { return transpose_b ? Tag::ba : Tag::ab; }
};

Result<Product> product_of(const Json& workload) {
  return Product{LATHE_TRY(json_int(workload, "m")), LATHE_TRY(json_int(workload, "n")),
                 LATHE_TRY(json_int(workload, "k")), LATHE_TRY(json_bool(workload, "transpose_a")),
                 LATHE_TRY(json_bool(workload, "transpose_b"))};
}

// The matmul primitive on row-major operands; with algorithm "packed" on B in the layout that it
// likes, packed before the clock starts.
Result<Contender> matmul(const std::shared_ptr<Machine>& machine, const Json& workload) {
  const Product p = LATHE_TRY(product_of(workload));
  const bool packed = LATHE_TRY(json_string(workload, "algorithm")) == "packed";
  const dnnl::memory::desc a({p.m, p.k}, kF32, p.a_tag());
  const dnnl::memory::desc b({p.k, p.n}, kF32, packed ? Tag::any : p.b_tag());
  const dnnl::memory::desc c({p.m, p.n}, kF32, Tag::ab);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc chosen(machine->engine, a, b, c);
#else
  const dnnl::matmul::primitive_desc chosen({a, b, c}, machine->engine);
#endif
  Arguments arguments{
      {DNNL_ARG_SRC, filled(*machine, {p.m, p.k}, p.a_tag(), chosen.src_desc(), 1)},
      {DNNL_ARG_WEIGHTS, filled(*machine, {p.k, p.n}, p.b_tag(), chosen.weights_desc(), 2)},
      {DNNL_ARG_DST, dnnl::memory(chosen.dst_desc(), machine->engine)}};
  return contender_of(machine, dnnl::matmul(chosen), arguments, chosen.impl_info_str());
}

Result<Contender> sgemm(const Json& workload) {
  const Product p = LATHE_TRY(product_of(workload));
  const auto a = random_buffer(static_cast<std::size_t>(p.m * p.k), 1);
  const auto b = random_buffer(static_cast<std::size_t>(p.k * p.n), 2);
  const auto c = random_buffer(static_cast<std::size_t>(p.m * p.n), 3);
  const dnnl_version_t* version = dnnl_version();
  return Contender{
      [=] {
        dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, 1.0F,
                   a.get(), p.transpose_a ? p.m : p.k, b.get(), p.transpose_b ? p.k : p.n, 0.0F,
                   c.get(), p.n);
      },
      fmt::format("oneDNN {}.{}.{} sgemm", version->major, version->minor, version->patch)};
}

// OMP_NUM_THREADS tells how many threads to use; it must be set before the process starts.
Result<Contender> set_up(const Json& workload) {
  const std::string kind = LATHE_TRY(json_string(workload, "kind"));
  const std::string algorithm = LATHE_TRY(json_string(workload, "algorithm"));
  try {
    const auto machine = std::make_shared<Machine>();
    if (kind == "conv2d") return convolution(machine, workload);
    if (kind == "matmul") return algorithm == "sgemm" ? sgemm(workload) : matmul(machine, workload);
  } catch (const dnnl::error& error) {
    return fail(ErrorKind::kUnsupported, "oneDNN cannot compute {} by {}: {}", kind, algorithm,
                error.what());
  }
  return fail(ErrorKind::kUnsupported, "oneDNN is not asked to compute {} here", kind);
}

}  // namespace
}  // namespace lathe::bench

int main() { return lathe::bench::serve(lathe::bench::set_up); }
