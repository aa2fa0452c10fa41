import { useDraft } from '../../app/drafts.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Form } from '../../parts/form.tsx';
import { listIn } from '../../parts/list-field.tsx';
import { Card } from '../../parts/page.tsx';
import { TextArea } from '../../parts/text-fields.tsx';
import type { CardProps } from './logo-card.tsx';
import { SaveRow, useSave } from './save-row.tsx';

const storedOf = ({ appearance }: SurveyWithQuestions) => ({ origins: appearance.allowedOrigins.join('\n') });

const names = { origins: 'Origins that may embed the survey' };

/** The origins whose pages may show the survey in a frame. */
export function EmbeddingCard({ survey, isReadOnly }: CardProps) {
  const { id } = survey;
  const draft = useDraft(`${id} embedding`, storedOf(survey));
  const { fields, edit } = draft;
  const submission = useSave({
    surveyId: id,
    draft,
    storedOf,
    change: () => ({ appearance: { allowedOrigins: listIn(fields.origins) } }),
  });
  const origins = listIn(fields.origins);
  // The service names the place of an origin in the list.
  const [wrong] = origins.flatMap((origin, index) => {
    const error = submission.errorOf(`appearance.allowedOrigins.${index}`);
    return error === undefined ? [] : `${origin}: ${error}`;
  });
  return (
    <Card title="Embedding">
      <Form onSubmit={submission.submit}>
        <TextArea
          label={names.origins}
          value={fields.origins}
          onChange={(next) => edit({ origins: next })}
          placeholder="https://www.example.org"
          isReadOnly={isReadOnly}
          error={wrong ?? submission.errorOf('appearance.allowedOrigins')}
          hint="One a line, such as https://www.example.org; * alone: any. Empty: the survey is shown in no page of others."
        />
        <SaveRow submission={submission} draft={draft} names={names} />
      </Form>
    </Card>
  );
}
