#include "runtime/device/cuda/functions.h"

#include <dlfcn.h>

namespace lathe::cuda {
namespace {

// Finds the functions of a library one after the other; remembers the first that is missing.
struct FunctionFinder {
  void* library;
  const char* missing = nullptr;
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  }
};

void find_contexts(FunctionFinder& finder, Api& api) {
  finder.find(api.CtxCreate, "cuCtxCreate_v2");
  finder.find(api.CtxDestroy, "cuCtxDestroy_v2");
  finder.find(api.CtxSynchronize, "cuCtxSynchronize");
  finder.find(api.CtxGetCurrent, "cuCtxGetCurrent");
  finder.find(api.CtxGetDevice, "cuCtxGetDevice");
  finder.find(api.CtxPushCurrent, "cuCtxPushCurrent_v2");
  finder.find(api.CtxPopCurrent, "cuCtxPopCurrent_v2");
  finder.find(api.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  finder.find(api.DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
}

void find_memory(FunctionFinder& finder, Api& api) {
  finder.find(api.MemGetInfo, "cuMemGetInfo_v2");
  finder.find(api.MemAlloc, "cuMemAlloc_v2");
  finder.find(api.MemFree, "cuMemFree_v2");
  finder.find(api.MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  finder.find(api.MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  finder.find(api.MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  finder.find(api.MemsetD8Async, "cuMemsetD8Async");
  finder.find(api.PointerGetAttribute, "cuPointerGetAttribute");
}

void find_code(FunctionFinder& finder, Api& api) {
  finder.find(api.LinkCreate, "cuLinkCreate_v2");
  finder.find(api.LinkAddData, "cuLinkAddData_v2");
  finder.find(api.LinkComplete, "cuLinkComplete");
  finder.find(api.LinkDestroy, "cuLinkDestroy");
  finder.find(api.ModuleLoadDataEx, "cuModuleLoadDataEx");
  finder.find(api.ModuleUnload, "cuModuleUnload");
  finder.find(api.ModuleGetFunction, "cuModuleGetFunction");
  finder.find(api.FuncGetAttribute, "cuFuncGetAttribute");
  finder.find(api.FuncSetAttribute, "cuFuncSetAttribute");
  finder.find(api.LaunchKernel, "cuLaunchKernel");
}

void find_streams(FunctionFinder& finder, Api& api) {
  finder.find(api.StreamCreate, "cuStreamCreate");
  finder.find(api.StreamDestroy, "cuStreamDestroy_v2");
  finder.find(api.StreamSynchronize, "cuStreamSynchronize");
  finder.find(api.StreamGetCtx, "cuStreamGetCtx");
  finder.find(api.StreamIsCapturing, "cuStreamIsCapturing");
  finder.find(api.StreamBeginCapture, "cuStreamBeginCapture_v2");
  finder.find(api.StreamEndCapture, "cuStreamEndCapture");
  finder.find(api.GraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
  finder.find(api.GraphLaunch, "cuGraphLaunch");
  finder.find(api.GraphExecDestroy, "cuGraphExecDestroy");
  finder.find(api.GraphDestroy, "cuGraphDestroy");
  finder.find(api.EventCreate, "cuEventCreate");
  finder.find(api.EventRecord, "cuEventRecord");
  finder.find(api.EventSynchronize, "cuEventSynchronize");
  finder.find(api.EventElapsedTime, "cuEventElapsedTime");
  finder.find(api.EventDestroy, "cuEventDestroy_v2");
}

}  // namespace

const char* find_functions(void* library, Api& api) {
  FunctionFinder finder{library};
  finder.find(api.Init, "cuInit");
  finder.find(api.DriverGetVersion, "cuDriverGetVersion");
  finder.find(api.GetErrorName, "cuGetErrorName");
  finder.find(api.GetErrorString, "cuGetErrorString");
  finder.find(api.DeviceGetCount, "cuDeviceGetCount");
  finder.find(api.DeviceGet, "cuDeviceGet");
  finder.find(api.DeviceGetName, "cuDeviceGetName");
  finder.find(api.DeviceGetUuid, "cuDeviceGetUuid_v2");
  finder.find(api.DeviceTotalMem, "cuDeviceTotalMem_v2");
  finder.find(api.DeviceGetAttribute, "cuDeviceGetAttribute");
  find_contexts(finder, api);
  find_memory(finder, api);
  find_code(finder, api);
  find_streams(finder, api);
  return finder.missing;
}

}  // namespace lathe::cuda
