/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Handlers of XLA's foreign function interface, which launch kernels for JAX. A call has the attributes
 *
 *   kernel            the text of a kernel
 *   blocks            the numbers of its matrix or pattern (BlockNumbers); empty: it takes none
 *   row_ptr, col_idx  the lists of a matrix that is the same in all calls; empty: its lists are operands only
 *   scale             the value of the kernel's scalar
 *   bshd              1: tensors of rank 4 have tokens before heads
 *
 * Its operands are the kernel's inputs in order: of a matrix row_ptr, col_idx and (unless the kernel samples it)
 * values; of a pattern the starts and indices of the full and of the partial lists, if there are such lists.
 *
 * When XLA instantiates a call, Python compiles the text. The state of the call keeps the kernel, and for each device a
 * plan and a workspace. Launches need no interpreter.
 */

#include "xla.h"
#include "native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 32 };

/* XLA registers handlers for the process, and so do these: the module that registered them first serves all. */
static struct {
  ModuleState *state;
  PyObject *resolve; /* resolve(text, platform) -> a function that takes the ordinal of a device and gives the kernel */
  int isClosed;      /* the interpreter ends: what is left goes with the process */
} bridge;

typedef enum { PLATFORM_HOST, PLATFORM_CUDA, PLATFORM_COUNT } Platform;
static const char *const platformNames[PLATFORM_COUNT] = {"cpu", "CUDA"};
static XlaTypeId stateTypes[PLATFORM_COUNT]; /* XLA sets them */

/* The kernel of a call on one device. */
typedef struct Place {
  struct Place *next;
  int32_t ordinal;
  KernelObject *kernel;
  sparsec_plan_t plan; /* NULL: there is none */
  void *workspace;
  size_t workspaceBytes;
} Place;

typedef struct {
  PyObject *kernelOn; /* what `resolve` gave */
  PyThread_type_lock lock;
  Place *places;
} State;

/* ---- Errors -------------------------------------------------------------- */

static XlaError *refuse(const XlaCall *call, int32_t code, const char *message) {
  XlaErrorRequest request = {sizeof request, NULL, message, code};
  return call->api->createError(&request);
}

/* Frees the status. */
static XlaError *refuseStatus(const XlaCall *call, sparsec_status_t status) {
  int32_t code = XLA_ERROR_INTERNAL;
  switch (sparsec_status_code(status)) {
  case SPARSEC_STATUS_INVALID_ARGUMENT:
  case SPARSEC_STATUS_INVALID_PATTERN:
    code = XLA_ERROR_INVALID_ARGUMENT;
    break;
  case SPARSEC_STATUS_OUT_OF_MEMORY:
    code = XLA_ERROR_RESOURCE_EXHAUSTED;
    break;
  case SPARSEC_STATUS_UNAVAILABLE:
    code = XLA_ERROR_UNAVAILABLE;
    break;
  default:
    break;
  }
  char message[1024];
  snprintf(message, sizeof message, "sparsec: %s", sparsec_status_message(status));
  sparsec_status_free(status);
  return refuse(call, code, message);
}

/* The exception that is set, which it clears. */
static XlaError *refuseException(const XlaCall *call) {
  const int32_t code = PyErr_ExceptionMatches(PyExc_ValueError) ? XLA_ERROR_INVALID_ARGUMENT : XLA_ERROR_INTERNAL;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *text = PyUnicode_FromFormat("sparsec: %S", value);
  const char *message = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  PyErr_Clear();
  XlaError *error = refuse(call, code, message ? message : "sparsec: an exception without a text");
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return error;
}

/* ---- Attributes ---------------------------------------------------------- */

/* The attribute of this name: an XlaText, an XlaScalar or an XlaArray. This package writes all of them in every call.
 */
static const void *attribute(const XlaCall *call, const char *name) {
  const size_t length = strlen(name);
  for (int64_t i = 0; i < call->attributes.count; ++i) {
    const XlaText *each = call->attributes.names[i];
    if (each->length == length && memcmp(each->data, name, length) == 0)
      return call->attributes.list[i];
  }
  return NULL;
}

/* The attribute `blocks`. */
typedef struct {
  int64_t rows, columns, blockRows, blockColumns, batches, heads, capacity, isPadded, hasFull, hasPartial;
} BlockNumbers;

static BlockNumbers blockNumbers(const XlaCall *call) {
  BlockNumbers numbers = {0};
  const XlaArray *array = attribute(call, "blocks");
  if (array->count * sizeof(int64_t) == sizeof numbers)
    memcpy(&numbers, array->data, sizeof numbers);
  return numbers;
}

static int hasConstantLists(const XlaCall *call) {
  const XlaArray *starts = attribute(call, "row_ptr");
  return starts->count != 0;
}

/* ---- Arguments ----------------------------------------------------------- */

/* The arguments of one launch. */
typedef struct {
  sparsec_argument_t list[MOST_ARGUMENTS];
  union {
    sparsec_dense_t dense;
    sparsec_blocks_t blocks;
  } views[MOST_ARGUMENTS];
  size_t count;
  size_t blocksPlace; /* of the matrix or pattern; `count`: there is none */
} LaunchArguments;

/* Takes the operands of a call in order. */
typedef struct {
  const XlaCall *call;
  int64_t next;
} Operands;

/* The next operand, or the next result behind the last operand; NULL behind the last result. */
static const XlaBuffer *nextBuffer(Operands *operands) {
  const XlaBuffers *arguments = &operands->call->arguments, *results = &operands->call->results;
  const int64_t place = operands->next++;
  if (place < arguments->count)
    return arguments->list[place];
  return place - arguments->count < results->count ? results->list[place - arguments->count] : NULL;
}

static const void *nextData(Operands *operands) {
  const XlaBuffer *buffer = nextBuffer(operands);
  return buffer ? buffer->data : NULL;
}

static sparsec_dtype_t dtypeOf(int32_t type) {
  switch (type) {
  case XLA_TYPE_PRED:
  case XLA_TYPE_S8:
    return SPARSEC_DTYPE_I8;
  case XLA_TYPE_S32:
    return SPARSEC_DTYPE_I32;
  case XLA_TYPE_S64:
    return SPARSEC_DTYPE_I64;
  case XLA_TYPE_F16:
    return SPARSEC_DTYPE_F16;
  case XLA_TYPE_F32:
    return SPARSEC_DTYPE_F32;
  case XLA_TYPE_BF16:
    return SPARSEC_DTYPE_BF16;
  case XLA_TYPE_F8E5M2:
    return SPARSEC_DTYPE_F8E5M2;
  case XLA_TYPE_F8E4M3FN:
    return SPARSEC_DTYPE_F8E4M3FN;
  default:
    return SPARSEC_DTYPE_NONE; /* the runtime refuses it by the name of the argument */
  }
}

static void swap(int64_t *left, int64_t *right) {
  const int64_t old = *left;
  *left = *right;
  *right = old;
}

/* Returns 0 if the call has too few buffers, or one of too high a rank. */
static int readDense(Operands *operands, int hasHeadsBehindTokens, sparsec_dense_t *out) {
  const XlaBuffer *buffer = nextBuffer(operands);
  if (!buffer || buffer->rank > SPARSEC_MAX_RANK)
    return 0;
  *out = sparsec_dense(buffer->data, dtypeOf(buffer->type), (int32_t)buffer->rank, buffer->sizes);
  if (hasHeadsBehindTokens && buffer->rank == 4) {
    swap(&out->sizes[1], &out->sizes[2]);
    swap(&out->strides[1], &out->strides[2]);
  }
  return 1;
}

static void readLists(Operands *operands, sparsec_block_lists_t *out) {
  out->starts = nextData(operands);
  out->indices = nextData(operands);
}

static void readBlocks(Operands *operands, const sparsec_argument_info_t *info, int isSampled, sparsec_blocks_t *out) {
  const BlockNumbers numbers = blockNumbers(operands->call);
  *out = sparsec_blocks_pattern(numbers.batches, numbers.heads, numbers.rows, numbers.columns,
                                (int32_t)numbers.blockRows, (int32_t)numbers.blockColumns);
  out->capacity = numbers.capacity;
  out->encoding = numbers.isPadded ? SPARSEC_PATTERN_PADDED_LISTS : SPARSEC_PATTERN_INDEX_ARRAYS;
  if (numbers.hasFull)
    readLists(operands, &out->full);
  if (numbers.hasPartial)
    readLists(operands, &out->partial);
  if (info->kind == SPARSEC_ARGUMENT_BSR) {
    out->dtype = (sparsec_dtype_t)info->dtype;
    out->values = isSampled ? NULL : nextData(operands);
  }
}

/* Reads all arguments. Returns 0 if the call does not have the kernel's operands and results. */
static int readArguments(const XlaCall *call, sparsec_kernel_t kernel, LaunchArguments *out) {
  Operands operands = {call, 0};
  const int isSampled = sparsec_kernel_operation(kernel)->kind == SPARSEC_OPERATION_SDDMM;
  const int hasHeadsBehindTokens = *(const int32_t *)((const XlaScalar *)attribute(call, "bshd"))->value;
  out->count = out->blocksPlace = sparsec_kernel_info(kernel)->argument_count;
  if (out->count > MOST_ARGUMENTS)
    return 0;
  for (size_t i = 0; i < out->count; ++i) {
    const sparsec_argument_info_t *info = sparsec_kernel_argument(kernel, i);
    if (info->kind == SPARSEC_ARGUMENT_SCALAR) {
      out->list[i] = sparsec_argument_scalar(*(const double *)((const XlaScalar *)attribute(call, "scale"))->value);
    } else if (info->kind == SPARSEC_ARGUMENT_DENSE) {
      if (!readDense(&operands, hasHeadsBehindTokens, &out->views[i].dense))
        return 0;
      out->list[i] = sparsec_argument_dense(&out->views[i].dense);
    } else {
      readBlocks(&operands, info, isSampled, &out->views[i].blocks);
      out->list[i] = sparsec_argument_blocks(&out->views[i].blocks);
      out->blocksPlace = i;
    }
  }
  return operands.next == call->arguments.count + call->results.count;
}

/* ---- Plans and workspaces ------------------------------------------------ */

/* Copies an array of the attributes to the device; on the host the copy has its alignment. */
static sparsec_status_t copyList(sparsec_device_t device, const XlaArray *list, void **out) {
  const size_t bytes = list->count * sizeof(int32_t);
  sparsec_status_t status = sparsec_memory_allocate(device, bytes, out);
  return status ? status : sparsec_memory_upload(device, *out, list->data, bytes);
}

/* Makes the plan of a matrix whose lists are attributes. Products have one for all widths, others one for these
 * sizes. */
static sparsec_status_t planConstantLists(const XlaCall *call, Place *place, LaunchArguments *arguments, void *stream) {
  sparsec_device_t device = place->kernel->image->device->handle;
  sparsec_blocks_t *blocks = &arguments->views[arguments->blocksPlace].blocks;
  const sparsec_block_lists_t operands = blocks->full;
  void *starts = NULL, *indices = NULL;
  if (sparsec_kernel_operation(place->kernel->handle)->kind == SPARSEC_OPERATION_SPMM)
    for (size_t i = 0; i < arguments->count; ++i)
      if (i != arguments->blocksPlace)
        arguments->list[i].kind = 0;
  sparsec_status_t status = copyList(device, attribute(call, "row_ptr"), &starts);
  if (!status)
    status = copyList(device, attribute(call, "col_idx"), &indices);
  if (!status) {
    const sparsec_plan_options_t options = {.size = sizeof options,
                                            .arguments = arguments->list,
                                            .argument_count = arguments->count,
                                            .stream = stream,
                                            .flags = SPARSEC_PLAN_STATIC_PATTERN};
    blocks->full = (sparsec_block_lists_t){starts, indices};
    status = sparsec_plan_create(place->kernel->handle, &options, &place->plan);
    blocks->full = operands;
  }
  sparsec_memory_free(device, starts);
  sparsec_memory_free(device, indices);
  return status;
}

/* Makes the plan of attention: the contents of a pattern are known only to the launch, so that workers take tiles as
 * they become free. */
static sparsec_status_t planSizes(Place *place, LaunchArguments *arguments, void *stream) {
  if (arguments->blocksPlace < arguments->count)
    arguments->list[arguments->blocksPlace].kind = 0;
  const sparsec_plan_options_t options = {
      .size = sizeof options, .arguments = arguments->list, .argument_count = arguments->count, .stream = stream};
  return sparsec_plan_create(place->kernel->handle, &options, &place->plan);
}

static sparsec_status_t makePlan(const XlaCall *call, Place *place, void *stream) {
  LaunchArguments arguments;
  readArguments(call, place->kernel->handle, &arguments);
  if (hasConstantLists(call))
    return planConstantLists(call, place, &arguments, stream);
  if (sparsec_kernel_operation(place->kernel->handle)->kind == SPARSEC_OPERATION_ATTENTION)
    return planSizes(place, &arguments, stream);
  return NULL; /* tiles in a fixed order */
}

/* A call has one workspace for each device: its launches run one after the other on the stream of a computation. Those
 * of the host have none. */
static sparsec_status_t makeWorkspace(const XlaCall *call, Place *place) {
  if (!place->plan || place->ordinal == SPARSEC_PLACE_HOST)
    return NULL;
  LaunchArguments arguments;
  readArguments(call, place->kernel->handle, &arguments);
  size_t bytes = 0;
  sparsec_status_t status = sparsec_plan_workspace_bytes(place->plan, arguments.list, arguments.count, &bytes);
  if (status || bytes == 0)
    return status;
  void *zeros = calloc(1, bytes);
  sparsec_device_t device = place->kernel->image->device->handle;
  status = sparsec_memory_allocate(device, zeros ? bytes : SIZE_MAX, &place->workspace);
  if (!status)
    status = sparsec_memory_upload(device, place->workspace, zeros, bytes);
  place->workspaceBytes = bytes;
  free(zeros);
  return status;
}

/* ---- Places -------------------------------------------------------------- */

/* Python gives the kernel on a device. Needs the interpreter's lock. */
static KernelObject *kernelOn(const State *state, int32_t ordinal) {
  PyObject *kernel = PyObject_CallFunction(state->kernelOn, "i", (int)ordinal);
  if (kernel && Py_TYPE(kernel) != bridge.state->kernel) {
    raiseInvalidArgument(bridge.state, "expects a kernel, but got %R", (PyObject *)Py_TYPE(kernel));
    Py_CLEAR(kernel);
  }
  return (KernelObject *)kernel;
}

/* Needs the interpreter's lock. */
static void freePlace(Place *place) {
  sparsec_plan_destroy(place->plan);
  if (place->workspace)
    sparsec_memory_free(place->kernel->image->device->handle, place->workspace);
  Py_XDECREF((PyObject *)place->kernel);
  free(place);
}

/* Makes a place without its plan. Returns NULL with an error. */
static Place *newPlace(const XlaCall *call, const State *state, int32_t ordinal, XlaError **error) {
  Place *place = calloc(1, sizeof *place);
  if (!place) {
    *error = refuse(call, XLA_ERROR_RESOURCE_EXHAUSTED, "sparsec: no memory for a call");
    return NULL;
  }
  place->ordinal = ordinal;
  const PyGILState_STATE interpreter = PyGILState_Ensure();
  place->kernel = kernelOn(state, ordinal);
  if (!place->kernel)
    *error = refuseException(call);
  PyGILState_Release(interpreter);
  LaunchArguments arguments;
  if (!*error && !readArguments(call, place->kernel->handle, &arguments))
    *error = refuse(call, XLA_ERROR_INTERNAL, "sparsec: a call does not have the operands and results of its kernel");
  if (!*error)
    return place;
  freePlace(place);
  return NULL;
}

static Place *findPlace(State *state, int32_t ordinal) {
  Place *place = state->places;
  while (place && place->ordinal != ordinal)
    place = place->next;
  return place;
}

/* The place of the call's device. The first call on a device makes it. Returns NULL with an error. */
static Place *placeOf(const XlaCall *call, State *state, int32_t ordinal, void *stream, XlaError **error) {
  PyThread_acquire_lock(state->lock, WAIT_LOCK);
  Place *place = findPlace(state, ordinal);
  PyThread_release_lock(state->lock);
  if (place)
    return place;
  /* Not under the lock of the state: who has the interpreter's lock may wait for that. */
  Place *made = newPlace(call, state, ordinal, error);
  if (!made)
    return NULL;
  sparsec_status_t status = makePlan(call, made, stream);
  if (!status)
    status = makeWorkspace(call, made);
  PyThread_acquire_lock(state->lock, WAIT_LOCK);
  place = findPlace(state, ordinal); /* of another thread */
  if (!place && !status) {
    made->next = state->places;
    place = state->places = made;
  }
  PyThread_release_lock(state->lock);
  if (place != made) {
    const PyGILState_STATE interpreter = PyGILState_Ensure();
    freePlace(made);
    PyGILState_Release(interpreter);
  }
  if (status && !place)
    *error = refuseStatus(call, status);
  else
    sparsec_status_free(status);
  return place;
}

/* ---- Handlers ------------------------------------------------------------ */

/* Answers XLA's question at the registration of a handler. Returns 0 if the call is none. */
static int answerMetadata(const XlaCall *call, Platform platform) {
  for (const XlaExtension *each = call->extensions; each; each = each->next) {
    if (each->kind != XLA_EXTENSION_METADATA)
      continue;
    XlaMetadata *metadata = ((const XlaMetadataExtension *)each)->metadata;
    metadata->version.major = XLA_VERSION_MAJOR;
    metadata->version.minor = XLA_VERSION_MINOR;
    /* A launch enqueues the same kernels each time. Plans and workspaces are there before a graph is recorded. */
    metadata->traits = XLA_TRAIT_COMMAND_BUFFER;
    metadata->stateType = stateTypes[platform];
    return 1;
  }
  return 0;
}

static void deleteState(void *data) {
  State *state = data;
  if (bridge.isClosed)
    return;
  const PyGILState_STATE interpreter = PyGILState_Ensure();
  while (state->places) {
    Place *place = state->places;
    state->places = place->next;
    freePlace(place);
  }
  Py_XDECREF(state->kernelOn);
  PyGILState_Release(interpreter);
  if (state->lock)
    PyThread_free_lock(state->lock);
  free(state);
}

static XlaError *instantiate(XlaCall *call, Platform platform) {
  if (answerMetadata(call, platform))
    return NULL;
  State *state = calloc(1, sizeof *state);
  if (!state || !(state->lock = PyThread_allocate_lock())) {
    free(state);
    return refuse(call, XLA_ERROR_RESOURCE_EXHAUSTED, "sparsec: no memory for a call");
  }
  const XlaText *text = attribute(call, "kernel");
  XlaError *error = NULL;
  const PyGILState_STATE interpreter = PyGILState_Ensure();
  state->kernelOn =
      PyObject_CallFunction(bridge.resolve, "s#s", text->data, (Py_ssize_t)text->length, platformNames[platform]);
  if (!state->kernelOn)
    error = refuseException(call);
  PyGILState_Release(interpreter);
  if (!error) {
    XlaStateRequest request = {sizeof request,        NULL, call->context, XLA_STAGE_INSTANTIATE,
                               &stateTypes[platform], state};
    error = call->api->setState(&request);
  }
  if (error)
    deleteState(state);
  return error;
}

/* Gives the state of a call, its stream and the ordinal of its device. The host has no stream. */
static XlaError *contextOf(const XlaCall *call, Platform platform, State **state, void **stream, int32_t *ordinal) {
  XlaStateRequest request = {sizeof request, NULL, call->context, XLA_STAGE_INSTANTIATE, &stateTypes[platform], NULL};
  XlaError *error = call->api->getState(&request);
  *state = request.state;
  *stream = NULL;
  *ordinal = SPARSEC_PLACE_HOST;
  if (error || platform == PLATFORM_HOST)
    return error;
  XlaStreamRequest streamRequest = {sizeof streamRequest, NULL, call->context, NULL};
  XlaOrdinalRequest ordinalRequest = {sizeof ordinalRequest, NULL, call->context, 0};
  error = call->api->getStream(&streamRequest);
  if (!error)
    error = call->api->getOrdinal(&ordinalRequest);
  *stream = streamRequest.stream;
  *ordinal = ordinalRequest.ordinal;
  return error;
}

/* Lists that are operands have any contents. On the host, launches of attention check them, others do not. */
static sparsec_status_t checkLists(const XlaCall *call, const Place *place, const LaunchArguments *arguments) {
  const int isAttention = sparsec_kernel_operation(place->kernel->handle)->kind == SPARSEC_OPERATION_ATTENTION;
  if (place->ordinal != SPARSEC_PLACE_HOST || isAttention || hasConstantLists(call))
    return NULL;
  return sparsec_blocks_check(&arguments->views[arguments->blocksPlace].blocks);
}

/* Launches, or only makes what launches need (isReal 0). */
static XlaError *execute(XlaCall *call, Platform platform, int isReal) {
  if (answerMetadata(call, platform))
    return NULL;
  State *state;
  void *stream;
  int32_t ordinal;
  XlaError *error = contextOf(call, platform, &state, &stream, &ordinal);
  const Place *place = error ? NULL : placeOf(call, state, ordinal, stream, &error);
  if (!place || !isReal)
    return error;
  LaunchArguments arguments;
  readArguments(call, place->kernel->handle, &arguments);
  const sparsec_launch_options_t options = {
      sizeof options, stream, place->workspace, place->workspaceBytes, 0, 0, NULL};
  sparsec_status_t status = checkLists(call, place, &arguments);
  if (!status)
    status = sparsec_launch_with_options(place->kernel->handle, place->plan, arguments.list, arguments.count, &options);
  return status ? refuseStatus(call, status) : NULL;
}

static XlaError *instantiateOnHost(XlaCall *call) { return instantiate(call, PLATFORM_HOST); }
static XlaError *executeOnHost(XlaCall *call) { return execute(call, PLATFORM_HOST, 1); }
static XlaError *instantiateOnCuda(XlaCall *call) { return instantiate(call, PLATFORM_CUDA); }
/* XLA calls it before it records a graph, in which no memory can be allocated. */
static XlaError *initializeOnCuda(XlaCall *call) { return execute(call, PLATFORM_CUDA, 0); }
static XlaError *executeOnCuda(XlaCall *call) { return execute(call, PLATFORM_CUDA, 1); }

/* ---- Registration -------------------------------------------------------- */

static PyObject *capsuleOf(void *pointer) { return PyCapsule_New(pointer, NULL, NULL); }

static PyObject *handlerOf(XlaError *(*handler)(XlaCall *)) {
  void *pointer;
  memcpy(&pointer, &handler, sizeof pointer); /* C has no conversion between pointers to functions and to data */
  return capsuleOf(pointer);
}

PyObject *xlaHandlers(PyObject *module, PyObject *resolve) {
  static XlaTypeInfo info = {sizeof info, NULL, deleteState};
  if (!bridge.resolve) {
    bridge.resolve = Py_NewRef(resolve);
    bridge.state = PyModule_GetState(module);
    Py_NewRef(module);
  }
  return Py_BuildValue("{s:(N,{s:N,s:N}),s:(N,{s:N,s:N,s:N}),s:N}", "cpu", capsuleOf(&stateTypes[PLATFORM_HOST]),
                       "instantiate", handlerOf(instantiateOnHost), "execute", handlerOf(executeOnHost), "CUDA",
                       capsuleOf(&stateTypes[PLATFORM_CUDA]), "instantiate", handlerOf(instantiateOnCuda), "initialize",
                       handlerOf(initializeOnCuda), "execute", handlerOf(executeOnCuda), "type", capsuleOf(&info));
}

PyObject *xlaClose(PyObject *module, PyObject *unused) {
  bridge.isClosed = 1;
  Py_RETURN_NONE;
}
