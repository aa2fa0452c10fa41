import { useState } from 'react';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import { FormDialog } from '../../app/form-dialog.tsx';
import { ConditionForm } from '../../conditions/condition-form.tsx';
import { asGroup, firstCondition, isComplete, plainCondition } from '../../conditions/condition-forms.ts';
import { sentenceOf, textOfWords } from '../../conditions/condition-words.ts';
import type { Definition } from '../../data/questions.ts';
import { changeQuota, createQuota, type Quota, readQuota } from '../../data/quotas.ts';
import { ConflictPanel } from '../../parts/conflict.tsx';
import { FieldRow, Form, FormActions } from '../../parts/form.tsx';
import { NumberField, TextField } from '../../parts/text-fields.tsx';
import { useCompared } from '../../parts/use-compared.ts';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './quotas.module.css';
import { countsNames, initialRules, RuleFields, type Rules, whenFullNames } from './rule-fields.tsx';

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
  const body: Fields = { name: name.trim(), limit: limit ?? 0, where: plainCondition(where), ...rules };
  const { save, conflicts, resolve } = useCompared(quota ? fieldsOf(quota) : body);
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      if (quota) {
        const stored = await readQuota(quota);
        const send = (changes: Partial<Fields>) => changeQuota(quota, changes);
        if (!(await save(stored && fieldsOf(stored), body, send))) return;
      } else await createQuota(survey.id, body);
      onClose();
    },
    () => ({
      name: name.trim() === '' ? 'Please enter a name.' : undefined,
      limit: limit === null ? 'Please enter a number.' : undefined,
    }),
  );
  const take = (theirs: Partial<Fields>) => {
    if (theirs.name !== undefined) setName(theirs.name);
    if (theirs.limit !== undefined) setLimit(theirs.limit);
    if (theirs.where) setWhere(asGroup(theirs.where));
    setRules((old) => rulesOf({ ...old, ...theirs }));
  };
  return (
    <FormDialog
      title={quota ? `Edit “${quota.name}”` : 'New quota by condition'}
      isOpen
      onClose={onClose}
      isWide
      fields={[name, limit, where, rules]}
      isPending={isPending}
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
        <ConflictPanel
          conflicts={conflicts.map(({ field, mine, theirs }) => ({
            field,
            name: names[field],
            mine: fieldText(survey, { [field]: mine }),
            theirs: fieldText(survey, { [field]: theirs }),
          }))}
          onResolve={(field, choice) => {
            resolve(field);
            const theirs = conflicts.find((one) => one.field === field)?.theirs;
            if (choice === 'theirs') take({ [field]: theirs });
          }}
        />
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

interface Fields extends Rules {
  name: string;
  limit: number;
  where: Condition;
}

const names: Readonly<Record<keyof Fields, string>> = {
  name: 'Name',
  limit: 'Responses at most',
  where: 'Responses that it counts',
  counts: 'Counts',
  whenFull: 'When full',
};

/** What the only field of these holds, in words. */
function fieldText(survey: Definition, { name, limit, where, counts, whenFull }: Partial<Fields>): string {
  if (where) return textOfWords(sentenceOf(survey, where));
  if (counts) return countsNames[counts];
  return whenFull ? whenFullNames[whenFull] : (name ?? String(limit));
}

/** The fields of a quota as the form sends them: the condition without groups of one. */
const fieldsOf = (quota: Quota): Fields => ({
  name: quota.name,
  limit: quota.limit,
  where: plainCondition(quota.where),
  ...rulesOf(quota),
});

const rulesOf = ({ counts, whenFull }: Rules): Rules => ({ counts, whenFull });
