import { useState } from 'react';
import { createQuotaGrid, type Quota } from '../../data/quotas.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { readable } from '../../data/wording.ts';
import { Button } from '../../parts/button.tsx';
import { Select } from '../../parts/choice-fields.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { FieldRow, Form, FormActions } from '../../parts/form.tsx';
import { NumberField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './quotas.module.css';
import { whenFullOptions } from './rules.ts';

type Question = SurveyWithQuestions['questions'][number];

const cellTypes = new Set(['MULTIPLE_CHOICE', 'DROPDOWN', 'YES_NO', 'LIKERT_SCALE']);

/** Makes a quota for each combination of the options of one or two questions. A cell that is left empty gets none. */
export function NewGrid({ survey, onClose }: { survey: SurveyWithQuestions; onClose(): void }) {
  const questions = survey.questions.filter(({ type, options }) => cellTypes.has(type) && options.length > 0);
  const [rowsId, setRows] = useState(questions[0]?.id ?? null);
  const [columnsId, setColumns] = useState('NONE');
  const [every, setEvery] = useState<number | null>(100);
  const [own, setOwn] = useState<Readonly<Record<string, number | null>>>({});
  const [whenFull, setWhenFull] = useState<Quota['whenFull']>('OVER_QUOTA');
  const rows = questions.find(({ id }) => id === rowsId);
  const columns = questions.find(({ id }) => id === columnsId && id !== rowsId);
  const limitOf = (cell: string) => (cell in own ? (own[cell] ?? null) : every);
  const cells = (rows?.options ?? []).flatMap((row) =>
    columns ? columns.options.map((column) => [row.id, column.id]) : [[row.id]],
  );
  const targets = cells.flatMap((optionIds) => {
    const limit = limitOf(optionIds.join(' '));
    return limit === null ? [] : [{ optionIds, limit }];
  });
  const { submit, isPending, problem } = useSubmit(async () => {
    const questionIds = [rows, columns].flatMap((question) => question?.id ?? []);
    await createQuotaGrid(survey.id, { questionIds, targets, whenFull });
    onClose();
  });
  const optionsOf = (list: readonly Question[]) => list.map(({ id, text }) => ({ value: id, label: readable(text) }));
  if (!rows)
    return (
      <Dialog title="New quotas" isOpen onClose={onClose}>
        <p>Quotas by cell need a question with one choice. The survey has none.</p>
        <DialogActions>
          <Button onPress={onClose}>Close</Button>
        </DialogActions>
      </Dialog>
    );
  return (
    <Dialog title="New quotas" isOpen onClose={onClose} isWide>
      <Form onSubmit={submit}>
        <FieldRow>
          <Select label="Question" options={optionsOf(questions)} value={rowsId} onChange={setRows} />
          <Select
            label="Interlocked with"
            options={[
              { value: 'NONE', label: 'No other question' },
              ...optionsOf(questions.filter(({ id }) => id !== rowsId)),
            ]}
            value={columns?.id ?? 'NONE'}
            onChange={setColumns}
          />
        </FieldRow>
        <FieldRow>
          <NumberField label="Responses a cell" value={every} onChange={setEvery} minValue={0} />
          <Select
            label="When full"
            options={whenFullOptions}
            value={whenFull}
            onChange={(next: Quota['whenFull']) => setWhenFull(next)}
          />
        </FieldRow>
        <CellGrid
          rows={rows}
          columns={columns}
          limitOf={limitOf}
          onChange={(cell, limit) => setOwn((old) => ({ ...old, [cell]: limit }))}
        />
        <FormActions
          action={targets.length === 1 ? 'Create 1 quota' : `Create ${targets.length} quotas`}
          problem={problem}
          isPending={isPending}
          isDisabled={targets.length === 0}
          onCancel={onClose}
        />
      </Form>
    </Dialog>
  );
}

interface CellGridProps {
  rows: Question;
  columns: Question | undefined;
  limitOf(cell: string): number | null;
  onChange(cell: string, limit: number | null): void;
}

function CellGrid({ rows, columns, limitOf, onChange }: CellGridProps) {
  const field = (label: string, cell: string) => (
    <td key={cell}>
      <NumberField
        label={label}
        isLabelHidden
        value={limitOf(cell)}
        onChange={(limit) => onChange(cell, limit)}
        minValue={0}
      />
    </td>
  );
  return (
    // An area that scrolls can be focused, so that arrow keys move it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
    <section className={styles.grid} tabIndex={0} aria-label="Cells">
      <table>
        <thead>
          <tr>
            <th scope="col">Cell</th>
            {columns ? (
              columns.options.map(({ id, text }) => (
                <th key={id} scope="col" dir="auto">
                  {readable(text)}
                </th>
              ))
            ) : (
              <th scope="col">Responses at most</th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.options.map((row) => (
            <tr key={row.id}>
              <th scope="row" dir="auto">
                {readable(row.text)}
              </th>
              {columns
                ? columns.options.map((column) => field(`${row.text}, ${column.text}`, `${row.id} ${column.id}`))
                : field(row.text, row.id)}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
