import { type SurveyStatus, surveyStatuses } from '../../data/surveys.ts';
import { Select } from '../../parts/choice-fields.tsx';
import { statusNames } from './survey-status.tsx';

const options = [
  { value: 'ALL' as const, label: 'Every status' },
  ...surveyStatuses.map((value) => ({ value, label: statusNames[value] })),
];

interface StatusFilterProps {
  status: SurveyStatus | undefined;
  /** Undefined: surveys of every status. */
  onChange(status: SurveyStatus | undefined): void;
}

export const StatusFilter = ({ status, onChange }: StatusFilterProps) => (
  <Select
    label="Status"
    isLabelHidden
    options={options}
    value={status ?? 'ALL'}
    onChange={(next) => onChange(next === 'ALL' ? undefined : next)}
  />
);
