/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Views of memory that Python objects own: dense tensors and lists of blocks. */

#include "exchange.h"

#include <limits.h>
#include <string.h>

static PyObject *tupleOf(const int64_t *values, int32_t count) {
  PyObject *tuple = PyTuple_New(count);
  for (int32_t i = 0; tuple && i < count; ++i) {
    PyObject *value = PyLong_FromLongLong(values[i]);
    if (!value || PyTuple_SetItem(tuple, i, value))
      Py_CLEAR(tuple);
  }
  return tuple;
}

/* ---- Dense --------------------------------------------------------------- */

/* The element type of a buffer format, native or little-endian; NONE for those that no kernel takes. */
static sparsec_dtype_t dtypeOfFormat(const char *format, Py_ssize_t itemBytes) {
  if (!format)
    return SPARSEC_DTYPE_NONE;
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  if (strlen(format) != 1)
    return SPARSEC_DTYPE_NONE;
  switch (*format) {
  case 'f':
    return SPARSEC_DTYPE_F32;
  case 'e':
    return SPARSEC_DTYPE_F16;
  case '?':
  case 'b':
    return SPARSEC_DTYPE_I8;
  case 'i':
  case 'l': /* 8 bytes in the native format of this platform */
  case 'q':
    return itemBytes == 4 ? SPARSEC_DTYPE_I32 : SPARSEC_DTYPE_I64;
  default:
    return SPARSEC_DTYPE_NONE;
  }
}

/* Fills the view from the object's buffer. dtype NONE: that of the format. Otherwise the buffer has integers of the
 * same size, because the buffer protocol has no format for bf16 and f8. */
static int viewBuffer(ModuleState *state, DenseObject *self, sparsec_dtype_t dtype) {
  const Py_buffer *buffer = &self->buffer;
  if (dtype == SPARSEC_DTYPE_NONE)
    dtype = dtypeOfFormat(buffer->format, buffer->itemsize);
  if (dtype == SPARSEC_DTYPE_NONE || (size_t)buffer->itemsize != sparsec_dtype_bytes(dtype)) {
    raiseInvalidArgument(state, "expects elements of f32, f16, bf16, f8, i64, i32, i8 or bool, but got format '%s'",
                         buffer->format ? buffer->format : "B");
    return -1;
  }
  if (buffer->ndim > SPARSEC_MAX_RANK) {
    raiseInvalidArgument(state, "expects rank 0 to %d, but got %d", SPARSEC_MAX_RANK, buffer->ndim);
    return -1;
  }
  int64_t sizes[SPARSEC_MAX_RANK] = {0};
  for (int d = 0; d < buffer->ndim; ++d)
    sizes[d] = buffer->shape[d];
  self->view = sparsec_dense(buffer->buf, dtype, buffer->ndim, sizes);
  self->view.device = SPARSEC_PLACE_HOST;
  self->view.flags = buffer->readonly ? SPARSEC_DENSE_READ_ONLY : 0;
  for (int d = 0; d < buffer->ndim; ++d) {
    if (sizes[d] < 2 || buffer->len == 0)
      continue; /* no address depends on this stride */
    if (buffer->strides[d] % buffer->itemsize != 0) {
      raiseInvalidArgument(state, "expects strides of whole elements, but stride %d is %zd bytes", d,
                           buffer->strides[d]);
      return -1;
    }
    self->view.strides[d] = buffer->strides[d] / buffer->itemsize;
  }
  return 0;
}

/* Calls array.__dlpack__ for the stream. Producers of before DLPack 1.0 do not know max_version. */
static PyObject *exportDlpack(PyObject *array, uint64_t stream) {
  PyObject *place = PyObject_CallMethod(array, "__dlpack_device__", NULL);
  int deviceType, deviceId;
  PyObject *result = NULL, *arguments = NULL, *keywords = NULL;
  PyObject *method = PyObject_GetAttrString(array, "__dlpack__");
  if (!place || !method || !PyArg_ParseTuple(place, "ii", &deviceType, &deviceId))
    goto done;
  arguments = PyTuple_New(0);
  /* DLPack: 2 is CUDA, whose stream 1 is the default stream. Memory of the host has no stream. */
  keywords = deviceType == 2 ? Py_BuildValue("{s:(ii),s:K}", "max_version", 1, 0, "stream",
                                             (unsigned long long)(stream ? stream : 1))
                             : Py_BuildValue("{s:(ii)}", "max_version", 1, 0);
  if (!arguments || !keywords)
    goto done;
  result = PyObject_Call(method, arguments, keywords);
  if (!result && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    if (PyDict_DelItemString(keywords, "max_version") == 0)
      result = PyObject_Call(method, arguments, keywords);
  }
done:
  Py_XDECREF(place);
  Py_XDECREF(method);
  Py_XDECREF(arguments);
  Py_XDECREF(keywords);
  return result;
}

static int viewDlpack(ModuleState *state, DenseObject *self, PyObject *array, uint64_t stream) {
  self->owner = PyCapsule_CheckExact(array) ? Py_NewRef(array) : exportDlpack(array, stream);
  if (!self->owner)
    return -1;
  self->view.size = sizeof self->view;
  sparsec_status_t status = NULL;
  if (PyCapsule_IsValid(self->owner, "dltensor_versioned"))
    status = sparsec_dense_from_dlpack_versioned(PyCapsule_GetPointer(self->owner, "dltensor_versioned"), &self->view);
  else if (PyCapsule_IsValid(self->owner, "dltensor"))
    status = sparsec_dense_from_dlpack(PyCapsule_GetPointer(self->owner, "dltensor"), &self->view);
  else {
    raiseInvalidArgument(state, "expects a DLPack capsule, but got %R", self->owner);
    return -1;
  }
  if (!status)
    return 0;
  raiseStatus(state, status);
  return -1;
}

/* Turns what a library raised instead of giving its memory, a BufferError or of torch a RuntimeError, into an
 * InvalidArgument with the first line of its text. Other exceptions stay as they are. */
static void refuseExport(ModuleState *state) {
  if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_RuntimeError))
    return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject *text = PyObject_Str(value);
  const Py_ssize_t length = text ? PyUnicode_GetLength(text) : 0;
  const Py_ssize_t end = text ? PyUnicode_FindChar(text, '\n', 0, length, 1) : -1;
  PyObject *line = text ? PyUnicode_Substring(text, 0, end < 0 ? length : end) : NULL;
  if (line)
    raiseInvalidArgument(state, "the array gives no memory: %U", line);
  Py_XDECREF(line);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

/* Fills the view: from the exchange interface of the array's type, its buffer or its __dlpack__. */
static int viewArray(ModuleState *state, DenseObject *self, PyObject *array, sparsec_dtype_t dtype, uint64_t stream) {
  if (PyObject_CheckBuffer(array)) {
    self->hasBuffer = !PyObject_GetBuffer(array, &self->buffer, PyBUF_RECORDS_RO);
    if (self->hasBuffer)
      return viewBuffer(state, self, dtype);
    /* Arrays of JAX have a buffer, but refuse to make one of bf16. */
    if (PyObject_HasAttrString(array, "__dlpack__"))
      PyErr_Clear();
    else
      return -1;
  }
  const ExchangeInterface *exchange = exchangeOf(state, array);
  if (exchange) {
    self->owner = Py_NewRef(array);
    const int failed = readExchange(state, exchange, array, &self->view);
    if (failed)
      refuseExport(state);
    return failed;
  }
  if (PyCapsule_CheckExact(array) || PyObject_HasAttrString(array, "__dlpack__")) {
    const int failed = viewDlpack(state, self, array, stream);
    if (failed)
      refuseExport(state);
    return failed;
  }
  PyObject *type = (PyObject *)Py_TYPE(array);
  raiseInvalidArgument(
      state, "expects an array with the buffer protocol or __dlpack__, or a DLPack capsule, but got %R", type);
  return -1;
}

static PyObject *makeDense(ModuleState *state, PyObject *array, sparsec_dtype_t dtype, uint64_t stream) {
  DenseObject *self = (DenseObject *)allocateObject(state->dense);
  if (!self)
    return NULL;
  if (viewArray(state, self, array, dtype, stream))
    Py_CLEAR(self);
  return (PyObject *)self;
}

static PyObject *denseNew(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"array", "dtype", "stream", NULL};
  PyObject *array;
  int dtype = SPARSEC_DTYPE_NONE;
  unsigned long long stream = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|iK:Dense", names, &array, &dtype, &stream))
    return NULL;
  return makeDense(PyType_GetModuleState(type), array, (sparsec_dtype_t)dtype, stream);
}

/* Reads a tuple of integers into `out`. Returns their number, or -1 with an exception. */
static Py_ssize_t readSizes(PyObject *tuple, int64_t *out) {
  Py_ssize_t count = PyTuple_Size(tuple);
  if (count < 0)
    return -1;
  if (count > SPARSEC_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "expects rank 0 to %d, but got %zd", SPARSEC_MAX_RANK, count);
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    if (out[i] == -1 && PyErr_Occurred())
      return -1;
  }
  return count;
}

static PyObject *denseFromPointer(PyObject *type, PyObject *arguments) {
  unsigned long long pointer;
  int dtype, device, readOnly;
  PyObject *shape, *steps, *owner = NULL;
  int64_t sizes[SPARSEC_MAX_RANK] = {0}, strides[SPARSEC_MAX_RANK] = {0};
  if (!PyArg_ParseTuple(arguments, "KiOOip|O:from_pointer", &pointer, &dtype, &shape, &steps, &device, &readOnly,
                        &owner))
    return NULL;
  Py_ssize_t rank = readSizes(shape, sizes);
  if (rank < 0)
    return NULL;
  Py_ssize_t strideCount = steps == Py_None ? rank : readSizes(steps, strides);
  if (strideCount < 0)
    return NULL;
  if (strideCount != rank) {
    PyErr_Format(PyExc_ValueError, "expects %zd strides, but got %zd", rank, strideCount);
    return NULL;
  }
  DenseObject *self = (DenseObject *)allocateObject((PyTypeObject *)type);
  if (!self)
    return NULL;
  self->view = sparsec_dense((void *)(uintptr_t)pointer, (sparsec_dtype_t)dtype, (int32_t)rank, sizes);
  self->owner = Py_XNewRef(owner);
  self->view.device = device;
  self->view.flags = readOnly ? SPARSEC_DENSE_READ_ONLY : 0;
  if (steps != Py_None)
    memcpy(self->view.strides, strides, sizeof strides);
  return (PyObject *)self;
}

static void denseDealloc(PyObject *object) {
  DenseObject *self = (DenseObject *)object;
  if (self->hasBuffer)
    PyBuffer_Release(&self->buffer);
  Py_CLEAR(self->owner);
  freeObject(object);
}

static PyObject *denseGetDtype(PyObject *self, void *unused) {
  return PyLong_FromLong(((DenseObject *)self)->view.dtype);
}
static PyObject *denseGetDevice(PyObject *self, void *unused) {
  return PyLong_FromLong(((DenseObject *)self)->view.device);
}
static PyObject *denseGetPointer(PyObject *self, void *unused) {
  return PyLong_FromVoidPtr(((DenseObject *)self)->view.data);
}
static PyObject *denseGetReadOnly(PyObject *self, void *unused) {
  return PyBool_FromLong(((DenseObject *)self)->view.flags & SPARSEC_DENSE_READ_ONLY);
}
static PyObject *denseGetShape(PyObject *self, void *unused) {
  const sparsec_dense_t *view = &((DenseObject *)self)->view;
  return tupleOf(view->sizes, view->rank);
}
static PyObject *denseGetStrides(PyObject *self, void *unused) {
  const sparsec_dense_t *view = &((DenseObject *)self)->view;
  return tupleOf(view->strides, view->rank);
}

static PyGetSetDef denseAttributes[] = {
    {"dtype", denseGetDtype, NULL, "number of the element type", NULL},
    {"device", denseGetDevice, NULL, "ordinal of a CUDA device, -1: host, -2: unknown", NULL},
    {"pointer", denseGetPointer, NULL, "address of the first element", NULL},
    {"read_only", denseGetReadOnly, NULL, "whether launches refuse the tensor as a result", NULL},
    {"shape", denseGetShape, NULL, "sizes", NULL},
    {"strides", denseGetStrides, NULL, "elements", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef denseMethods[] = {
    {"from_pointer", denseFromPointer, METH_VARARGS | METH_CLASS,
     "from_pointer(pointer, dtype, shape, strides, device, read_only, owner=None) -> Dense: the owner, or without one "
     "the caller, keeps the memory alive"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot denseSlots[] = {
    {Py_tp_new, denseNew},
    {Py_tp_dealloc, denseDealloc},
    {Py_tp_getset, denseAttributes},
    {Py_tp_methods, denseMethods},
    {Py_tp_doc, "Dense(array, dtype=0, stream=0): the memory of an array, not copied"},
    {0, NULL},
};

PyType_Spec denseSpec = {"sparsec._native.Dense", sizeof(DenseObject), 0, Py_TPFLAGS_DEFAULT, denseSlots};

/* ---- Blocks -------------------------------------------------------------- */

/* The number of elements of a compact tensor, or -1 if its rows are not contiguous. Without elements any strides do. */
static int64_t compactElements(const sparsec_dense_t *view) {
  int64_t elements = 1;
  for (int32_t d = 0; d < view->rank; ++d)
    if (view->sizes[d] == 0)
      return 0;
  for (int32_t d = view->rank - 1; d >= 0; --d) {
    if (view->sizes[d] > 1 && view->strides[d] != elements)
      return -1;
    elements *= view->sizes[d];
  }
  return elements;
}

/* Takes an array of a blocks object: at least `needed` elements of the type, contiguous, in the memory of the others.
 * Sets *out to its data, or to NULL for None. */
static int takeArray(ModuleState *state, BlocksObject *self, Py_ssize_t place, PyObject *array, const char *name,
                     sparsec_dtype_t dtype, int64_t needed, const void **out) {
  *out = NULL;
  if (array == Py_None)
    return 0;
  PyObject *object = Py_TYPE(array) == state->dense ? Py_NewRef(array) : makeDense(state, array, SPARSEC_DTYPE_NONE, 0);
  if (!object)
    return -1;
  PyTuple_SetItem(self->arrays, place, object);
  const sparsec_dense_t *view = &((DenseObject *)object)->view;
  const int64_t elements = compactElements(view);
  if (view->dtype != dtype)
    raiseInvalidArgument(state, "%s: expects elements of %s, but got %s", name, sparsec_dtype_name(dtype),
                         sparsec_dtype_name(view->dtype));
  else if (elements < 0)
    raiseInvalidArgument(state, "%s: expects a contiguous array", name);
  else if (elements < needed)
    raiseInvalidArgument(state, "%s: expects at least %lld elements, but got %lld", name, (long long)needed,
                         (long long)elements);
  else if (self->view.device != SPARSEC_PLACE_UNKNOWN && view->device != self->view.device)
    raiseInvalidArgument(state, "%s: expects memory of device %d, as the arrays before it, but got device %d", name,
                         self->view.device, view->device);
  else {
    self->view.device = view->device;
    *out = view->data;
    return 0;
  }
  return -1;
}

/* Checks the numbers of a blocks object, and that the sizes of its arrays do not overflow. */
static int checkShape(ModuleState *state, const sparsec_blocks_t *view, int64_t *outLists) {
  const int64_t limits[] = {view->rows, view->columns, view->batches, view->heads, view->capacity};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i)
    if (limits[i] < 0 || limits[i] > SPARSEC_MAX_SIZE)
      goto refused;
  if (view->block_rows < 1 || view->block_columns < 1 || view->block_rows > 65536 || view->block_columns > 65536)
    goto refused;
  const int64_t blockRows = (view->rows + view->block_rows - 1) / view->block_rows;
  __int128 lists = (__int128)view->batches * view->heads * blockRows;
  if (lists > INT_MAX || lists * (view->capacity + 1) > INT64_MAX / 8 ||
      (__int128)view->capacity * view->block_rows * view->block_columns > INT64_MAX / 8)
    goto refused;
  *outLists = (int64_t)lists;
  return 0;
refused:
  raiseInvalidArgument(state, "expects sizes of 0 to %d and blocks of 1 to 65536", SPARSEC_MAX_SIZE);
  return -1;
}

static PyObject *blocksNew(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"rows",           "columns",         "block",  "full_starts", "full_indices",
                          "partial_starts", "partial_indices", "values", "dtype",       "capacity",
                          "padded",         "batches",         "heads",  "check_lists", NULL};
  ModuleState *state = PyType_GetModuleState(type);
  long long rows, columns, capacity, batches = 1, heads = 1;
  int blockRows, blockColumns, dtype, padded = 0, checkLists = 0;
  PyObject *fullStarts, *fullIndices, *partialStarts, *partialIndices, *values;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "LL(ii)OOOOOiL|pLLp:Blocks", names, &rows, &columns, &blockRows,
                                   &blockColumns, &fullStarts, &fullIndices, &partialStarts, &partialIndices, &values,
                                   &dtype, &capacity, &padded, &batches, &heads, &checkLists))
    return NULL;
  BlocksObject *self = (BlocksObject *)allocateObject(type);
  if (!self)
    return NULL;
  sparsec_blocks_t *view = &self->view;
  *view = sparsec_blocks_pattern(batches, heads, rows, columns, blockRows, blockColumns);
  view->dtype = (sparsec_dtype_t)dtype;
  view->encoding = padded ? SPARSEC_PATTERN_PADDED_LISTS : SPARSEC_PATTERN_INDEX_ARRAYS;
  view->flags = checkLists ? SPARSEC_BLOCKS_CHECK_LISTS : 0;
  view->capacity = capacity;
  self->arrays = PyTuple_New(5);
  int64_t lists = 0;
  int failed = !self->arrays || checkShape(state, view, &lists);
  const int64_t starts = padded ? lists : lists + 1;
  const int64_t indices = padded ? lists * capacity : capacity;
  struct {
    PyObject *array;
    const char *name;
    sparsec_dtype_t dtype;
    int64_t needed;
    const void **out;
  } const arrays[] = {
      {fullStarts, "full starts", SPARSEC_DTYPE_I32, starts, (const void **)&view->full.starts},
      {fullIndices, "full indices", SPARSEC_DTYPE_I32, indices, (const void **)&view->full.indices},
      {partialStarts, "partial starts", SPARSEC_DTYPE_I32, starts, (const void **)&view->partial.starts},
      {partialIndices, "partial indices", SPARSEC_DTYPE_I32, indices, (const void **)&view->partial.indices},
      {values, "values", view->dtype, capacity * blockRows * blockColumns, &view->values},
  };
  for (Py_ssize_t i = 0; i < 5 && !failed; ++i)
    failed =
        takeArray(state, self, i, arrays[i].array, arrays[i].name, arrays[i].dtype, arrays[i].needed, arrays[i].out);
  if (failed)
    Py_CLEAR(self);
  return (PyObject *)self;
}

static void blocksDealloc(PyObject *object) {
  Py_CLEAR(((BlocksObject *)object)->arrays);
  freeObject(object);
}

static PyObject *blocksGetDevice(PyObject *self, void *unused) {
  return PyLong_FromLong(((BlocksObject *)self)->view.device);
}

static PyGetSetDef blocksAttributes[] = {
    {"device", blocksGetDevice, NULL, "ordinal of a CUDA device, -1: host, -2: unknown", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot blocksSlots[] = {
    {Py_tp_new, blocksNew},
    {Py_tp_dealloc, blocksDealloc},
    {Py_tp_getset, blocksAttributes},
    {Py_tp_doc, "Blocks(...): the lists of a block-sparse matrix or a pattern, not copied"},
    {0, NULL},
};

PyType_Spec blocksSpec = {"sparsec._native.Blocks", sizeof(BlocksObject), 0, Py_TPFLAGS_DEFAULT, blocksSlots};

/* ---- Arguments ----------------------------------------------------------- */

/* Converts one argument. *object becomes what the argument refers to, a new reference. */
static int convertArgument(ModuleState *state, PyObject *value, uint64_t stream, sparsec_argument_t *out,
                           PyObject **object) {
  *object = NULL;
  if (value == Py_None) {
    memset(out, 0, sizeof *out); /* open */
  } else if (PyFloat_Check(value) || PyLong_Check(value)) {
    *out = sparsec_argument_scalar(PyFloat_AsDouble(value));
    if (PyErr_Occurred())
      return -1;
  } else if (Py_TYPE(value) == state->blocks) {
    *out = sparsec_argument_blocks(&((BlocksObject *)value)->view);
  } else {
    *object = Py_TYPE(value) == state->dense ? Py_NewRef(value) : makeDense(state, value, SPARSEC_DTYPE_NONE, stream);
    if (!*object)
      return -1;
    *out = sparsec_argument_dense(&((DenseObject *)*object)->view);
    return 0;
  }
  *object = Py_NewRef(value);
  return 0;
}

int collectArguments(ModuleState *state, PyObject *tuple, uint64_t stream, Arguments *out) {
  memset(out, 0, sizeof *out);
  Py_ssize_t count = PyTuple_Size(tuple);
  if (count < 0)
    return -1;
  out->list = PyMem_Calloc((size_t)count + 1, sizeof *out->list);
  out->objects = PyTuple_New(count);
  if (!out->list || !out->objects) {
    PyErr_NoMemory();
    goto failed;
  }
  out->count = (size_t)count;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *object;
    if (convertArgument(state, PyTuple_GetItem(tuple, i), stream, &out->list[i], &object))
      goto failed;
    PyTuple_SetItem(out->objects, i, object);
  }
  return 0;
failed:
  releaseArguments(out);
  return -1;
}

void releaseArguments(Arguments *arguments) {
  PyMem_Free(arguments->list);
  arguments->list = NULL;
  Py_CLEAR(arguments->objects);
}
