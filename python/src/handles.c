/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices, their memory, and compiled files that are loaded on them. */

#include "native.h"

#include <string.h>

/* ---- Device -------------------------------------------------------------- */

static PyObject *deviceNew(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"ordinal", "threads", "check_memory", NULL};
  int threads = 0, checkMemory = 0;
  sparsec_device_options_t options = {sizeof options, SPARSEC_TARGET_HOST, SPARSEC_PLACE_HOST, 0, 0};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|iip:Device", names, &options.ordinal, &threads, &checkMemory))
    return NULL;
  if (options.ordinal != SPARSEC_PLACE_HOST) {
    options.kind = SPARSEC_TARGET_CUDA;
  } else {
    options.ordinal = 0;
    options.thread_count = threads;
  }
  options.flags = checkMemory ? SPARSEC_DEVICE_CHECK_MEMORY : 0;
  DeviceObject *self = (DeviceObject *)allocateObject(type);
  if (!self)
    return NULL;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_device_open(&options, &self->handle);
  Py_END_ALLOW_THREADS;
  if (status) {
    Py_DECREF(self);
    return raiseStatus(PyType_GetModuleState(type), status);
  }
  return (PyObject *)self;
}

static void deviceDealloc(PyObject *self) {
  sparsec_device_destroy(((DeviceObject *)self)->handle);
  freeObject(self);
}

static PyObject *deviceInfo(PyObject *self, PyObject *unused) {
  sparsec_device_info_t info = {.size = sizeof info};
  sparsec_status_t status = sparsec_device_info(((DeviceObject *)self)->handle, &info);
  if (status)
    return raiseStatus(stateOf(self), status);
  return Py_BuildValue("{s:i,s:s,s:i,s:i,s:L,s:L}", "ordinal", info.ordinal, "name", info.name, "compute_capability",
                       info.compute_capability, "multiprocessors", info.multiprocessors, "shared_memory_per_block",
                       (long long)info.shared_memory_per_block, "memory_bytes", (long long)info.memory_bytes);
}

static PyObject *deviceSynchronize(PyObject *self, PyObject *arguments) {
  unsigned long long stream = 0;
  if (!PyArg_ParseTuple(arguments, "|K:synchronize", &stream))
    return NULL;
  sparsec_device_t device = ((DeviceObject *)self)->handle;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_synchronize(device, (void *)(uintptr_t)stream);
  Py_END_ALLOW_THREADS;
  if (status)
    return raiseStatus(stateOf(self), status);
  Py_RETURN_NONE;
}

static PyObject *deviceCapture(PyObject *self, PyObject *arguments) {
  unsigned long long stream = 0;
  if (!PyArg_ParseTuple(arguments, "K:capture", &stream))
    return NULL;
  uint64_t capture = 0;
  sparsec_status_t status = sparsec_stream_capture(((DeviceObject *)self)->handle, (void *)(uintptr_t)stream, &capture);
  return status ? raiseStatus(stateOf(self), status) : PyLong_FromUnsignedLongLong(capture);
}

static PyObject *deviceAllocate(PyObject *self, PyObject *arguments) {
  Py_ssize_t bytes;
  if (!PyArg_ParseTuple(arguments, "n:allocate", &bytes))
    return NULL;
  ModuleState *state = stateOf(self);
  if (bytes < 0)
    return raiseInvalidArgument(state, "expects 0 or more bytes, but got %zd", bytes);
  MemoryObject *memory = (MemoryObject *)allocateObject(state->memory);
  if (!memory)
    return NULL;
  memory->device = (DeviceObject *)Py_NewRef(self);
  memory->bytes = (size_t)bytes;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_memory_allocate(memory->device->handle, memory->bytes, &memory->data);
  Py_END_ALLOW_THREADS;
  if (status) {
    Py_DECREF(memory);
    return raiseStatus(state, status);
  }
  return (PyObject *)memory;
}

static PyMethodDef deviceMethods[] = {
    {"info", deviceInfo, METH_NOARGS, "info() -> dict: name, capability, number of SMs or threads, memory"},
    {"synchronize", deviceSynchronize, METH_VARARGS, "synchronize(stream=0): waits for the work on a stream"},
    {"capture", deviceCapture, METH_VARARGS, "capture(stream) -> int: the CUDA graph capture of a stream; 0: none"},
    {"allocate", deviceAllocate, METH_VARARGS, "allocate(bytes) -> Memory"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot deviceSlots[] = {
    {Py_tp_new, deviceNew},
    {Py_tp_dealloc, deviceDealloc},
    {Py_tp_methods, deviceMethods},
    {Py_tp_doc, "Device(ordinal=-1, threads=0, check_memory=False): a CUDA device, or the host (-1)"},
    {0, NULL},
};

PyType_Spec deviceSpec = {"sparsec._native.Device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, deviceSlots};

/* ---- Memory -------------------------------------------------------------- */

static void memoryDealloc(PyObject *object) {
  MemoryObject *self = (MemoryObject *)object;
  if (self->data)
    sparsec_memory_free(self->device->handle, self->data);
  Py_CLEAR(self->device);
  freeObject(object);
}

/* Copies all of the memory from or to a buffer of the same length. */
static PyObject *copyMemory(MemoryObject *self, PyObject *array, int isUpload) {
  ModuleState *state = stateOf((PyObject *)self);
  Py_buffer buffer;
  if (PyObject_GetBuffer(array, &buffer, isUpload ? PyBUF_SIMPLE : PyBUF_WRITABLE))
    return NULL;
  sparsec_status_t status = NULL;
  const int fits = (size_t)buffer.len == self->bytes;
  if (fits) {
    Py_BEGIN_ALLOW_THREADS;
    status = isUpload ? sparsec_memory_upload(self->device->handle, self->data, buffer.buf, self->bytes)
                      : sparsec_memory_download(self->device->handle, buffer.buf, self->data, self->bytes);
    Py_END_ALLOW_THREADS;
  }
  const Py_ssize_t length = buffer.len;
  PyBuffer_Release(&buffer);
  if (!fits)
    return raiseInvalidArgument(state, "expects %zu bytes, but got %zd", self->bytes, length);
  if (status)
    return raiseStatus(state, status);
  Py_RETURN_NONE;
}

static PyObject *memoryUpload(PyObject *self, PyObject *array) { return copyMemory((MemoryObject *)self, array, 1); }
static PyObject *memoryDownload(PyObject *self, PyObject *array) { return copyMemory((MemoryObject *)self, array, 0); }
static PyObject *memoryGetPointer(PyObject *self, void *unused) {
  return PyLong_FromVoidPtr(((MemoryObject *)self)->data);
}
static PyObject *memoryGetBytes(PyObject *self, void *unused) {
  return PyLong_FromSize_t(((MemoryObject *)self)->bytes);
}

static PyMethodDef memoryMethods[] = {
    {"upload", memoryUpload, METH_O, "upload(buffer): copies the bytes of a buffer to this memory"},
    {"download", memoryDownload, METH_O, "download(buffer): copies this memory to a writable buffer"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef memoryAttributes[] = {
    {"pointer", memoryGetPointer, NULL, "address", NULL},
    {"bytes", memoryGetBytes, NULL, "length", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot memorySlots[] = {
    {Py_tp_dealloc, memoryDealloc},
    {Py_tp_methods, memoryMethods},
    {Py_tp_getset, memoryAttributes},
    {Py_tp_doc, "Memory of a device, made by Device.allocate."},
    {0, NULL},
};

PyType_Spec memorySpec = {"sparsec._native.Memory", sizeof(MemoryObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, memorySlots};

/* ---- Image --------------------------------------------------------------- */

static PyObject *imageNew(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"device", "data", NULL};
  ModuleState *state = PyType_GetModuleState(type);
  PyObject *device, *data;
  char *bytes;
  Py_ssize_t length;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!O:Image", names, state->device, &device, &data) ||
      PyBytes_AsStringAndSize(data, &bytes, &length))
    return NULL;
  ImageObject *self = (ImageObject *)allocateObject(type);
  if (!self)
    return NULL;
  self->device = (DeviceObject *)Py_NewRef(device);
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_module_load(self->device->handle, bytes, (size_t)length, &self->handle);
  Py_END_ALLOW_THREADS;
  if (status) {
    Py_DECREF(self);
    return raiseStatus(state, status);
  }
  return (PyObject *)self;
}

static void imageDealloc(PyObject *object) {
  ImageObject *self = (ImageObject *)object;
  sparsec_module_destroy(self->handle);
  Py_CLEAR(self->device);
  freeObject(object);
}

static PyObject *imageKernel(PyObject *self, PyObject *arguments) {
  const char *name = NULL;
  if (!PyArg_ParseTuple(arguments, "s:kernel", &name))
    return NULL;
  ModuleState *state = stateOf(self);
  sparsec_kernel_t handle;
  sparsec_status_t status = sparsec_module_kernel(((ImageObject *)self)->handle, name, &handle);
  if (status)
    return raiseStatus(state, status);
  KernelObject *kernel = (KernelObject *)allocateObject(state->kernel);
  if (!kernel)
    return NULL;
  kernel->image = (ImageObject *)Py_NewRef(self);
  kernel->handle = handle;
  return (PyObject *)kernel;
}

static PyObject *imageGetTarget(PyObject *self, void *unused) {
  return PyUnicode_FromString(sparsec_module_launch_info(((ImageObject *)self)->handle)->target);
}

static PyMethodDef imageMethods[] = {
    {"kernel", imageKernel, METH_VARARGS, "kernel(name) -> Kernel"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef imageAttributes[] = {
    {"target", imageGetTarget, NULL, "the target of the image that the device took, as 'sm_90a' or 'host'", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot imageSlots[] = {
    {Py_tp_new, imageNew},
    {Py_tp_dealloc, imageDealloc},
    {Py_tp_methods, imageMethods},
    {Py_tp_getset, imageAttributes},
    {Py_tp_doc, "Image(device, data): a compiled file that is loaded on a device"},
    {0, NULL},
};

PyType_Spec imageSpec = {"sparsec._native.Image", sizeof(ImageObject), 0, Py_TPFLAGS_DEFAULT, imageSlots};
