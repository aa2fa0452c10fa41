import { useState } from 'react';
import { useDraft } from '../../app/drafts.ts';
import { toast } from '../../app/toasts.tsx';
import { readSurvey } from '../../data/survey-reads.ts';
import { changeSurvey, publishSurvey, type SurveyStatus, type SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { ConflictPanel } from '../../parts/conflict.tsx';
import { instantOf, localDateTime, yearProblem } from '../../parts/date-time.ts';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { FieldRow, Form } from '../../parts/form.tsx';
import { formatMoment } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { DateField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './publish.module.css';

interface Step {
  action: string;
  title: string;
  explanation: string;
  done: string;
  to: SurveyStatus;
  look: 'primary' | 'normal' | 'danger';
}

const publish: Step = {
  action: 'Publish',
  title: 'Publish the survey?',
  explanation: 'Everybody who has the link can answer it from now on, or from its start.',
  done: 'The survey is published.',
  to: 'ACTIVE',
  look: 'primary',
};
const resume: Step = { ...publish, action: 'Resume', title: 'Resume the survey?', done: 'The survey goes on.' };
const reopen: Step = { ...publish, action: 'Open again', title: 'Open the survey again?', done: 'The survey is open.' };
const pause: Step = {
  action: 'Pause',
  title: 'Pause the survey?',
  explanation: 'Respondents are told to come back later. What they have typed stays on their device.',
  done: 'The survey is paused.',
  to: 'PAUSED',
  look: 'normal',
};
const close: Step = {
  action: 'Close the survey',
  title: 'Close the survey?',
  explanation: 'It takes no more responses, and respondents are told that it is over. It can be opened again.',
  done: 'The survey is closed.',
  to: 'CLOSED',
  look: 'danger',
};

const steps: Readonly<Record<SurveyStatus, readonly Step[]>> = {
  DRAFT: [publish],
  ACTIVE: [pause, close],
  PAUSED: [resume, close],
  CLOSED: [reopen],
};

const sentences: Readonly<Record<SurveyStatus, string>> = {
  DRAFT: 'A draft: its link shows nothing yet.',
  ACTIVE: 'Published: it takes responses.',
  PAUSED: 'Paused: it takes no responses at the moment.',
  CLOSED: 'Closed: it takes no responses.',
};

function sentenceOf({ status, startsAt, endsAt }: SurveyWithQuestions): string {
  if (status !== 'ACTIVE') return sentences[status];
  if (endsAt !== null && Date.parse(endsAt) <= Date.now()) return `Ended on ${formatMoment(endsAt)}.`;
  if (startsAt !== null && Date.parse(startsAt) > Date.now())
    return `Published: it takes responses from ${formatMoment(startsAt)}.`;
  return sentences.ACTIVE;
}

/** The status of a survey, what can be done with it, and its schedule. */
export function StatusCard({ survey, isReadOnly }: { survey: SurveyWithQuestions; isReadOnly: boolean }) {
  const [step, setStep] = useState<Step>();
  const actions = !isReadOnly && (
    <div className={styles.actions}>
      {steps[survey.status].map((one) => (
        <Button key={one.action} look={one.look} onPress={() => setStep(one)}>
          {one.action}
        </Button>
      ))}
    </div>
  );
  const take = async (taken: Step) => {
    if (taken.to === 'ACTIVE') await publishSurvey(survey.id);
    else await changeSurvey(survey.id, { status: taken.to });
    toast({ text: taken.done });
  };
  return (
    <Card title="Status" actions={actions}>
      <p>{sentenceOf(survey)}</p>
      <Schedule survey={survey} isReadOnly={isReadOnly} />
      {step && (
        <ConfirmDialog
          title={step.title}
          isOpen
          onClose={() => setStep(undefined)}
          action={step.action}
          isDangerous={step.look === 'danger'}
          onConfirm={() => take(step)}
        >
          {step.explanation}
        </ConfirmDialog>
      )}
    </Card>
  );
}

const scheduleOf = ({ startsAt, endsAt }: SurveyWithQuestions) => ({
  startsAt: localDateTime(startsAt),
  endsAt: localDateTime(endsAt),
});
const scheduleNames = { startsAt: 'Start', endsAt: 'End' };

/** A time of the form in words; one that is none, as it was typed. */
function textOf(time: string | undefined): string {
  if (!time) return 'nothing';
  return yearProblem(time) === undefined ? formatMoment(time) : time;
}

function Schedule({ survey, isReadOnly }: { survey: SurveyWithQuestions; isReadOnly: boolean }) {
  const draft = useDraft(`${survey.id} schedule`, scheduleOf(survey));
  const { changes, conflicts, edit } = draft;
  const { startsAt, endsAt } = draft.fields;
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      const isSaved = await draft.save(async () => {
        if (!draft.isUnchanged(scheduleOf(await readSurvey(survey.id)))) return undefined;
        const changed = await changeSurvey(survey.id, {
          ...(changes.startsAt !== undefined && { startsAt: instantOf(changes.startsAt) }),
          ...(changes.endsAt !== undefined && { endsAt: instantOf(changes.endsAt) }),
        });
        return scheduleOf(changed);
      });
      if (isSaved) toast({ text: 'The schedule is saved.' });
    },
    () => ({
      startsAt: yearProblem(startsAt),
      endsAt:
        yearProblem(endsAt) ??
        (startsAt !== '' && endsAt !== '' && endsAt <= startsAt ? 'The end must be after the start.' : undefined),
    }),
  );
  return (
    <Form onSubmit={submit}>
      <FieldRow>
        <DateField
          label="Start"
          value={startsAt}
          onChange={(next) => edit({ startsAt: next })}
          hasTime
          isDisabled={isReadOnly}
          error={errorOf('startsAt')}
          hint="Empty: when it is published."
        />
        <DateField
          label="End"
          value={endsAt}
          onChange={(next) => edit({ endsAt: next })}
          hasTime
          isDisabled={isReadOnly}
          error={errorOf('endsAt')}
          hint="Empty: until it is closed."
        />
      </FieldRow>
      <ConflictPanel
        conflicts={(['startsAt', 'endsAt'] as const).flatMap((field) => {
          const theirs = conflicts[field];
          return theirs === undefined
            ? []
            : [{ field, name: scheduleNames[field], mine: textOf(changes[field]), theirs: textOf(theirs) }];
        })}
        onResolve={(field, choice) => draft.resolve(field === 'startsAt' ? 'startsAt' : 'endsAt', choice)}
      />
      {problem !== undefined && <FormError>{problem}</FormError>}
      {draft.isChanged && (
        <div className={styles.actions}>
          <Button onPress={draft.reset} isPending={draft.isResetting} isDisabled={isPending}>
            Discard
          </Button>
          <Button type="submit" isPending={isPending} isDisabled={isReadOnly}>
            Save the schedule
          </Button>
        </div>
      )}
    </Form>
  );
}
