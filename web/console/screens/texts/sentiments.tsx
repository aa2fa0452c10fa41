import type { Sentiment } from '../../data/open-answers.ts';
import { Badge, type Tone } from '../../parts/feedback.tsx';

export const sentimentNames: Readonly<Record<Sentiment, string>> = {
  positive: 'Positive',
  neutral: 'Neutral',
  mixed: 'Mixed',
  negative: 'Negative',
};

const tones: Readonly<Record<Sentiment, Tone>> = {
  positive: 'success',
  neutral: 'neutral',
  mixed: 'warning',
  negative: 'error',
};

export const SentimentBadge = ({ sentiment }: { sentiment: Sentiment }) => (
  <Badge tone={tones[sentiment]}>{sentimentNames[sentiment]}</Badge>
);
