import { useQuery } from '@tanstack/react-query';
import { Sparkles } from 'lucide-react';
import { useState } from 'react';
import { AiProblem } from '../../app/ai-problem.tsx';
import { AiProviderSelect } from '../../app/ai-provider-select.tsx';
import type { AiProviderName } from '../../data/ai-jobs.ts';
import { problemText } from '../../data/problems.ts';
import type { Question } from '../../data/questions.ts';
import {
  type Decision,
  decideSuggestion,
  type Suggestion,
  suggestionsQuery,
  suggestWording,
} from '../../data/suggestions.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { Badge, ErrorState, FormError, Loading, ProgressBar } from '../../parts/feedback.tsx';
import { editingOf } from './editings.ts';
import styles from './suggestions.module.css';
import { type TextPart, wordDifferences } from './word-differences.ts';

interface SuggestionsProps {
  surveyId: string;
  /** Undefined: something else is selected. */
  question: Question | undefined;
}

/** Wordings that an AI provider proposes for the selected question, each to be accepted or rejected. */
export function Suggestions({ surveyId, question }: SuggestionsProps) {
  const { data: survey } = useQuery(surveyQuery(surveyId));
  if (survey && !survey.aiEnabled) return <p className="muted">AI is switched off for this survey, in its settings.</p>;
  if (!question) return <p className="muted">Select a question to have its wording reviewed.</p>;
  return <OfQuestion key={question.id} surveyId={surveyId} question={question} />;
}

function OfQuestion({ surveyId, question }: { surveyId: string; question: Question }) {
  const { data, error, refetch } = useQuery(suggestionsQuery(question.id));
  const [provider, setProvider] = useState<AiProviderName>();
  const [isAsking, setAsking] = useState(false);
  const [hasFoundNothing, setFoundNothing] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  if (error && !data) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading lines={4} />;

  const ask = async () => {
    setAsking(true);
    setFailure(undefined);
    try {
      await editingOf(surveyId).flush();
      const found = await suggestWording({ surveyId, question, provider });
      setFoundNothing(found.length === 0);
    } catch (problem) {
      setFailure(problem);
    } finally {
      setAsking(false);
    }
  };
  const shown = data.filter(({ status }) => status !== 'REJECTED');
  return (
    <div className={styles.suggestions}>
      <p className="muted">
        An AI provider looks for what is unclear, leading, long or dull in this question. Nothing changes before you
        accept it.
      </p>
      <div className={styles.ask}>
        <AiProviderSelect value={provider} onChange={setProvider} isDisabled={isAsking} />
        <Button icon={<Sparkles aria-hidden />} isPending={isAsking} onPress={() => void ask()}>
          {data.length > 0 ? 'Review again' : 'Review the wording'}
        </Button>
      </div>
      {isAsking && <ProgressBar label="The wording is being reviewed" />}
      {failure !== undefined && <AiProblem error={failure} />}
      {shown.length === 0 && hasFoundNothing && !isAsking && (
        <p role="status">Nothing to improve was found in this question.</p>
      )}
      <ul className={styles.list} aria-label="Suggestions">
        {shown.map((suggestion) => (
          <Item key={suggestion.id} surveyId={surveyId} question={question} suggestion={suggestion} />
        ))}
      </ul>
    </div>
  );
}

const aspects: Readonly<Record<Suggestion['aspect'], string>> = {
  clarity: 'Clarity',
  bias: 'Bias',
  length: 'Length',
  engagement: 'Engagement',
};

interface ItemProps {
  surveyId: string;
  question: Question;
  suggestion: Suggestion;
}

/** A suggestion with its reason, as a difference to the question while it is undecided. */
function Item({ surveyId, question, suggestion }: ItemProps) {
  const [pending, setPending] = useState<Decision>();
  const [failure, setFailure] = useState<unknown>();
  const { aspect, problem, status } = suggestion;
  const decide = async (decision: Decision) => {
    setPending(decision);
    setFailure(undefined);
    try {
      await editingOf(surveyId).flush();
      await decideSuggestion(surveyId, question.id, suggestion, decision);
    } catch (error) {
      setFailure(error);
    } finally {
      setPending(undefined);
    }
  };
  return (
    <li className={styles.item}>
      <div className={styles.head}>
        <strong>{aspects[aspect]}</strong>
        {status === 'ACCEPTED' && <Badge tone="success">Accepted</Badge>}
      </div>
      <p dir="auto">{problem}</p>
      {status === 'PENDING' ? (
        <Difference question={question} suggestion={suggestion} />
      ) : (
        <p className={styles.text} dir="auto">
          {suggestion.suggestion.text}
        </p>
      )}
      {failure !== undefined && <FormError>{problemText(failure).text}</FormError>}
      <div className={styles.buttons}>
        {status === 'ACCEPTED' ? (
          <Button isPending={pending === 'undo'} onPress={() => void decide('undo')}>
            Undo
          </Button>
        ) : (
          <>
            <Button look="primary" isPending={pending === 'accept'} onPress={() => void decide('accept')}>
              Accept
            </Button>
            <Button isPending={pending === 'reject'} onPress={() => void decide('reject')}>
              Reject
            </Button>
          </>
        )}
      </div>
    </li>
  );
}

function Difference({ question, suggestion: { suggestion } }: Pick<ItemProps, 'question' | 'suggestion'>) {
  const { before, after } = wordDifferences(question.text, suggestion.text);
  const { options } = suggestion;
  const present = question.options.map(({ text }) => text);
  const isReworded = options !== undefined && JSON.stringify(options) !== JSON.stringify(present);
  return (
    <dl className={styles.difference}>
      <dt>Before</dt>
      <dd dir="auto">
        <Parts parts={before} tag="del" />
      </dd>
      <dt>After</dt>
      <dd dir="auto">
        <Parts parts={after} tag="ins" />
      </dd>
      {isReworded && (
        <>
          <dt>Options before</dt>
          <dd>
            <Options texts={present} others={options} tag="del" />
          </dd>
          <dt>Options after</dt>
          <dd>
            <Options texts={options} others={present} tag="ins" />
          </dd>
        </>
      )}
    </dl>
  );
}

type Tag = 'del' | 'ins';

const Parts = ({ parts, tag: Mark }: { parts: readonly TextPart[]; tag: Tag }) =>
  parts.map(({ text, isChanged }, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text never move.
    isChanged ? <Mark key={index}>{text}</Mark> : <span key={index}>{text}</span>,
  );

const Options = ({ texts, others, tag: Mark }: { texts: readonly string[]; others: readonly string[]; tag: Tag }) => (
  <ul className={styles.options}>
    {texts.map((text) => (
      <li key={text} dir="auto">
        {others.includes(text) ? text : <Mark>{text}</Mark>}
      </li>
    ))}
  </ul>
);
