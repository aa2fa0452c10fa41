import type { NumberMoments } from '../../../domain/questions/contract.ts';
import { areSameBins, arrayJoinBinScan, binScan, binsOf, collectBins } from './bins.ts';
import { arrayJoinMomentScan, collectMoments, type Moments, momentScan, type NumberRequest } from './numbers.ts';
import type { PlanContext, Step } from './plans.ts';
import { collectRanges, type NumberRange, rangeScan, rangesOf } from './ranges.ts';
import type { ScanRow } from './scans.ts';

export interface NumberCounts {
  moments: Map<NumberRequest, NumberMoments>;
  ranges: ReadonlyMap<number, NumberRange | null>;
  areBinsRight: boolean;
}

/** So many numbers are planned as fast one by one as unfolded. */
const maxSeparateNumbers = 8;

/**
 * Moments and bins of numbers. Where bins lie follows from the answers, and they are counted in the same statement: so it is assumed that
 * the least and greatest answers are those of the last time, which the statement looks up as well.
 */
export function numberStep(
  requests: readonly NumberRequest[],
  { columnOf, isSmall, isFiltered, ranges: assumedRanges }: PlanContext,
): Step<NumberCounts> {
  const usesArrayJoin = requests.length > (isSmall ? 1 : maxSeparateNumbers);
  const assumedBins = requests.map((request) => ({ request, ...binsOf(request, assumedRanges.get(request.slot)) }));
  const binned = assumedBins.filter(({ edges }) => edges.length > 1);
  const measured =
    requests.length === 0
      ? []
      : [usesArrayJoin ? arrayJoinMomentScan(requests, columnOf) : momentScan(requests, columnOf)];
  const counted =
    binned.length === 0 ? [] : [usesArrayJoin ? arrayJoinBinScan(binned, columnOf) : binScan(binned, columnOf)];
  // Where all is selected, the moments say it; bins of a scale lie still.
  const unscaled = isFiltered ? requests.filter(({ scale }) => !scale) : [];
  const ofRanges = unscaled.length === 0 ? [] : [rangeScan(unscaled, { columnOf, isSmall })];
  return {
    scans: [...measured, ...counted, ...ofRanges],
    collect(rows) {
      const moments = collectMoments(rows[0] ?? [], requests, usesArrayJoin);
      const ranges = isFiltered
        ? collectRanges(rows[measured.length + counted.length] ?? [], unscaled)
        : rangesOf(requests, moments);
      const binRows: readonly ScanRow[] = counted.length > 0 ? (rows[1] ?? []) : [];
      const entries = assumedBins.map(({ request, ...bins }, index) => {
        const ofThis = binRows
          .filter(([place]) => binned[place]?.request === request)
          .map(([, , , figures]) => figures);
        const range = request.scale ? undefined : ranges.get(request.slot);
        return [
          request,
          {
            ...withoutWholeCheck(moments[index]),
            bins: collectBins({ ...bins, count: moments[index]?.count ?? 0, rows: ofThis, range }),
          },
        ] as const;
      });
      const areBinsRight = assumedBins.every(({ request, ...bins }) =>
        areSameBins(bins, binsOf(request, ranges.get(request.slot))),
      );
      return { moments: new Map(entries), ranges, areBinsRight };
    },
  };
}

function withoutWholeCheck(moments: Moments | undefined): Omit<NumberMoments, 'bins'> {
  if (!moments) throw new Error('a number was not measured');
  const { areWhole: _, ...rest } = moments;
  return rest;
}
