import { useState } from 'react';
import { canonicalLanguage } from '../../../src/domain/language.ts';
import { languageName } from '../../../src/domain/translation/language-name.ts';
import { translationLanguages } from '../../../src/domain/translation/languages.ts';
import { ComboBox } from './choice-fields.tsx';

const letters = Array.from('abcdefghijklmnopqrstuvwxyz');
const named = letters
  .flatMap((first) => letters.map((second) => first + second))
  .filter((tag) => canonicalLanguage(tag) === tag && languageName(tag) !== tag)
  .sort((one, other) => languageName(one).localeCompare(languageName(other), 'en'));
/** Those that surveys are translated to come first. */
const languages: readonly string[] = [...translationLanguages, ...named];

interface LanguageFieldProps {
  label?: string;
  /** Languages that cannot be chosen. */
  taken?: ReadonlySet<string>;
  value: string;
  onChange(language: string): void;
}

/** The language that a survey is written in: one of a list, or any other by its tag, such as `gsw` or `pt-BR`. */
export function LanguageField({ label = 'Language', taken, value, onChange }: LanguageFieldProps) {
  const [typed, setTyped] = useState('');
  /** Offered also until it is the value: the field is empty where its option is not there. */
  const [chosen, setChosen] = useState(value);
  const tag = canonicalLanguage(typed.trim());
  const offered = [...new Set([value, chosen, ...languages, ...(tag === undefined ? [] : [tag])])];
  const options = offered
    .filter((language) => language === value || language === chosen || !taken?.has(language))
    .map((language) => ({
      value: language,
      // What is typed finds the options whose label contains it.
      label: `${languageName(language)} (${language})`,
    }));
  return (
    <ComboBox
      label={label}
      options={options}
      value={value}
      onChange={(next) => {
        if (next === null || next === value) return;
        setChosen(next);
        onChange(next);
      }}
      onInputChange={setTyped}
    />
  );
}
