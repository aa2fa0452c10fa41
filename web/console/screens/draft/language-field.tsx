import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { translationLanguages } from '../../../../src/domain/translation/languages.ts';
import { ComboBox } from '../../parts/choice-fields.tsx';

const options = translationLanguages.map((value) => ({ value: value as string, label: languageName(value) }));

/** The language that a survey is written in. */
export const LanguageField = ({ value, onChange }: { value: string; onChange(language: string): void }) => (
  <ComboBox label="Language" options={options} value={value} onChange={(next) => next !== null && onChange(next)} />
);
