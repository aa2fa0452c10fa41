import { type Outcome, outcomeNames, outcomes } from '../data/responses.ts';
import { type Option, Select } from '../parts/choice-fields.tsx';

const every = 'EVERY';
const options: readonly Option<Outcome | typeof every>[] = [
  { value: every, label: 'Every outcome' },
  ...outcomes.map((value) => ({ value, label: outcomeNames[value] })),
];

interface OutcomeSelectProps {
  isLabelHidden?: boolean;
  /** Undefined: every outcome. */
  value: Outcome | undefined;
  onChange(outcome: Outcome | undefined): void;
}

/** The outcome of the responses that are shown or written. */
export const OutcomeSelect = ({ value, onChange, ...props }: OutcomeSelectProps) => (
  <Select
    {...props}
    label="Outcome"
    options={options}
    value={value ?? every}
    onChange={(next) => onChange(next === every ? undefined : next)}
  />
);
