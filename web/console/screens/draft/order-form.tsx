import { Sparkles } from 'lucide-react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { AiProblem } from '../../app/ai-problem.tsx';
import { AiProviderSelect } from '../../app/ai-provider-select.tsx';
import { useDraft } from '../../app/drafts.ts';
import type { AiProviderName } from '../../data/ai-jobs.ts';
import type { DraftOrder } from '../../data/conversations.ts';
import { Button } from '../../parts/button.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { FieldRow, Form } from '../../parts/form.tsx';
import { LanguageField } from '../../parts/language-field.tsx';
import { NumberField, TextArea, TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';

const fewestQuestions = 5;
const mostQuestions = 30;

interface OrderFormProps {
  language: string;
  onLanguage(language: string): void;
  failure: unknown;
  onOrder(order: DraftOrder): Promise<boolean>;
}

interface Order {
  topic: string;
  audience: string;
  questionCount: number | null;
  provider: AiProviderName | undefined;
}

const blank: Order = { topic: '', audience: '', questionCount: 10, provider: undefined };

/** What the survey is to be about. What was typed is kept when the view is left, and when the provider fails. */
export function OrderForm({ language, onLanguage, failure, onOrder }: OrderFormProps) {
  const { fields, edit, reset } = useDraft<Order>('new survey with AI', blank);
  const { topic, audience, questionCount, provider } = fields;
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      const order = { prompt: promptOf(fields, language), questionCount: questionCount ?? 10, provider };
      if (await onOrder(order)) reset();
    },
    () => ({
      topic: topic.trim() === '' ? 'Please say what the survey is about.' : undefined,
      questionCount: questionCount === null ? 'Please enter a number from 5 to 30.' : undefined,
    }),
  );
  return (
    <Form onSubmit={submit}>
      <TextArea
        label="Topic"
        value={topic}
        onChange={(next) => edit({ topic: next })}
        rows={4}
        maxLength={8000}
        placeholder="What guests think of our canteen, and what would bring them more often"
        error={errorOf('topic')}
        autoFocus
      />
      <TextField
        label="Audience"
        value={audience}
        onChange={(next) => edit({ audience: next })}
        maxLength={500}
        placeholder="Employees who eat there at least once a month"
      />
      <FieldRow>
        <NumberField
          label="Questions"
          value={questionCount}
          onChange={(next) => edit({ questionCount: next })}
          minValue={fewestQuestions}
          maxValue={mostQuestions}
          step={1}
          error={errorOf('questionCount')}
        />
        <LanguageField value={language} onChange={onLanguage} />
      </FieldRow>
      <AiProviderSelect value={provider} onChange={(next) => edit({ provider: next })} />
      <p className="muted">What you write here is sent to the provider as it is.</p>
      {problem !== undefined && <FormError>{problem}</FormError>}
      {failure !== undefined && <AiProblem error={failure} />}
      <div>
        <Button type="submit" look="primary" icon={<Sparkles aria-hidden />} isPending={isPending}>
          Write the draft
        </Button>
      </div>
    </Form>
  );
}

/** The order in the words of an author. */
const promptOf = ({ topic, audience }: Order, language: string): string =>
  [
    topic.trim(),
    ...(audience.trim() === '' ? [] : [`Respondents: ${audience.trim()}`]),
    `Language of the survey: ${languageName(language)}`,
  ].join('\n\n');
