import { colorIssues, contrastOf, pageColors } from '../../../../src/domain/contrast.ts';
import { useDraft } from '../../app/drafts.ts';
import { WordingField } from '../../conditions/wording-field.tsx';
import { sentence } from '../../data/problems.ts';
import { definitionOf } from '../../data/questions.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { RadioGroup } from '../../parts/choice-fields.tsx';
import { ColorField, isColor } from '../../parts/color-field.tsx';
import { FieldRow, Form } from '../../parts/form.tsx';
import { Card } from '../../parts/page.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import type { CardProps } from './logo-card.tsx';
import { SaveRow, useSave } from './save-row.tsx';
import styles from './settings.module.css';

const pageModes = [
  { value: 'SECTION', label: 'A section' },
  { value: 'QUESTION', label: 'A question' },
] as const;

const storedOf = ({ appearance }: SurveyWithQuestions) => {
  const { pageMode, primaryColor, backgroundColor, closingText, redirectUrl } = appearance;
  return { pageMode, primaryColor, backgroundColor, closingText, redirectUrl };
};

const names = {
  pageMode: 'A page shows',
  primaryColor: 'Colour of buttons and marks',
  backgroundColor: 'Colour behind the questions',
  closingText: 'Closing text',
  redirectUrl: 'Then lead to',
};

/** Colours, what a page holds, and what follows the last question. */
export function LookCard({ survey, isReadOnly }: CardProps) {
  const { id } = survey;
  const draft = useDraft(`${id} look`, storedOf(survey));
  const { fields, changes, edit } = draft;
  const colors = colorProblems(fields);
  const submission = useSave({
    surveyId: id,
    draft,
    storedOf,
    change: () => ({ appearance: changes }),
    check: () => colors,
  });
  const errorOf = (name: string) => submission.errorOf(`appearance.${name}`);
  return (
    <Card title="Look and end">
      <Form onSubmit={submission.submit}>
        <FieldRow>
          <ColorField
            label={names.primaryColor}
            value={fields.primaryColor}
            onChange={(next) => edit({ primaryColor: next })}
            initial={pageColors.accent}
            isDisabled={isReadOnly}
            hint={contrastHint(fields.primaryColor ?? pageColors.accent, pageColors.onAccent, 'the white text on it')}
            error={colors['primaryColor'] ?? errorOf('primaryColor')}
          />
          <ColorField
            label={names.backgroundColor}
            value={fields.backgroundColor}
            onChange={(next) => edit({ backgroundColor: next })}
            initial={pageColors.background}
            isDisabled={isReadOnly}
            hint={contrastHint(fields.backgroundColor ?? pageColors.background, pageColors.text, 'the text on it')}
            error={colors['backgroundColor'] ?? errorOf('backgroundColor')}
          />
        </FieldRow>
        <Sample
          primary={colors['primaryColor'] === undefined ? fields.primaryColor : null}
          background={colors['backgroundColor'] === undefined ? fields.backgroundColor : null}
        />
        <RadioGroup
          label={names.pageMode}
          options={pageModes}
          value={fields.pageMode}
          onChange={(next: (typeof pageModes)[number]['value']) => edit({ pageMode: next })}
          isAcross
          isDisabled={isReadOnly}
        />
        <WordingField
          label={names.closingText}
          earlier={definitionOf(survey).questions}
          value={fields.closingText ?? ''}
          onChange={(next) => edit({ closingText: next === '' ? null : next })}
          maxLength={5000}
          isReadOnly={isReadOnly}
          error={errorOf('closingText')}
          hint="Shown when a response is complete. It may name answers. Empty: the page’s own text."
        />
        <TextField
          label={names.redirectUrl}
          type="url"
          value={fields.redirectUrl ?? ''}
          onChange={(next) => edit({ redirectUrl: next === '' ? null : next })}
          placeholder="https://www.example.org/thanks"
          isReadOnly={isReadOnly}
          error={errorOf('redirectUrl')}
          hint="An http or https address to which respondents are sent at the end."
        />
        <SaveRow submission={submission} draft={draft} names={names} options={pageModes} />
      </Form>
    </Card>
  );
}

interface Colors {
  primaryColor: string | null;
  backgroundColor: string | null;
}

/** What is wrong with colours as they are typed, by their field: the rule of the service. */
function colorProblems({ primaryColor, backgroundColor }: Colors): Record<string, string | undefined> {
  const wrong = (color: string | null) =>
    color === null || isColor(color) ? undefined : 'Please enter a colour such as #1f5fbf.';
  const form = { primaryColor: wrong(primaryColor), backgroundColor: wrong(backgroundColor) };
  const known = {
    primaryColor: form.primaryColor === undefined ? primaryColor : null,
    backgroundColor: form.backgroundColor === undefined ? backgroundColor : null,
  };
  const issues = colorIssues(known).map(({ path, message }) => [path.replace('appearance.', ''), sentence(message)]);
  // The first issue of a colour is shown.
  return { ...form, ...Object.fromEntries(issues.reverse()) };
}

function contrastHint(color: string, text: string, what: string): string | undefined {
  if (!isColor(color)) return undefined;
  return `Contrast ${(Math.floor(contrastOf(color, text) * 10) / 10).toFixed(1)}:1 with ${what}.`;
}

/** A button and a text in the colours; colours that cannot be taken are not shown. */
function Sample({ primary, background }: { primary: string | null; background: string | null }) {
  const surface = { background: background ?? pageColors.background, color: pageColors.text };
  const button = { background: primary ?? pageColors.accent, color: pageColors.onAccent };
  return (
    <div className={styles.sample} style={surface} aria-hidden>
      <span>How was your stay?</span>
      <span className={styles.sampleButton} style={button}>
        Next
      </span>
    </div>
  );
}
