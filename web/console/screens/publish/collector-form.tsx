import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { FormDialog } from '../../app/form-dialog.tsx';
import { type Collector, changeCollector, createCollector, readCollector } from '../../data/collectors.ts';
import { languageListQuery } from '../../data/translations.ts';
import { RadioGroup, Select } from '../../parts/choice-fields.tsx';
import { ConflictPanel } from '../../parts/conflict.tsx';
import { instantOf, localDateTime, yearProblem } from '../../parts/date-time.ts';
import { FieldRow, Form, FormActions } from '../../parts/form.tsx';
import { formatMoment } from '../../parts/format.ts';
import { DateField, NumberField, TextField } from '../../parts/text-fields.tsx';
import { useCompared } from '../../parts/use-compared.ts';
import { useSubmit } from '../../parts/use-submit.ts';

const kinds = [
  { value: 'OPEN', label: 'Everybody with the link', note: 'Such as one link for the newsletter, one for the poster.' },
  { value: 'INVITATION', label: 'Invited people', note: 'A link of its own for each, good for one response.' },
] as const;

/** Makes a collector, or changes one. */
export function CollectorForm(props: { surveyId: string; collector?: Collector; onClose(): void }) {
  const { surveyId, collector, onClose } = props;
  const [name, setName] = useState(collector?.name ?? '');
  const [kind, setKind] = useState<Collector['kind']>(collector?.kind ?? 'OPEN');
  const [language, setLanguage] = useState(collector?.language ?? null);
  const [opensAt, setOpening] = useState(localDateTime(collector?.opensAt ?? null));
  const [closesAt, setClosing] = useState(localDateTime(collector?.closesAt ?? null));
  const [responseQuota, setQuota] = useState(collector?.responseQuota ?? null);
  const { save, conflicts, resolve } = useCompared<Partial<Fields>>(collector ? fieldsOf(collector) : {});
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      const times = { opensAt: instantOf(opensAt), closesAt: instantOf(closesAt) };
      const body = { name: name.trim(), kind, responseQuota, language, ...times };
      if (collector) {
        const send = (changes: Partial<Fields>) => changeCollector(collector, changes);
        if (!(await save(fieldsOf(await readCollector(collector)), body, send))) return;
      } else await createCollector(surveyId, body);
      onClose();
    },
    () => ({
      name: name.trim() === '' ? 'Please enter a name.' : undefined,
      opensAt: yearProblem(opensAt),
      closesAt:
        yearProblem(closesAt) ??
        (opensAt !== '' && closesAt !== '' && closesAt <= opensAt ? 'It must close after it opens.' : undefined),
    }),
  );
  const take = (theirs: Partial<Fields>) => {
    if (theirs.name !== undefined) setName(theirs.name);
    if (theirs.kind) setKind(theirs.kind);
    if (theirs.language !== undefined) setLanguage(theirs.language);
    if (theirs.opensAt !== undefined) setOpening(localDateTime(theirs.opensAt));
    if (theirs.closesAt !== undefined) setClosing(localDateTime(theirs.closesAt));
    if (theirs.responseQuota !== undefined) setQuota(theirs.responseQuota);
  };
  return (
    <FormDialog
      title={collector ? 'Change the collector' : 'New collector'}
      isOpen
      onClose={onClose}
      fields={[name, kind, language, opensAt, closesAt, responseQuota]}
      isPending={isPending}
    >
      <Form onSubmit={submit}>
        <TextField label="Name" value={name} onChange={setName} maxLength={200} error={errorOf('name')} autoFocus />
        <RadioGroup
          label="For"
          options={kinds}
          value={kind}
          onChange={(next: Collector['kind']) => setKind(next)}
          error={errorOf('kind')}
        />
        <FieldRow>
          <DateField
            label="Opens"
            value={opensAt}
            onChange={setOpening}
            hasTime
            error={errorOf('opensAt')}
            hint="Empty: with the survey."
          />
          <DateField
            label="Closes"
            value={closesAt}
            onChange={setClosing}
            hasTime
            error={errorOf('closesAt')}
            hint="Empty: with the survey."
          />
        </FieldRow>
        <LanguageSelect
          surveyId={surveyId}
          stored={collector?.language ?? null}
          value={language}
          onChange={setLanguage}
          error={errorOf('language')}
        />
        <NumberField
          label="Complete responses at most"
          value={responseQuota}
          onChange={setQuota}
          minValue={1}
          error={errorOf('responseQuota')}
          hint="Empty: as many as come."
        />
        <ConflictPanel
          conflicts={conflicts.map(({ field, mine, theirs }) => ({
            field,
            name: names[field],
            mine: fieldText(field, mine),
            theirs: fieldText(field, theirs),
          }))}
          onResolve={(field, choice) => {
            resolve(field);
            const theirs = conflicts.find((one) => one.field === field)?.theirs;
            if (choice === 'theirs') take({ [field]: theirs });
          }}
        />
        <FormActions
          action={collector ? 'Save' : 'Create the collector'}
          problem={problem}
          isPending={isPending}
          onCancel={onClose}
        />
      </Form>
    </FormDialog>
  );
}

interface LanguageSelectProps {
  surveyId: string;
  /** It can be kept although the survey has no texts in it. */
  stored: string | null;
  value: string | null;
  onChange(language: string | null): void;
  error: string | undefined;
}

/** A language of the survey, or none. */
function LanguageSelect({ surveyId, stored, value, onChange, error }: LanguageSelectProps) {
  const { data = [] } = useQuery(languageListQuery(surveyId));
  const languages = new Set([...data.map(({ language }) => language), ...(stored === null ? [] : [stored])]);
  return (
    <Select
      label="Language"
      options={[
        { value: '', label: 'As the browser of the respondent asks' },
        ...[...languages].map((tag) => ({ value: tag, label: languageName(tag) })),
      ]}
      value={value ?? ''}
      onChange={(next) => onChange(next === '' ? null : next)}
      error={error}
      hint="In which the survey opens. More can be added in Languages."
    />
  );
}

type Fields = Pick<Collector, 'name' | 'kind' | 'responseQuota' | 'language' | 'opensAt' | 'closesAt'>;

const names: Readonly<Record<keyof Fields, string>> = {
  name: 'Name',
  kind: 'For',
  opensAt: 'Opens',
  closesAt: 'Closes',
  language: 'Language',
  responseQuota: 'Complete responses at most',
};

/** What a field holds, in words. */
function fieldText(field: keyof Fields, value: unknown): string {
  if (value === null) return 'nothing';
  const text = String(value);
  if (field === 'opensAt' || field === 'closesAt') return formatMoment(text);
  if (field === 'language') return languageName(text);
  return kinds.find((kind) => field === 'kind' && kind.value === value)?.label ?? text;
}

/** The fields of a collector as the form sends them: times to the minute. */
const fieldsOf = ({ name, kind, responseQuota, language, opensAt, closesAt }: Collector): Fields => ({
  name,
  kind,
  responseQuota,
  language,
  opensAt: instantOf(localDateTime(opensAt)),
  closesAt: instantOf(localDateTime(closesAt)),
});
