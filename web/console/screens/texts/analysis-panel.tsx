import { useQuery } from '@tanstack/react-query';
import { Sparkles } from 'lucide-react';
import { useState } from 'react';
import { AiProblem } from '../../app/ai-problem.tsx';
import { AiProviderSelect } from '../../app/ai-provider-select.tsx';
import { useMayEditSurvey } from '../../app/survey-layout.tsx';
import type { AiProviderName } from '../../data/ai-jobs.ts';
import {
  type AnalysisType,
  analyseAnswers,
  annotationsQuery,
  type Sentiment,
  type Summary,
  summaryKey,
} from '../../data/open-answers.ts';
import type { Question } from '../../data/questions.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { Loading, ProgressBar } from '../../parts/feedback.tsx';
import { Card, Disclosure } from '../../parts/page.tsx';
import { FoundMenu } from './elsewhere.tsx';
import { FoundBars } from './found-bars.tsx';
import type { TextsSearch } from './search.ts';
import { sentimentNames } from './sentiments.tsx';
import styles from './texts.module.css';
import { ThemesCard } from './themes-card.tsx';

const sentimentName = (value: string) => sentimentNames[value as Sentiment] ?? value;

interface AnalysisPanelProps {
  survey: SurveyWithQuestions;
  question: Question;
  search: TextsSearch;
  onChange(fields: TextsSearch): Promise<void>;
}

/** What AI analyses found in the answers, and the buttons that start them. Readers see what was found. */
export function AnalysisPanel({ survey, question, search, onChange }: AnalysisPanelProps) {
  const canAnalyse = useMayEditSurvey() && survey.aiEnabled;
  const [provider, setProvider] = useState<AiProviderName>();
  const { data: found, error } = useQuery(annotationsQuery(survey.id, question.id));
  const analysis = useAnalysis(survey, provider);
  const buttonOf = (type: AnalysisType, hasResult: boolean) =>
    canAnalyse && (
      <Button
        aria-label={`${hasResult ? 'Analyse anew' : 'Analyse'}: ${type}`}
        icon={<Sparkles aria-hidden />}
        isPending={analysis.running.has(type)}
        onPress={() => void analysis.run(type)}
      >
        {hasResult ? 'Analyse anew' : 'Analyse'}
      </Button>
    );
  const { data: summary } = useQuery<Summary>({ queryKey: summaryKey(survey.id), enabled: false });
  // Cards that come one by one would move the buttons below them while they are being pressed.
  if (found === undefined && error === null)
    return (
      <aside className={styles.panel} aria-label="Analyses">
        <Loading />
      </aside>
    );
  return (
    <aside className={styles.panel} aria-label="Analyses">
      {analysis.running.size > 0 && (
        <div className={styles.working}>
          <ProgressBar label="Answers are being analysed" />
        </div>
      )}
      {analysis.failure !== undefined && <AiProblem error={analysis.failure} />}
      <Card title="Sentiment" actions={buttonOf('sentiment', Boolean(found?.sentiment))}>
        <FoundBars
          found={found?.sentiment}
          error={error}
          nothing="Whether answers are positive, negative, neutral or mixed is not known yet."
          selected={search.sentiment}
          nameOf={sentimentName}
          onSelect={(value) => void onChange({ sentiment: value as Sentiment | undefined })}
          menuOf={(value) => (
            <FoundMenu
              name={sentimentName(value)}
              surveyId={survey.id}
              questionId={question.id}
              found={{ sentiment: value as Sentiment }}
            />
          )}
        />
      </Card>
      <ThemesCard
        key={question.id}
        surveyId={survey.id}
        questionId={question.id}
        found={found?.themes}
        error={error}
        selected={search.theme}
        onSelect={(theme) => onChange({ theme })}
        actions={buttonOf('themes', Boolean(found?.themes))}
      />
      {(canAnalyse || summary) && (
        <Card title="Summary" actions={buttonOf('summary', summary !== undefined)}>
          {summary ? (
            <SummaryText summary={summary} />
          ) : (
            <p className="muted">What all open answers of the survey say together.</p>
          )}
        </Card>
      )}
      {canAnalyse && (
        <Disclosure title="Provider and privacy">
          <div className={styles.provider}>
            <AiProviderSelect value={provider} onChange={setProvider} />
            <p className="muted">
              Answers to all open questions of the survey are sent; names, addresses and numbers are replaced before, if
              the service is set up so. Answers that were analysed before are not sent again.
            </p>
          </div>
        </Disclosure>
      )}
      {!survey.aiEnabled && <p className="muted">AI is switched off for this survey, in its settings.</p>}
    </aside>
  );
}

/** Runs analyses, several at once if asked. They go on in the tray when the view is left. */
function useAnalysis(survey: SurveyWithQuestions, provider: AiProviderName | undefined) {
  const [running, setRunning] = useState<ReadonlySet<AnalysisType>>(new Set());
  const [failure, setFailure] = useState<unknown>();
  const run = async (type: AnalysisType) => {
    setFailure(undefined);
    setRunning((others) => new Set([...others, type]));
    try {
      await analyseAnswers(survey, type, provider);
    } catch (error) {
      setFailure(error);
    } finally {
      setRunning((others) => new Set([...others].filter((other) => other !== type)));
    }
  };
  return { running, failure, run };
}

function SummaryText({ summary: { summary, insights, recommendations } }: { summary: Summary }) {
  return (
    <div className={styles.summary}>
      <p dir="auto">{summary}</p>
      <TextList title="Insights" texts={insights} />
      <TextList title="Recommendations" texts={recommendations} />
    </div>
  );
}

function TextList({ title, texts }: { title: string; texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul>
        {texts.map((text) => (
          <li key={text} dir="auto">
            {text}
          </li>
        ))}
      </ul>
    </>
  );
}
