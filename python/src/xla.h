/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * xla.h: the part of XLA's foreign function interface that the handlers of xla.c use, version 0.3, which JAX has from
 * 0.10 on. The structs are declared here, so that building the package needs no jaxlib. A test compares them with the
 * header that jaxlib ships (xla/ffi/api/c_api.h), which explains them; the comments here give its names.
 */
#ifndef SPARSEC_PYTHON_XLA_H
#define SPARSEC_PYTHON_XLA_H

#include <stddef.h>
#include <stdint.h>

enum { XLA_VERSION_MAJOR = 0, XLA_VERSION_MINOR = 3 };

/* XLA_FFI_Extension_Base. */
typedef struct XlaExtension {
  size_t size;
  int32_t kind;
  struct XlaExtension *next;
} XlaExtension;

enum { XLA_EXTENSION_METADATA = 1 };

/* XLA_FFI_Api_Version. */
typedef struct {
  size_t size;
  XlaExtension *extensions;
  int32_t major, minor;
} XlaVersion;

typedef struct XlaError XlaError;
typedef struct XlaContext XlaContext; /* XLA_FFI_ExecutionContext */

/* XLA_FFI_Error_Code */
enum {
  XLA_ERROR_INVALID_ARGUMENT = 3,
  XLA_ERROR_RESOURCE_EXHAUSTED = 8,
  XLA_ERROR_INTERNAL = 13,
  XLA_ERROR_UNAVAILABLE = 14,
};

/* XLA_FFI_DataType */
enum {
  XLA_TYPE_PRED = 1,
  XLA_TYPE_S8 = 2,
  XLA_TYPE_S32 = 4,
  XLA_TYPE_S64 = 5,
  XLA_TYPE_F16 = 10,
  XLA_TYPE_F32 = 11,
  XLA_TYPE_BF16 = 16,
  XLA_TYPE_F8E5M2 = 19,
  XLA_TYPE_F8E4M3FN = 20,
};

/* XLA_FFI_ExecutionStage */
enum { XLA_STAGE_INSTANTIATE = 0 };

/* XLA_FFI_Handler_TraitsBits */
enum { XLA_TRAIT_COMMAND_BUFFER = 1 };

/* XLA_FFI_ByteSpan: a string attribute, or the name of one. */
typedef struct {
  const char *data;
  size_t length;
} XlaText;

/* XLA_FFI_Scalar and XLA_FFI_Array: other attributes. */
typedef struct {
  int32_t type;
  void *value;
} XlaScalar;

typedef struct {
  int32_t type;
  size_t count;
  void *data;
} XlaArray;

/* XLA_FFI_Buffer: row-major and contiguous. */
typedef struct {
  size_t size;
  XlaExtension *extensions;
  int32_t type;
  void *data;
  int64_t rank;
  int64_t *sizes;
} XlaBuffer;

/* XLA_FFI_TypeId and XLA_FFI_TypeInfo: of the state that a computation keeps for a call. */
typedef struct {
  int64_t id;
} XlaTypeId;

typedef struct {
  size_t size;
  XlaExtension *extensions;
  void (*deleter)(void *state);
} XlaTypeInfo;

/* XLA_FFI_Args and XLA_FFI_Rets. */
typedef struct {
  size_t size;
  XlaExtension *extensions;
  int64_t count;
  int32_t *kinds;
  void **list;
} XlaBuffers;

/* XLA_FFI_Attrs. */
typedef struct {
  size_t size;
  XlaExtension *extensions;
  int64_t count;
  int32_t *kinds;
  XlaText **names;
  void **list;
} XlaAttributes;

/* XLA_FFI_Error_Create_Args. */
typedef struct {
  size_t size;
  XlaExtension *extensions;
  const char *message;
  int32_t code;
} XlaErrorRequest;

/* XLA_FFI_State_Set_Args and XLA_FFI_State_Get_Args. */
typedef struct {
  size_t size;
  XlaExtension *extensions;
  XlaContext *context;
  int32_t stage; /* that set the state */
  XlaTypeId *type;
  void *state;
} XlaStateRequest;

/* XLA_FFI_Stream_Get_Args. */
typedef struct {
  size_t size;
  XlaExtension *extensions;
  XlaContext *context;
  void *stream;
} XlaStreamRequest;

/* XLA_FFI_DeviceOrdinal_Get_Args. */
typedef struct {
  size_t size;
  XlaExtension *extensions;
  XlaContext *context;
  int32_t ordinal;
} XlaOrdinalRequest;

/* XLA_FFI_Api. */
typedef struct {
  size_t size;
  XlaExtension *extensions;
  XlaVersion version;
  const void *internal;
  XlaError *(*createError)(XlaErrorRequest *request);
  void (*unused1[3])(void); /* Error_GetMessage to Handler_Register */
  XlaError *(*getStream)(XlaStreamRequest *request);
  void (*unused2[2])(void); /* Type_Register, ExecutionContext_Get */
  XlaError *(*setState)(XlaStateRequest *request);
  XlaError *(*getState)(XlaStateRequest *request);
  void (*unused3[8])(void); /* DeviceMemory_Allocate to RunId_Get */
  XlaError *(*getOrdinal)(XlaOrdinalRequest *request);
} XlaApi;

/* XLA_FFI_CallFrame. */
typedef struct {
  size_t size;
  XlaExtension *extensions;
  const XlaApi *api;
  XlaContext *context;
  int32_t stage;
  XlaBuffers arguments, results;
  XlaAttributes attributes;
} XlaCall;

/* XLA_FFI_Metadata and XLA_FFI_Metadata_Extension: what XLA asks of a handler when it is registered. */
typedef struct {
  size_t size;
  XlaVersion version;
  uint32_t traits;
  XlaTypeId stateType;
} XlaMetadata;

typedef struct {
  XlaExtension base;
  XlaMetadata *metadata;
} XlaMetadataExtension;

#endif /* SPARSEC_PYTHON_XLA_H */
