import { useDraft } from '../../app/drafts.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { RadioGroup } from '../../parts/choice-fields.tsx';
import { Form } from '../../parts/form.tsx';
import { Card } from '../../parts/page.tsx';
import type { CardProps } from './logo-card.tsx';
import { SaveRow, useSave } from './save-row.tsx';

type Visibility = SurveyWithQuestions['visibility'];

const visibilities = [
  {
    value: 'PUBLIC',
    label: 'Everybody who has the address',
    note: 'Links with the token go on working, also when the survey is private again.',
  },
  {
    value: 'PRIVATE',
    label: 'Only those whose link has the survey’s token',
    note: 'Links, invitations and embed codes without it do not open the survey. Publish shows those with the token.',
  },
] as const;

const storedOf = ({ visibility }: SurveyWithQuestions) => ({ visibility });

const names = { visibility: 'Who can answer' };

/** Whether the survey is public or private. */
export function AccessCard({ survey, isReadOnly }: CardProps) {
  const { id } = survey;
  const draft = useDraft(`${id} access`, storedOf(survey));
  const submission = useSave({ surveyId: id, draft, storedOf, change: () => draft.changes });
  return (
    <Card title="Access">
      <Form onSubmit={submission.submit}>
        <RadioGroup
          label={names.visibility}
          options={visibilities}
          value={draft.fields.visibility}
          onChange={(visibility: Visibility) => draft.edit({ visibility })}
          isDisabled={isReadOnly}
          error={submission.errorOf('visibility')}
        />
        <SaveRow submission={submission} draft={draft} names={names} options={visibilities} />
      </Form>
    </Card>
  );
}
