import type { Quota } from '../../data/quotas.ts';
import { Select } from '../../parts/choice-fields.tsx';

export type Rules = Pick<Quota, 'counts' | 'whenFull'>;

export const initialRules: Rules = { counts: 'COMPLETED', whenFull: 'OVER_QUOTA' };

export const countsNames: Readonly<Record<Rules['counts'], string>> = {
  COMPLETED: 'Complete responses',
  STARTED: 'Partial ones too',
};

export const whenFullNames: Readonly<Record<Rules['whenFull'], string>> = {
  OVER_QUOTA: 'Turn away',
  CLOSE: 'Close the survey',
  COUNT_ONLY: 'Only count',
};

const optionsOf = <Value extends string>(names: Readonly<Record<Value, string>>) =>
  (Object.keys(names) as Value[]).map((value) => ({ value, label: names[value] }));

/** Which responses quotas count, and what happens when they are full. */
export function RuleFields({ rules, onChange }: { rules: Rules; onChange(rules: Rules): void }) {
  return (
    <>
      <Select
        label="Counts"
        options={optionsOf(countsNames)}
        value={rules.counts}
        onChange={(counts: Rules['counts']) => onChange({ ...rules, counts })}
      />
      <Select
        label="When full"
        options={optionsOf(whenFullNames)}
        value={rules.whenFull}
        onChange={(whenFull: Rules['whenFull']) => onChange({ ...rules, whenFull })}
      />
    </>
  );
}
