import { type AiProviderName, aiProviderNames } from '../data/ai-jobs.ts';
import { Select } from '../parts/choice-fields.tsx';

interface AiProviderSelectProps {
  /** Undefined: the first configured one. */
  value: AiProviderName | undefined;
  onChange(provider: AiProviderName | undefined): void;
  isDisabled?: boolean;
}

const options = [
  { value: 'default' as const, label: 'The first that is set up' },
  ...(Object.keys(aiProviderNames) as AiProviderName[]).map((value) => ({ value, label: aiProviderNames[value] })),
];

/** Which provider is asked. */
export const AiProviderSelect = ({ value, onChange, isDisabled = false }: AiProviderSelectProps) => (
  <Select
    label="AI provider"
    options={options}
    value={value ?? 'default'}
    onChange={(next) => onChange(next === 'default' ? undefined : next)}
    isDisabled={isDisabled}
  />
);
