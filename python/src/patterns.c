/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Buffers of padded lists that are written again and again: on a GPU by auxiliary kernels, on the host at once. */

#include "native.h"

typedef struct {
  PyObject ob_base;
  KernelObject *kernel; /* whose image has the auxiliary kernels */
  sparsec_pattern_buffer_t handle;
  sparsec_blocks_t view;
} PatternBufferObject;

PyObject *makePatternBuffer(PyObject *kernel, PyObject *arguments) {
  long long rows, columns, batches, heads;
  int blockRows, blockColumns;
  if (!PyArg_ParseTuple(arguments, "LL(ii)LL:pattern_buffer", &rows, &columns, &blockRows, &blockColumns, &batches,
                        &heads))
    return NULL;
  ModuleState *state = stateOf(kernel);
  PatternBufferObject *self = (PatternBufferObject *)allocateObject(state->patternBuffer);
  if (!self)
    return NULL;
  self->kernel = (KernelObject *)Py_NewRef(kernel);
  self->view.size = sizeof self->view;
  const sparsec_blocks_t shape = sparsec_blocks_pattern(batches, heads, rows, columns, blockRows, blockColumns);
  sparsec_status_t status = sparsec_pattern_buffer_create(&shape, self->kernel->image->device->handle, &self->handle);
  if (!status)
    status = sparsec_pattern_buffer_view(self->handle, &self->view);
  if (!status)
    return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return raiseStatus(state, status);
}

static void patternBufferDealloc(PyObject *object) {
  PatternBufferObject *self = (PatternBufferObject *)object;
  sparsec_pattern_buffer_destroy(self->handle);
  Py_CLEAR(self->kernel);
  freeObject(object);
}

static PyObject *updateFromMask(PyObject *object, PyObject *arguments) {
  PatternBufferObject *self = (PatternBufferObject *)object;
  unsigned long long mask, stream = 0;
  if (!PyArg_ParseTuple(arguments, "K|K:update_from_mask", &mask, &stream))
    return NULL;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_pattern_update_from_block_mask(self->handle, self->kernel->handle, (const uint8_t *)(uintptr_t)mask,
                                                  (void *)(uintptr_t)stream);
  Py_END_ALLOW_THREADS;
  if (status)
    return raiseStatus(stateOf(object), status);
  Py_RETURN_NONE;
}

static PyObject *updateFromScores(PyObject *object, PyObject *arguments) {
  PatternBufferObject *self = (PatternBufferObject *)object;
  unsigned long long data, counts = 0, mask = 0, stream = 0;
  long long k;
  if (!PyArg_ParseTuple(arguments, "KL|KKK:update_from_scores", &data, &k, &counts, &mask, &stream))
    return NULL;
  const sparsec_blocks_t *view = &self->view;
  sparsec_dense_t scores = sparsec_dense_bhsd((void *)(uintptr_t)data, SPARSEC_DTYPE_F32, view->batches, view->heads,
                                              (view->rows + view->block_rows - 1) / view->block_rows, view->capacity);
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_pattern_update_from_scores(self->handle, self->kernel->handle, &scores, k,
                                              (const int32_t *)(uintptr_t)counts, (const uint8_t *)(uintptr_t)mask,
                                              (void *)(uintptr_t)stream);
  Py_END_ALLOW_THREADS;
  if (status)
    return raiseStatus(stateOf(object), status);
  Py_RETURN_NONE;
}

static PyObject *updateFromPredicate(PyObject *object, PyObject *values) {
  PatternBufferObject *self = (PatternBufferObject *)object;
  ModuleState *state = stateOf(object);
  PyObject *tuple;
  unsigned long long stream = 0;
  Arguments arguments;
  if (!PyArg_ParseTuple(values, "O|K:update_from_predicate", &tuple, &stream) ||
      collectArguments(state, tuple, stream, &arguments))
    return NULL;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_pattern_update_from_predicate(self->handle, self->kernel->handle, arguments.list, arguments.count,
                                                 (void *)(uintptr_t)stream);
  Py_END_ALLOW_THREADS;
  releaseArguments(&arguments);
  if (status)
    return raiseStatus(state, status);
  Py_RETURN_NONE;
}

static PyObject *getPointers(PyObject *object, void *unused) {
  const sparsec_blocks_t *view = &((PatternBufferObject *)object)->view;
  return Py_BuildValue(
      "(KKKK)", (unsigned long long)(uintptr_t)view->full.starts, (unsigned long long)(uintptr_t)view->full.indices,
      (unsigned long long)(uintptr_t)view->partial.starts, (unsigned long long)(uintptr_t)view->partial.indices);
}

static PyMethodDef methods[] = {
    {"update_from_mask", updateFromMask, METH_VARARGS,
     "update_from_mask(pointer, stream=0): writes the lists from a state of every block, a byte each"},
    {"update_from_scores", updateFromScores, METH_VARARGS,
     "update_from_scores(pointer, k, counts=0, mask=0, stream=0): writes the k blocks with the highest f32 scores"},
    {"update_from_predicate", updateFromPredicate, METH_VARARGS,
     "update_from_predicate(arguments, stream=0): writes the lists from the mask region of the kernel"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"pointers", getPointers, NULL, "addresses of full starts and indices, partial starts and indices; 0: no lists",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, patternBufferDealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_doc, "Padded lists with room for every block, made by Kernel.pattern_buffer."},
    {0, NULL},
};

PyType_Spec patternBufferSpec = {"sparsec._native.PatternBuffer", sizeof(PatternBufferObject), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
