/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices, their memory, and compiled files that are loaded on them. */

#include "native.h"

#include <string.h>

/* ---- Device -------------------------------------------------------------- */

static PyObject *device_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"ordinal", "threads", "check_memory", NULL};
  int threads = 0, check_memory = 0;
  sparsec_device_options_t options = {sizeof options, SPARSEC_TARGET_HOST, SPARSEC_PLACE_HOST, 0, 0};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|iip:Device", names, &options.ordinal, &threads,
                                   &check_memory))
    return NULL;
  if (options.ordinal != SPARSEC_PLACE_HOST) {
    options.kind = SPARSEC_TARGET_CUDA;
  } else {
    options.ordinal = 0;
    options.thread_count = threads;
  }
  options.flags = check_memory ? SPARSEC_DEVICE_CHECK_MEMORY : 0;
  device_object_t *self = (device_object_t *)allocate_object(type);
  if (!self)
    return NULL;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_device_open(&options, &self->handle);
  Py_END_ALLOW_THREADS;
  if (status) {
    Py_DECREF(self);
    return raise_status(PyType_GetModuleState(type), status);
  }
  return (PyObject *)self;
}

static void device_dealloc(PyObject *self) {
  sparsec_device_destroy(((device_object_t *)self)->handle);
  free_object(self);
}

static PyObject *device_info(PyObject *self, PyObject *unused) {
  sparsec_device_info_t info = {.size = sizeof info};
  sparsec_status_t status = sparsec_device_info(((device_object_t *)self)->handle, &info);
  if (status)
    return raise_status(state_of(self), status);
  return Py_BuildValue("{s:i,s:s,s:i,s:i,s:L,s:L}", "ordinal", info.ordinal, "name", info.name, "compute_capability",
                       info.compute_capability, "multiprocessors", info.multiprocessors, "shared_memory_per_block",
                       (long long)info.shared_memory_per_block, "memory_bytes", (long long)info.memory_bytes);
}

static PyObject *device_synchronize(PyObject *self, PyObject *arguments) {
  unsigned long long stream = 0;
  if (!PyArg_ParseTuple(arguments, "|K:synchronize", &stream))
    return NULL;
  sparsec_device_t device = ((device_object_t *)self)->handle;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_synchronize(device, (void *)(uintptr_t)stream);
  Py_END_ALLOW_THREADS;
  if (status)
    return raise_status(state_of(self), status);
  Py_RETURN_NONE;
}

static PyObject *device_allocate(PyObject *self, PyObject *arguments) {
  Py_ssize_t bytes;
  if (!PyArg_ParseTuple(arguments, "n:allocate", &bytes))
    return NULL;
  module_state_t *state = state_of(self);
  if (bytes < 0)
    return raise_invalid_argument(state, "expects 0 or more bytes, but got %zd", bytes);
  memory_object_t *memory = (memory_object_t *)allocate_object(state->memory);
  if (!memory)
    return NULL;
  memory->device = (device_object_t *)Py_NewRef(self);
  memory->bytes = (size_t)bytes;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_memory_allocate(memory->device->handle, memory->bytes, &memory->data);
  Py_END_ALLOW_THREADS;
  if (status) {
    Py_DECREF(memory);
    return raise_status(state, status);
  }
  return (PyObject *)memory;
}

static PyMethodDef device_methods[] = {
    {"info", device_info, METH_NOARGS, "info() -> dict: name, capability, number of SMs or threads, memory"},
    {"synchronize", device_synchronize, METH_VARARGS, "synchronize(stream=0): waits for the work on a stream"},
    {"allocate", device_allocate, METH_VARARGS, "allocate(bytes) -> Memory"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot device_slots[] = {
    {Py_tp_new, device_new},
    {Py_tp_dealloc, device_dealloc},
    {Py_tp_methods, device_methods},
    {Py_tp_doc, "Device(ordinal=-1, threads=0, check_memory=False): a CUDA device, or the host (-1)"},
    {0, NULL},
};

PyType_Spec device_spec = {"sparsec._native.Device", sizeof(device_object_t), 0, Py_TPFLAGS_DEFAULT, device_slots};

/* ---- Memory -------------------------------------------------------------- */

static void memory_dealloc(PyObject *object) {
  memory_object_t *self = (memory_object_t *)object;
  if (self->data)
    sparsec_memory_free(self->device->handle, self->data);
  Py_CLEAR(self->device);
  free_object(object);
}

/* Copies all of the memory from or to a buffer of the same length. */
static PyObject *copy_memory(memory_object_t *self, PyObject *array, int is_upload) {
  module_state_t *state = state_of((PyObject *)self);
  Py_buffer buffer;
  if (PyObject_GetBuffer(array, &buffer, is_upload ? PyBUF_SIMPLE : PyBUF_WRITABLE))
    return NULL;
  sparsec_status_t status = NULL;
  const int fits = (size_t)buffer.len == self->bytes;
  if (fits) {
    Py_BEGIN_ALLOW_THREADS;
    status = is_upload ? sparsec_memory_upload(self->device->handle, self->data, buffer.buf, self->bytes)
                       : sparsec_memory_download(self->device->handle, buffer.buf, self->data, self->bytes);
    Py_END_ALLOW_THREADS;
  }
  const Py_ssize_t length = buffer.len;
  PyBuffer_Release(&buffer);
  if (!fits)
    return raise_invalid_argument(state, "expects %zu bytes, but got %zd", self->bytes, length);
  if (status)
    return raise_status(state, status);
  Py_RETURN_NONE;
}

static PyObject *memory_upload(PyObject *self, PyObject *array) {
  return copy_memory((memory_object_t *)self, array, 1);
}
static PyObject *memory_download(PyObject *self, PyObject *array) {
  return copy_memory((memory_object_t *)self, array, 0);
}
static PyObject *memory_get_pointer(PyObject *self, void *unused) {
  return PyLong_FromVoidPtr(((memory_object_t *)self)->data);
}
static PyObject *memory_get_bytes(PyObject *self, void *unused) {
  return PyLong_FromSize_t(((memory_object_t *)self)->bytes);
}

static PyMethodDef memory_methods[] = {
    {"upload", memory_upload, METH_O, "upload(buffer): copies the bytes of a buffer to this memory"},
    {"download", memory_download, METH_O, "download(buffer): copies this memory to a writable buffer"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef memory_attributes[] = {
    {"pointer", memory_get_pointer, NULL, "address", NULL},
    {"bytes", memory_get_bytes, NULL, "length", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, memory_dealloc},
    {Py_tp_methods, memory_methods},
    {Py_tp_getset, memory_attributes},
    {Py_tp_doc, "Memory of a device, made by Device.allocate."},
    {0, NULL},
};

PyType_Spec memory_spec = {"sparsec._native.Memory", sizeof(memory_object_t), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, memory_slots};

/* ---- Image --------------------------------------------------------------- */

static PyObject *image_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"device", "data", NULL};
  module_state_t *state = PyType_GetModuleState(type);
  PyObject *device, *data;
  char *bytes;
  Py_ssize_t length;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!O:Image", names, state->device, &device, &data) ||
      PyBytes_AsStringAndSize(data, &bytes, &length))
    return NULL;
  image_object_t *self = (image_object_t *)allocate_object(type);
  if (!self)
    return NULL;
  self->device = (device_object_t *)Py_NewRef(device);
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_module_load(self->device->handle, bytes, (size_t)length, &self->handle);
  Py_END_ALLOW_THREADS;
  if (status) {
    Py_DECREF(self);
    return raise_status(state, status);
  }
  return (PyObject *)self;
}

static void image_dealloc(PyObject *object) {
  image_object_t *self = (image_object_t *)object;
  sparsec_module_destroy(self->handle);
  Py_CLEAR(self->device);
  free_object(object);
}

static PyObject *image_kernel(PyObject *self, PyObject *arguments) {
  const char *name = NULL;
  if (!PyArg_ParseTuple(arguments, "s:kernel", &name))
    return NULL;
  module_state_t *state = state_of(self);
  sparsec_kernel_t handle;
  sparsec_status_t status = sparsec_module_kernel(((image_object_t *)self)->handle, name, &handle);
  if (status)
    return raise_status(state, status);
  kernel_object_t *kernel = (kernel_object_t *)allocate_object(state->kernel);
  if (!kernel)
    return NULL;
  kernel->image = (image_object_t *)Py_NewRef(self);
  kernel->handle = handle;
  return (PyObject *)kernel;
}

static PyObject *image_get_target(PyObject *self, void *unused) {
  return PyUnicode_FromString(sparsec_module_launch_info(((image_object_t *)self)->handle)->target);
}

static PyMethodDef image_methods[] = {
    {"kernel", image_kernel, METH_VARARGS, "kernel(name) -> Kernel"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef image_attributes[] = {
    {"target", image_get_target, NULL, "the target of the image that the device took, as 'sm_90a' or 'host'", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot image_slots[] = {
    {Py_tp_new, image_new},
    {Py_tp_dealloc, image_dealloc},
    {Py_tp_methods, image_methods},
    {Py_tp_getset, image_attributes},
    {Py_tp_doc, "Image(device, data): a compiled file that is loaded on a device"},
    {0, NULL},
};

PyType_Spec image_spec = {"sparsec._native.Image", sizeof(image_object_t), 0, Py_TPFLAGS_DEFAULT, image_slots};
