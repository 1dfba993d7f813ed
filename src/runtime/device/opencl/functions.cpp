#include "runtime/device/opencl/functions.h"

#include <dlfcn.h>

namespace lathe::opencl {
namespace {

struct CodeName {
  Code code;
  const char* name;
};
constexpr CodeName kCodes[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-15, "CL_COMPILE_PROGRAM_FAILURE"},
    {-16, "CL_LINKER_NOT_AVAILABLE"},
    {-17, "CL_LINK_PROGRAM_FAILURE"},
    {-30, "CL_INVALID_VALUE"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

// Finds the functions of a library one after the other; remembers the first that is missing.
struct Finder {
  void* library;
  const char* missing = nullptr;
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  }
};

}  // namespace

const char* find_functions(void* library, Api& api) {
  Finder finder{library};
  finder.find(api.GetPlatformIDs, "clGetPlatformIDs");
  finder.find(api.GetPlatformInfo, "clGetPlatformInfo");
  finder.find(api.GetDeviceIDs, "clGetDeviceIDs");
  finder.find(api.GetDeviceInfo, "clGetDeviceInfo");
  finder.find(api.CreateContext, "clCreateContext");
  finder.find(api.RetainContext, "clRetainContext");
  finder.find(api.ReleaseContext, "clReleaseContext");
  finder.find(api.CreateCommandQueue, "clCreateCommandQueue");
  finder.find(api.RetainCommandQueue, "clRetainCommandQueue");
  finder.find(api.ReleaseCommandQueue, "clReleaseCommandQueue");
  finder.find(api.GetCommandQueueInfo, "clGetCommandQueueInfo");
  finder.find(api.CreateBuffer, "clCreateBuffer");
  finder.find(api.CreateSubBuffer, "clCreateSubBuffer");
  finder.find(api.ReleaseMemObject, "clReleaseMemObject");
  finder.find(api.GetMemObjectInfo, "clGetMemObjectInfo");
  finder.find(api.CreateProgramWithSource, "clCreateProgramWithSource");
  finder.find(api.CreateProgramWithBinary, "clCreateProgramWithBinary");
  finder.find(api.BuildProgram, "clBuildProgram");
  finder.find(api.GetProgramBuildInfo, "clGetProgramBuildInfo");
  finder.find(api.GetProgramInfo, "clGetProgramInfo");
  finder.find(api.ReleaseProgram, "clReleaseProgram");
  finder.find(api.CreateKernel, "clCreateKernel");
  finder.find(api.ReleaseKernel, "clReleaseKernel");
  finder.find(api.SetKernelArg, "clSetKernelArg");
  finder.find(api.GetKernelInfo, "clGetKernelInfo");
  finder.find(api.GetKernelWorkGroupInfo, "clGetKernelWorkGroupInfo");
  finder.find(api.EnqueueNDRangeKernel, "clEnqueueNDRangeKernel");
  finder.find(api.EnqueueReadBuffer, "clEnqueueReadBuffer");
  finder.find(api.EnqueueWriteBuffer, "clEnqueueWriteBuffer");
  finder.find(api.EnqueueFillBuffer, "clEnqueueFillBuffer");
  finder.find(api.Flush, "clFlush");
  finder.find(api.Finish, "clFinish");
  finder.find(api.GetEventInfo, "clGetEventInfo");
  finder.find(api.GetEventProfilingInfo, "clGetEventProfilingInfo");
  finder.find(api.ReleaseEvent, "clReleaseEvent");
  return finder.missing;
}

const char* standard_name(Code code) {
  for (const CodeName& known : kCodes)
    if (known.code == code) return known.name;
  return nullptr;
}

}  // namespace lathe::opencl
