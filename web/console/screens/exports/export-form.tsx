import { useState } from 'react';
import { OutcomeSelect } from '../../analytics/outcome-select.tsx';
import type { AnalysisSearch } from '../../analytics/search.ts';
import { type ExportFormat, exportFormatNames, requestExport } from '../../data/exports.ts';
import type { Outcome } from '../../data/responses.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { type Option, Select, Switch } from '../../parts/choice-fields.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { Form } from '../../parts/form.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './exports.module.css';

const notes: Readonly<Record<ExportFormat, string>> = {
  EXCEL: 'A sheet with tables of every question, and one with the responses.',
  CSV: 'One line a response, for any spreadsheet or script.',
  SPSS: 'Variables with labels, missing values and response sets.',
  PDF: 'Charts and tables of every question, to print or send.',
  JSON: 'All responses as one document.',
  NDJSON: 'One JSON document a line, for large amounts.',
  PARQUET: 'Typed columns, for R, Python and databases.',
};
const formatOptions = (Object.keys(exportFormatNames) as ExportFormat[]).map((value) => ({
  value,
  label: exportFormatNames[value],
}));

const labelOptions = [
  { value: 'text', label: 'Wording' },
  { value: 'value', label: 'Values and numbers (Q1)' },
] as const satisfies readonly Option[];

interface ExportFormProps {
  survey: SurveyWithQuestions;
  /** The responses that the address selects. */
  selection: Pick<AnalysisSearch, 'from' | 'to' | 'filter'>;
}

/** Asks for a file of the responses that the address selects. */
export function ExportForm({ survey, selection: { from, to, filter } }: ExportFormProps) {
  const [format, setFormat] = useState<ExportFormat>('EXCEL');
  const [outcome, setOutcome] = useState<Outcome>();
  const [labels, setLabels] = useState<'text' | 'value'>('text');
  const [isMissingLabelled, setMissingLabelled] = useState(false);
  const isTurned = from !== undefined && to !== undefined && to < from;
  const { submit, isPending, problem, errorOf } = useSubmit(
    () =>
      requestExport(survey, {
        format,
        startDate: from,
        endDate: to,
        filters: filter,
        outcome,
        labels,
        missing: isMissingLabelled ? 'labelled' : 'empty',
      }),
    () => ({
      days: isTurned ? 'The day “To” lies before the day “From”: please change one of them above.' : undefined,
    }),
  );
  const failure = errorOf('days') ?? problem;
  return (
    <Form onSubmit={submit}>
      <Select
        label="Format"
        options={formatOptions}
        value={format}
        onChange={(next: ExportFormat) => setFormat(next)}
      />
      <p className={styles.muted}>{notes[format]}</p>
      <OutcomeSelect value={outcome} onChange={setOutcome} />
      {format !== 'PDF' && (
        <>
          <Select
            label="Options and headings"
            options={labelOptions}
            value={labels}
            onChange={(next: 'text' | 'value') => setLabels(next)}
          />
          <Switch isSelected={isMissingLabelled} onChange={setMissingLabelled}>
            Tell skipped questions from those not asked
          </Switch>
        </>
      )}
      {failure !== undefined && <FormError>{failure}</FormError>}
      <Button type="submit" look="primary" isPending={isPending}>
        Make the file
      </Button>
    </Form>
  );
}
