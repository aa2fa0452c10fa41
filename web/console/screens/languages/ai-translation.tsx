import { useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { type TranslationLanguage, translationLanguages } from '../../../../src/domain/translation/languages.ts';
import { Button } from '../../parts/button.tsx';
import { CheckboxGroup } from '../../parts/choice-fields.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';

interface AiTranslationProps {
  own: string;
  /** The languages that have a translation already. */
  known: readonly string[];
  onStart(languages: TranslationLanguage[]): void;
  onClose(): void;
}

/** Asks to which languages an AI provider translates. */
export function AiTranslation({ own, known, onStart, onClose }: AiTranslationProps) {
  const languages = translationLanguages.filter((language) => language !== own);
  const [chosen, setChosen] = useState<TranslationLanguage[]>(languages.filter((language) => known.includes(language)));
  return (
    <Dialog title="Translate with AI" isOpen onClose={onClose}>
      <p>
        Texts without a translation, and those whose original has changed since, are sent to the AI provider. Others
        stay as they are. Each text can be corrected afterwards.
      </p>
      <CheckboxGroup
        label="Languages"
        options={languages.map((value) => ({ value, label: languageName(value) }))}
        value={chosen}
        onChange={(next) => setChosen(next as TranslationLanguage[])}
      />
      <DialogActions>
        <Button onPress={onClose}>Cancel</Button>
        <Button look="primary" isDisabled={chosen.length === 0} onPress={() => onStart(chosen)}>
          Translate
        </Button>
      </DialogActions>
    </Dialog>
  );
}
