import { useState } from 'react';
import { type Conversation, type DraftQuestion, isSaved } from '../../data/conversations.ts';
import { problemText } from '../../data/problems.ts';
import { questionTypeTitles } from '../../data/question-types.ts';
import { Button } from '../../parts/button.tsx';
import { Checkbox } from '../../parts/choice-fields.tsx';
import { EmptyState, FormError, Loading } from '../../parts/feedback.tsx';
import { LanguageField } from '../../parts/language-field.tsx';
import styles from './draft.module.css';

interface DraftViewProps {
  conversation: Conversation | undefined;
  isWriting: boolean;
  language: string;
  onLanguage(language: string): void;
  /** Makes a survey of the questions at these places. */
  onSave(questions: number[], language: string): Promise<unknown>;
}

/** The draft as it stands: every question with a box that takes it or leaves it out. */
export function DraftView({ conversation, isWriting, language, onLanguage, onSave }: DraftViewProps) {
  /** Questions that were left out; one that a turn changes is taken again. */
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [isSaving, setSaving] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  if (!conversation)
    return isWriting ? (
      <Loading lines={8} label="The draft is being written" />
    ) : (
      <EmptyState title="The draft appears here">Its questions can be taken one by one, and changed later.</EmptyState>
    );
  const { draft } = conversation;
  const keys = draft.questions.map((question) => JSON.stringify(question));
  const taken = keys.flatMap((key, place) => (left.has(key) ? [] : [place]));
  const isOver = isSaved(conversation);
  const save = async () => {
    setSaving(true);
    setFailure(undefined);
    try {
      await onSave(taken, language);
    } catch (error) {
      setFailure(error);
    } finally {
      setSaving(false);
    }
  };
  const take = (key: string, isTaken: boolean) =>
    setLeft((others) => new Set(isTaken ? [...others].filter((other) => other !== key) : [...others, key]));
  return (
    <>
      <header className={styles.draftHead}>
        <h2 dir="auto">{draft.title}</h2>
        {draft.description && <p dir="auto">{draft.description}</p>}
      </header>
      {!isOver && (
        <div className={styles.bar}>
          <Checkbox
            isSelected={taken.length === keys.length}
            isIndeterminate={taken.length > 0 && taken.length < keys.length}
            onChange={(isAll) => setLeft(new Set(isAll ? [] : keys))}
          >
            {taken.length} of {keys.length} questions
          </Checkbox>
        </div>
      )}
      <ol className={styles.questions} data-stale={isWriting || undefined}>
        {draft.questions.map((question, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a question is known by its place only.
          <li key={place}>
            <SectionTitle conversation={conversation} place={place} />
            <DraftItem
              question={question}
              number={place + 1}
              condition={conditionOf(conversation, place)}
              isTaken={!left.has(keys[place] ?? '')}
              isReadOnly={isOver}
              onTake={(isTaken) => take(keys[place] ?? '', isTaken)}
            />
          </li>
        ))}
      </ol>
      {failure !== undefined && <FormError>{problemText(failure).text}</FormError>}
      {!isOver && (
        <div className={styles.save}>
          <LanguageField value={language} onChange={onLanguage} />
          <Button
            look="primary"
            isPending={isSaving}
            isDisabled={taken.length === 0 || isWriting}
            onPress={() => void save()}
          >
            {taken.length === keys.length ? 'Make the survey' : `Make it of ${taken.length} questions`}
          </Button>
        </div>
      )}
    </>
  );
}

function SectionTitle({ conversation: { draft }, place }: { conversation: Conversation; place: number }) {
  const section = draft.sections?.find(({ questions }) => questions[0] === place);
  return section ? (
    <h3 className={styles.section} dir="auto">
      {section.title}
    </h3>
  ) : null;
}

/** The condition of a question in words; undefined: it is always asked. */
function conditionOf({ draft }: Conversation, place: number): string | undefined {
  const condition = draft.conditions?.find(({ question }) => question === place);
  return condition && `Only if ${condition.onlyIf.question + 1} is ${condition.onlyIf.options.join(' or ')}`;
}

interface DraftItemProps {
  question: DraftQuestion;
  number: number;
  condition: string | undefined;
  isTaken: boolean;
  isReadOnly: boolean;
  onTake(isTaken: boolean): void;
}

function DraftItem({ question, number, condition, isTaken, isReadOnly, onTake }: DraftItemProps) {
  const { type, text, description, isRequired, options = [], settings } = question;
  const rows = (settings as { rows?: { text: string }[] } | undefined)?.rows ?? [];
  const notes = [questionTypeTitles[type], ...(isRequired ? ['required'] : []), ...(condition ? [condition] : [])];
  return (
    <div className={styles.question} data-left={!isTaken || undefined}>
      {!isReadOnly && (
        <Checkbox isSelected={isTaken} onChange={onTake} aria-label={`Take question ${number}: ${text}`} />
      )}
      <div>
        <p className={styles.wording} dir="auto">
          {number}. {text}
        </p>
        {description && <p dir="auto">{description}</p>}
        <Items items={rows} />
        <Items items={options} />
        <p className={styles.notes}>{notes.join(' · ')}</p>
      </div>
    </div>
  );
}

function Items({ items }: { items: readonly { text: string }[] }) {
  if (items.length === 0) return null;
  return (
    <ul className={styles.items}>
      {items.map(({ text }) => (
        <li key={text} dir="auto">
          {text}
        </li>
      ))}
    </ul>
  );
}
