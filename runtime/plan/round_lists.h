// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of tiles that a machine kernel makes in microseconds (SPARSEC_AUXILIARY_WRITE_LISTS), and that are the same
// where the host makes them.

#ifndef SPARSEC_RUNTIME_ROUND_LISTS_H
#define SPARSEC_RUNTIME_ROUND_LISTS_H

#include "plan/tile_lists.h"

namespace sparsec::runtime {

/// Tiles go to workers in rounds. In each of them a worker gets one tile: the worker with the least load so far the
/// costliest one. The first round has the tiles that are left over, for the first workers, so that the sizes of the
/// lists depend on the numbers of tiles and workers alone, and later rounds level what it leaves uneven.
///
/// The order of the tiles is that of groups of `panelsAtOnce` panels, in each the rows by falling cost, and of a row
/// the tiles of these panels one after the other. The last group has the tiles of `lastRounds` at least, if there are
/// so many: the last round then has the tiles that cost the least, so that loads differ by little. Rows of more than
/// twice the cost of the middle one come first, in all panels: behind the others their tiles would end too late.
///
/// `groupRows` and `panelsPerUnit` of the input do not count.
TileLists makeRoundLists(const TileListInput &input);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_ROUND_LISTS_H
