// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams, events and graphs of the simulated driver. Work runs when it is enqueued; a captured stream keeps it.

#include "simulated_device.h"

#include <chrono>

using namespace sparsec::runtime;
using namespace sparsec::simulator;

namespace {

using Graph = std::vector<Work>;
using Event = std::chrono::steady_clock::time_point;

} // namespace

extern "C" {

CUresult cuStreamCreate(Stream **stream, unsigned) {
  *stream = new Stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(Stream *stream) {
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(Stream *) {
  std::lock_guard lock(device().mutex);
  return device().takeError();
}
CUresult cuCtxSynchronize() { return cuStreamSynchronize(nullptr); }

CUresult cuStreamBeginCapture_v2(Stream *stream, int) {
  std::lock_guard lock(device().mutex);
  stream->isCaptured = true;
  stream->captured.clear();
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(Stream *stream, Graph **graph) {
  std::lock_guard lock(device().mutex);
  stream->isCaptured = false;
  *graph = new Graph(std::move(stream->captured));
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(const Stream *stream, CUstreamCaptureStatus *status, uint64_t *id, void **,
                                   const void **, size_t *) {
  std::lock_guard lock(device().mutex);
  *status = CUstreamCaptureStatus(stream && stream->isCaptured);
  *id = 1; // one capture at a time
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(Graph **executable, const Graph *graph, unsigned long long) {
  *executable = new Graph(*graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(const Graph *executable, Stream *stream) {
  std::lock_guard lock(device().mutex);
  for (const Work &work : *executable)
    device().enqueue(stream, work);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(Graph *executable) {
  delete executable;
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(Graph *graph) {
  delete graph;
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(Event **event, unsigned) {
  *event = new Event;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(Event *event) {
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(Event *event, Stream *) {
  *event = std::chrono::steady_clock::now();
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *milliseconds, const Event *start, const Event *end) {
  *milliseconds = std::chrono::duration<float, std::milli>(*end - *start).count();
  return CUDA_SUCCESS;
}

} // extern "C"
