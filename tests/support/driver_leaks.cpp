// What the leak sanitizer finds in a driver of OpenCL and the compiler inside it is not ours: PoCL
// keeps much until the process ends. LLVM 15 and 18 are its compilers on Debian 12 and 13.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpocl\nleak:libLLVM*15\nleak:libLLVM*18\nleak:libclang\nleak:libOpenCL\n";
}
