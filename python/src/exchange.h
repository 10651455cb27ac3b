/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * exchange.h: the part of DLPack's C exchange interface (`__dlpack_c_exchange_api__`, DLPack 1.2) that reading tensors
 * needs. A type of arrays that has it gives the memory of an object, and the stream of its library, without a call of
 * Python. torch has it from 2.10 on.
 */
#ifndef SPARSEC_PYTHON_EXCHANGE_H
#define SPARSEC_PYTHON_EXCHANGE_H

#include "native.h"

/* DLTensor. */
typedef struct {
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t typeCode, bits;
  uint16_t lanes;
  int64_t *sizes, *strides;
  uint64_t byteOffset;
} ExchangeTensor;

/* DLPackExchangeAPI. */
struct ExchangeInterface {
  uint32_t majorVersion, minorVersion;
  struct ExchangeInterface *older;
  void (*unused[3])(void);                                       /* they make tensors that own memory */
  int (*readTensor)(void *object, ExchangeTensor *out);          /* dltensor_from_py_object_no_sync, may be NULL */
  int (*currentStream)(int32_t type, int32_t id, void **stream); /* current_work_stream */
};

enum { EXCHANGE_CUDA = 2 }; /* kDLCUDA */

/* The interface of the object's type, or NULL without an exception if it has none. */
const ExchangeInterface *exchangeOf(ModuleState *state, PyObject *object);

/* Reads the memory of an object whose type has the interface. Returns -1 with an exception if it cannot be a view. */
int readExchange(ModuleState *state, const ExchangeInterface *exchange, PyObject *object, sparsec_dense_t *out);

#endif /* SPARSEC_PYTHON_EXCHANGE_H */
