// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launchers: launches whose checks are done and whose parameters are filled once, to be run again and again.
#include "arguments/memory_check.h"
#include "arguments/overlap.h"
#include "arguments/strides.h"
#include "launch/choose_variant.h"
#include "launch/launch.h"

#include <cstring>
#include <memory>
#include <vector>

using namespace sparsec::runtime;

namespace sparsec::runtime {

namespace {

/// A copy of what an argument points to.
union View {
  sparsec_dense_t dense;
  sparsec_blocks_t blocks;
};

/// Arguments that refer to copies of their views.
class OwnArguments {
public:
  OwnArguments(const sparsec_kernel_s &kernel, const sparsec_argument_t *source)
      : views(kernel.info->argument_count), arguments(kernel.info->argument_count) {
    assign(source);
  }

  /// Checked arguments of the same kernel.
  void assign(const sparsec_argument_t *source) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      arguments[i] = source[i];
      if (source[i].kind == SPARSEC_ARGUMENT_SCALAR)
        continue;
      if (isBlocks(source[i].kind))
        views[i].blocks = blocksOf(source[i]);
      else
        views[i].dense = denseOf(source[i]);
      arguments[i].view = &views[i];
    }
  }
  const sparsec_argument_t *data() const { return arguments.data(); }
  size_t size() const { return arguments.size(); }

private:
  std::vector<View> views;
  std::vector<sparsec_argument_t> arguments;
};

/// One machine kernel with its parameters.
struct PreparedStage {
  explicit PreparedStage(const StageLaunch &launch) : launch(launch) {}

  StageLaunch launch;
  // Those of the next binding are filled beside the present ones, so that a binding that fails changes nothing and one
  // that succeeds allocates nothing.
  std::unique_ptr<ParameterPack> parameters = std::make_unique<ParameterPack>();
  std::unique_ptr<ParameterPack> next = std::make_unique<ParameterPack>();
};

} // namespace

} // namespace sparsec::runtime

struct sparsec_launcher_s {
  sparsec_launcher_s(const sparsec_kernel_s &kernel, sparsec_plan_t plan, const sparsec_argument_t *arguments)
      : kernel(kernel), module(kernel.module->shared_from_this()), lists(plan ? plan->lists : KnownLists()),
        arguments(kernel, arguments) {}

  const sparsec_kernel_s &kernel;
  std::shared_ptr<Module> module; // keeps the kernel and the device
  const KnownLists lists;         // of the plan
  OwnArguments arguments;
  const Variant *variant = nullptr; // null where there is nothing to compute
  std::vector<PreparedStage> stages;
};

namespace sparsec::runtime {

namespace {

/// Calls `body`, where the launcher is for a GPU in the device's context.
template <typename Body> Status onDevice(const sparsec_launcher_s &launcher, const Body &body) {
  if (launcher.module->device->isHost())
    return body();
  ContextScope current(*launcher.module->device);
  SPARSEC_RETURN_IF_ERROR(current.status());
  return body();
}

Status createLauncher(const sparsec_kernel_s &kernel, sparsec_plan_t plan, const sparsec_argument_t *arguments,
                      size_t count, const sparsec_launch_options_t &options,
                      std::unique_ptr<sparsec_launcher_s> &outLauncher) {
  std::optional<Launch> launch;
  SPARSEC_RETURN_IF_ERROR(prepareLaunch(kernel, plan, arguments, count, options, launch));
  auto launcher = std::make_unique<sparsec_launcher_s>(kernel, plan, arguments);
  if (launch) {
    launch->arguments = launcher->arguments.data();
    launcher->variant = &launch->variant;
    for (const Stage &each : launch->variant.stages) {
      PreparedStage &stage = launcher->stages.emplace_back(stageOf(*launch, each));
      SPARSEC_RETURN_IF_ERROR(checkTileCount(stage.launch.grid));
      SPARSEC_RETURN_IF_ERROR(onDevice(*launcher, [&] { return stage.parameters->fill(stage.launch); }));
    }
  }
  outLauncher = std::move(launcher);
  return {};
}

Status runStages(sparsec_launcher_s &launcher, void *stream) {
  for (PreparedStage &stage : launcher.stages) {
    if (launcher.module->device->isHost())
      runOnHost(stage.launch, *stage.parameters);
    else
      SPARSEC_RETURN_IF_ERROR(runOnGpu(stage.launch, *stage.parameters, stream));
  }
  return {};
}

Status runLauncher(sparsec_launcher_s &launcher, void *stream) {
  SPARSEC_RETURN_IF_ERROR(checkListsForLaunch(launcher.kernel, launcher.arguments.data(), launcher.lists, stream));
  if (launcher.stages.empty())
    return {};
  SPARSEC_RETURN_IF_ERROR(
      checkValuesForLaunch(launcher.kernel, launcher.arguments.data(), launcher.stages.front().launch.problem, stream));
  return onDevice(launcher, [&] { return runStages(launcher, stream); });
}

/// Refuses an argument that differs from the launcher's own in more than its memory.
Status checkSameForm(const Checked &argument, const sparsec_argument_t &own) {
  auto check = [&](int64_t value, int64_t expected, const auto &...name) {
    if (value == expected)
      return Status();
    return argument.refuse("expects ", name..., " to be ", expected, ", as the launcher was made for, but got ", value);
  };
  if (isBlocks(own.kind)) {
    const sparsec_blocks_t &blocks = argument.blocks(), &expected = blocksOf(own);
    SPARSEC_RETURN_IF_ERROR(check(blocks.encoding, expected.encoding, "encoding"));
    SPARSEC_RETURN_IF_ERROR(check(blocks.batches, expected.batches, "batches"));
    SPARSEC_RETURN_IF_ERROR(check(blocks.heads, expected.heads, "heads"));
    SPARSEC_RETURN_IF_ERROR(check(blocks.rows, expected.rows, "rows"));
    SPARSEC_RETURN_IF_ERROR(check(blocks.columns, expected.columns, "columns"));
    return check(blocks.capacity, expected.capacity, "capacity");
  }
  if (own.kind != SPARSEC_ARGUMENT_DENSE)
    return {};
  const sparsec_dense_t &tensor = argument.dense(), &expected = denseOf(own);
  for (int32_t d = 0; d < expected.rank; ++d) {
    SPARSEC_RETURN_IF_ERROR(check(tensor.sizes[d], expected.sizes[d], "size ", d));
    if (usesStride(expected, d))
      SPARSEC_RETURN_IF_ERROR(check(tensor.strides[d], expected.strides[d], "stride ", d));
  }
  return {};
}

/// Whether the views differ in no byte but their pointer to elements, both of which are aligned to elements, or NULL.
template <typename View, typename Pointer> bool isSameView(const View &view, View own, Pointer View::*elements) {
  constexpr uintptr_t largestElement = 8;
  const auto address = reinterpret_cast<uintptr_t>(view.*elements), before = reinterpret_cast<uintptr_t>(own.*elements);
  own.*elements = view.*elements;
  return !address == !before && address % largestElement == before % largestElement &&
         std::memcmp(&view, &own, sizeof(view)) == 0;
}

/// Whether the arguments differ from the launcher's own in no byte but pointers to elements, and scalars.
bool areSameViews(const sparsec_launcher_s &launcher, const sparsec_argument_t *arguments, size_t count) {
  if (!arguments || count != launcher.arguments.size())
    return false;
  for (size_t i = 0; i < count; ++i) {
    const sparsec_argument_t &argument = arguments[i], &own = launcher.arguments.data()[i];
    if (argument.kind != own.kind || argument.reserved != own.reserved)
      return false;
    if (own.kind == SPARSEC_ARGUMENT_SCALAR)
      continue;
    // A view of another size is one of another version.
    if (!argument.view || *static_cast<const size_t *>(argument.view) != *static_cast<const size_t *>(own.view))
      return false;
    if (isBlocks(own.kind) ? !isSameView(blocksOf(argument), blocksOf(own), &sparsec_blocks_t::values)
                           : !isSameView(denseOf(argument), denseOf(own), &sparsec_dense_t::data))
      return false;
  }
  return true;
}

Status checkBinding(const sparsec_launcher_s &launcher, const sparsec_argument_t *arguments, size_t count) {
  if (areSameViews(launcher, arguments, count))
    return checkOverlaps(launcher.kernel, arguments); // all else was checked before
  Problem problem;
  SPARSEC_RETURN_IF_ERROR(checkArguments(launcher.kernel, arguments, count, Use::launch, problem));
  for (uint32_t i = 0; i < count; ++i)
    SPARSEC_RETURN_IF_ERROR(
        checkSameForm(checkedArgument(launcher.kernel, arguments, i), launcher.arguments.data()[i]));
  return {};
}

Status rebindLauncher(sparsec_launcher_s &launcher, const sparsec_argument_t *arguments, size_t count) {
  const sparsec_kernel_s &kernel = launcher.kernel;
  SPARSEC_RETURN_IF_ERROR(checkBinding(launcher, arguments, count));
  SPARSEC_RETURN_IF_ERROR(checkMemory(kernel, arguments));
  if (launcher.variant)
    SPARSEC_RETURN_IF_ERROR(checkRequirements(kernel, *launcher.variant, arguments));
  for (PreparedStage &stage : launcher.stages) {
    StageLaunch launch = stage.launch;
    launch.arguments = arguments;
    SPARSEC_RETURN_IF_ERROR(onDevice(launcher, [&] { return stage.next->fillFrom(*stage.parameters, launch); }));
  }
  for (PreparedStage &stage : launcher.stages)
    stage.parameters.swap(stage.next);
  launcher.arguments.assign(arguments);
  return {};
}

} // namespace

} // namespace sparsec::runtime

sparsec_status_t sparsec_launcher_create(sparsec_kernel_t kernel, sparsec_plan_t plan,
                                         const sparsec_argument_t *arguments, size_t argument_count,
                                         const sparsec_launch_options_t *options, sparsec_launcher_t *out_launcher) {
  return guarded([&]() -> Status {
    if (!out_launcher)
      return invalidArgument("out_launcher is NULL");
    *out_launcher = nullptr;
    if (!kernel || !options)
      return invalidArgument(kernel ? "options" : "kernel", " is NULL");
    std::unique_ptr<sparsec_launcher_s> launcher;
    SPARSEC_RETURN_IF_ERROR(createLauncher(*kernel, plan, arguments, argument_count, *options, launcher));
    *out_launcher = launcher.release();
    return {};
  });
}

sparsec_status_t sparsec_launcher_run(sparsec_launcher_t launcher, void *stream) {
  return guarded([&]() -> Status {
    if (!launcher)
      return invalidArgument("launcher is NULL");
    return runLauncher(*launcher, stream);
  });
}

sparsec_status_t sparsec_launcher_rebind(sparsec_launcher_t launcher, const sparsec_argument_t *arguments,
                                         size_t argument_count) {
  return guarded([&]() -> Status {
    if (!launcher)
      return invalidArgument("launcher is NULL");
    return rebindLauncher(*launcher, arguments, argument_count);
  });
}

void sparsec_launcher_destroy(sparsec_launcher_t launcher) { delete launcher; }
