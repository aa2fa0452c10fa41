import type { Quota } from '../../data/quotas.ts';

export const whenFullNames: Readonly<Record<Quota['whenFull'], string>> = {
  OVER_QUOTA: 'Turn away',
  CLOSE: 'Close the survey',
  COUNT_ONLY: 'Only count',
};

export const whenFullOptions = (Object.keys(whenFullNames) as Quota['whenFull'][]).map((value) => ({
  value,
  label: whenFullNames[value],
}));
