import { useDraft } from '../../app/drafts.ts';
import { Form } from '../../parts/form.tsx';
import { Card } from '../../parts/page.tsx';
import { TextArea } from '../../parts/text-fields.tsx';
import type { CardProps } from './logo-card.tsx';
import { SaveRow, useSave } from './save-row.tsx';

const originsIn = (text: string) => text.split(/[\s,]+/).filter((part) => part !== '');

/** The origins whose pages may show the survey in a frame. */
export function EmbeddingCard({ survey: { id, appearance }, isReadOnly }: CardProps) {
  const { fields, isChanged, edit, reset } = useDraft(`${id} embedding`, {
    origins: appearance.allowedOrigins.join('\n'),
  });
  const submission = useSave(id, () => ({ appearance: { allowedOrigins: originsIn(fields.origins) } }), reset);
  const origins = originsIn(fields.origins);
  // The service names the place of an origin in the list.
  const [wrong] = origins.flatMap((origin, index) => {
    const error = submission.errorOf(`appearance.allowedOrigins.${index}`);
    return error === undefined ? [] : `${origin}: ${error}`;
  });
  return (
    <Card title="Embedding">
      <Form onSubmit={submission.submit}>
        <TextArea
          label="Origins that may embed the survey"
          value={fields.origins}
          onChange={(next) => edit({ origins: next })}
          placeholder="https://www.example.org"
          isReadOnly={isReadOnly}
          error={wrong ?? submission.errorOf('appearance.allowedOrigins')}
          hint="One a line, such as https://www.example.org; * alone: any. Empty: the survey is shown in no page of others."
        />
        <SaveRow submission={submission} isChanged={isChanged} onReset={reset} />
      </Form>
    </Card>
  );
}
