import { useState } from 'react';
import { FormDialog } from '../../app/form-dialog.tsx';
import { ConditionForm } from '../../conditions/condition-form.tsx';
import { asGroup, firstCondition, isComplete, plainCondition } from '../../conditions/condition-forms.ts';
import { changedFields } from '../../data/changed-fields.ts';
import type { Definition } from '../../data/questions.ts';
import { changeQuota, createQuota, type Quota } from '../../data/quotas.ts';
import { FieldRow, Form, FormActions } from '../../parts/form.tsx';
import { NumberField, TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './quotas.module.css';
import { initialRules, RuleFields, type Rules } from './rule-fields.tsx';

interface QuotaFormProps {
  survey: Definition;
  /** Undefined: a new one. */
  quota?: Quota;
  onClose(): void;
}

/** Makes a quota by condition, or changes a quota. */
export function QuotaForm({ survey, quota, onClose }: QuotaFormProps) {
  const [name, setName] = useState(quota?.name ?? '');
  const [limit, setLimit] = useState<number | null>(quota?.limit ?? 100);
  const [where, setWhere] = useState(() => asGroup(quota?.where ?? firstCondition(survey.questions)));
  const [rules, setRules] = useState(quota ? rulesOf(quota) : initialRules);
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      const body = { name: name.trim(), limit: limit ?? 0, where: plainCondition(where), ...rules };
      if (quota) await changeQuota(quota, changedFields(fieldsOf(quota), body));
      else await createQuota(survey.id, body);
      onClose();
    },
    () => ({
      name: name.trim() === '' ? 'Please enter a name.' : undefined,
      limit: limit === null ? 'Please enter a number.' : undefined,
    }),
  );
  return (
    <FormDialog
      title={quota ? `Edit “${quota.name}”` : 'New quota by condition'}
      isOpen
      onClose={onClose}
      isWide
      fields={[name, limit, where, rules]}
    >
      <Form onSubmit={submit}>
        <FieldRow>
          <TextField label="Name" value={name} onChange={setName} maxLength={200} error={errorOf('name')} autoFocus />
          <NumberField
            label="Responses at most"
            value={limit}
            onChange={setLimit}
            minValue={0}
            error={errorOf('limit')}
            hint={quota && 'Below the present count makes it full.'}
          />
        </FieldRow>
        <fieldset className={styles.where}>
          <legend>Responses that it counts</legend>
          <ConditionForm survey={survey} questions={survey.questions} condition={where} onChange={setWhere} />
        </fieldset>
        <FieldRow>
          <RuleFields rules={rules} onChange={setRules} />
        </FieldRow>
        <FormActions
          action={quota ? 'Save' : 'Create the quota'}
          problem={problem}
          isPending={isPending}
          isDisabled={!isComplete(where)}
          onCancel={onClose}
        />
      </Form>
    </FormDialog>
  );
}

/** The fields of a quota as the form holds them: the condition without groups of one. */
const fieldsOf = (quota: Quota) => ({
  name: quota.name,
  limit: quota.limit,
  where: plainCondition(quota.where),
  ...rulesOf(quota),
});

const rulesOf = ({ counts, whenFull }: Quota): Rules => ({ counts, whenFull });
