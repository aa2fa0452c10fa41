/** One answer as the API takes it, without its question. */
export interface Answer {
  optionId?: string;
  rowId?: string;
  rank?: number;
  numberValue?: number;
  textValue?: string;
}

/** What a respondent has entered at a question. */
export interface Entry {
  /** Empty: not answered. */
  answers: readonly Answer[];
  /** What stands in the field, where that is no answer (yet). */
  raw?: string;
  /** The text of "other", while another option is chosen. */
  otherText?: string;
  /** Of an uploaded file. */
  file?: { name: string; size: number };
}

export type Entries = Readonly<Record<string, Entry>>;

export const noEntry: Entry = { answers: [] };

/** Whether there is anything in it, be it valid or not. */
export const isTouched = ({ answers, raw = '' }: Entry): boolean => answers.length > 0 || raw !== '';
