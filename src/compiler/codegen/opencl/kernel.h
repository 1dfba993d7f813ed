// One kernel in OpenCL C.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "compiler/codegen/c_source/kernel_writer.h"
#include "compiler/codegen/grid/thread_memory.h"
#include "compiler/codegen/opencl/operations.h"
#include "runtime/device/opencl/image.h"

namespace lathe::codegen::cl {

class OpenClKernel : public c_source::KernelWriter {
 public:
  OpenClKernel(const flat::Program& program, const flat::Kernel& kernel, Helpers& helpers);

  std::string text();       // the whole function
  opencl::Launch launch();  // after text()

 private:
  std::string type(flat::Type type) const override { return type_name(type); }
  std::string unary(const flat::Unary& n, const flat::Expr& e, const std::string& x) override;
  std::string binary(const flat::Binary& n, const flat::Expr& e, const std::string& a,
                     const std::string& b) override;
  std::string fma(const flat::Expr& e, const std::string& a, const std::string& b,
                  const std::string& c) override;
  std::string select(const flat::Select& n, const flat::Expr& e, const std::string& condition,
                     const std::string& then, const std::string& otherwise) override;
  std::string cast(const flat::Cast& n, const flat::Expr& e) override;
  std::string bitcast(const flat::Bitcast& n, const flat::Expr& e, const std::string& x) override;
  std::string ramp(const flat::Ramp& n, const flat::Expr& e, const std::string& base) override;
  std::string broadcast(const flat::Expr& e, const std::string& x) override;
  std::string lane(const std::string& vector, flat::Type type, int number) const override;
  std::string half(const std::string& vector, int which) const override;
  std::string combine(flat::BinaryOp op, flat::Type type, const std::string& a,
                      const std::string& b) override;
  // memory.cpp
  std::string load(const flat::Load& n, const flat::Expr& e) override;
  void store(const flat::Store& n) override;
  void barrier() override;
  std::vector<std::string> element_indices(const flat::Expr& index, int lanes);
  std::string parameters();
  std::string pointers();
  std::string group_memory() const;
  std::string pointer_of(int buffer) const;
  std::string registers() const;
  std::string indices() const;

  Helpers& helpers_;
  ThreadMemory memory_;
  std::vector<char> buffers_used_;
  std::vector<opencl::Argument> arguments_;
};

}  // namespace lathe::codegen::cl
