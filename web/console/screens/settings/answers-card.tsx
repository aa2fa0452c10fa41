import { useDraft } from '../../app/drafts.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Checkbox } from '../../parts/choice-fields.tsx';
import { FieldRow, Form } from '../../parts/form.tsx';
import { Card } from '../../parts/page.tsx';
import { NumberField } from '../../parts/text-fields.tsx';
import type { CardProps } from './logo-card.tsx';
import { SaveRow, useSave } from './save-row.tsx';
import styles from './settings.module.css';

const storedOf = (survey: SurveyWithQuestions) => {
  const { isAnonymous, responseQuota, submissionRateLimit, retentionDays, aiEnabled } = survey;
  return { isAnonymous, responseQuota, submissionRateLimit, retentionDays, aiEnabled };
};

const names = {
  isAnonymous: 'Anonymous',
  responseQuota: 'Complete responses wanted',
  submissionRateLimit: 'Submissions a minute',
  retentionDays: 'Days that responses are kept',
  aiEnabled: 'AI for this survey',
};

/** How many responses are taken, what is kept of them and for how long, and whether AI may read them. */
export function AnswersCard({ survey, isReadOnly }: CardProps) {
  const { id, isAnonymous, responseCount } = survey;
  const draft = useDraft(`${id} answers`, storedOf(survey));
  const { fields, changes, edit } = draft;
  const submission = useSave({ surveyId: id, draft, storedOf, change: () => changes });
  const { errorOf } = submission;
  const cannotBecomeAnonymous = !isAnonymous && responseCount > 0;
  return (
    <Card title="Responses">
      <Form onSubmit={submission.submit}>
        <Checkbox
          isSelected={fields.isAnonymous}
          onChange={(next) => edit({ isAnonymous: next })}
          isDisabled={isReadOnly || cannotBecomeAnonymous}
        >
          <Explained
            title={names.isAnonymous}
            text={
              cannotBecomeAnonymous
                ? 'This can be switched on only while there are no responses, since these may name their respondents.'
                : 'No address, browser or respondent is stored anywhere.'
            }
          />
        </Checkbox>
        <Checkbox isSelected={fields.aiEnabled} onChange={(next) => edit({ aiEnabled: next })} isDisabled={isReadOnly}>
          <Explained
            title={names.aiEnabled}
            text="Switched off, nothing of this survey is sent to an AI provider: no drafts, translations, themes or reports."
          />
        </Checkbox>
        <FieldRow>
          <NumberField
            label={names.responseQuota}
            value={fields.responseQuota}
            onChange={(next) => edit({ responseQuota: next })}
            minValue={1}
            isDisabled={isReadOnly}
            error={errorOf('responseQuota')}
            hint="The survey closes when it has them. Empty: no limit."
          />
          <NumberField
            label={names.submissionRateLimit}
            value={fields.submissionRateLimit}
            onChange={(next) => edit({ submissionRateLimit: next })}
            minValue={1}
            maxValue={10_000_000}
            isDisabled={isReadOnly}
            error={errorOf('submissionRateLimit')}
            hint="From one network address. Empty: the general limit."
          />
          <NumberField
            label={names.retentionDays}
            value={fields.retentionDays}
            onChange={(next) => edit({ retentionDays: next })}
            minValue={1}
            maxValue={36_500}
            isDisabled={isReadOnly}
            error={errorOf('retentionDays')}
            hint="Older ones are erased for good. Empty: the general setting."
          />
        </FieldRow>
        <SaveRow submission={submission} draft={draft} names={names} />
      </Form>
    </Card>
  );
}

function Explained({ title, text }: { title: string; text: string }) {
  return (
    <span className={styles.explained}>
      <span>{title}</span>
      <span className="muted">{text}</span>
    </span>
  );
}
